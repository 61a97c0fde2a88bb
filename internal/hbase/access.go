package hbase

import (
	"context"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// The numbers of AccessControl.proto's enums.
const (
	tablePermission = 3 // Permission.Type
	readAction      = 0 // Permission.Action
)

// CheckRead asks the AccessController of a region whether the user may read all of a family of its table:
// CheckPermissions of AccessControl.proto's AccessControlService. The answer is exact: a right to some columns is not
// enough, and it does not matter whether the server refuses a read or hides cells (hbase.security.access.early_out). If
// the user may not read the family, the error is the exception AccessDeniedException; if the region has no
// AccessController, UnknownProtocolException.
func (c *Conn) CheckRead(ctx context.Context, region []byte, table TableName, family string) error {
	var request message
	request.message(1, func(m *message) { // CheckPermissionsRequest.permission
		m.uint(1, tablePermission)
		m.message(4, func(m *message) { // Permission.table_permission
			m.known(1, table.message())
			m.string(2, family)
			m.uint(4, readAction)
		})
	})
	return c.execService(ctx, region, "AccessControlService", "CheckPermissions", request, nil)
}

// execService calls a coprocessor of a region with a message built by hand, and reads its answer into answer, a
// CoprocessorServiceResponse or nil. If the region has no such service, the error is the exception
// UnknownProtocolException.
func (c *Conn) execService(ctx context.Context, region []byte, service, method string, m message,
	answer proto.Message) error {
	if m.err != nil {
		return c.connError(method, false, m.err)
	}
	return c.exchange(ctx, "ExecService", &pb.CoprocessorServiceRequest{Region: regionSpecifier(region),
		Call: &pb.CoprocessorServiceCall{Row: []byte{}, ServiceName: &service, MethodName: &method, Request: m.bytes}},
		answer)
}
