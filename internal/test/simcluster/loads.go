package simcluster

import (
	"os"
	"strings"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/wrapperspb"
)

// Package pb lacks the requests that make and delete staging folders, and their answers. Their only relevant field is a
// text in field 1, as in wrapperspb.StringValue: the folder.

// prepareBulkLoad makes a staging folder.
func (c *Cluster) prepareBulkLoad(*server, *wrapperspb.StringValue, *[]byte) (proto.Message, error) {
	if c.staging == "" {
		return nil, refusal{exceptions + "security.AccessDeniedException", "Insufficient permissions (action=CREATE)"}
	}
	var err error
	c.folder, err = os.MkdirTemp(c.staging, "")
	return wrapperspb.String("file://" + c.folder), err
}

// cleanupBulkLoad deletes a staging folder and everything in it.
func (c *Cluster) cleanupBulkLoad(_ *server, request *wrapperspb.StringValue, _ *[]byte) (proto.Message, error) {
	return new(wrapperspb.StringValue), os.RemoveAll(strings.TrimPrefix(request.Value, "file://"))
}

// bulkLoadHFile gives files to a region.
func (c *Cluster) bulkLoadHFile(s *server, request *pb.BulkLoadHFileRequest, _ *[]byte) (proto.Message, error) {
	t, r, err := c.served(s, request.GetRegion().GetValue())
	if err != nil {
		return nil, err
	}
	var files []string
	for _, f := range request.FamilyPath {
		files = append(files, strings.TrimPrefix(f.GetPath(), "file://"))
	}
	cells, loaded, err := c.serve(c.folder, files)
	r.add(t, cells)
	return &pb.BulkLoadHFileResponse{Loaded: &loaded}, err
}
