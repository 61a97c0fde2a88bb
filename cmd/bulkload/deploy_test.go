package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/internal/test/testcluster"

	"go.yaml.in/yaml/v3"
)

// recorder takes the place of the program in the schedules. It adds its arguments to a file, and ends with the next of
// the exit codes in another one.
const recorder = `#!/bin/sh
printf '%s\n' "$*" >> called
code=$(head -n 1 codes 2>/dev/null)
sed -i 1d codes 2>/dev/null
exit ${code:-0}
`

// fakeInstallation is a folder laid out as /opt/bulkload, with the schedules' own files.
func fakeInstallation(t *testing.T, program string) string {
	t.Helper()
	dir := t.TempDir()
	for _, folder := range []string{"bin", "jobs"} {
		if err := os.MkdirAll(filepath.Join(dir, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "bin", "bulkload"), []byte(program), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.CopyFS(filepath.Join(dir, "deploy", "cron"), os.DirFS("../../deploy/cron")); err != nil {
		t.Fatal(err)
	}
	return dir
}

// called runs a schedule's command there and gives the arguments of each call of the program, and the exit code.
func called(t *testing.T, dir, command string) (calls []string, code int) {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", command)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "PAUSE=0")
	out, err := cmd.CombinedOutput()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	text, err := os.ReadFile(filepath.Join(dir, "called"))
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return strings.Split(strings.TrimSpace(string(text)), "\n"), cmd.ProcessState.ExitCode()
}

var (
	cronVariable = regexp.MustCompile(`^[A-Z_]+=\S`)
	cronField    = `(?:\*|[0-9]+(?:-[0-9]+)?)(?:/[0-9]+)?(?:,[0-9]+(?:-[0-9]+)?)*`
	cronLine     = regexp.MustCompile(`^(?:` + cronField + `[ \t]+){5}([a-z]+)[ \t]+(.+)$`)
)

// TestCronFile parses deploy/cron/bulkload by the rules of /etc/cron.d and runs its commands.
func TestCronFile(t *testing.T) {
	text, err := os.ReadFile("../../deploy/cron/bulkload") // a name with a dot would not be read
	if err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(string(text), "\n") {
		t.Error("cron ignores a last line without its newline")
	}
	var commands []string
	for n, line := range strings.Split(strings.TrimSpace(string(text)), "\n") {
		if line == "" || line[0] == '#' || cronVariable.MatchString(line) {
			continue
		}
		m := cronLine.FindStringSubmatch(line)
		if m == nil {
			t.Fatalf("line %d is neither a variable nor five fields, a user and a command: %s", n+1, line)
		}
		if regexp.MustCompile(`(^|[^\\])%`).MatchString(m[2]) {
			t.Errorf("cron ends the command at its bare %%: %s", m[2])
		}
		commands = append(commands, strings.ReplaceAll(m[2], `\%`, "%"))
	}
	if len(commands) != 3 {
		t.Fatalf("%d commands, want 3", len(commands))
	}
	before := yesterday(t) // and after, should midnight come between
	dir := fakeInstallation(t, recorder)
	// a command of its own for each, so that one ends no tries of the other
	for i, table := range []string{"check", "opinion"} {
		calls, _ := called(t, dir, strings.ReplaceAll(commands[i], "/opt/bulkload", dir))
		want := "run jobs/examples/" + table + "-hbase.yaml --work-dir /var/lib/bulkload --log-file /var/log/bulkload/nights.log " +
			"--metrics-file /var/lib/bulkload-metrics/" + table + ".prom --date %s --quiet"
		if got := calls[i]; got != fmt.Sprintf(want, before) && got != fmt.Sprintf(want, yesterday(t)) {
			t.Errorf("the program is called with %q, want %q and yesterday", got, want)
		}
	}
	calls, _ := called(t, dir, strings.ReplaceAll(commands[2], "/opt/bulkload", dir))
	if got := calls[2]; !strings.HasPrefix(got, "clean hdfs:///user/tina/hfile --older-than 30d --rejects-older-than 7d ") {
		t.Errorf("the program is called with %q", got)
	}
}

// yesterday is the date of yesterday in the zone of the file's exports, as this machine knows it: without tzdata that
// is UTC.
func yesterday(t *testing.T) string {
	t.Helper()
	c := exec.Command("date", "-d", "yesterday", "+%F")
	c.Env = append(os.Environ(), "TZ=Asia/Shanghai")
	text, err := c.Output()
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// TestNightTriesAgain: only what may pass is tried again, for the same date, and not for ever.
func TestNightTriesAgain(t *testing.T) {
	for _, c := range []struct {
		codes string
		calls int
		want  int
	}{{"0", 1, 0}, {"66 75 66 0", 4, 0}, {"66 5 0", 2, 5}, {"3 0", 1, 3}, {"4 0", 1, 4}, {"75 75 75 75 66 0", 5, 66}} {
		dir := fakeInstallation(t, recorder)
		if err := os.WriteFile(filepath.Join(dir, "codes"), []byte(strings.ReplaceAll(c.codes, " ", "\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		calls, code := called(t, dir, "TRIES=5 deploy/cron/night 2026-11-20 'a b.yaml' --log-file x")
		if len(calls) != c.calls || code != c.want {
			t.Errorf("%s: %d calls, exit code %d", c.codes, len(calls), code)
		}
		for _, call := range calls {
			if call != "run a b.yaml --log-file x --date 2026-11-20 --quiet" {
				t.Errorf("called with %q", call)
			}
		}
	}
}

// TestNightSaysThingsOnce: cron mails what a night prints: what each try says, with its time, but not again what the
// try before has said.
func TestNightSaysThingsOnce(t *testing.T) {
	dir := fakeInstallation(t, "#!/bin/sh\nmkdir -p tries; touch tries/$$; n=$(ls tries | wc -l)\necho object\n[ $n -gt 3 ] && exit 0\n[ $n -gt 2 ] && echo 'bulkload: locked' >&2 && exit 75\necho 'bulkload: no export' >&2; exit 66\n")
	cmd := exec.Command("/bin/sh", "deploy/cron/night", "2026-11-20", "a.yaml")
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "PAUSE=0")
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		t.Fatalf("%v\n%s", err, &said)
	}
	const when = `20\d\d-\d\d-\d\d \d\d:\d\d:\d\d `
	if !regexp.MustCompile(`^`+when+"bulkload: no export\n"+when+"bulkload: locked\n$").MatchString(said.String()) || out.String() != strings.Repeat("object\n", 4) {
		t.Errorf("said %q, answered %q", &said, &out)
	}
}

// TestSystemdUnits has systemd check its units.
func TestSystemdUnits(t *testing.T) {
	analyze, err := exec.LookPath("systemd-analyze")
	if err != nil {
		testcluster.Without(t, "needs systemd-analyze: apt-get install systemd")
	}
	installed := fakeInstallation(t, recorder)
	units := t.TempDir()
	for _, suffix := range []string{"service", "timer"} {
		text, err := os.ReadFile("../../deploy/systemd/bulkload@." + suffix)
		if err != nil {
			t.Fatal(err)
		}
		text = bytes.ReplaceAll(text, []byte("/usr/bin/bulkload"), []byte(installed+"/bin/bulkload"))
		if err := os.WriteFile(filepath.Join(units, "bulkload@."+suffix), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	verify := func() string {
		cmd := exec.Command(analyze, "verify", "--man=no", "--recursive-errors=no", "bulkload@check-hbase.service", "bulkload@check-hbase.timer")
		cmd.Dir = units
		cmd.Env = append(os.Environ(), "SYSTEMD_UNIT_PATH="+units+":")
		out, err := cmd.CombinedOutput()
		return strings.TrimSpace(fmt.Sprintf("%s %v", out, err))
	}
	if said := verify(); said != "<nil>" {
		t.Errorf("systemd-analyze: %s", said)
	}
	text, err := os.ReadFile(filepath.Join(units, "bulkload@.service"))
	if err == nil {
		err = os.WriteFile(filepath.Join(units, "bulkload@.service"), bytes.Replace(text, []byte("RestartSec"), []byte("RestartSecs"), 1), 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if said := verify(); !strings.Contains(said, "RestartSecs") {
		t.Errorf("a wrong key is not found: %s", said)
	}
}

// The parts of the Kubernetes objects (batch/v1, v1) that the test looks at.
type (
	kubeMeta struct {
		Name string `yaml:"name"`
	}
	kubeClaim struct {
		APIVersion string   `yaml:"apiVersion"`
		Kind       string   `yaml:"kind"`
		Metadata   kubeMeta `yaml:"metadata"`
	}
	kubeCronJob struct {
		APIVersion string   `yaml:"apiVersion"`
		Kind       string   `yaml:"kind"`
		Metadata   kubeMeta `yaml:"metadata"`
		Spec       struct {
			TimeZone          string `yaml:"timeZone"`
			ConcurrencyPolicy string `yaml:"concurrencyPolicy"`
			JobTemplate       struct {
				Spec kubeJob `yaml:"spec"`
			} `yaml:"jobTemplate"`
		} `yaml:"spec"`
	}
	kubeJob struct {
		PodFailurePolicy struct {
			Rules []struct {
				Action      string `yaml:"action"`
				OnExitCodes struct {
					ContainerName string `yaml:"containerName"`
					Values        []int  `yaml:"values"`
				} `yaml:"onExitCodes"`
			} `yaml:"rules"`
		} `yaml:"podFailurePolicy"`
		Template struct {
			Spec kubePod `yaml:"spec"`
		} `yaml:"template"`
	}
	kubePod struct {
		RestartPolicy   string `yaml:"restartPolicy"`
		SecurityContext struct {
			RunAsUser int64 `yaml:"runAsUser"`
		} `yaml:"securityContext"`
		Containers []struct {
			Name         string   `yaml:"name"`
			Command      []string `yaml:"command"`
			Args         []string `yaml:"args"`
			VolumeMounts []struct {
				Name      string `yaml:"name"`
				MountPath string `yaml:"mountPath"`
			} `yaml:"volumeMounts"`
		} `yaml:"containers"`
		Volumes []struct {
			Name                  string `yaml:"name"`
			PersistentVolumeClaim struct {
				ClaimName string `yaml:"claimName"`
			} `yaml:"persistentVolumeClaim"`
		} `yaml:"volumes"`
	}
)

// TestKubernetesCronJob: pods keep their work on the volume, and exit codes that another try does not mend end the job.
func TestKubernetesCronJob(t *testing.T) {
	text, err := os.ReadFile("../../deploy/kubernetes/cronjob.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var claim kubeClaim
	var cron kubeCronJob
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for _, object := range []any{&claim, &cron} {
		if err := decoder.Decode(object); err != nil {
			t.Fatal(err)
		}
	}
	if claim.APIVersion+claim.Kind != "v1PersistentVolumeClaim" || cron.APIVersion+cron.Kind != "batch/v1CronJob" || cron.Spec.ConcurrencyPolicy != "Forbid" {
		t.Errorf("%+v, %+v", claim, cron)
	}
	if _, err := time.LoadLocation(cron.Spec.TimeZone); err != nil {
		t.Error(err)
	}
	job := cron.Spec.JobTemplate.Spec
	pod := job.Template.Spec
	c := pod.Containers[0]
	if rule := job.PodFailurePolicy.Rules[0]; pod.RestartPolicy != "Never" || rule.Action != "FailJob" || rule.OnExitCodes.ContainerName != c.Name ||
		fmt.Sprint(rule.OnExitCodes.Values) != "[1 2 3 5 6]" {
		t.Errorf("%+v with restartPolicy %s, which a podFailurePolicy wants to be Never", rule, pod.RestartPolicy)
	}
	if c.Command != nil || pod.SecurityContext.RunAsUser != 65532 {
		t.Errorf("%v as user %d: the image has its own entry point and user", c.Command, pod.SecurityContext.RunAsUser)
	}
	mounts := map[string]string{}
	for _, m := range c.VolumeMounts {
		mounts[m.Name] = m.MountPath
	}
	for _, v := range pod.Volumes {
		if mounts[v.Name] == "" || v.PersistentVolumeClaim.ClaimName == claim.Metadata.Name && !slices.Contains(c.Args, "--work-dir="+mounts[v.Name]) {
			t.Errorf("%v with %v: what resuming needs is not on the volume %s", c.Args, mounts, v.Name)
		}
	}
	files := slices.DeleteFunc(slices.Clone(c.Args), func(arg string) bool { return !strings.HasSuffix(arg, ".yaml") })
	if want := []string{mounts["jobs"] + "/check-hbase.yaml"}; !slices.Equal(files, want) || cron.Metadata.Name != "bulkload-check-hbase" {
		t.Errorf("%s runs %q, want %q: a job that fails for good ends the tries of all that are in its pod", cron.Metadata.Name, files, want)
	}
}

// kubeSchema is the fields of each type of Kubernetes's API that a CronJob or a PersistentVolumeClaim may have, with
// their types. A ! marks those that can't be left out. It was made of the Go types of k8s.io/api v0.37.2, by
// reflection.
type kubeSchema map[string]map[string]string

// check returns what is wrong with a value.
func (s kubeSchema) check(at, kind string, value any) (wrong []string) {
	kind = strings.TrimSuffix(kind, "!")
	if of, ok := strings.CutPrefix(kind, "[]"); ok {
		list, ok := value.([]any)
		if !ok {
			return []string{at + " is no list"}
		}
		for i, v := range list {
			wrong = append(wrong, s.check(fmt.Sprintf("%s[%d]", at, i), of, v)...)
		}
		return wrong
	}
	object, isObject := value.(map[string]any)
	_, isText := value.(string)
	_, isNumber := value.(int)
	_, isBool := value.(bool)
	of, isMap := strings.CutPrefix(kind, "map ")
	fields, isType := s[kind]
	switch {
	case isMap || isType:
		if !isObject {
			return []string{at + " is no object"}
		}
	case kind == "string" && isText, kind == "boolean" && isBool, kind == "integer" && isNumber, kind == "Quantity" && isText,
		kind == "IntOrString" && (isText || isNumber):
		return nil
	default:
		return []string{fmt.Sprintf("%s is %v, and not of type %s", at, value, kind)}
	}
	for name, v := range object {
		if isType {
			of = fields[name]
		}
		if of == "" {
			wrong = append(wrong, fmt.Sprintf("%s has no field %s", kind, name))
			continue
		}
		wrong = append(wrong, s.check(at+"."+name, of, v)...)
	}
	for name, of := range fields {
		if _, ok := object[name]; !ok && strings.HasSuffix(of, "!") {
			wrong = append(wrong, at+" lacks "+name)
		}
	}
	return wrong
}

// TestKubernetesSchema: each field of the objects is one of Kubernetes's API, and has its type.
func TestKubernetesSchema(t *testing.T) {
	t.Parallel()
	var schema kubeSchema
	text, err := os.ReadFile("testdata/kubernetes_fields.json")
	if err == nil {
		err = json.Unmarshal(text, &schema)
	}
	if err != nil {
		t.Fatal(err)
	}
	if text, err = os.ReadFile("../../deploy/kubernetes/cronjob.yaml"); err != nil {
		t.Fatal(err)
	}
	check := func(text string) (wrong []string) {
		decoder := yaml.NewDecoder(strings.NewReader(text))
		for {
			var object map[string]any
			if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
				return wrong
			} else if err != nil {
				t.Fatal(err)
			}
			wrong = append(wrong, schema.check("object", fmt.Sprint(object["kind"]), object)...)
		}
	}
	if wrong := check(string(text)); wrong != nil {
		t.Errorf("%q", wrong)
	}
	for right, mistake := range map[string]string{
		"backoffLimit: 24":            "backoffLimits: 24",
		"- action: Ignore":            "- acton: Ignore",
		"runAsNonRoot: true":          "runAsNonRoot: 'true'",
		"mountPath: /work":            "path: /work",
		"ttlSecondsAfterFinished: 60": "ttlSecondsAfterFinished: a60",
		"kind: CronJob":               "kind: CronJobs",
		"storage: 50Gi":               "storage: [50Gi]",
	} {
		if with := strings.Replace(string(text), right, mistake, 1); with == string(text) || check(with) == nil {
			t.Errorf("%s is not found", mistake)
		}
	}
}

// python is the interpreter for the DAG; BULKLOAD_PYTHON names one that has pyflakes.
func python(t *testing.T) string {
	t.Helper()
	if name := os.Getenv("BULKLOAD_PYTHON"); name != "" {
		return name
	}
	name, err := exec.LookPath("python3")
	if err != nil {
		testcluster.Without(t, "needs python3")
	}
	return name
}

// airflowProgram takes the place of the program for Airflow: it ends with the code that it finds, and prints a short
// summary.
const airflowProgram = `#!/bin/sh
echo "$HADOOP_CONF_DIR $*" > called
echo 'time=2026-11-20T02:10:00 level=INFO msg=begin' >&2
code=$(cat code)
[ "$code" = kill ] && kill -9 $$
echo '{"schema":1,"exit":'"$code"',"error":"what is wrong","rows_written":3000}'
exit $code
`

// TestAirflow: the DAGs and their operator work with Airflow 2 and 3, whose modules have other names: by stubs, and
// where BULKLOAD_AIRFLOW lists interpreters that have an Airflow (separated by colons), with these.
func TestAirflow(t *testing.T) {
	interpreter := python(t)
	check := func(interpreter, layout string) {
		t.Helper()
		cmd := exec.Command(interpreter, "testdata/airflow_check.py", "codes", layout, fakeInstallation(t, airflowProgram))
		cmd.Env = append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", "AIRFLOW_HOME="+t.TempDir())
		if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "checked "+layout) {
			t.Errorf("Airflow %s: %v\n%s", layout, err, out)
		}
	}
	check(interpreter, "2")
	check(interpreter, "3")
	for _, real := range filepath.SplitList(os.Getenv("BULKLOAD_AIRFLOW")) {
		check(real, "real")
	}
	if exec.Command(interpreter, "-c", "import pyflakes").Run() != nil {
		testcluster.Without(t, "needs pyflakes to lint the DAGs: `make test` installs it, or set BULKLOAD_PYTHON to a Python that has it")
	}
	for _, name := range []string{"../../deploy/airflow/bulkload_operator.py", "../../deploy/airflow/bulkload_nights.py"} {
		if out, err := exec.Command(interpreter, "-m", "pyflakes", name).CombinedOutput(); err != nil {
			t.Errorf("pyflakes: %v\n%s", err, out)
		}
	}
}
