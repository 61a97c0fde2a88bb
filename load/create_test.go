package load

import (
	"errors"
	"testing"

	"bulkload/internal/hbase"
	"bulkload/internal/test/hbasetest"
	"bulkload/internal/test/testwords"

	"github.com/tsuna/gohbase/pb"
)

// TestCreateWithoutTheRight: the error of a user who may make a namespace and no table in it says both. It does not say
// that a namespace was made that was there.
func TestCreateWithoutTheRight(t *testing.T) {
	t.Parallel()
	for _, isThere := range []bool{false, true} {
		master := hbasetest.Serve(t, func(r hbasetest.Request) hbasetest.Answer {
			const missing, denied = "org.apache.hadoop.hbase.NamespaceNotFoundException", "org.apache.hadoop.hbase.security.AccessDeniedException"
			switch r.Method {
			case "GetNamespaceDescriptor":
				if !isThere {
					return hbasetest.Answer{Exception: missing, Stack: missing + ": n"}
				}
				return hbasetest.Answer{}
			case "CreateNamespace":
				return hbasetest.Answer{Param: []byte{8, 7}} // CreateNamespaceResponse{1 proc_id}
			case "getProcedureResult":
				return hbasetest.Answer{Param: marshal(t, &pb.GetProcedureResultResponse{State: pb.GetProcedureResultResponse_FINISHED.Enum()})}
			}
			return hbasetest.Answer{Exception: denied, Stack: denied + ": " + r.Method}
		})
		c := unconnected(t)
		if _, err := c.servers.connect(t.Context(), server{master.Addr, hbase.MasterService}); err != nil {
			t.Fatal(err)
		}
		made, err := c.Create(t.Context(), "n:t", []Family{{Name: "f"}}, nil)
		if !errors.Is(err, ErrRefused) || !testwords.Names(err, "grant 'tina', 'C', '@n'") ||
			testwords.Names(err, "namespace n was") == isThere || (made == "n") == isThere {
			t.Errorf("the namespace is there: %t, made %q, %v", isThere, made, err)
		}
	}
}

// TestCreateRefuses: what no table can be made of is refused before the cluster is asked for anything.
func TestCreateRefuses(t *testing.T) {
	t.Parallel()
	families := []Family{{Name: "f"}}
	for what, c := range map[string]struct {
		name     string
		families []Family
		splits   [][]byte
	}{
		"a bad name": {"n:a b", families, nil}, "no families": {"t", nil, nil}, "an empty split": {"t", families, [][]byte{{}}},
		"splits in another order": {"t", families, [][]byte{{2}, {1}}},
	} {
		c1 := unconnected(t)
		c1.servers = nil // whoever asks for a server panics
		if made, err := c1.Create(t.Context(), c.name, c.families, c.splits); !errors.Is(err, ErrRefused) || made != "" {
			t.Errorf("%s: %q, %v", what, made, err)
		}
	}
}
