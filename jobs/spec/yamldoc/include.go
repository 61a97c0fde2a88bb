package yamldoc

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const includeKey = "include"

// maxIncludes bounds how deep files may include each other.
const maxIncludes = 20

// including is a file that is being read, with the chain of files that include it.
type including struct {
	path string
	by   *including // nil for the job file
}

// chain lists the files from the job file on.
func (in *including) chain() (all []string) {
	for at := in; at != nil; at = at.by {
		all = append(all, at.path)
	}
	slices.Reverse(all)
	return all
}

// include returns a mapping with keys added from the files that its key include names. Mappings are merged key by key.
// Other values of the mapping win over those of the files, and a later file wins over an earlier one.
func (d *Document) include(n *yaml.Node, in *including) (*yaml.Node, error) {
	if n.Kind != yaml.MappingNode {
		return n, nil
	}
	merged := *n
	merged.Content = nil
	var value *yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		if key := n.Content[i]; key.Value == includeKey {
			if value != nil {
				d.Fail(key, "include is given twice; write a list: include: [a.yaml, b.yaml]")
			}
			value = n.Content[i+1]
			continue
		}
		merged.Content = append(merged.Content, n.Content[i], n.Content[i+1])
	}
	if value == nil {
		return n, nil
	}
	d.place(&merged, in)
	result := &merged
	for _, name := range slices.Backward(d.includes(value)) {
		below, err := d.readIncluded(name, in)
		if err != nil {
			return nil, err
		}
		if below != nil {
			result = d.fill(result, below)
		}
	}
	return result, nil
}

// includes lists the files that the key include names.
func (d *Document) includes(value *yaml.Node) (names []Item) {
	value = Resolve(value)
	list := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		list = value.Content
	}
	s := &Section{Doc: d}
	for _, n := range list {
		text, ok := s.Scalar(includeKey, n)
		switch {
		case ok && text == "":
			d.Fail(n, "include: is empty; name a file with keys of a job file, from this file's folder")
		case ok:
			names = append(names, Item{text, Resolve(n)})
		}
	}
	return names
}

// readIncluded reads one included file. If it can't, it reports a problem of the including file and returns nil.
func (d *Document) readIncluded(name Item, by *including) (*yaml.Node, error) {
	path := name.Text
	if !filepath.IsAbs(path) {
		path = filepath.Join(filepath.Dir(by.path), path)
	}
	in := &including{path, by}
	switch chain := by.chain(); {
	case slices.ContainsFunc(chain, func(open string) bool { return sameFile(open, path) }):
		d.Fail(name.Node, "include: the files include each other in a circle: %s", strings.Join(in.chain(), " → "))
		return nil, nil
	case len(chain) > maxIncludes:
		d.Fail(name.Node, "include: more than %d files deep", maxIncludes)
		return nil, nil
	}
	text, err := d.from.Read(path, MaxBytes)
	if err != nil {
		d.Fail(name.Node, "include: %v", err)
		return nil, nil
	}
	root, err := d.readRoot(path, text)
	if err != nil {
		return nil, err
	}
	d.placeAll(root, in)
	if root.Kind != yaml.MappingNode {
		d.Fail(root, "the file is %s; a mapping of a job file's keys is wanted", KindName(root))
		return nil, nil
	}
	return d.include(root, in)
}

func sameFile(a, b string) bool {
	x, err1 := os.Stat(a)
	y, err2 := os.Stat(b)
	return err1 == nil && err2 == nil && os.SameFile(x, y)
}

// place remembers in which included file a node is.
func (d *Document) place(n *yaml.Node, in *including) {
	if in.by == nil {
		return
	}
	if d.files == nil {
		d.files = map[*yaml.Node]string{}
	}
	d.files[n] = in.path
}

func (d *Document) placeAll(n *yaml.Node, in *including) {
	d.place(n, in)
	for _, below := range n.Content {
		d.placeAll(below, in)
	}
}

// pair is two mappings that fill merges.
type pair struct{ own, below *yaml.Node }

// fill returns own with the keys that only below has. It also merges mappings that both have.
//
// It merges each pair once, because aliases may name it so often that merging it each time would never end.
func (d *Document) fill(own, below *yaml.Node) *yaml.Node {
	if done := d.merged[pair{own, below}]; done != nil {
		return done
	}
	if d.merged == nil {
		d.merged = map[pair]*yaml.Node{}
	}
	merged := *own
	d.merged[pair{own, below}] = &merged
	merged.Content = slices.Clone(own.Content)
	if file, included := d.files[own]; included {
		d.files[&merged] = file
	}
	values := map[string]int{} // index in own of each key's first value; columns_map may have thousands of keys
	for k := len(own.Content) - 2; k >= 0; k -= 2 {
		values[own.Content[k].Value] = k + 1
	}
	for i := 0; i+1 < len(below.Content); i += 2 {
		key, value := below.Content[i], below.Content[i+1]
		at, known := values[key.Value]
		switch {
		case !known:
			merged.Content = append(merged.Content, key, value)
		case Resolve(own.Content[at]).Kind == yaml.MappingNode && Resolve(value).Kind == yaml.MappingNode:
			merged.Content[at] = d.fill(Resolve(own.Content[at]), Resolve(value))
		}
	}
	return &merged
}

// file returns the name of the file that a node is in.
func (d *Document) file(n *yaml.Node) string {
	if name, included := d.files[n]; included {
		return name
	}
	return d.path
}
