package jobfile

import (
	"reflect"
	"testing"

	"bulkload/internal/test/jobdir"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/spec/yamldoc"
)

// TestEngineKeys: each key of engine is read from a job file and by Set, and sets a field of its own.
func TestEngineKeys(t *testing.T) {
	t.Parallel()
	values := map[string]string{"task_size": "1GiB", "memory": "2GiB", "jvm_memory": "300MiB", "cores": "3", "attempts": "5", "speculative": "true", "properties": "a.b=c=d"}
	want := EngineSettings{TaskSize: 1 << 30, Memory: 2 << 30, JVM: 300 << 20, Cores: 3, Attempts: 5, Speculative: true, Properties: map[string]string{"a.b": "c=d"},
		Queue: "queue", Priority: "priority", Label: "label", HadoopHome: "hadoop_home", StreamingJar: "streaming_jar"}
	text := "engine:\n"
	var set EngineSettings
	for _, key := range yamldoc.Engine {
		value, ok := values[key.Name]
		if !ok {
			value = key.Name
		}
		if err := set.Set(key.Name, value); err != nil {
			t.Errorf("%s: %v", key.Name, err)
		}
		if key.Kind == yamldoc.Texts {
			value = "[" + value + "]"
		}
		text += "  " + key.Name + ": " + value + "\n"
	}
	if !reflect.DeepEqual(set, want) {
		t.Errorf("%+v\nwant\n%+v", set, want)
	}
	j, err := Read(jobdir.Write(t, `table: t
rowkey: a
family: f
timestamp: 1
input: {path: in, columns: [a, b]}
regions: {from: splits, splits: []}
output: out
`+text), ReadOptions{})
	if err != nil || !reflect.DeepEqual(j.Engine, want) {
		t.Errorf("%+v, %v\nwant\n%+v", j, err, want)
	}
	for key, value := range map[string]string{"task_size": "many", "cores": "0", "attempts": "x", "speculative": "yes", "properties": "a", "nosuch": "a"} {
		if err := set.Set(key, value); err == nil {
			t.Errorf("%s: %s is set", key, value)
		} else if key == "nosuch" && !testwords.Names(err, "task_size") { // the keys that there are
			t.Errorf("%v", err)
		}
	}
}
