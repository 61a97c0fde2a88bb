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
	common, own := must(ofCluster.sources()), must(release("2.4.18").sources())
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

// TestReleases: what Maven is asked for, by the versions of HBase and Hadoop; only for Hadoop 2 is the pom another.
func TestReleases(t *testing.T) {
	t.Parallel()
	common, err := javaFiles.ReadFile("java/pom.xml")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		hbase, hadoop, properties string
		zooKeeper                 string // if it is another one
		small                     bool   // oracle
	}{{"", "", "", "", false}, {"2.4.18", "", "-Dhbase.version=2.4.18", "", false}, {"", "3.3.6", "-Dhadoop.version=3.3.6", "", false},
		{"2.4.18", "2.10.2", "-Dhbase.version=2.4.18 -Dhadoop.version=2.10.2", "3.5.7", true},
		{"2.1.4", "2.10.2", "-Dhbase.version=2.1.4 -Dhadoop.version=2.10.2", "3.4.10", true},
		{"3.0.0-alpha-4", "", "-Dhbase.version=3.0.0-alpha-4 -Dhbase.thirdparty.version=4.1.4", "", true}} {
		r := releaseOf(c.hbase, c.hadoop)
		if got := strings.Join(r.properties(), " "); got != c.properties {
			t.Errorf("%+v: %s", c, got)
		}
		pom, sources := string(r.pom(common)), must(r.sources())
		pinned := "<artifactId>zookeeper</artifactId><version>" + c.zooKeeper + "</version>"
		if (pom != string(common)) != (c.zooKeeper != "" || c.small) || c.zooKeeper != "" && !strings.Contains(pom, pinned) || strings.Contains(pom, "hbase-mapreduce") == c.small {
			t.Errorf("%+v: pom\n%s", c, pom)
		}
		if small := slices.Contains(sources, "java/other/Oracle.java") && !slices.Contains(sources, "java/Oracle.java"); small != c.small {
			t.Errorf("%+v: %v", c, sources)
		}
	}
	for jar, want := range map[string]bool{"/m2/slf4j-log4j12-1.7.25.jar": true, "/m2/log4j-1.2.17.jar": true, "/m2/slf4j-reload4j-1.7.36.jar": false, "/m2/log4j-1.2/x.jar": false} {
		if oldLog(jar) != want {
			t.Errorf("%s: %v", jar, !want)
		}
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
