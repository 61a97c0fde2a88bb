package values

import "testing"

// TestEmptyIsNotNull: no bytes make a value null; only the zero Value is.
func TestEmptyIsNotNull(t *testing.T) {
	var room []byte // it has never held anything, like the buffers of readers at their first record
	for name, v := range map[string]Value{"nil": ValueOf(nil), "empty": ValueOf([]byte{}), "a view of nothing": ValueOf(room[0:0:0]), "a text": ValueOf([]byte(""))} {
		if v.Null() || v.Len() != 0 || v.Bytes() == nil {
			t.Errorf("%s: null %v, %d bytes", name, v.Null(), v.Len())
		}
	}
	if v := (Value{}); !v.Null() || v.Len() != 0 || len(v.Bytes()) != 0 {
		t.Errorf("the zero Value: %+v", v)
	}
}
