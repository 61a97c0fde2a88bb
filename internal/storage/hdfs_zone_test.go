package storage

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bulkload/internal/testcluster"
)

// TestEncryptionZone creates a zone as an administrator does, with a keystore in a file instead of a KMS.
func TestEncryptionZone(t *testing.T) {
	testcluster.Use(t) // runs only if a cluster is wanted
	if testing.Short() {
		t.Skip("starts a cluster of its own")
	}
	c, err := testcluster.Start(t.Context(), testcluster.Options{Dir: t.TempDir(), HDFSOnly: true})
	check(t, err)
	t.Cleanup(func() { check(t, c.Stop()) })
	file := filepath.Join(c.ConfDir(), "core-site.xml")
	core, err := os.ReadFile(file)
	check(t, err)
	provider := "jceks://file" + filepath.Join(c.Dir, "keys.jceks")
	with := strings.Replace(string(core), "<configuration>", "<configuration><property><name>hadoop.security.key.provider.path</name><value>"+
		provider+"</value></property>", 1)
	check(t, os.WriteFile(file, []byte(with), 0o600))
	run := func(class string, args ...string) {
		t.Helper()
		out, err := c.Java(t.Context(), class, args...)
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
	}
	run("org.apache.hadoop.crypto.key.KeyShell", "create", "k1")
	for _, role := range []string{"dn1", "nn"} {
		check(t, c.Kill(role))
	}
	for _, role := range []string{"nn", "dn1"} {
		check(t, c.StartRole(t.Context(), role))
	}
	fsys, root := onHDFS(t, siteOf(t, c))
	run("org.apache.hadoop.hdfs.tools.CryptoAdmin", "-createZone", "-keyName", "k1", "-path", root)
	_, err = fsys.Create(root+"/f", 0)
	if err == nil || !strings.Contains(err.Error(), "encryption zone") || !strings.Contains(err.Error(), root) {
		t.Errorf("write: %v", err)
	}
	run("org.apache.hadoop.fs.FsShell", "-put", file, root+"/g")
	_, err = fsys.Open(root + "/g")
	if err == nil || !strings.Contains(err.Error(), "encryption zone") {
		t.Errorf("read: %v", err)
	}
}
