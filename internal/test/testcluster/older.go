package testcluster

import (
	"bytes"
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"
)

// release is a version of HBase in Maven and, after a slash, one of Hadoop, unless it is that of pom.xml:
// 2.5.12-hadoop3 or 2.5.12-hadoop3/3.3.6. ofCluster is the one that pom.xml names and clusters run, unless Options say
// otherwise.
type release string

const ofCluster release = ""

// OlderReleases are the last releases of HBase 2.4 and 2.5, for OlderJava.
var OlderReleases = []string{"2.4.18", "2.5.12-hadoop3"}

// OlderJava is Java with the classes of one of OlderReleases, to see how it reads and writes HFiles. HBase 2.4 uses
// Hadoop's codecs, which have no ZSTD without libhadoop.so.
func OlderJava(t testing.TB, hbase string) *Oracle {
	t.Helper()
	return oracleOf(t, release(hbase))
}

// releaseOf returns the release of two versions. An empty version is that of pom.xml.
func releaseOf(hbase, hadoop string) release {
	if hadoop == "" {
		return release(hbase)
	}
	return release(hbase + "/" + hadoop)
}

// properties are the release's properties for Maven.
func (r release) properties() (all []string) {
	hbase, hadoop, _ := strings.Cut(string(r), "/")
	if hbase != "" {
		all = append(all, "-Dhbase.version="+hbase)
	}
	if strings.HasPrefix(hbase, "3.") {
		all = append(all, "-Dhbase.thirdparty.version=4.1.4")
	}
	if hadoop != "" {
		all = append(all, "-Dhadoop.version="+hadoop)
	}
	return all
}

// is reports whether the version of HBase begins with one of these.
func (r release) is(versions ...string) bool {
	return slices.ContainsFunc(versions, func(v string) bool { return strings.HasPrefix(string(r), v) })
}

// large reports whether the large oracle can be compiled with the release: not with Hadoop 2, and of some releases
// hbase-mapreduce, which it uses, is not served.
func (r release) large() bool {
	_, hadoop, _ := strings.Cut(string(r), "/")
	return !strings.HasPrefix(hadoop, "2.") && (string(r) == "" || r.is("/", "2.4.", "2.5.", "2.6.1"))
}

// pom returns pom.xml for this release: Hadoop 2's list of versions names a ZooKeeper that is too old for HBase.
func (r release) pom(common []byte) []byte {
	if !r.large() {
		const mapreduce = "    <dependency><groupId>org.apache.hbase</groupId><artifactId>hbase-mapreduce</artifactId><version>${hbase.version}</version></dependency>\n"
		common = bytes.Replace(common, []byte(mapreduce), nil, 1)
	}
	if _, hadoop, _ := strings.Cut(string(r), "/"); !strings.HasPrefix(hadoop, "2.") {
		return common
	}
	keeper := "3.5.7"
	if r.is("1.", "2.0.", "2.1.", "2.2.") {
		keeper = "3.4.10"
	}
	const pinned = "<dependencyManagement>\n    <dependencies>\n"
	own := "<dependency><groupId>org.apache.zookeeper</groupId><artifactId>zookeeper</artifactId><version>" + keeper + "</version></dependency>\n" +
		"<dependency><groupId>org.apache.commons</groupId><artifactId>commons-lang3</artifactId><version>3.9</version></dependency>\n"
	return bytes.Replace(common, []byte(pinned), []byte(pinned+own), 1)
}

// sources returns the oracle's files: those of java, some of them replaced by the files in the folder of java named by
// the first two numbers of the release, or the small oracle if the large one does not fit the release.
func (r release) sources() ([]string, error) {
	entries, err := javaFiles.ReadDir("java")
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range entries {
		if e.IsDir() || !r.large() && strings.HasSuffix(e.Name(), ".java") {
			continue
		}
		files = append(files, r.own(e.Name()))
	}
	if !r.large() {
		files = append(files, "java/other/Oracle.java", "java/Protos.java")
	}
	return files, nil
}

// own returns the path of the file with this name for this release.
func (r release) own(name string) string {
	parts := strings.SplitN(string(r), ".", 3)
	if len(parts) == 3 {
		own := path.Join("java", parts[0]+"."+parts[1], name)
		if _, err := fs.Stat(javaFiles, own); err == nil {
			return own
		}
	}
	return path.Join("java", name)
}
