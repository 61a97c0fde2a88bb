package yarn

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/jobs/spec/jobfile"
	"bulkload/jobs/tasks"
)

// Settings say how jobs are submitted. Empty values leave the choice to the cluster.
type Settings struct {
	jobfile.EngineSettings

	// Flags are further flags of each task.
	Flags []string
	// User is the user's name in HDFS on a cluster without Kerberos, where containers may run as another user. "": the
	// user of this process.
	User string
	// Services are the URIs of the HDFS services that tasks use, for which each gets a delegation token.
	Services []string
}

// DefaultJVM is the memory, in bytes, of the JVM that Hadoop runs beside a task.
const DefaultJVM = 384 << 20

// jvmOptions are the options of that JVM. It only passes a line to the task, so it needs little memory. Threads that
// collect garbage and the second compiler would cost more than they save.
const jvmOptions = "-Xmx192m -XX:+UseSerialGC -XX:TieredStopAtLevel=1"

// tools are the commands of a Hadoop installation.
type tools struct{ hadoop, yarn, streaming string }

// find finds the commands and the jar.
func (s Settings) find() (tools, error) {
	var t tools
	var err error
	if t.hadoop, err = s.command("hadoop"); err != nil {
		return t, err
	}
	if t.yarn, err = s.command("yarn"); err != nil {
		return t, err
	}
	t.streaming, err = s.jar(t.hadoop)
	return t, err
}

func (s Settings) command(name string) (string, error) {
	if s.HadoopHome != "" {
		file := filepath.Join(s.HadoopHome, "bin", name)
		if _, err := exec.LookPath(file); err != nil {
			return "", errcode.YarnCommands.Errorf("find the command %s of the Hadoop installation in %s: %w",
				name, s.HadoopHome, err)
		}
		return file, nil
	}
	for _, variable := range []string{"HADOOP_HOME", "HADOOP_YARN_HOME", "HADOOP_COMMON_HOME"} {
		if home := os.Getenv(variable); home != "" {
			if file, err := exec.LookPath(filepath.Join(home, "bin", name)); err == nil {
				return file, nil
			}
		}
	}
	file, err := exec.LookPath(name)
	if err != nil {
		return "", errcode.YarnCommands.Errorf("find Hadoop's command %s: %w; run this on a host with a Hadoop client, "+
			"and set HADOOP_HOME or engine.hadoop_home to the folder whose bin has it", name, err)
	}
	return file, nil
}

// jarPlaces are where installations have the jar of Streaming, relative to their folder: Apache's, and packages'.
var jarPlaces = []string{"share/hadoop/tools/lib/hadoop-streaming*.jar", "hadoop-streaming*.jar",
	"lib/hadoop-mapreduce/hadoop-streaming*.jar",
	"../hadoop-mapreduce/hadoop-streaming*.jar", "../hadoop-mapreduce-client/hadoop-streaming*.jar"}

// packagedHomes are the folders in which packages install Hadoop.
var packagedHomes = []string{"/usr/lib/hadoop", "/usr/hdp/current/hadoop-client", "/opt/cloudera/parcels/CDH"}

func (s Settings) jar(hadoop string) (string, error) {
	if s.StreamingJar != "" {
		if _, err := os.Stat(s.StreamingJar); err != nil {
			return "", errcode.YarnCommands.Errorf("find the jar of Hadoop Streaming: %w", err)
		}
		return s.StreamingJar, nil
	}
	homes := []string{s.HadoopHome, os.Getenv("HADOOP_HOME"), os.Getenv("HADOOP_MAPRED_HOME")}
	if target, err := filepath.EvalSymlinks(hadoop); err == nil {
		homes = append(homes, filepath.Dir(filepath.Dir(target)))
	}
	for _, home := range append(homes, packagedHomes...) {
		for _, place := range jarPlaces {
			found, _ := filepath.Glob(filepath.Join(home, place)) // fails for a bad pattern only
			found = slices.DeleteFunc(found,
				func(name string) bool { return home == "" || strings.Contains(filepath.Base(name), "sources") })
			if len(found) > 0 {
				return found[len(found)-1], nil
			}
		}
	}
	return "", errcode.YarnCommands.Errorf("find the jar of Hadoop Streaming (hadoop-streaming*.jar) near %s: there is "+
		"none; name it in engine.streaming_jar", hadoop)
}

// shippedProgram is the name of this program in the folder of each container.
const shippedProgram = "bulkload"

// submission is a job to submit.
type submission struct {
	name          string
	input, output string // URIs
	program       string // a local file
}

// args returns the arguments with which the command hadoop submits a phase. Generic options must come first.
func (s Settings) args(t tools, p tasks.Phase, j submission) ([]string, error) {
	document := path.Base(p.Document)
	mapper, err := commandLine(append([]string{shippedProgram}, p.Command(document, "-", s.Flags...)...))
	if err != nil {
		return nil, err
	}
	shipped, err := files([2]string{"file://" + j.program, shippedProgram}, [2]string{p.Document, document})
	if err != nil {
		return nil, err
	}
	args := []string{"jar", t.streaming}
	for _, d := range s.properties(p, j) {
		args = append(args, "-D", d)
	}
	// The document has the properties of the driver's site files. A node's own may differ, and are not in a container's
	// folder.
	args = append(args,
		"-files", shipped,
		"-inputformat", "org.apache.hadoop.mapred.lib.NLineInputFormat", "-input", j.input,
		"-outputformat", "org.apache.hadoop.mapred.lib.NullOutputFormat", "-output", j.output,
		"-mapper", mapper,
		"-cmdenv", "HADOOP_CONF_DIR=.", "-cmdenv", "HBASE_CONF_DIR=.",
	)
	if s.Speculative {
		args = append(args, "-reducer", idleReducer)
	}
	if s.User != "" {
		args = append(args, "-cmdenv", "HADOOP_USER_NAME="+s.User)
	}
	return args, nil
}

// files returns the list of shipped files, with their names in the containers' folders. Hadoop removes escapes before
// it parses the list a second time, so no name may need one.
func files(shipped ...[2]string) (string, error) {
	var list []string
	for _, f := range shipped {
		if strings.ContainsAny(f[0], " ,#%?\"\\<>^`{|}[]") {
			return "", errcode.YarnSubmit.Errorf("Hadoop can't ship %s to the tasks, because of a character in its name; use "+
				"a path of letters, digits, and - _ . = only", f[0])
		}
		list = append(list, f[0]+"#"+f[1])
	}
	return strings.Join(list, ","), nil
}

// properties returns the job's properties, as NAME=VALUE, with the user's own last.
func (s Settings) properties(p tasks.Phase, j submission) []string {
	list := []string{
		"mapreduce.job.name=" + j.name,
		"mapreduce.input.lineinputformat.linespermap=1",
		"mapreduce.job.ubertask.enable=false", // all tasks would run in one container, one after the other
		"stream.map.input=text",
		"stream.map.input.ignoreKey=true",
		fmt.Sprintf("mapreduce.map.memory.mb=%d", s.container(p)),
		"mapreduce.map.java.opts=" + jvmOptions,
		fmt.Sprintf("mapreduce.map.cpu.vcores=%d", max(p.Cores, 1)),
		fmt.Sprintf("mapreduce.map.speculative=%t", s.Speculative),
	}
	list = append(list, s.reduces()...)
	add := func(name, value string) {
		if value != "" {
			list = append(list, name+"="+value)
		}
	}
	add("mapreduce.job.queuename", s.Queue)
	add("mapreduce.job.node-label-expression", s.Label)
	add("mapreduce.job.priority", s.Priority)
	add("mapreduce.job.hdfs-servers", strings.Join(s.Services, ","))
	if s.Attempts > 0 {
		add("mapreduce.map.maxattempts", strconv.Itoa(s.Attempts))
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		list = append(list, name+"="+s.Properties[name])
	}
	return list
}

// idleReducer does nothing.
const idleReducer = "org.apache.hadoop.mapred.lib.IdentityReducer"

// reduces returns the properties of the job's reducers. The job needs no reducers. But in a job without reducers a map
// counts as complete as soon as it has read its line (MapTask.run), and a complete task is never slow, so YARN's
// application master would not begin second attempts (LegacyTaskRuntimeEstimator). In a job with reducers the map
// counts as two thirds of a task, so a task that lasts more than twice as long as others gets a second attempt.
func (s Settings) reduces() []string {
	if !s.Speculative {
		return []string{"mapreduce.job.reduces=0"}
	}
	return []string{
		"mapreduce.job.reduces=1",
		"mapreduce.job.reduce.slowstart.completedmaps=1.0",
		"mapreduce.task.io.sort.mb=1", // nothing is sorted
		fmt.Sprintf("mapreduce.reduce.memory.mb=%d", s.jvm()>>20),
		"mapreduce.reduce.java.opts=" + jvmOptions,
	}
}

// jvm returns the memory of a container's JVM, in bytes.
func (s Settings) jvm() int64 { return cmp.Or(s.JVM, DefaultJVM) }

// container returns the memory of a container in MiB: the task's, an eighth more, which the process uses beyond
// --memory, and the JVM's.
func (s Settings) container(p tasks.Phase) int64 {
	const mebi = 1 << 20
	return (p.Memory + p.Memory/8 + s.jvm() + mebi - 1) / mebi
}

// commandLine joins arguments so that Streaming splits them again (PipeMapRed.splitArgs): at spaces outside single or
// double quotes, without escapes.
func commandLine(args []string) (string, error) {
	var b strings.Builder
	for i, a := range args {
		if i > 0 {
			b.WriteByte(' ')
		}
		switch {
		case a != "" && !strings.ContainsAny(a, " \t\n'\""):
			b.WriteString(a)
		case !strings.Contains(a, `"`):
			b.WriteString(`"` + a + `"`)
		case !strings.Contains(a, `'`):
			b.WriteString(`'` + a + `'`)
		default:
			return "", errcode.YarnSubmit.Errorf("the argument %q of a task has both kinds of quotes, which Hadoop Streaming "+
				"can't pass on; choose another path", a)
		}
	}
	return b.String(), nil
}
