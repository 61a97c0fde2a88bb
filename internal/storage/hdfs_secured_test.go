package storage

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
)

// securedHDFS gives the site files of a cluster with Kerberos, and a login there.
func securedHDFS(t *testing.T) (*siteconf.Conf, *kerberos.Login) {
	t.Helper()
	dir := os.Getenv("BULKLOAD_SECURED")
	if dir == "" {
		t.Skip("no secured cluster")
	}
	conf, err := siteconf.Load(filepath.Join(dir, "conf"))
	check(t, err)
	return conf, loginAs(t, dir, "loader")
}

func loginAs(t *testing.T, dir, name string) *kerberos.Login {
	t.Helper()
	conf := filepath.Join(dir, "conf")
	login, err := kerberos.Open(t.Context(), kerberos.Config{Principal: name, Keytab: filepath.Join(conf, name+".keytab"), Krb5Conf: filepath.Join(conf, "krb5.conf")})
	check(t, err)
	return login
}

// onSecured gives a new directory on a cluster with Kerberos.
func onSecured(t *testing.T, conf *siteconf.Conf, who Identity) (fsys FS, root string) {
	t.Helper()
	name := "hdfs:///secured-" + strings.ReplaceAll(t.Name(), "/", "-") + "-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	fsys, root, err := ResolveAs(name, "/", conf, who)
	check(t, err)
	check(t, fsys.MkdirAll(root, 0))
	t.Cleanup(func() {
		if err := fsys.RemoveAll(root); err != nil {
			t.Error(err)
		}
		check(t, fsys.Close())
	})
	return fsys, root
}

// A cluster that offers everything: each pair of what a client's site files may ask for.
func TestSecuredProtections(t *testing.T) {
	conf, login := securedHDFS(t)
	content := noise(50 << 20)
	if os.Getenv("X_RPC") != "" {
		readsAndWritesWith(t, conf, login, content)
		return
	}
	for _, c := range []struct{ rpc, transfer, suites string }{
		{"authentication", "authentication", ""},
		{"integrity", "privacy", ""},
		{"privacy", "integrity", ""},
		{"privacy,authentication", "privacy", aesSuite},
		{"authentication,privacy", "integrity,privacy", ""},
	} {
		t.Run(strings.ReplaceAll(c.rpc+"+"+c.transfer+"+"+c.suites, "/", "-"), func(t *testing.T) {
			conf.Set(rpcProtectionProperty, c.rpc)
			conf.Set(transferProperty, c.transfer)
			conf.Set(cipherSuitesProperty, c.suites)
			fsys, root := onSecured(t, conf, Identity{Login: login})
			begun := time.Now()
			readsAndWrites(t, fsys, root, content)
			t.Log(time.Since(begun))
			conforms(t, fsys, root)
		})
	}
}

// readsAndWrites does with a large file what a run does with its files.
func readsAndWrites(t *testing.T, fsys FS, root string, content []byte) {
	t.Helper()
	temporary, name := path.Join(root, "temporary"), path.Join(root, "large")
	write(t, fsys, temporary, content)
	check(t, fsys.Rename(temporary, name))
	info, err := fsys.Stat(name)
	check(t, err)
	if info.Size != int64(len(content)) || info.Owner != "loader" {
		t.Errorf("%+v", info)
	}
	if !bytes.Equal(read(t, fsys, name), content) {
		t.Error("what is read is not what was written")
	}
	f, err := fsys.Open(name)
	check(t, err)
	defer f.Close()
	for _, at := range []int{len(content) - 1000, 0, len(content) / 2} {
		piece := make([]byte, 1000)
		if _, err := f.ReadAt(piece, int64(at)); err != nil || !bytes.Equal(piece, content[at:at+1000]) {
			t.Errorf("at %d: %v", at, err)
		}
	}
}

// A client that does not log in, or to whom the site files say another name for the NameNode, learns why.
func TestSecuredRefusals(t *testing.T) {
	conf, login := securedHDFS(t)
	dir := os.Getenv("BULKLOAD_SECURED")
	for name, c := range map[string]struct {
		set  map[string]string
		who  Identity
		want []string
	}{
		"simple":     {map[string]string{authenticationProperty: "simple"}, Identity{User: "tina"}, []string{"SIMPLE authentication is not enabled"}},
		"no login":   {nil, Identity{}, []string{"kinit", tokenFileName}},
		"principal":  {map[string]string{principalProperty: "nn/_HOST@LAB.TEST"}, Identity{Login: login}, []string{"hdfs/localhost", "nn/localhost@LAB.TEST", principalProperty}},
		"host":       {map[string]string{principalProperty: "hdfs/other@LAB.TEST"}, Identity{Login: login}, []string{"hdfs/localhost", "hdfs/other@LAB.TEST", principalProperty}},
		"not set":    {map[string]string{principalProperty: ""}, Identity{Login: login}, []string{principalProperty + " is not set"}},
		"pattern":    {map[string]string{patternProperty: "nn/*@LAB.TEST"}, Identity{Login: login}, []string{patternProperty, "hdfs/localhost@LAB.TEST"}},
		"encryption": {map[string]string{encryptProperty: "true"}, Identity{Login: login}, []string{encryptProperty}},
	} {
		t.Run(name, func(t *testing.T) {
			conf, err := siteconf.Load(filepath.Join(dir, "conf"))
			check(t, err)
			for property, value := range c.set {
				conf.Set(property, value)
			}
			begun := time.Now()
			_, _, err = ResolveAs("hdfs:///", "/", conf, c.who)
			if err == nil {
				t.Fatal("it is let in")
			}
			for _, want := range c.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("%v\nwant %q", err, want)
				}
			}
			t.Log(time.Since(begun), err)
		})
	}
	conf.Set(patternProperty, "hdfs/*@LAB.TEST")
	conf.Set(principalProperty, "")
	fsys, _, err := ResolveAs("hdfs:///", "/", conf, Identity{Login: login})
	check(t, err)
	check(t, fsys.Close())
}

var _ = context.Background
var _ = errors.Is
var _ fs.FileMode

func readsAndWritesWith(t *testing.T, conf *siteconf.Conf, login *kerberos.Login, content []byte) {
	fsys, root := onSecured(t, conf, Identity{Login: login})
	begun := time.Now()
	readsAndWrites(t, fsys, root, content)
	t.Log(time.Since(begun))
	conforms(t, fsys, root)
}
