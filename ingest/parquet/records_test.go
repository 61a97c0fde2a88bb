package parquet

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/apache/arrow/go/v15/parquet"
	"github.com/apache/arrow/go/v15/parquet/schema"
)

// TestBadValues: a value that can't be shown makes only its own record a reject.
func TestBadValues(t *testing.T) {
	name := filepath.Join(t.TempDir(), "bad.parquet")
	const day = 86_400_000_000
	writeGroup(t, name, []string{"at", "text"}, []schema.Node{
		required("at", parquet.Types.Int64, schema.NewTimestampLogicalType(false, schema.TimeUnitMicros)),
		required("text", parquet.Types.ByteArray, schema.StringLogicalType{}),
	}, []any{
		[]int64{0, 2_932_897 * day, -719_163 * day, 1<<63 - 1, 2_932_896 * day, -719_162 * day},
		[]parquet.ByteArray{[]byte("a\xff\x01\n\\"), []byte("b"), []byte("c"), []byte("d"), []byte("\x01\n\\N"), nil},
	})
	rows, bad, err := readAll(&FlatForm{Columns: []string{"at", "text"}}, listed(t, name), 0)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, b := range bad {
		if b.Number != b.Offset+1 || !b.Rows {
			t.Errorf("a reject at %+v", b.Position)
		}
		got = append(got, strings.TrimPrefix(b.Error(), name+", ")+"; "+string(b.Raw))
	}
	want := []string{
		"record 1, column text: not UTF-8: ff 01 0a 5c at byte 1 of the value; 1970-01-01 00:00:00.0\x01a\xff\\\x01\\\n\\\\",
		"record 2, column at: outside the years 0001 to 9999; \x01b",
		"record 3, column at: outside the years 0001 to 9999; \x01c",
		"record 4, column at: outside the years 0001 to 9999; \x01d",
	}
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if len(rows) != 2 || *rows[0][0] != "9999-12-31 00:00:00.0" || *rows[0][1] != "\x01\n\\N" || *rows[1][0] != "0001-01-01 00:00:00.0" || *rows[1][1] != "" {
		t.Errorf("%d rows: %s", len(rows), quote(rows[0][1]))
	}
}

// TestRebasedInZone: an old Spark's point in time before 1582 can be shown in UTC only.
func TestRebasedInZone(t *testing.T) {
	for _, name := range []string{"spark-rebased-dates-int96", "spark-rebased-dates-timestamp_micros"} {
		files := listed(t, "testdata/spark/"+name+".parquet")
		rows, bad, err := readAll(&FlatForm{Columns: []string{"day", "instant"}, Zone: "Asia/Shanghai"}, files, 0)
		if err != nil || len(rows) != 2 || len(bad) != 3 || !strings.Contains(bad[0].Reason, "before 1582-10-15") || bad[0].Column != "instant" {
			t.Errorf("%s: %d rows, %v, %v", name, len(rows), bad, err)
		}
		rows, bad, err = readAll(&FlatForm{Columns: []string{"day"}, Zone: "Asia/Shanghai"}, files, 0)
		if err != nil || len(bad) > 0 || len(rows) != 5 || *rows[1][0] != "1500-02-28" {
			t.Errorf("%s: %d rows, %v, %v", name, len(rows), bad, err)
		}
	}
}

// TestNamedEncodings: a column is not refused because of an encoding that its footer names but its pages may not use.
func TestNamedEncodings(t *testing.T) {
	c := &column{descr: schema.NewColumn(required("flag", parquet.Types.Boolean, nil).(*schema.PrimitiveNode), 0, 0)}
	for e, refused := range map[int32]bool{0: false, 2: false, 3: false, 4: false, 5: true, 6: true, 7: true, 8: false, 9: true, 10: true} {
		if err := c.checkEncoding(e); errors.As(err, new(*UnsupportedError)) != refused {
			t.Errorf("encoding %d: %v", e, err)
		}
	}
}
