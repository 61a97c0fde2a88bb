package lookup

import (
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf16"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testcluster"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
)

// vectors are texts with their salts of 10 and MD5, as Java computes them.
func vectors(t *testing.T) (texts, prefixes []string) {
	t.Helper()
	data, err := os.ReadFile("../../../keys/testdata/java-vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Strings []struct {
			UTF16 []uint16
			UTF8  string
			MD5   string
			Salt  map[string]string
		}
	}
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	for _, s := range v.Strings {
		text := string(utf16.Decode(s.UTF16))
		if hex.EncodeToString([]byte(text)) != s.UTF8 || strings.ContainsAny(text, "\x00") || strings.TrimSpace(text) != text || text == "" {
			continue // half a pair of surrogates, or no argument of a command
		}
		texts, prefixes = append(texts, text), append(prefixes, s.Salt["10"]+s.MD5)
	}
	if len(texts) < 50 {
		t.Fatalf("only %d texts", len(texts))
	}
	return texts, prefixes
}

func checkJob(t *testing.T) *jobfile.Job {
	t.Helper()
	j, err := jobfile.Read("../../examples/check.yaml", jobfile.ReadOptions{DateOptional: true})
	if err != nil {
		t.Fatal(err)
	}
	return j
}

func TestKeysAreJavas(t *testing.T) {
	texts, prefixes := vectors(t)
	for i, text := range texts {
		r, err := Keys(checkJob(t), options.Options{}, []string{text})
		if err != nil || len(r.Ranges) != 1 || r.Ranges[0].Start != hex.EncodeToString([]byte(prefixes[i])) {
			t.Errorf("%q: %+v, %v; want %s", text, r, err, prefixes[i])
		}
	}
}

// TestJavaReader: the example for readers in Java reads the same ranges of rows.
func TestJavaReader(t *testing.T) {
	c := testcluster.Use(t)
	t.Parallel()
	reader, err := filepath.Abs("../../../docs/java/CheckReader.java")
	if err != nil {
		t.Fatal(err)
	}
	texts, _ := vectors(t)
	got, err := c.Java(t.Context(), reader, append([]string{"keys"}, texts...)...)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != len(texts) {
		t.Fatalf("%d lines for %d texts:\n%s", len(lines), len(texts), got)
	}
	for i, text := range texts {
		r, err := Keys(checkJob(t), options.Options{}, []string{text})
		if err != nil || lines[i] != r.Ranges[0].Start+" "+r.Ranges[0].Stop {
			t.Errorf("%q: %+v, %v; Java: %s", text, r, err, lines[i])
		}
	}
}

// TestKeysOfManyRanges: a range for each salt that the query does not determine, whole rows, and rows without an end.
func TestKeysOfManyRanges(t *testing.T) {
	for rowkey, want := range map[string][]KeyRange{
		"salt(id, 2) + user + id": {{"3061", "3062", `STARTROW => "0a", STOPROW => "0b"`}, {"3161", "3162", `STARTROW => "1a", STOPROW => "1b"`}},
		"user":                    {{"61", "6100", `STARTROW => "a", STOPROW => "a\x00"`}},
	} {
		r, err := Keys(parse(t, strings.Replace(jobText, "%s", rowkey, 1)), options.Options{}, []string{"a"})
		if err != nil || len(r.Ranges) != len(want) || r.Table != "t" || r.Status != failure.StatusDone {
			t.Fatalf("%s: %+v, %v", rowkey, r, err)
		}
		for i, w := range want {
			if r.Ranges[i] != w {
				t.Errorf("%s: %+v, want %+v", rowkey, r.Ranges[i], w)
			}
		}
	}
	if got := shellBytes([]byte("a\"#{b}\\\xff ")); got != `"a\x22\x23{b}\x5C\xFF "` {
		t.Error(got)
	}
	if _, err := Keys(checkJob(t), options.Options{}, nil); failure.CodeOf(err) != errcode.Command {
		t.Error(err)
	}
}
