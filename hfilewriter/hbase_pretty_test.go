package hfilewriter

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/test/testcluster"
)

// TestHBasePrintsOurFiles runs HBase's HFilePrettyPrinter on files of each encoding, with its checks of rows (-k) and
// family (-a), block index (-b), meta data (-m), statistics (-s) and file name (-v).
func TestHBasePrintsOurFiles(t *testing.T) {
	o := testcluster.Java(t)
	for _, set := range namedCells() {
		for _, f := range tableFamilies {
			t.Run(set.name+","+f.name, func(t *testing.T) {
				file := filepath.Join(t.TempDir(), string(set.cells[0].Family), "file")
				writeFile(t, file, writeCells(t, f.Settings, set.cells))
				out, err := o.Run("pretty", "file://"+file, "-m", "-k", "-a", "-b", "-s", "-v")
				if err != nil {
					t.Fatalf("%v\n%s", err, out)
				}
				for _, line := range []string{
					fmt.Sprintf("    entryCount=%d,", len(set.cells)),
					fmt.Sprintf("Scanned kv count -> %d", len(set.cells)),
					"    compressionCodec=" + f.Compression.String() + ",",
				} {
					if !strings.Contains(out, "\n"+line+"\n") {
						t.Errorf("it doesn't say %q", line)
					}
				}
				for _, bad := range []string{"WARNING", "ERROR", "Exception"} {
					if strings.Contains(out, bad) {
						t.Errorf("it says %s", bad)
					}
				}
				if t.Failed() {
					t.Logf("%.5000s", out)
				}
			})
		}
	}
}
