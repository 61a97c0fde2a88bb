package keys_test

import (
	"bytes"
	"testing"

	"bulkload/internal/test/testvalues"
	"bulkload/keys"
)

// TestApart: the parts of a key are the key.
func TestApart(t *testing.T) {
	t.Parallel()
	columns := []keys.KeyColumn{{Name: "user"}, {Name: "id"}}
	fields := testvalues.Of("u7", "42")
	for _, text := range []string{"user", "salt(user, 10) + md5(user) + '-' + id", "random_salt(4) + desc(id) + int64(id)", "'a' + 'b' + reverse(pad(id, 6) + user)"} {
		expr, err := keys.Parse(text, columns)
		if err != nil {
			t.Fatal(err)
		}
		want, err := expr.Append(nil, fields)
		if err != nil {
			t.Fatal(err)
		}
		apart, err := expr.Apart(fields)
		if err != nil || len(apart) != len(expr.Parts()) || !bytes.Equal(bytes.Join(apart, nil), want) {
			t.Errorf("%s: %q (%v), the key is %q", text, apart, err, want)
		}
	}
	expr, err := keys.Parse("desc(user)", columns)
	if err != nil {
		t.Fatal(err)
	}
	if apart, err := expr.Apart(fields); err == nil {
		t.Errorf("a key of no number: %q", apart)
	}
}
