package testcluster

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// someCells are two rows of one family, in HBase's order.
const someCells = "6131\tf\t63\t1763596800000\tPut\t76\n" +
	"6131\tf\t64\t1763596800000\tPut\t\n" +
	"6232\tf\t63\t1763596800000\tPut\te4b8ade69687\n"

func TestWriteAndRead(t *testing.T) {
	o := Java(t)
	cells := tempFile(t, someCells)
	for _, settings := range [][]string{
		{"COMPRESSION=NONE"},
		{"COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROW"},
		{"COMPRESSION=ZSTD", "DATA_BLOCK_ENCODING=DIFF", "BLOOMFILTER=ROWCOL"},
		{"COMPRESSION=LZ4", "DATA_BLOCK_ENCODING=PREFIX", "BLOOMFILTER=NONE", "CHECKSUM=CRC32"},
		{"DATA_BLOCK_ENCODING=ROW_INDEX_V1", "BLOOMFILTER=ROWPREFIX_FIXED_LENGTH", "PREFIX=1", "BLOCKSIZE=1", "INDEX_MAX=32", "INDEX_MIN=2", "BYTES_PER_CHECKSUM=100"},
		{"CHECKSUM=NULL", "BLOOM_ERROR=0.1", "BLOOM_BLOCK=1024"},
	} {
		file := run(t, o, append([]string{"write", cells, "file://" + t.TempDir()}, settings...)...)
		if got := run(t, o, "cells", file); got+"\n" != someCells {
			t.Errorf("%v: read back\n%s\nwant\n%s", settings, got, someCells)
		}
		if got := run(t, o, "check", file, "-all"); !strings.Contains(got, " cells=3 rows=2 ") || !strings.HasSuffix(got, " faults=0") {
			t.Errorf("%v: check says %s", settings, got)
		}
	}
}

// TestSettingsCount shows that each setting reaches HBase's writer: the file's structure depends on it.
func TestSettingsCount(t *testing.T) {
	o := Java(t)
	file := tempFile(t, manyCells(3000))
	write := func(settings ...string) string {
		args := append([]string{"write", file, "file://" + t.TempDir(), "CREATED=1", "TIME=2", "TASK=x"}, settings...)
		return run(t, o, "dump", run(t, o, args...))
	}
	plain := write()
	if again := write(); again != plain {
		t.Errorf("the same settings give different files:\n%s\nand\n%s", plain, again)
	}
	for _, setting := range []string{
		"COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF", "BLOOMFILTER=ROWCOL", "BLOCKSIZE=1024", "BLOOM_BLOCK=1024", "BLOOM_ERROR=0.2",
		"BYTES_PER_CHECKSUM=512", "CHECKSUM=NULL", "CREATED=3", "TIME=3", "TASK=y",
	} {
		if write(setting) == plain {
			t.Errorf("%s changes nothing", setting)
		}
	}
	small := write("BLOCKSIZE=256", "INDEX_MAX=256")
	for _, settings := range [][]string{{"BLOCKSIZE=256", "INDEX_MAX=512"}, {"BLOCKSIZE=256", "INDEX_MAX=256", "INDEX_MIN=200"}} {
		if write(settings...) == small {
			t.Errorf("%v changes nothing against BLOCKSIZE=256 INDEX_MAX=256", settings)
		}
	}
}

func TestEmptyFile(t *testing.T) {
	o := Java(t)
	file := run(t, o, "write", tempFile(t, ""), "file://"+t.TempDir(), "FAMILY=f")
	if got := run(t, o, "check", file); !strings.Contains(got, " cells=0 rows=0 ") {
		t.Errorf("check says %s", got)
	}
}

func TestPretty(t *testing.T) {
	o := Java(t)
	file := run(t, o, "write", tempFile(t, someCells), "file://"+t.TempDir())
	if got := run(t, o, "pretty", file, "-m", "-k", "-a", "-v"); !strings.Contains(got, "entryCount=3,") || !strings.HasSuffix(got, "Scanned kv count -> 3") || strings.Contains(got, "WARNING") {
		t.Errorf("HFilePrettyPrinter says %s", got)
	}
	if _, err := o.Run("pretty", file, "-nix"); err == nil {
		t.Error("it takes an option that it hasn't")
	}
}

func TestBench(t *testing.T) {
	got := run(t, Java(t), "bench", tempFile(t, someCells), "2", "COMPRESSION=SNAPPY")
	if lines := strings.Split(got, "\n"); len(lines) != 2 || !strings.HasPrefix(lines[1], "pass 1: cells=3 bytes=") || strings.Contains(got, "bytes=0 ") {
		t.Errorf("bench says %s", got)
	}
}

func TestExpect(t *testing.T) {
	o := Java(t)
	// Columns in another order than HBase's; an empty column, a null, a line break in a value, a key twice.
	text := tempFile(t, "ID2\x01A208849559\x01old\x01x\x10"+"ID1\x01A208849559\x01\x01\\N\x10"+"ID2\x01A208849559\x01new\x01a\nb\x10")
	got := run(t, o, "expect", text, "id,check_id,z,b", "check_id", "id", "10", "f", "1763596800000")
	// The salt and hash of A208849559 are from the project's brief.
	key := "7" + "7c9498b4a83974da56b252122b9752bf"
	want := []string{
		cellLine(key+"ID1", "check_id", "A208849559"), cellLine(key+"ID1", "id", "ID1"), cellLine(key+"ID1", "z", ""),
		cellLine(key+"ID2", "b", "a\nb"), cellLine(key+"ID2", "check_id", "A208849559"), cellLine(key+"ID2", "id", "ID2"), cellLine(key+"ID2", "z", "new"),
	}
	if got != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", got, strings.Join(want, "\n"))
	}
	digest := run(t, o, "expect", text, "id,check_id,z,b", "check_id", "id", "10", "f", "1763596800000", "-digest")
	if want := "rows=2 cells=7 sha256=" + sha256Hex(got+"\n"); digest != want {
		t.Errorf("digest %s, want %s", digest, want)
	}
	out := filepath.Join(t.TempDir(), "out")
	run(t, o, "expect", text, "id,check_id,z,b", "check_id", "id", "10", "f", "1763596800000", "-o", out)
	if b, err := os.ReadFile(out); err != nil || string(b) != got+"\n" {
		t.Errorf("-o wrote %q, %v", b, err)
	}
}

func TestErrorsOfCommands(t *testing.T) {
	o := Java(t)
	cells := tempFile(t, someCells)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nix"}, "unknown command nix"},
		{[]string{"diff", "a"}, "diff got 1 arguments"},
		{[]string{"write", cells, "file:///tmp/never", "BLOKSIZE=1"}, "unknown key [BLOKSIZE]"},
		{[]string{"write", cells, "file:///tmp/never", "COMPRESSION"}, "expected KEY=VALUE, got COMPRESSION"},
		{[]string{"write", tempFile(t, ""), "file:///tmp/never"}, "no cells"},
		{[]string{"write", tempFile(t, "6131\tf\n"), "file:///tmp/never"}, ":1: 2 parts, want 6"},
		{[]string{"write", tempFile(t, "6131\tf\t6\t1\tPut\t\n"), "file:///tmp/never"}, "not hex: 6"},
		{[]string{"check", "file:///no/such"}, "FileNotFoundException"},
		{[]string{"check", "file://" + t.TempDir()}, "no HFile in file:"},
		{[]string{"cells", cells}, "Trailer"},
		{[]string{"expect", tempFile(t, "a\x01b\x10c\x10"), "id,q", "q", "id", "10", "f", "1"}, "record 2 of"},
		{[]string{"expect", cells, "id,q", "w", "id", "10", "f", "1"}, "no column w"},
		{[]string{"cells", "a\tb"}, "TAB"},
		{[]string{"cells", "a\nb"}, "line break"},
	} {
		if _, err := o.Run(c.args...); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q: error %v, want one with %q", c.args, err, c.want)
		}
	}
	run(t, o, "write", cells, "file://"+t.TempDir()) // continues after errors
}

// TestLinesThatBeginWithADot shows that no line of an answer is mistaken for its end.
func TestLinesThatBeginWithADot(t *testing.T) {
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir, err := filepath.Rel(here, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if got := run(t, Java(t), "write", tempFile(t, someCells), dir); !strings.HasPrefix(got, "../") || !strings.Contains(got, dir+"/f/") {
		t.Errorf("the path is %q, want one below %s", got, dir)
	}
}

func TestRunByMany(t *testing.T) {
	o := Java(t)
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			cells := strings.ReplaceAll(someCells, "\tf\t", fmt.Sprintf("\tf%d\t", i))
			file, err := o.Run("write", tempFile(t, cells), "file://"+t.TempDir())
			if err != nil {
				t.Error(err)
				return
			}
			if got, err := o.Run("cells", strings.TrimSpace(file)); err != nil || got != cells {
				t.Errorf("got %q, %v, want %q", got, err, cells)
			}
		})
	}
	wg.Wait()
	if n := len(o.idle); n == 0 || n > oracleJVMs {
		t.Errorf("%d JVMs, want at most %d", n, oracleJVMs)
	}
}

func TestJVMThatEnds(t *testing.T) {
	o := ownOracle(t)
	file := run(t, o, "write", tempFile(t, someCells), "file://"+t.TempDir())
	if err := o.idle[0].cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if _, err := o.Run("cells", file); err == nil || !strings.Contains(err.Error(), "the JVM has gone") {
		t.Errorf("error %v, want one that says the JVM has gone", err)
	}
	if got := run(t, o, "cells", file); got+"\n" != someCells {
		t.Errorf("a new JVM answers %q", got)
	}
}

// ownOracle returns an oracle that no other test uses.
func ownOracle(t *testing.T) *Oracle {
	t.Helper()
	shared := Java(t)
	o := &Oracle{jvm: shared.jvm, turns: make(chan struct{}, 1)}
	t.Cleanup(func() {
		if err := o.Close(); err != nil {
			t.Errorf("end the JVM: %v", err)
		}
	})
	return o
}

func tempFile(t testing.TB, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// run runs a command that must succeed, and returns its output without the last line break.
func run(t testing.TB, o *Oracle, args ...string) string {
	t.Helper()
	out, err := o.Run(args...)
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return strings.TrimSuffix(out, "\n")
}

func cellLine(row, qualifier, value string) string {
	return fmt.Sprintf("%x\tf\t%x\t1763596800000\tPut\t%x", row, qualifier, value)
}

func sha256Hex(s string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))
}
