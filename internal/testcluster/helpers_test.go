package testcluster

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func tempFile(t testing.TB, content string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
		t.Fatal(err)
	}
	return file
}

// run runs a command that must succeed, and gives its output without the last line break.
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
