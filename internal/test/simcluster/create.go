package simcluster

import (
	"slices"

	"bulkload/internal/hbase"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// The master's part in the creation of tables. Its procedures end at once.

func (c *Cluster) getNamespaceDescriptor(_ *server, request *pb.GetNamespaceDescriptorRequest,
	_ *[]byte) (proto.Message, error) {
	if !slices.Contains(c.namespaces, request.GetNamespaceName()) {
		return nil, refusal{class: exceptions + "NamespaceNotFoundException", why: request.GetNamespaceName()}
	}
	found := &pb.NamespaceDescriptor{Name: []byte(request.GetNamespaceName())}
	return &pb.GetNamespaceDescriptorResponse{NamespaceDescriptor: found}, nil
}

// createNamespace answers with the procedure in field 1, which package pb lacks.
func (c *Cluster) createNamespace(_ *server, request *pb.CreateNamespaceRequest, _ *[]byte) (proto.Message, error) {
	id, err := c.procedure(request.GetNonceGroup(), request.GetNonce(), func() error {
		name := string(request.GetNamespaceDescriptor().GetName())
		if slices.Contains(c.namespaces, name) {
			return refusal{class: exceptions + "NamespaceExistException", why: name}
		}
		c.namespaces = append(c.namespaces, name)
		return nil
	})
	if c.isHBase1() {
		return &pb.CreateNamespaceResponse{}, err
	}
	return wrapperspb.UInt64(id), err
}

func (c *Cluster) createTable(_ *server, request *pb.CreateTableRequest, _ *[]byte) (proto.Message, error) {
	id, err := c.procedure(request.GetNonceGroup(), request.GetNonce(), func() error {
		schema := request.GetTableSchema()
		name := hbase.TableName{Namespace: string(schema.GetTableName().GetNamespace()),
			Qualifier: string(schema.GetTableName().GetQualifier())}
		if !slices.Contains(c.namespaces, name.Namespace) {
			return refusal{class: exceptions + "NamespaceNotFoundException", why: name.Namespace}
		}
		var families []Family
		for _, f := range schema.GetColumnFamilies() {
			attributes := map[string]string{}
			for _, a := range f.GetAttributes() {
				attributes[string(a.GetFirst())] = string(a.GetSecond())
			}
			if c.isHBase1() && attributes["VERSIONS"] == "" {
				return refusal{class: "java.io.IOException", why: "java.lang.NumberFormatException: Cannot parse null string"}
			}
			families = append(families, Family{Name: string(f.GetName()), Attributes: attributes})
		}
		return c.create(name, request.GetSplitKeys(), families)
	})
	return &pb.CreateTableResponse{ProcId: &id}, err
}

// procedure does what a request asks for, unless a request with the same nonce has done it.
func (c *Cluster) procedure(group, nonce uint64, do func() error) (id uint64, err error) {
	key := [2]uint64{group, nonce}
	if id, known := c.procedures[key]; known {
		return id, nil
	}
	if err := do(); err != nil {
		return 0, err
	}
	id = uint64(len(c.procedures) + 1)
	c.procedures[key] = id
	return id, nil
}

func (c *Cluster) getProcedureResult(_ *server, request *pb.GetProcedureResultRequest, _ *[]byte) (proto.Message,
	error) {
	state := pb.GetProcedureResultResponse_NOT_FOUND
	if id := request.GetProcId(); id > 0 && id <= uint64(len(c.procedures)) {
		state = pb.GetProcedureResultResponse_FINISHED
	}
	return &pb.GetProcedureResultResponse{State: state.Enum()}, nil
}
