package load

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"testing"
	"time"

	"bulkload/internal/hbase"
	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/testcluster"
)

// secretLoad is a table of two regions on a cluster with Kerberos and a file for each, which are loader's.
type secretLoad struct {
	*Cluster
	conf  *siteconf.Conf
	login *kerberos.Login
	fs    storage.FS
	dir   string
	table string
	files []HFile
	bytes map[string][]byte // of the files, by their URIs

	// Of a request that was made by hand:
	conn    *hbase.Conn
	region  []byte
	staging string
}

// newSecretLoad makes files of a mode, in a folder in which everybody may do everything.
func newSecretLoad(t *testing.T, real *testcluster.Cluster, mode fs.FileMode) *secretLoad {
	t.Helper()
	s := &secretLoad{conf: secured(t, real), login: loginAs(t, real, "loader"), table: granted(t, real, "CR"), bytes: map[string][]byte{}}
	var err error
	if s.Cluster, err = Connect(t.Context(), s.conf, Caller{Login: s.login}, nil); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	s.conf.Set("fs.permissions.umask-mode", "000")
	dir := fmt.Sprintf("%s/secret-load-%d", real.FS(), time.Now().UnixNano())
	if s.fs, s.dir, err = storage.ResolveAs(dir, "/", s.conf, storage.Identity{Login: s.login}); err != nil {
		t.Fatal(err)
	}
	if err := s.fs.MkdirAll(s.dir+"/f", 0o777); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.fs.RemoveAll(s.dir) // what is left there is loader's
		s.fs.Close()
	})
	for _, rows := range [][]string{{"row0001", "row0002"}, {"row1500", "row1501"}} {
		f := putFile(t, real, s.fs, s.dir, rows, mode)
		s.files = append(s.files, f)
		s.bytes[f.URI] = contentOf(t, s.fs, f.URI)
	}
	return s
}

func contentOf(t *testing.T, fsys storage.FS, uri string) []byte {
	t.Helper()
	_, name := storage.SplitURI(uri)
	f, err := fsys.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := io.ReadAll(f)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// wantUntouched wants all files where they were, with their bytes, and nothing in the table.
func (s *secretLoad) wantUntouched(t *testing.T) {
	t.Helper()
	for _, f := range s.files {
		if !bytes.Equal(contentOf(t, s.fs, f.URI), s.bytes[f.URI]) {
			t.Errorf("%s has changed", f.URI)
		}
	}
	if n, err := rowsOf(t, s.Cluster, s.table); err != nil || n != 0 {
		t.Errorf("%d rows, %v", n, err)
	}
}

// request has the first region's server load the first file, and gives its answer and the staging folder. service is
// that of a token, otherwise a good one; "": the request has none.
func (s *secretLoad) request(t *testing.T, service string) (loaded bool, folder string) {
	t.Helper()
	table, err := s.Table(t.Context(), s.table)
	if err != nil {
		t.Fatal(err)
	}
	s.region = table.Regions[0].Name
	if s.conn, err = s.servers.region(t.Context(), table.Regions[0].Server); err != nil {
		t.Fatal(err)
	}
	name, err := parseName(s.table)
	if err == nil {
		s.staging, err = s.conn.PrepareBulkLoad(t.Context(), hbase.StagedLoad, name, s.region)
	}
	if err != nil {
		t.Fatal(err)
	}
	request := &hbase.BulkLoadHFileRequest{Region: s.region, Bulk: s.staging, Files: []hbase.FamilyPath{{Family: "f", Path: s.files[0].URI}}}
	if service != "" {
		rights, err := newDelegation(s.Cluster, s.fs)
		if err == nil {
			request.Token, err = rights.forRequest(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		request.Token.Service = service
	}
	if loaded, err = s.conn.BulkLoadHFile(t.Context(), request); err != nil {
		t.Fatal(err)
	}
	_, folder = storage.SplitURI(s.staging)
	return loaded, folder
}

// clean has the server of a request delete the staging folder.
func (s *secretLoad) clean(t *testing.T) {
	t.Helper()
	if err := s.conn.CleanupBulkLoad(t.Context(), hbase.StagedLoad, s.staging, s.region); err != nil {
		t.Fatal(err)
	}
}

// has reports whether there is a file.
func (s *secretLoad) has(t *testing.T, name string) bool {
	t.Helper()
	_, err := s.fs.Stat(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	return err == nil
}

// TestSecuredRequestWithoutToken shows, by requests made by hand, what HBase does with files that everybody may write
// when a request has no delegation token, or one with another service than the NameNode's own: the region server moves
// a file to the staging folder with its own rights, may not set its mode, says no, and leaves it there. The clean-up
// that follows deletes it. A file that only its owner may write stays where it is.
func TestSecuredRequestWithoutToken(t *testing.T) {
	real := testcluster.UseSecured(t)
	for name, test := range map[string]struct {
		mode    fs.FileMode
		service string // of a token; "": without one
		lost    bool
	}{
		"everybody's file":                    {0o666, "", true},
		"everybody's file, a token elsewhere": {0o666, "localhost:1", true},
		"loader's file":                       {0o644, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newSecretLoad(t, real, test.mode)
			loaded, staging := s.request(t, test.service)
			_, source := storage.SplitURI(s.files[0].URI)
			staged := path.Join(staging, "f", path.Base(source))
			if loaded || s.has(t, source) == test.lost || s.has(t, staged) != test.lost {
				t.Errorf("loaded: %v; in its folder: %v; in staging: %v", loaded, s.has(t, source), s.has(t, staged))
			}
			s.clean(t)
			if s.has(t, source) == test.lost || s.has(t, staged) {
				t.Errorf("after the clean-up: in its folder: %v; in staging: %v", s.has(t, source), s.has(t, staged))
			}
			if n, err := rowsOf(t, s.Cluster, s.table); err != nil || n != 0 {
				t.Errorf("%d rows, %v", n, err)
			}
		})
	}
}

// withered is a file system that gives a good token so often, each of which is at its end at once.
type withered struct {
	storage.FS
	storage.Delegator
	tokens int
}

var errNoTokens = errors.New("no tokens today")

func (w *withered) DelegationToken(ctx context.Context, renewer string) (storage.Token, error) {
	if w.tokens == 0 {
		return storage.Token{}, errNoTokens
	}
	w.tokens--
	return w.Delegator.DelegationToken(ctx, renewer)
}

func (w *withered) RenewToken(context.Context, storage.Token) (time.Time, error) {
	return time.Now(), nil
}

// TestSecuredLoadWithoutToken: where no token is to be had, at first or later on, no request is sent and all files are
// where they were, though everybody may move them.
func TestSecuredLoadWithoutToken(t *testing.T) {
	s := newSecretLoad(t, testcluster.UseSecured(t), 0o666)
	for _, tokens := range []int{0, 1} {
		delegator, _ := storage.DelegatorOf(s.fs)
		staging := 0
		hooks := Hooks{
			Staging: func(string) error { staging++; return nil },
			Before:  func() error { t.Error("a request is sent"); return nil },
		}
		report, err := s.LoadFrom(t.Context(), &withered{s.fs, delegator, tokens}, s.table, s.files, hooks)
		if !errors.Is(err, errNoTokens) || report.Files > 0 || (report.Staging != "") != (staging > 0) { // one that is recorded stays
			t.Errorf("%d tokens: %+v, %v", tokens, report, err)
		}
		if staging != tokens {
			t.Errorf("%d tokens, %d staging folders", tokens, staging)
		}
		s.wantUntouched(t)
	}
	if report, err := s.LoadFrom(t.Context(), s.fs, s.table, s.files, Hooks{}); err != nil || report.Files != 2 {
		t.Errorf("with tokens: %+v, %v", report, err)
	}
}
