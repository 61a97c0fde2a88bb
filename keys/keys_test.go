package keys

import "testing"

func TestCheckKey(t *testing.T) {
	e, err := Parse("salt(check_id, 10) + md5(check_id) + id", []Column{{"id", 32}, {Name: "check_id"}})
	if err != nil {
		t.Fatal(err)
	}
	got, err := e.Append(nil, [][]byte{[]byte("0123456789ABCDEF0123456789ABCDEF"), []byte("A208849559")})
	if err != nil {
		t.Fatal(err)
	}
	if want := "77c9498b4a83974da56b252122b9752bf0123456789ABCDEF0123456789ABCDEF"; string(got) != want {
		t.Errorf("got %s want %s", got, want)
	}
}
