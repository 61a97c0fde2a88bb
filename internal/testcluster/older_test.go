package testcluster

import (
	"path"
	"slices"
	"strings"
	"testing"
)

func TestOlderJava(t *testing.T) {
	for _, release := range OlderReleases {
		o := OlderJava(t, release)
		file := run(t, o, "write", tempFile(t, someCells), "file://"+t.TempDir(), "COMPRESSION=SNAPPY", "DATA_BLOCK_ENCODING=FAST_DIFF")
		if got := run(t, o, "check", file, "-all"); !strings.HasSuffix(got, " faults=0") {
			t.Errorf("%s: check says %s", release, got)
		}
		// A piece of file info that HBase has written since 2.6: it shows which classes ran.
		if got := run(t, o, "dump", file); strings.Contains(got, "LEN_OF_BIGGEST_CELL") || !strings.Contains(got, "hfile.LASTKEY") {
			t.Errorf("%s: it isn't what wrote\n%s", release, got)
		}
		if got := run(t, Java(t), "cells", file); got+"\n" != someCells {
			t.Errorf("%s: the newer HBase reads\n%s", release, got)
		}
	}
}

// TestOwnSources shows that a release's own sources replace those of the same name.
func TestOwnSources(t *testing.T) {
	common, err := ofCluster.sources()
	if err != nil {
		t.Fatal(err)
	}
	own, err := release("2.4.18").sources()
	if err != nil {
		t.Fatal(err)
	}
	var replaced []string
	for i := range common {
		if path.Base(common[i]) != path.Base(own[i]) {
			t.Fatalf("%s for %s", own[i], common[i])
		}
		if common[i] != own[i] {
			replaced = append(replaced, own[i])
		}
	}
	if !slices.Equal(replaced, []string{"java/2.4/Scanners.java"}) || len(own) != len(common) {
		t.Errorf("of its own are %v", replaced)
	}
}
