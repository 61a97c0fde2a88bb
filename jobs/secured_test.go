package jobs

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/livetest"
	"bulkload/internal/test/runtest"
	"bulkload/internal/test/testcluster"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/lookup"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/inspect/serve"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/pipeline/manifest"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/upkeep/retention"

	"github.com/jcmturner/gokrb5/v8/credentials"
	"github.com/jcmturner/gokrb5/v8/keytab"
)

// These tests use a real HBase and HDFS with Kerberos. The user loader has those rights only that are granted to it
// here.

// secret is live on that cluster, with what is said of it.
type secret struct {
	*livetest.Live
	mu   sync.Mutex
	said strings.Builder
}

func newSecret(t *testing.T) *secret {
	t.Helper()
	return secretOn(t, testcluster.UseSecured(t))
}

// secretOn is loader on a cluster with Kerberos, with a keytab and a table of its own. Each connection has another
// protection.
func secretOn(t *testing.T, c *testcluster.Cluster) *secret {
	t.Helper()
	t.Setenv("KRB5_CONFIG", c.Krb5Conf())
	t.Setenv("KRB5CCNAME", filepath.Join(t.TempDir(), "none"))
	s := &secret{Live: livetest.On(t, c)}
	s.Who = jobfile.Kerberos{Principal: "loader", Keytab: c.Keytab("loader")}
	s.Properties = map[string]string{"hadoop.rpc.protection": "privacy,integrity", "dfs.data.transfer.protection": "integrity", "hbase.rpc.protection": "integrity,privacy"}
	s.Table = c.UniqueTable(t)
	s.Retarget(t)
	return s
}

func (s *secret) options() options.Options {
	o := s.Live.Options()
	o.Say = s.say
	return o
}

func (s *secret) say(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said.WriteString(text + "\n")
}

// create makes the example's table and grants permissions to loader.
func (s *secret) create(t *testing.T, permissions string) {
	t.Helper()
	s.Ask(t, "create", s.Table, "f", "1,2,3,4,5,6,7,8,9", "COMPRESSION=SNAPPY")
	if permissions != "" {
		s.Ask(t, "grant", "loader", s.Table, permissions)
	}
}

// wantSecrecy fails where something that was said or written holds a key of the keytab, or a key or a ticket of the
// ticket cache.
func (s *secret) wantSecrecy(t *testing.T, texts ...string) {
	t.Helper()
	all := s.said.String() + strings.Join(texts, "\n")
	for what, secrets := range s.secrets(t) {
		for _, secret := range secrets {
			for _, form := range []string{string(secret), hex.EncodeToString(secret), base64.StdEncoding.EncodeToString(secret), fmt.Sprint(secret)} {
				if strings.Contains(all, form) {
					t.Errorf("%s is in what was said or written", what)
				}
			}
		}
	}
}

// secrets are what the user logs in with, by their names.
func (s *secret) secrets(t *testing.T) map[string][][]byte {
	t.Helper()
	kt, err := keytab.Load(s.Keytab("loader"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string][][]byte{}
	for _, e := range kt.Entries {
		all["a key of the keytab"] = append(all["a key of the keytab"], e.Key.KeyValue)
	}
	file := strings.TrimPrefix(os.Getenv("KRB5CCNAME"), "FILE:")
	cache, err := credentials.LoadCCache(file)
	if err != nil {
		if _, err := os.Stat(file); err == nil {
			t.Fatalf("a cache that is no cache: %s", file)
		}
		return all
	}
	for _, c := range cache.GetEntries() {
		all["a key of the cache"] = append(all["a key of the cache"], c.Key.KeyValue)
		all["a ticket"] = append(all["a ticket"], c.Ticket)
	}
	return all
}

// documents are what runs have written beside HFiles, and what they give out as JSON.
func (s *secret) documents(t *testing.T, date string, summary any) (texts []string) {
	t.Helper()
	text, err := json.Marshal(summary)
	if err != nil {
		t.Fatal(err)
	}
	record := s.ReadHDFS(t, s.Out+"/"+date+"/"+manifest.Name)
	return []string{string(text), string(record)}
}

// TestSecuredNights: two nights, one by the keytab and one by a ticket cache; every cell is compared with what Java
// computes.
func TestSecuredNights(t *testing.T) {
	s := newSecret(t)
	s.create(t, "RC")
	const first, second = "2026-11-20", "2026-11-21"
	s.Night(t, first, 20_000, 1)
	s.Night(t, second, 5_000, 2)
	if sum := runtest.Must(t, s.Job(t, first), s.options()); sum.Status != failure.StatusDone || sum.Load.Regions != 10 {
		t.Errorf("first night: %s, load %+v", sum.Status, sum.Load)
	}
	wantFirst, wantSecond := s.Expected(t, first), s.Expected(t, second)
	s.WantTable(t, "first night", wantFirst)
	if !strings.Contains(s.said.String(), "logged in as loader@LAB.TEST with keytab "+s.Keytab("loader")) {
		t.Errorf("said %s", s.said.String())
	}

	cache := filepath.Join(t.TempDir(), "cache")
	if err := s.KDC().Kinit(t.Context(), cache, s.Keytab("loader"), "loader", "-l", "2h"); err != nil {
		t.Fatal(err)
	}
	t.Setenv("KRB5CCNAME", "FILE:"+cache)
	s.Who = jobfile.Kerberos{}
	sum := runtest.Must(t, s.Job(t, second), s.options())
	s.WantTable(t, "second night", wantFirst, wantSecond)
	if !strings.Contains(s.said.String(), "with ticket cache "+cache+", which expires at") {
		t.Errorf("said %s", s.said.String())
	}
	r, err := verify.Job(context.Background(), s.Job(t, first), s.options(), true)
	if err != nil || r.Cells != int64(len(wantFirst)) {
		t.Errorf("verify: %+v, %v", r, err)
	}
	s.wantSecrecy(t, s.documents(t, second, sum)...)
}

// TestSecuredListAndClean: without a job file, list and clean log in with the keytab of the command line, or else with
// a ticket cache. Without either they say what is missing. The ledger is found, too: the night is not loaded twice
// after clean.
func TestSecuredListAndClean(t *testing.T) {
	s := newSecret(t)
	s.create(t, "RC")
	const date = "2026-11-20"
	s.Night(t, date, 2000, 1)
	job := s.Job(t, date)
	runtest.Must(t, job, s.options())
	if _, err := retention.List(s.Out, s.options()); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "kinit") {
		t.Fatalf("without a login: %v", err)
	}
	o := s.options()
	o.Principal, o.Keytab = s.Who.Principal, s.Who.Keytab
	listed, err := retention.List(s.Out, o)
	if err != nil || len(listed.Outputs) != 1 || listed.Outputs[0].State != "loaded" {
		t.Fatalf("list: %v: %+v", err, listed)
	}
	rules := retention.Rules{Outputs: 30 * 24 * time.Hour, Now: time.Now().Add(31 * 24 * time.Hour)}
	cleaned, err := retention.Clean(t.Context(), s.Out, rules, o)
	if err != nil || len(cleaned.Outputs) != 1 || cleaned.Outputs[0].Action != "deleted" {
		t.Fatalf("clean: %v: %+v", err, cleaned)
	}
	if _, err := retention.List(s.Out, o); failure.KindOf(err) != failure.Refused {
		t.Errorf("after clean: %v", err)
	}
	job = s.Job(t, date)
	job.HBase.Kerberos = jobfile.Kerberos{Principal: "nobody", Keytab: "none"} // the command line's are used instead
	if sum := runtest.Must(t, job, o); sum.Status != failure.StatusNothing {
		t.Errorf("the run after clean: %s", sum.Status)
	}
	s.wantSecrecy(t)
}

// TestSecuredPlanCreates: plan makes the table, get and serve find its rows.
func TestSecuredPlanCreates(t *testing.T) {
	s := newSecret(t)
	s.Ask(t, "grant", "loader", "@default", "C")
	t.Cleanup(func() { s.Ask(t, "grant", "loader", "@default", "-") })
	const date = "2026-11-20"
	s.Night(t, date, 2000, 3)
	plan, err := plan.Run(context.Background(), s.Job(t, date), s.options(), plan.PlanOptions{Create: true})
	if err != nil || !plan.Created {
		t.Fatalf("plan: %v", err)
	}
	runtest.Must(t, s.Job(t, date), s.options())
	s.WantTable(t, "created by plan", s.Expected(t, date))
	content, err := os.ReadFile(filepath.Join(s.Folder, "in", date, "part-m-00000"))
	if err != nil {
		t.Fatal(err)
	}
	key := strings.Split(string(content), "\x01")[1]
	want := strings.Count(string(content), "\x01"+key+"\x01")
	if r, err := lookup.Get(context.Background(), s.Job(t, date), s.options(), []string{key}, ""); err != nil || len(r.Rows) != want {
		t.Errorf("get: %+v, %v", r, err)
	}
	ctx, end := context.WithCancel(t.Context())
	address, ended := make(chan string, 1), make(chan error, 1)
	go func() {
		read := func() ([]*jobfile.Job, error) { return []*jobfile.Job{s.Job(t, date)}, nil }
		_, err := serve.Run(ctx, read, false, s.options(), serve.Settings{Listen: "127.0.0.1:0", Rows: 50, MaxRows: 1000, MaxBytes: 1 << 20,
			Timeout: time.Minute, Parallel: 4, Cache: 1 << 20, Listening: func(at string) { address <- at }})
		ended <- err
	}()
	select {
	case at := <-address:
		answer, err := http.Get("http://" + at + "/get/check?limit=1000&check_id=" + key)
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(answer.Body)
		if err := errors.Join(err, answer.Body.Close()); err != nil || answer.StatusCode != http.StatusOK || strings.Count(string(text), `"check_id"`) != want {
			t.Errorf("serve: %s, %v: %s", answer.Status, err, text)
		}
	case err := <-ended:
		t.Fatalf("serve: %v", err)
	}
	if end(); <-ended != nil {
		t.Error("serve doesn't end well")
	}
	s.wantSecrecy(t)
}

// TestSecuredRunsAreRefused: what is missing is named before anything is written.
func TestSecuredRunsAreRefused(t *testing.T) {
	s := newSecret(t)
	s.create(t, "C")
	const date = "2026-11-20"
	s.Night(t, date, 100, 4)
	user := fmt.Sprintf("changed%d", time.Now().UnixNano())
	changed, err := s.KDC().Keytab(t.Context(), user, "+requires_preauth", user)
	if err == nil {
		err = s.KDC().Admin(t.Context(), "cpw -randkey "+user)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		who  jobfile.Kerberos
		set  map[string]string
		want []string
	}{
		"no right to read":     {s.Who, nil, []string{"grant 'loader', 'R', '" + s.Table + "'"}},
		"no right to load":     {s.Who, map[string]string{"right": "R"}, []string{"grant 'loader', 'C', '" + s.Table + "'"}},
		"no rights":            {jobfile.Kerberos{Principal: "other", Keytab: s.Keytab("other")}, nil, []string{"other"}},
		"another's keytab":     {jobfile.Kerberos{Principal: "loader", Keytab: s.Keytab("other")}, nil, []string{"has no key of loader@LAB.TEST; it has other@LAB.TEST"}},
		"an exchanged key":     {jobfile.Kerberos{Principal: user, Keytab: changed}, nil, []string{user + "@LAB.TEST", "KDC 127.0.0.1:", "key number 2"}},
		"no keytab":            {jobfile.Kerberos{Principal: "loader", Keytab: "/nowhere.keytab"}, nil, []string{"/nowhere.keytab", "hadoop.security.authentication is kerberos (in "}},
		"no ticket":            {jobfile.Kerberos{}, nil, []string{"no ticket cache", "run kinit"}},
		"open site files":      {s.Who, map[string]string{"hadoop.security.authentication": "simple", "hbase.security.authentication": "simple"}, []string{"a keytab is given (hbase.kerberos or --keytab), but"}},
		"TLS":                  {s.Who, map[string]string{"hbase.client.netty.tls.enabled": "true"}, []string{"hbase.client.netty.tls.enabled is true"}},
		"an unknown principal": {s.Who, map[string]string{"hbase.regionserver.kerberos.principal": "hbase/_HOST@ELSE.TEST"}, []string{"hbase/localhost@ELSE.TEST", "no way from realm LAB.TEST to realm ELSE.TEST"}},
	} {
		t.Run(name, func(t *testing.T) {
			o := s.options()
			for property, value := range test.set {
				if property == "right" {
					s.Ask(t, "grant", "loader", s.Table, value)
					defer s.Ask(t, "grant", "loader", s.Table, "C")
				}
				o.Properties[property] = value
			}
			j := s.Job(t, date)
			j.HBase.Kerberos = test.who
			_, err := run.Job(context.Background(), nil, j, o)
			if err == nil || failure.KindOf(err) != failure.Refused {
				t.Fatalf("kind %v: %v", failure.KindOf(err), err)
			}
			for _, part := range test.want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is missing in: %v", part, err)
				}
			}
			s.wantSecrecy(t, err.Error())
		})
	}
	if out, err := s.Java(t.Context(), "org.apache.hadoop.fs.FsShell", "-find", strings.TrimPrefix(s.Job(t, date).Output, "hdfs://")); err == nil && strings.Contains(out, "/f/") {
		t.Errorf("written: %s", out)
	}
}

// TestSecuredPairs: a night under each pair of protections for HBase and for DataNodes; the NameNode's changes with
// them.
func TestSecuredPairs(t *testing.T) {
	testcluster.OnlyIn(t, "test-secured")
	names := []string{"authentication", "integrity", "privacy"}
	for i, hbase := range names {
		for k, transfer := range names {
			t.Run(hbase+"+"+transfer, func(t *testing.T) {
				s := newSecret(t)
				s.create(t, "RC")
				const date = "2026-11-20"
				s.Night(t, date, 3000, 5)
				o := s.options()
				o.Properties = map[string]string{"hadoop.rpc.protection": names[(i+k)%3], "dfs.data.transfer.protection": transfer, "hbase.rpc.protection": hbase}
				runtest.Must(t, s.Job(t, date), o)
				s.WantTable(t, "under "+hbase+" and "+transfer, s.Expected(t, date))
			})
		}
	}
}

// documented returns the commands of a row of docs/security.md, by the chapter and the row's first column.
func documented(t *testing.T, chapter, row string) (commands []string) {
	t.Helper()
	page, err := os.ReadFile("../docs/security.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, _ := strings.Cut(string(page), "\n## "+chapter+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	_, text, _ = strings.Cut(text, "**Rights.**")
	for _, line := range strings.Split(text, "\n") {
		if !strings.HasPrefix(line, "| "+row+" |") {
			continue
		}
		for _, m := range regexp.MustCompile("`((?:grant|hdfs dfs) [^`]*)`").FindAllStringSubmatch(line, -1) {
			commands = append(commands, m[1])
		}
	}
	if commands == nil {
		t.Fatalf("docs/security.md has no commands for %q in %s", row, chapter)
	}
	return commands
}

// stranger is a user of the secured cluster who has no rights at all, and its job: the input is in HDFS, in a folder
// that is closed to it, and so is the folder for the output.
type stranger struct {
	*secret
	name    string
	root    string
	words   *strings.Replacer // of the page's commands, for ours
	service storage.FS        // as HBase's user, which owns the folders
}

func newStranger(t *testing.T) *stranger {
	t.Helper()
	s := &stranger{secret: newSecret(t), name: fmt.Sprintf("stranger%d", time.Now().UnixNano())}
	keytab, err := s.KDC().Keytab(t.Context(), s.name, "+requires_preauth", s.name)
	if err != nil {
		t.Fatal(err)
	}
	s.Who = jobfile.Kerberos{Principal: s.name, Keytab: keytab}
	s.root = "/rights-" + s.name
	s.words = strings.NewReplacer("USER", s.name, "TABLE", s.Table, "NAMESPACE", "default", "/INPUT", s.root+"/in", "/OUT", s.root+"/out", "/PARENT", s.root)
	job := filepath.Join(s.Folder, "check.yaml")
	text, err := os.ReadFile(job)
	if err != nil {
		t.Fatal(err)
	}
	s.Out = "hdfs://" + s.root + "/out"
	changed := strings.NewReplacer("path: in/", "path: hdfs://"+s.root+"/in/", "hdfs:///user/test/"+s.Table, s.Out).Replace(string(text))
	if err := os.WriteFile(job, []byte(changed), 0o600); err != nil {
		t.Fatal(err)
	}
	s.service = s.asHBase(t)
	for _, dir := range []string{s.root, s.root + "/in", s.root + "/out", "/user/" + s.name} {
		if err := s.service.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// asHBase is HDFS as HBase's user sees it.
func (s *stranger) asHBase(t *testing.T) storage.FS {
	t.Helper()
	login, err := kerberos.Open(t.Context(), kerberos.Config{Principal: "hbase/localhost", Keytab: s.Keytab("hbase"), Krb5Conf: s.Krb5Conf()})
	if err != nil {
		t.Fatal(err)
	}
	conf, err := siteconf.Load(s.ConfDir())
	if err != nil {
		t.Fatal(err)
	}
	fsys, _, err := storage.ResolveAs("hdfs:///", "/", conf, storage.Identity{Login: login})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { fsys.Close() })
	return fsys
}

// deliver puts a night's input into HDFS, in a folder of a mode which keeps strangers out. That of the file is the same
// without x.
func (s *stranger) deliver(t *testing.T, date string, rows int, mode fs.FileMode) {
	t.Helper()
	s.Night(t, date, rows, 11)
	content, err := os.ReadFile(filepath.Join(s.Folder, "in", date, "part-m-00000"))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.service.MkdirAll(s.root+"/in/"+date, mode); err != nil {
		t.Fatal(err)
	}
	w, err := s.service.Create(s.root+"/in/"+date+"/part-m-00000", mode&0o666)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
}

var quoted = regexp.MustCompile(`'([^']*)'`)

// execute runs commands of the page as HBase's user: those of HBase's shell by HBase's client, those of HDFS by
// Hadoop's.
func (s *stranger) execute(t *testing.T, commands []string) {
	t.Helper()
	for _, command := range commands {
		command = s.words.Replace(command)
		if arguments, ok := strings.CutPrefix(command, "hdfs dfs "); ok {
			s.Ask(t, append([]string{"fs"}, strings.Fields(arguments)...)...)
			continue
		}
		m := quoted.FindAllStringSubmatch(command, -1)
		if len(m) != 3 {
			t.Fatalf("%s has %d words, want user, permissions and table", command, len(m))
		}
		s.Ask(t, "grant", m[0][1], m[2][1], m[1][1])
	}
}

// TestSecuredRightsAsWritten: a user without any rights runs a job. Each right that is missing is named before anything
// is written, until the commands of docs/security.md, as they are written there, have given all of them.
func TestSecuredRightsAsWritten(t *testing.T) {
	s := newStranger(t)
	s.create(t, "")
	s.Ask(t, "fs", "-setfacl", "-m", "user:"+s.name+":---", "/hbase/staging")
	t.Cleanup(func() { s.Ask(t, "fs", "-setfacl", "-x", "user:"+s.name, "/hbase/staging") })
	const date, later = "2026-11-20", "2026-11-21"
	s.deliver(t, date, 500, 0o700)
	rights := map[string][]string{ // what the error has, and the rows' commands
		"grant '" + s.name + "', '":        documented(t, "HBase", "load"),
		"lacks EXECUTE on " + s.root + " ": documented(t, "HDFS", "reach a folder"),
		"on " + s.root + "/in ":            documented(t, "HDFS", "read the input"),
		"on " + s.root + "/out ":           documented(t, "HDFS", "write the HFiles"),
		"on /hbase/staging ":               documented(t, "HDFS", "load"),
		"on /user/" + s.name + " ":         documented(t, "HDFS", "keep the [ledger](reliability.md)"),
	}
	for len(rights) > 0 {
		_, err := run.Job(context.Background(), nil, s.Job(t, date), s.options())
		if err == nil {
			t.Fatalf("it runs without %v", rights)
		}
		named := ""
		for what := range rights {
			if strings.Contains(err.Error(), what) {
				named = what
			}
		}
		if kind := failure.KindOf(err); named == "" || kind != failure.Refused {
			t.Fatalf("kind %v: %v; want one of %v", kind, err, rights)
		}
		s.wantNothingWritten(t)
		s.execute(t, rights[named])
		delete(rights, named)
	}
	runtest.Must(t, s.Job(t, date), s.options())
	s.WantTable(t, "with all rights", s.Expected(t, date))
	s.deliver(t, later, 100, 0o750) // after the rights were given
	runtest.Must(t, s.Job(t, later), s.options())
	s.execute(t, documented(t, "HBase", "`verify --live`"))
	if _, err := verify.Job(t.Context(), s.Job(t, later), s.options(), true); err != nil {
		t.Error(err)
	}
	s.execute(t, documented(t, "HBase", "`get`"))
	s.WantRowsOfAKey(t, later)
}

// wantNothingWritten wants no file and no folder in the output's.
func (s *stranger) wantNothingWritten(t *testing.T) {
	t.Helper()
	entries, err := s.service.ReadDir(s.root + "/out")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for _, e := range entries {
		t.Errorf("%s was written", e.Name)
	}
}

// TestSecuredRightToCreate: a table may be made with the right that the page names, which is named if it is missing.
func TestSecuredRightToCreate(t *testing.T) {
	s := newStranger(t)
	const date = "2026-11-20"
	s.deliver(t, date, 500, 0o700)
	s.execute(t, append(documented(t, "HDFS", "reach a folder"), documented(t, "HDFS", "read the input")...))
	create := func(o options.Options) (*plan.PlanReport, error) {
		return plan.Run(t.Context(), s.Job(t, date), o, plan.PlanOptions{Create: true})
	}
	if _, err := create(s.options()); failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "grant '"+s.name+"', 'C', '@default'") {
		t.Errorf("kind %v: %v", failure.KindOf(err), err)
	}
	s.execute(t, documented(t, "HBase", "`plan --create`"))
	t.Cleanup(func() { s.Ask(t, "grant", s.name, "@default", "-") })
	if r, err := create(s.options()); err != nil || !r.Created {
		t.Errorf("%+v, %v", r, err)
	}
}

// TestSecuredRightsOfFamilies: if a user may read only some families or columns, HBase hides the other cells, and
// existing rows would seem to be absent. The run is refused until the user may read each of the job's families, even if
// servers never refuse a read (early_out).
func TestSecuredRightsOfFamilies(t *testing.T) {
	s := newSecret(t)
	const date = "2026-11-20"
	s.Night(t, date, 20, 12)
	s.Rewrite(t, "load: true", "load: true\nduplicates: {live: overwrite}\ncolumns_map: {remark: {to: 'g:remark'}}")
	for _, early := range []string{"true", "false"} {
		s.Ask(t, "create", s.Table, "f,g", "1,2,3,4,5,6,7,8,9", "COMPRESSION=SNAPPY", "TABLE:hbase.security.access.early_out="+early)
		s.Ask(t, "grant", "loader", s.Table, "C")
		refused := func(what, family string) {
			t.Helper()
			o := s.options()
			o.NoLoad, o.Force = true, true
			_, err := run.Job(context.Background(), nil, s.Job(t, date), o)
			if failure.KindOf(err) != failure.Refused || !strings.Contains(err.Error(), "may not read family "+family+" of table "+s.Table) || !strings.Contains(err.Error(), "grant 'loader', 'R', '"+s.Table+"'") {
				t.Errorf("early_out %s, %s: %v", early, what, err)
			}
		}
		s.Ask(t, "grant", "loader", s.Table, "R", "g")
		refused("one family", "f")
		s.Ask(t, "grant", "loader", s.Table, "R", "f:id")
		refused("one column of the other", "f")
		s.Ask(t, "grant", "loader", s.Table, "R", "f")
		if sum := runtest.Must(t, s.Job(t, date), func() options.Options { o := s.options(); o.Force = true; return o }()); sum.Existing == nil || sum.Existing.Rows != 20 {
			t.Errorf("early_out %s, both families: %+v", early, sum.Existing)
		}
		s.Ask(t, "drop", s.Table)
	}
}
