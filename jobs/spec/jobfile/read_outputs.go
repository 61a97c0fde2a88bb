package jobfile

import (
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/spec/yamldoc"

	"go.yaml.in/yaml/v3"
)

// readOutputs reads the tables that one reading of the input fills, each as a separate job that shares the input.
func readOutputs(j *Job, s *yamldoc.Section) {
	for _, key := range yamldoc.Names(yamldoc.Output) {
		if s.Has(key) {
			s.Doc.FailCode(errcode.JobValue, s.Keys[key],
				"%s can't be given beside outputs; give each output its own %s", key, key)
		}
	}
	list := yamldoc.Resolve(s.Values["outputs"])
	const form = "an entry a table: [{table: …, rowkey: …, output: …}, …]"
	if list.Kind != yaml.SequenceNode {
		s.Fail("outputs", "is %s; it must be a list, %s", yamldoc.KindName(list), form)
		return
	}
	if len(list.Content) == 0 {
		s.Fail("outputs", "lists no table; write %s", form)
	}
	var tables []string
	shared := *j // all that was read so far applies to each output, except these two
	shared.Engine, shared.origin = EngineSettings{}, nil
	for i, n := range list.Content {
		own := s.Doc.Section(fmt.Sprintf("outputs[%d].", i), n)
		own.Known(yamldoc.Output, yamldoc.Common)
		out := new(Job)
		*out = shared
		out.Columns = slices.Clone(j.Columns)
		readOutput(out, over(own, s))
		checkApart(out, s, own, j.Outputs)
		j.Outputs = append(j.Outputs, out)
		j.Load = j.Load || out.Load
		tables = append(tables, out.Table)
	}
	j.Table = strings.Join(tables, ", ")
}

// over merges a section with the one above it, whose keys apply if the section lacks them. In columns_map, it adds the
// columns that the section lacks.
func over(s *yamldoc.Section, top *yamldoc.Section) *yamldoc.Section {
	merged := &yamldoc.Section{Doc: s.Doc, Node: s.Node, Keys: maps.Clone(s.Keys), Values: maps.Clone(s.Values)}
	for _, key := range yamldoc.Names(yamldoc.Common) {
		value, given := top.Values[key]
		own, said := s.Values[key]
		switch {
		case !given:
		case !said:
			merged.Keys[key], merged.Values[key] = top.Keys[key], value
		case key == "columns_map":
			merged.Values[key] = overMapping(yamldoc.Resolve(own), yamldoc.Resolve(value))
		}
	}
	return merged
}

// overMapping merges two mappings. The keys of own win.
func overMapping(own, top *yaml.Node) *yaml.Node {
	if own.Kind != yaml.MappingNode || top.Kind != yaml.MappingNode {
		return own
	}
	merged := *own
	merged.Content = slices.Clone(own.Content)
	for i := 0; i+1 < len(top.Content); i += 2 {
		has := false
		for k := 0; k+1 < len(own.Content); k += 2 {
			has = has || own.Content[k].Value == top.Content[i].Value
		}
		if !has {
			merged.Content = append(merged.Content, top.Content[i], top.Content[i+1])
		}
	}
	return &merged
}

// checkApart checks that every output has its own directory, because HBase's loader would treat the directory of
// another output as a family. Outputs for one table can't look up which rows it has, because each would find the
// other's.
func checkApart(j *Job, s, own *yamldoc.Section, others []*Job) {
	for _, other := range others {
		if overlap(j.Location(), other.Location()) && j.Output != "" && other.Output != "" {
			own.FailCode(errcode.JobValue, "output", "%s is the directory of another output, %s, or inside it, or around it; "+
				"give each its own directory", j.Output, other.Output)
			return
		}
		if j.Table != "" && j.Table == other.Table && (j.Live != LiveUnasked || other.Live != LiveUnasked) {
			own.FailCode(errcode.JobValue, "table", "%s is the table of another output, too: with duplicates.live the rows of "+
				"one would be taken for rows that the table had before the other", j.Table)
			return
		}
	}
}

// Location returns the output in a form that can be compared with other outputs of the job file.
func (j *Job) Location() string {
	switch {
	case strings.Contains(j.Output, ":"):
		return path.Clean(j.Output)
	case filepath.IsAbs(j.Output):
		return "file:" + path.Clean(j.Output)
	}
	return "file:" + filepath.Join(j.Dir, j.Output)
}

func overlap(a, b string) bool { return a == b || storage.Below(a, b) || storage.Below(b, a) }
