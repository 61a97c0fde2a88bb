package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/runtest"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/inspect/plan"
	"bulkload/jobs/inspect/verify"
	"bulkload/jobs/run"
	"bulkload/jobs/spec/jobfile"
)

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

// stranger is a user of the secured cluster who has no rights at all, and its job: the input is in HDFS, in a folder that is
// closed to it, and so is the folder for the output.
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

// execute runs commands of the page as HBase's user: those of HBase's shell by HBase's client, those of HDFS by Hadoop's.
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

// TestSecuredRightsAsWritten: a user without any rights runs a job. Each right that is missing is named before anything is
// written, until the commands of docs/security.md, as they are written there, have given all of them.
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
	create := func(o options.Options) (*plan.Report, error) {
		return plan.Run(t.Context(), s.Job(t, date), o, plan.Options{Create: true})
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

// TestSecuredRightsOfFamilies: if a user may read only some families or columns, HBase hides the other cells, and existing rows
// would seem to be absent. The run is refused until the user may read each of the job's families, even if servers never
// refuse a read (early_out).
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
