package hbase

import (
	"context"
	"errors"
	"fmt"
)

// Nonce marks a request to the master, so that one sent twice is done once: 64 random bits each, not 0.
type Nonce struct{ Group, Value uint64 }

// TableDescriptor gets a table's schema from the master, nil where there is no such table:
// GetTableDescriptorsRequest{1 table_names}, GetTableDescriptorsResponse{1 table_schema}.
func (c *Conn) TableDescriptor(ctx context.Context, table TableName) (*TableSchema, error) {
	var m message
	m.message(1, table.build)
	var found *TableSchema
	err := c.call(ctx, "GetTableDescriptors", m, func(f field) error {
		if f.number != 1 {
			return nil
		}
		schema, err := parseTableSchema(f.bytes)
		if err == nil && schema.Name == table {
			found = schema
		}
		return err
	})
	return found, err
}

// NamespaceExists asks the master: GetNamespaceDescriptorRequest{1 namespaceName}.
func (c *Conn) NamespaceExists(ctx context.Context, namespace string) (bool, error) {
	var m message
	m.string(1, namespace)
	err := c.call(ctx, "GetNamespaceDescriptor", m, nil)
	if IsRemote(err, "NamespaceNotFoundException") {
		return false, nil
	}
	return err == nil, err
}

// CreateNamespace begins to make a namespace and returns the procedure that does:
// CreateNamespaceRequest{1 namespaceDescriptor{1 name}, 2 nonce_group, 3 nonce}, CreateNamespaceResponse{1 proc_id}.
func (c *Conn) CreateNamespace(ctx context.Context, namespace string, nonce Nonce) (procedure uint64, err error) {
	var m message
	m.message(1, func(m *message) { m.string(1, namespace) })
	m.uint(2, nonce.Group)
	m.uint(3, nonce.Value)
	return c.procedure(ctx, "CreateNamespace", m)
}

// CreateTable begins to make a table and returns the procedure that does:
// CreateTableRequest{1 table_schema, 2 split_keys, 3 nonce_group, 4 nonce}, CreateTableResponse{1 proc_id}.
func (c *Conn) CreateTable(ctx context.Context, schema *TableSchema, splits [][]byte, nonce Nonce) (procedure uint64, err error) {
	var m message
	m.message(1, schema.build)
	for _, row := range splits {
		m.data(2, row)
	}
	m.uint(3, nonce.Group)
	m.uint(4, nonce.Value)
	return c.procedure(ctx, "CreateTable", m)
}

func (c *Conn) procedure(ctx context.Context, method string, m message) (id uint64, err error) {
	err = c.call(ctx, method, m, func(f field) error {
		if f.number == 1 {
			id = f.uint
		}
		return nil
	})
	return id, err
}

// MoveRegion moves a region to another server and waits until it is open there, or until ctx ends, after which the master
// goes on: MoveRegionRequest{1 region{1 type ENCODED_REGION_NAME, 2 value}, 2 dest_server_name}. A region that is moved to
// the server that has it open stays open there and is not opened anew.
func (c *Conn) MoveRegion(ctx context.Context, encodedName string, to ServerName) error {
	var m message
	m.message(1, func(m *message) {
		m.uint(1, 2)
		m.string(2, encodedName)
	})
	m.message(2, to.build)
	return c.call(ctx, "MoveRegion", m, nil)
}

// The states of a procedure in GetProcedureResultResponse.
const (
	procedureNotFound = 0
	procedureRunning  = 1
)

// ProcedureDone tells whether a procedure of the master has ended; its failure is a *RemoteError:
// GetProcedureResultRequest{1 proc_id}, GetProcedureResultResponse{1 state, 5 exception}.
func (c *Conn) ProcedureDone(ctx context.Context, id uint64) (bool, error) {
	const method = "getProcedureResult" // so spelt in Master.proto
	var m message
	m.uint(1, id)
	state := uint64(procedureNotFound)
	var failure *RemoteError
	err := c.call(ctx, method, m, func(f field) (err error) {
		switch f.number {
		case 1:
			state = f.uint
		case 5:
			failure, err = parseForeignException(f.bytes)
		}
		return err
	})
	switch {
	case err != nil:
		return false, err
	case failure != nil:
		return true, c.named(method, failure)
	case state == procedureNotFound:
		return false, c.malformed(method, fmt.Errorf("the master knows no procedure %d: %w", id, errNoProcedure))
	}
	return state != procedureRunning, nil
}

var errNoProcedure = errors.New("ended and forgotten, or lost")

// parseForeignException reads ErrorHandling.proto's
// ForeignExceptionMessage{2 generic_exception{1 class_name, 2 message, 3 error_info}}; the master wraps the exception
// that counts into a RemoteException, whose message begins with its class.
func parseForeignException(b []byte) (*RemoteError, error) {
	e := &RemoteError{DoNotRetry: true}
	err := fields(b, func(f field) error {
		if f.number != 2 {
			return nil
		}
		return fields(f.bytes, func(f field) error {
			switch f.number {
			case 1:
				e.Class = string(f.bytes)
			case 2:
				e.Message = firstLine(string(f.bytes), e.Class)
			}
			return nil
		})
	})
	return e, err
}
