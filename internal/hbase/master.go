package hbase

import (
	"context"
	"errors"
	"fmt"

	"github.com/tsuna/gohbase/pb"
)

// Nonce identifies a request to the master, so that a repeated request is done only once. It is two nonzero random
// numbers of 64 bits.
type Nonce struct{ Group, Value uint64 }

// TableDescriptor gets a table's schema from the master; nil if there is no such table.
func (c *Conn) TableDescriptor(ctx context.Context, table TableName) (*TableSchema, error) {
	request := &pb.GetTableDescriptorsRequest{TableNames: []*pb.TableName{table.message()}}
	var answer pb.GetTableDescriptorsResponse
	if err := c.exchange(ctx, "GetTableDescriptors", request, &answer); err != nil {
		return nil, err
	}
	for _, m := range answer.GetTableSchema() {
		if schema := tableSchema(m); schema.Name == table {
			return schema, nil
		}
	}
	return nil, nil
}

// NamespaceExists asks the master whether a namespace exists.
func (c *Conn) NamespaceExists(ctx context.Context, namespace string) (bool, error) {
	err := c.exchange(ctx, "GetNamespaceDescriptor", &pb.GetNamespaceDescriptorRequest{NamespaceName: &namespace}, nil)
	if IsRemote(err, "NamespaceNotFoundException") {
		return false, nil
	}
	return err == nil, err
}

// CreateNamespace starts to create a namespace and returns the procedure that does it: CreateNamespaceResponse{1
// proc_id}, which is an empty message in gohbase's pb.
func (c *Conn) CreateNamespace(ctx context.Context, namespace string, nonce Nonce) (procedure uint64, err error) {
	var m message
	m.known(1, &pb.NamespaceDescriptor{Name: []byte(namespace)})
	m.uint(2, nonce.Group)
	m.uint(3, nonce.Value)
	err = c.call(ctx, "CreateNamespace", m, func(f field) {
		if f.number == 1 {
			procedure = f.uint
		}
	})
	return procedure, err
}

// CreateTable starts to create a table and returns the procedure that does it.
func (c *Conn) CreateTable(ctx context.Context, schema *TableSchema, splits [][]byte,
	nonce Nonce) (procedure uint64, err error) {
	request := &pb.CreateTableRequest{TableSchema: schema.message(), SplitKeys: splits,
		NonceGroup: &nonce.Group, Nonce: &nonce.Value}
	var answer pb.CreateTableResponse
	err = c.exchange(ctx, "CreateTable", request, &answer)
	return answer.GetProcId(), err
}

// MoveRegion moves a region to another server and waits until it is open there. If ctx ends first, the master
// continues. A region that is already open on that server stays open and is not opened again.
func (c *Conn) MoveRegion(ctx context.Context, encodedName string, to ServerName) error {
	region := &pb.RegionSpecifier{Type: pb.RegionSpecifier_ENCODED_REGION_NAME.Enum(), Value: []byte(encodedName)}
	return c.exchange(ctx, "MoveRegion", &pb.MoveRegionRequest{Region: region, DestServerName: to.message()}, nil)
}

// ProcedureDone reports whether a procedure of the master has ended; its failure is a *RemoteError.
func (c *Conn) ProcedureDone(ctx context.Context, id uint64) (bool, error) {
	const method = "getProcedureResult" // so spelt in Master.proto
	var answer pb.GetProcedureResultResponse
	if err := c.exchange(ctx, method, &pb.GetProcedureResultRequest{ProcId: &id}, &answer); err != nil {
		return false, err
	}
	switch {
	case answer.Exception != nil:
		return true, c.named(method, foreignException(answer.Exception))
	case answer.GetState() == pb.GetProcedureResultResponse_NOT_FOUND:
		return false, c.connError(method, true, fmt.Errorf("the master knows no procedure %d: %w", id, errNoProcedure))
	}
	return answer.GetState() != pb.GetProcedureResultResponse_RUNNING, nil
}

var errNoProcedure = errors.New("ended and forgotten, or lost")

// foreignException reads a procedure's failure. The master wraps the actual exception into a RemoteException, whose
// message begins with the class of that exception.
func foreignException(m *pb.ForeignExceptionMessage) *RemoteError {
	generic := m.GetGenericException()
	class := generic.GetClassName()
	return &RemoteError{Class: class, Message: firstLine(generic.GetMessage(), class), DoNotRetry: true}
}
