package jobs

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/storage"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
)

// overheard is HDFS, with the delegation tokens that it has issued.
type overheard struct {
	storage.FS
	storage.Delegator
	heard *tokens
}

type tokens struct {
	mu        sync.Mutex
	passwords [][]byte
}

func (o overheard) Unwrap() storage.FS { return o.FS }

func (o overheard) DelegationToken(ctx context.Context, renewer string) (storage.Token, error) {
	t, err := o.Delegator.DelegationToken(ctx, renewer)
	o.heard.mu.Lock()
	defer o.heard.mu.Unlock()
	o.heard.passwords = append(o.heard.passwords, t.Password)
	return t, err
}

// artefacts are places where a run leaves something, and what must not be there.
type artefacts struct {
	*secret
	tokens  tokens
	local   []string   // folders
	super   storage.FS // HDFS as its superuser sees it
	remote  []string   // folders
	log     bytes.Buffer
	mu      sync.Mutex
	at      map[string]int // how many files were searched, by the name of their place
	secrets map[string][]string
}

// formsOf are a secret's bytes as they are, and in the forms in which texts have bytes. Base64 may begin anywhere in a
// longer text.
func formsOf(secret []byte) (forms []string) {
	forms = []string{string(secret), hex.EncodeToString(secret), strings.ToUpper(hex.EncodeToString(secret)), strings.Trim(fmt.Sprint(secret), "[]")}
	for before := range 3 {
		whole := len(secret) - (before+len(secret))%3 // the last bytes share their letters with what follows
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			text := encoding.EncodeToString(slices.Concat(make([]byte, before), secret[:whole]))
			forms = append(forms, text[[]int{0, 2, 3}[before]:])
		}
	}
	return forms
}

// search looks for the secrets in everything that the run has left so far.
func (a *artefacts) search(t *testing.T, when string) {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tokens.mu.Lock()
	for _, p := range a.tokens.passwords {
		a.secrets["a delegation token"] = append(a.secrets["a delegation token"], formsOf(p)...)
	}
	a.tokens.passwords = nil
	a.tokens.mu.Unlock()
	look := func(place, name string, content []byte) {
		a.at[place]++
		for what, forms := range a.secrets {
			for _, form := range forms {
				if bytes.Contains(content, []byte(form)) {
					t.Errorf("%s: %s is in %s", when, what, name)
				}
			}
		}
	}
	for _, dir := range a.local {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() || strings.HasSuffix(name, ".cache") { // the user's own ticket cache
				return ignoreGone(err)
			}
			content, err := os.ReadFile(name)
			look(filepath.Base(dir), name, content)
			return ignoreGone(err)
		})
		if err != nil {
			t.Error(err)
		}
	}
	for _, dir := range a.remote {
		a.walk(t, dir, func(name string, content []byte) { look(dir, name, content) })
	}
	look("log", "the log", a.log.Bytes())
	a.secret.mu.Lock()
	look("said", "what was said", []byte(a.said.String()))
	a.secret.mu.Unlock()
}

func ignoreGone(err error) error {
	if os.IsNotExist(err) {
		return nil
	}
	return err
}

// walk reads all files below a folder of HDFS, and the names of its folders.
func (a *artefacts) walk(t *testing.T, dir string, do func(name string, content []byte)) {
	infos, err := a.super.ReadDir(dir)
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	for _, i := range infos {
		name := path.Join(dir, i.Name)
		if i.Mode.IsDir() {
			do(name, []byte(name))
			a.walk(t, name, do)
			continue
		}
		content, err := storage.ReadFile(a.super, name, 1<<30)
		if ignoreGone(err) != nil {
			t.Error(err)
		}
		do(name, content)
	}
}

// Write is the log's, whose lines come from several goroutines.
func (a *artefacts) Write(p []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.log.Write(p)
}

// TestSecuredArtefacts: nothing that runs leave behind, at any of their steps and at their end, has a key of the
// keytab, a key or a ticket of the ticket cache, or a delegation token: neither output, manifest, task folders, staging
// folder, ledger, sorted runs and temporary files, nor log, messages and results.
func TestSecuredArtefacts(t *testing.T) {
	s := newSecret(t)
	s.create(t, "RC")
	const first, second = "2026-11-20", "2026-11-21"
	s.Night(t, first, 70_000, 5)
	s.Night(t, second, 3_000, 6)
	cache := filepath.Join(s.Folder, "tickets.cache")
	if err := s.KDC().Kinit(t.Context(), cache, s.Keytab("loader"), "loader", "-l", "2h"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5CCNAME", "FILE:"+cache)
	temp := t.TempDir()
	t.Setenv("TMPDIR", temp)
	a := &artefacts{secret: s, at: map[string]int{}, secrets: map[string][]string{}, local: []string{s.Folder, temp, t.TempDir()},
		remote: []string{strings.TrimPrefix(s.Out, "hdfs://"), "/user/loader", "/hbase/staging"}}
	for what, secrets := range s.secrets(t) {
		for _, secret := range secrets {
			a.secrets[what] = append(a.secrets[what], formsOf(secret)...)
		}
	}
	super := *s.Live
	super.Who = jobfile.Kerberos{Principal: "hdfs/localhost", Keytab: s.Keytab("hdfs")}
	a.super, _ = super.HDFS(t, "hdfs:///")
	searched := map[options.Point]bool{}
	var mu sync.Mutex
	o := s.options()
	o.Memory, o.WorkDir = options.MinMemory, a.local[2]
	o.Log = slog.New(slog.NewJSONHandler(io.Writer(a), &slog.HandlerOptions{Level: slog.Level(-100)}))
	o.Storage = func(fsys storage.FS) storage.FS {
		if d, ok := storage.DelegatorOf(fsys); ok {
			return overheard{fsys, d, &a.tokens}
		}
		return fsys
	}
	o.Failpoint = func(p options.Point) {
		mu.Lock()
		defer mu.Unlock()
		if !searched[p] {
			searched[p] = true
			a.search(t, string(p))
		}
	}
	results := func(all ...any) {
		text, err := json.Marshal(all)
		if err != nil {
			t.Fatal(err)
		}
		s.say(string(text))
	}
	planned, err := plan.Run(t.Context(), s.Job(t, first), o, plan.PlanOptions{})
	if err != nil {
		t.Fatal(err)
	}
	sum := runtest.Must(t, s.Job(t, first), o)
	r, err := verify.Job(t.Context(), s.Job(t, first), o, true)
	if err != nil || sum.Sort.Runs == 0 || sum.Status != failure.StatusDone {
		t.Errorf("%s, %d sorted runs, %v", sum.Status, sum.Sort.Runs, err)
	}
	s.Who = jobfile.Kerberos{} // the ticket cache
	clear(searched)
	byTasks, err := run.Job(t.Context(), (&run.TaskEngine{Engine: &runtest.InProcess{Options: o}, Sizes: runtest.SmallTasks}).Always(), s.Job(t, second), o)
	if err != nil {
		t.Fatal(err)
	}
	results(planned, sum, r, byTasks)
	a.remote = append(a.remote, "/hbase/data/default/"+s.Table) // once: it is large
	a.search(t, "at the end")
	if len(a.secrets["a delegation token"]) == 0 || len(a.secrets["a key of the keytab"]) == 0 || len(a.secrets["a ticket"]) == 0 {
		t.Errorf("secrets of %d kinds", len(a.secrets))
	}
	for _, place := range append(a.remote, "log", "said", filepath.Base(a.local[0]), filepath.Base(a.local[2])) {
		if a.at[place] == 0 {
			t.Errorf("nothing was searched in %s: %v", place, a.at)
		}
	}
	for _, at := range []options.Point{options.Planned, options.Staging, options.FilesLoaded} {
		if !searched[at] {
			t.Errorf("not searched at %s", at)
		}
	}
}

// TestFormsOfSecrets: a secret is found wherever it is in a text of bytes, in any of the forms.
func TestFormsOfSecrets(t *testing.T) {
	secret := []byte("\x01\xfe0123456789abc\xff")
	for before := range 4 {
		for after := range 4 {
			whole := slices.Concat(bytes.Repeat([]byte{0xa5}, before), secret, bytes.Repeat([]byte{0x5a}, after))
			for _, text := range []string{string(whole), hex.EncodeToString(whole), strings.ToUpper(hex.EncodeToString(whole)), fmt.Sprint(whole),
				base64.StdEncoding.EncodeToString(whole), base64.URLEncoding.EncodeToString(whole)} {
				if !slices.ContainsFunc(formsOf(secret), func(form string) bool { return strings.Contains(text, form) }) {
					t.Errorf("%d bytes before and %d after: not found in %s", before, after, text)
				}
			}
		}
	}
}
