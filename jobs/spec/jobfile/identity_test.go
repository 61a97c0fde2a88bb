package jobfile

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bulkload/hfilewriter"
	"bulkload/ingest"
	"bulkload/ingest/charset"
	"bulkload/ingest/compressed"
	"bulkload/ingest/csv"
	"bulkload/ingest/delimited"
	"bulkload/ingest/parquet"
	"bulkload/internal/test/storednames"
	"bulkload/values"
)

// everyField wants each field of a struct, and of those in it, to change a text. Its texts are written field by field,
// so that no name of Go's is in them: a new field would be forgotten there, and another job would be the same run.
func everyField(t *testing.T, what string, v reflect.Value, text func() string) {
	t.Helper()
	for i := range v.NumField() {
		field, name := v.Field(i), what+"."+v.Type().Field(i).Name
		if field.Kind() == reflect.Struct {
			everyField(t, name, field, text)
			continue
		}
		before := text()
		field.Set(other(t, name, field.Type()))
		if text() == before {
			t.Errorf("%s is not in the identity: another value of it would be taken for the same run", name)
		}
		field.SetZero()
	}
}

// other is a value of a type that is not its zero value.
func other(t *testing.T, name string, of reflect.Type) reflect.Value {
	t.Helper()
	if of == reflect.TypeFor[*charset.Charset]() {
		c, err := charset.Named("gbk")
		if err != nil {
			t.Fatal(err)
		}
		return reflect.ValueOf(c)
	}
	v := reflect.New(of).Elem()
	switch of.Kind() {
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(2)
	case reflect.Uint8:
		v.SetUint(2)
	case reflect.Float32:
		v.SetFloat(0.5)
	case reflect.String:
		v.SetString("x")
	case reflect.Slice:
		v.Set(reflect.Append(v, other(t, name, of.Elem())))
	case reflect.Map:
		v.Set(reflect.MakeMap(of))
		v.SetMapIndex(other(t, name, of.Key()), other(t, name, of.Elem()))
	default:
		t.Fatalf("%s: this test knows no value of %v", name, of)
	}
	return v
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestIdentityHasEveryField(t *testing.T) {
	for name, form := range map[string]ingest.Format{"delimited": new(delimited.Form), "csv": new(csv.Form), "parquet": new(parquet.FlatForm)} {
		everyField(t, name, reflect.ValueOf(form).Elem(), func() string {
			text, err := form.Identity()
			if err != nil {
				t.Fatal(err)
			}
			return text
		})
	}
	c := new(Constant)
	everyField(t, "constant", reflect.ValueOf(c).Elem(), func() string { return mustJSON(t, (&Job{Constants: []Constant{*c}}).rules()) })
	h := new(HFileSettings)
	everyField(t, "hfile", reflect.ValueOf(h).Elem(), func() string {
		return mustJSON(t, h.identity())
	})
	s := new(hfilewriter.Settings)
	everyField(t, "settings", reflect.ValueOf(s).Elem(), func() string { return SettingsText(*s) })
}

// TestIdentityHasEveryPartOfAJob: who adds a field to these says here whether it decides on the files' content; then it
// belongs into identity.go, too.
func TestIdentityHasEveryPartOfAJob(t *testing.T) {
	for of, want := range map[reflect.Type]struct{ decide, others string }{
		reflect.TypeFor[Job](): {"Table Columns Constants Filter Timestamp Moments RowKey Wide Input Regions HFile Strict Live Outputs",
			// the date is in the run's ID
			"Path Dir Date Hour Query Queries HBase HBaseVersion Engine Output Load anyQuery hash parts origin places"},
		reflect.TypeFor[Input]():          {"Form", "Path Dated MaxRejects RequireSuccess Rows RowsAtLeast EmptyFails SpaceUnchecked"},
		reflect.TypeFor[RegionSettings](): {"From Splits", ""},
	} {
		var fields []string
		for i := range of.NumField() {
			fields = append(fields, of.Field(i).Name)
		}
		known := strings.Fields(want.decide + " " + want.others)
		slices.Sort(fields)
		slices.Sort(known)
		if !slices.Equal(fields, known) {
			t.Errorf("%v has the fields %v; known are %v", of, fields, known)
		}
	}
}

// TestFrozenNumbers: everything that is counted in Go has a number of its own in the identity.
func TestFrozenNumbers(t *testing.T) {
	for i, name := range append([]string{"unknown"}, values.KindNames()...) {
		kind, _ := values.ParseKind(name)
		if n, ok := kindNumbers[kind]; !ok || n != i {
			t.Errorf("kind %s has the number %d (%v), want %d; a new kind comes last", name, n, ok, i)
		}
	}
	for i, name := range []string{"NONE", "ROW", "ROWCOL", "ROWPREFIX_FIXED_LENGTH"} {
		bloom, err := hfilewriter.ParseBloom(name)
		if n, ok := bloomNumbers[bloom]; err != nil || !ok || n != i {
			t.Errorf("bloom filter %s has the number %d (%v), want %d", name, n, err, i)
		}
	}
	for i, name := range []string{"CRC32C", "CRC32", "NULL"} {
		sum, err := hfilewriter.ParseChecksum(name)
		if n, ok := checksumNumbers[sum]; err != nil || !ok || n != i {
			t.Errorf("checksum %s has the number %d (%v), want %d", name, n, err, i)
		}
	}
	for name, number := range map[string]int{"GZ": 1, "NONE": 2, "SNAPPY": 3, "LZ4": 4, "ZSTD": 6} {
		if c, err := hfilewriter.ParseCompression(name); err != nil || int(c) != number {
			t.Errorf("codec %s has the number %d (%v), want %d", name, c, err, number)
		}
	}
	for name, number := range map[string]int{"NONE": 0, "PREFIX": 2, "DIFF": 3, "FAST_DIFF": 4, "ROW_INDEX_V1": 7} {
		if e, err := hfilewriter.ParseEncoding(name); err != nil || int(e) != number {
			t.Errorf("encoding %s has the number %d (%v), want %d", name, e, err, number)
		}
	}
	want := []string{"auto", "none", "gzip", "bzip2", "zstd", "deflate", "snappy", "lz4", "snappy-framed", "lz4-framed"}
	if got := compressed.Names(); len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("codecs of the input are named %v, were %v", got, want)
	}
}

// TestIdentityNames: what is hashed has a name for each field that is not the one of Go's.
func TestIdentityNames(t *testing.T) {
	unnamed, n := storednames.Check(reflect.TypeFor[jobIdentity](), reflect.TypeFor[acceptIdentity]())
	if len(unnamed) > 0 || n < 8 {
		t.Errorf("of %d structs, without a name: %v", n, unnamed)
	}
}
