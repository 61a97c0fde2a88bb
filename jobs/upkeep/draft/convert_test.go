package draft

import (
	"bytes"
	"maps"
	"strings"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testvalues"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/spec/jobfile"
)

// TestReadProperties: the examples of java.util.Properties.load, and what else it says.
func TestReadProperties(t *testing.T) {
	t.Parallel()
	text := "# comment\n! comment = too\n\nTruth = Beauty\n Truth2:Beauty\nTruth3                    :Beauty\n" +
		"fruits                           apple, banana, pear, \\\n                                  cantaloupe, watermelon, \\\n                                  kiwi, mango\n" +
		"cheeses\n" + `tab\ and\:colon=\t\u4e2d\\` + "\r\nlast=a \\\\\rtwice=1\ntwice= 2 \nnone=\\\n# no comment\nend=\\"
	want := map[string]string{"Truth": "Beauty", "Truth2": "Beauty", "Truth3": "Beauty", "fruits": "apple, banana, pear, cantaloupe, watermelon, kiwi, mango", "cheeses": "",
		"tab and:colon": "\t中\\", "last": `a \`, "twice": "2 ", "none": "# no comment", "end": ""}
	got, err := readProperties([]byte(text))
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("%v\ngot  %q\nwant %q", err, got, want)
	}
	if got, err := readProperties([]byte("a=\xe4\xb8\xad")); err != nil || got["a"] != "\u00e4\u00b8\u00ad" {
		t.Errorf("bytes above ASCII: %q, %v", got, err)
	}
	for _, wrong := range []string{`a=\u12`, `a=\uzzzz`, `\u=1`} {
		if _, err := readProperties([]byte(wrong)); err == nil {
			t.Errorf("%s is read", wrong)
		}
	}
}

var spark = map[string]string{"tableName": "check", "namespace": "tina", "cf": "f", "preRegions": "7", "uniqCol": "id", "queryKey": "user,day",
	"inputPathPrefix": "/user/tina/in/", "hfilePathPrefix": "hdfs://ns1/hfile", "cols": "id,user,day,name,,"}

func propertiesWith(changes map[string]string) []byte {
	all := maps.Clone(spark)
	maps.Copy(all, changes)
	var b bytes.Buffer
	for key, value := range all {
		if value != "-" {
			b.WriteString(key + "=" + value + "\n")
		}
	}
	return b.Bytes()
}

func convert(t *testing.T, changes map[string]string) (*jobfile.Job, string) {
	t.Helper()
	text, err := Convert(propertiesWith(changes), "check.properties")
	if err != nil {
		t.Fatal(err)
	}
	j, err := jobfile.Parse("check.yaml", bytes.NewReader(text), jobfile.ReadOptions{Date: time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC), Environment: anyValue})
	if err != nil {
		t.Fatalf("%v in\n%s", err, text)
	}
	return j, string(text)
}

// TestConvert: several query columns are joined without a separator, as the Spark job does.
func TestConvert(t *testing.T) {
	t.Parallel()
	j, text := convert(t, map[string]string{"other": "x"})
	if j.Table != "tina:check" || j.RowKey.String() != "salt(user + day, 7) + md5(user + day) + id" || strings.Join(j.Query, " ") != "user day" || !j.Load || j.Regions.From != "table" {
		t.Errorf("%+v", j)
	}
	if j.Input.Path != "hdfs:///user/tina/in/2026-11-20" || j.Output != "hdfs://ns1/hfile/2026-11-20" || len(j.Columns) != 4 || j.Columns[3].Qualifier != "name" || j.Columns[3].Family != "f" {
		t.Errorf("%s to %s, %+v", j.Input.Path, j.Output, j.Columns)
	}
	if !strings.Contains(text, "does not use, and this file does not have: other\n") {
		t.Error(text)
	}
	// What Java's String.hashCode, StringUtils.leftPad and MD5Hash.getMD5AsHex make of it.
	row, err := j.RowKey.Append(nil, testvalues.Of("17", "A1", "20261120", "x"))
	if want := "03445e6578041b619856d9bbdcfd09cb217"; err != nil || string(row) != want {
		t.Errorf("row %s, %v", row, err)
	}
	// The Spark job pads salts to one digit, however many they are.
	for regions, salt := range map[string]string{"10": "6", "16": "0", "100": "16"} {
		j, text := convert(t, map[string]string{"preRegions": regions})
		row, err := j.RowKey.Append(nil, testvalues.Of("17", "A1", "20261120", "x"))
		if want := salt + "3445e6578041b619856d9bbdcfd09cb217"; err != nil || string(row) != want {
			t.Errorf("%s regions: row %s, %v", regions, row, err)
		}
		if apart := strings.Contains(text, "short_salt"); apart != (regions != "10") || apart != strings.Contains(text, "no leading zeros") {
			t.Errorf("%s regions:\n%s", regions, text)
		}
	}
	if j, _ := convert(t, map[string]string{"preRegions": "1", "queryKey": "user", "inputPathPrefix": "in", "cols": "id,user, day"}); j.RowKey.String() != "salt(user, 1) + md5(user) + id" ||
		j.Input.Path != "hdfs:///user/value/in/2026-11-20" || j.Columns[2].Qualifier != " day" {
		t.Errorf("%s, %s, %+v", j.RowKey, j.Input.Path, j.Columns)
	}
	if j, text := convert(t, map[string]string{"inputPathPrefix": "hdfs:/in", "hfilePathPrefix": "out"}); j.Input.Path != "hdfs:///in/2026-11-20" || strings.Count(text, "CHECK THIS: it is relative") != 1 {
		t.Errorf("%s\n%s", j.Input.Path, text)
	}
}

// TestConvertRefuses: properties of which no job file has the same cells.
func TestConvertRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		changes map[string]string
		names   []string
	}{
		{map[string]string{"tableName": "-", "cols": "-"}, []string{"property tableName", "property cols"}},
		{map[string]string{"cf": ""}, []string{"property cf"}},
		{map[string]string{"preRegions": "ten"}, []string{`preRegions is "ten"`}},
		{map[string]string{"preRegions": "0"}, []string{`preRegions is "0"`}},
		{map[string]string{"preRegions": "1000001"}, []string{`preRegions is "1000001"`}},
		{map[string]string{"queryKey": "nobody", "uniqCol": "key"}, []string{`no column "nobody"`, `no column "key"`}},
		{map[string]string{"hfilePathPrefix": "viewfs:/out"}, []string{"hfilePathPrefix is viewfs:/out"}},
		{map[string]string{"cols": "id,user,day,user"}, []string{"user twice"}},
		{map[string]string{"tableName": "a b"}, []string{"check.properties:8: "}},
		{map[string]string{`\u1`: "1"}, []string{`\u1 is`}},
	} {
		text, err := Convert(propertiesWith(c.changes), "check.properties")
		if errcode.Outermost(err) != errcode.Convert || !testwords.Names(err, append(c.names, "check.properties")...) {
			t.Errorf("%v: %v, want %q\n%s", c.changes, err, c.names, text)
		}
	}
}
