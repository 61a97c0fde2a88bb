package load

import (
	"errors"
	"strings"
	"testing"

	"bulkload/internal/hbase"
)

// TestRightToLookUp: the error of a user who may not read a table's families says what to grant.
func TestRightToLookUp(t *testing.T) {
	t.Parallel()
	c := &Cluster{user: "tina"}
	denied := &hbase.RemoteError{Class: "org.apache.hadoop.hbase.security.AccessDeniedException"}
	if err := c.lookUpError(t.Context(), "n:t", denied); !errors.Is(err, ErrRefused) || !strings.Contains(err.Error(), "grant 'tina', 'C', 'n:t'") {
		t.Error(err)
	}
}
