package hbase

import (
	"context"
	"errors"

	"github.com/tsuna/gohbase/pb"
)

// LoadWay is how a region server is asked to load files.
type LoadWay int

const (
	// StagedLoad is HBase 2's: three calls of the region server, which moves files through a staging folder.
	StagedLoad LoadWay = iota
	// EndpointLoad is HBase 1's SecureBulkLoadEndpoint, a coprocessor of each region: three calls of
	// SecureBulkLoad.proto's SecureBulkLoadService, with a staging folder. A cluster with Kerberos has it, others may.
	EndpointLoad
	// PlainLoad is HBase 1's without the coprocessor: one call of the region server, which moves files from their places,
	// in its own name.
	PlainLoad
)

// These messages are written by hand. gohbase's pb is HBase 1's: it has no PrepareBulkLoad and no CleanupBulkLoad, and
// its BulkLoadHFileRequest has neither the bulk token nor the file system's token. TestBulkLoadRequest reads ours with
// pb, and fails when pb has these fields.

// FamilyPath is Client.proto's BulkLoadHFileRequest.FamilyPath.
type FamilyPath struct {
	Family string // 1
	Path   string // 2: a URI, as Hadoop writes them
}

// BulkLoadHFileRequest is Client.proto's message of that name. Sequence numbers are always assigned (3), files are
// never copied (6).
type BulkLoadHFileRequest struct {
	Way    LoadWay
	Region []byte           // 1 RegionSpecifier: the region's name
	Files  []FamilyPath     // 2
	Token  *DelegationToken // 4 fs_token: only for a secured region server
	Bulk   string           // 5 bulk_token; not sent by PlainLoad
}

// DelegationToken is Client.proto's and HDFS's token. It is never printed: Password is a secret.
type DelegationToken struct {
	Identifier []byte // 1
	Password   []byte // 2
	Kind       string // 3
	Service    string // 4
}

// String names the token without its secret.
func (t DelegationToken) String() string { return t.Kind + " for " + t.Service }

// GoString is String.
func (t DelegationToken) GoString() string { return t.String() }

func (r *BulkLoadHFileRequest) build(m *message) {
	m.known(1, regionSpecifier(r.Region))
	for _, file := range r.Files {
		m.message(2, file.build)
	}
	m.bool(3, true)
	if r.Way == PlainLoad { // HBase 1 does not know the rest
		return
	}
	if r.Token != nil {
		m.message(4, r.Token.build)
	}
	m.string(5, r.Bulk)
}

// buildEndpoint builds SecureBulkLoad.proto's SecureBulkLoadHFilesRequest{1 family_path, 2 assign_seq_num, 3 fs_token,
// which is required, 4 bulk_token}.
func (r *BulkLoadHFileRequest) buildEndpoint(m *message) {
	for _, file := range r.Files {
		m.message(1, file.build)
	}
	m.bool(2, true)
	token := r.Token
	if token == nil {
		token = &DelegationToken{}
	}
	m.message(3, token.build)
	m.string(4, r.Bulk)
}

func (f FamilyPath) build(m *message) {
	m.string(1, f.Family)
	m.string(2, f.Path)
}

func (t *DelegationToken) build(m *message) {
	m.data(1, t.Identifier)
	m.data(2, t.Password)
	m.string(3, t.Kind)
	m.string(4, t.Service)
}

// PrepareBulkLoad makes a staging folder on the region server of a region and returns its URI, the bulk token:
// PrepareBulkLoadRequest{1 table_name, 2 region}, of the endpoint only 1; PrepareBulkLoadResponse{1 bulk_token}. If the
// region has no such endpoint, the error is the exception UnknownProtocolException.
func (c *Conn) PrepareBulkLoad(ctx context.Context, way LoadWay, table TableName, region []byte) (string, error) {
	var m message
	m.known(1, table.message())
	if way == StagedLoad {
		m.known(2, regionSpecifier(region))
	}
	var token string
	err := c.callLoader(ctx, way, region, "PrepareBulkLoad", m, func(f field) {
		if f.number == 1 {
			token = string(f.bytes)
		}
	})
	if err == nil && token == "" {
		err = c.malformed("PrepareBulkLoad", errors.New("no bulk token"))
	}
	return token, err
}

// BulkLoadHFile hands files to a region: BulkLoadHFileResponse{1 loaded}. If loaded is false, at least one of them was
// not loaded (SecureBulkLoadManager and SecureBulkLoadEndpoint hide the reason); some may be in the staging folder.
func (c *Conn) BulkLoadHFile(ctx context.Context, r *BulkLoadHFileRequest) (loaded bool, err error) {
	var m message
	method := "BulkLoadHFile"
	if r.Way == EndpointLoad {
		method = "SecureBulkLoadHFiles"
		r.buildEndpoint(&m)
	} else {
		r.build(&m)
	}
	err = c.callLoader(ctx, r.Way, r.Region, method, m, func(f field) {
		if f.number == 1 {
			loaded = f.bool()
		}
	})
	return loaded, err
}

// CleanupBulkLoad deletes a staging folder and its content: CleanupBulkLoadRequest{1 bulk_token, 2 region}, of the
// endpoint only 1. The server deletes any folder that the token names, with its own rights, so pass only what
// PrepareBulkLoad returned.
func (c *Conn) CleanupBulkLoad(ctx context.Context, way LoadWay, token string, region []byte) error {
	var m message
	m.string(1, token)
	if way == StagedLoad {
		m.known(2, regionSpecifier(region))
	}
	return c.callLoader(ctx, way, region, "CleanupBulkLoad", m, nil)
}

// callLoader calls a method of the region server or, of HBase 1, of the endpoint of a region.
func (c *Conn) callLoader(ctx context.Context, way LoadWay, region []byte, method string, m message,
	visit func(field)) error {
	if way != EndpointLoad {
		return c.call(ctx, method, m, visit)
	}
	var answer pb.CoprocessorServiceResponse
	err := c.execService(ctx, region, "SecureBulkLoadService", method, m, &answer)
	if err != nil || visit == nil {
		return err
	}
	if err := fields(answer.GetValue().GetValue(), visit); err != nil {
		return c.malformed(method, err)
	}
	return nil
}

// call calls a method with a message built by hand and visits the fields of its response.
func (c *Conn) call(ctx context.Context, method string, m message, visit func(field)) error {
	if m.err != nil {
		return c.connError(method, false, m.err)
	}
	param, err := c.Call(ctx, method, m.bytes)
	if err != nil || visit == nil {
		return err
	}
	if err := fields(param, visit); err != nil {
		return c.malformed(method, err)
	}
	return nil
}
