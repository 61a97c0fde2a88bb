package load

import (
	"errors"
	"testing"

	"bulkload/internal/hbase"
)

// TestUnlistedExceptions: an exception that is not in the list may pass if it answers a question and HBase allows to ask
// again. As the answer to a change it is a refusal.
func TestUnlistedExceptions(t *testing.T) {
	t.Parallel()
	passing := &hbase.RemoteError{Class: "java.io.IOException"}
	final := &hbase.RemoteError{Class: "java.io.IOException", DoNotRetry: true}
	ctx := t.Context()
	for what, c := range map[string]struct{ err, want error }{
		"a question":          {classify(ctx, passing), ErrUnavailable},
		"a question, finally": {classify(ctx, final), ErrRefused},
		"a change":            {classifyBy(ctx, passing, isTransient), ErrRefused},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: %v", what, c.err)
		}
	}
}
