package load

import (
	"errors"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
	"bulkload/internal/test/testwords"
)

// TestRightToLookUp: the error of a user who may not read a table's families says what to grant.
func TestRightToLookUp(t *testing.T) {
	t.Parallel()
	c := &Cluster{user: "tina"}
	denied := &hbase.RemoteError{Class: "org.apache.hadoop.hbase.security.AccessDeniedException"}
	err := c.lookUpError(t.Context(), "n:t", denied)
	if !errors.Is(err, ErrRefused) || errcode.Outermost(err) != errcode.HBasePermission ||
		!testwords.Names(err, "grant 'tina', 'C', 'n:t'") {
		t.Error(err)
	}
}
