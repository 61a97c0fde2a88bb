package kerberos

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"bulkload/internal/errcode"
)

// profile is the content of krb5.conf: relations, each under the names of its section and subsections. It follows MIT's
// prof_parse.c, but skips lines that it does not understand, because programs and distributions extend these files.
type profile struct {
	relations []relation
	files     []string // that were read
}

// relation is one line NAME = VALUE. Path is the section, the subsections, and the name.
type relation struct {
	path  []string
	value string
}

// maxIncludes bounds how deep files include files.
const maxIncludes = 10

// readProfile reads the files of KRB5_CONFIG, which are separated by colons. It skips files that do not exist, but
// needs at least one.
func readProfile(paths string) (*profile, error) {
	p := &profile{}
	var missing error
	for path := range strings.SplitSeq(paths, ":") {
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			missing = err
			continue
		}
		if err := p.readFile(path, 0); err != nil {
			return nil, err
		}
	}
	if len(p.files) == 0 {
		return nil, errcode.KerberosConfig.Errorf("no Kerberos configuration: %w; set KRB5_CONFIG to the cluster's krb5.conf",
			missing)
	}
	return p, nil
}

func (p *profile) readFile(path string, depth int) error {
	if depth > maxIncludes {
		return errcode.KerberosConfig.Errorf("%s: files include one another %d deep", path, maxIncludes)
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	p.files = append(p.files, path)
	return p.parse(path, string(text), depth)
}

// parse reads one file's text. Each file begins outside of all sections.
func (p *profile) parse(file, text string, depth int) error {
	var path []string
	open := "" // a name whose brace is on the next line
	for number, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		at := fmt.Sprintf("%s:%d", file, number+1)
		switch word, rest, _ := strings.Cut(line, " "); {
		case line == "" || line[0] == '#' || line[0] == ';':
		case word == "include" || word == "includedir":
			if err := p.include(word, strings.TrimSpace(rest), depth); err != nil {
				return errcode.KerberosConfig.Errorf("%s: %w", at, err)
			}
		case line[0] == '[':
			name, _, _ := strings.Cut(line[1:], "]")
			path = []string{name}
		case line[0] == '}':
			if len(path) < 2 {
				return errcode.KerberosConfig.Errorf("%s: } without {", at)
			}
			path = path[:len(path)-1]
		case line == "{" && open != "" && len(path) > 0:
			path, open = append(path[:len(path):len(path)], open), ""
		default:
			path, open = p.relation(path, line)
		}
	}
	if len(path) > 1 {
		return errcode.KerberosConfig.Errorf("%s: { of %s is not closed", file, path[len(path)-1])
	}
	return nil
}

// relation reads NAME = VALUE or NAME = {. It returns the path for the next lines, and the name if its brace may follow
// on the next line.
func (p *profile) relation(path []string, line string) ([]string, string) {
	name, value, ok := strings.Cut(line, "=")
	if !ok || len(path) == 0 {
		return path, ""
	}
	name = strings.TrimSuffix(strings.TrimSpace(name), "*")
	below := append(path[:len(path):len(path)], name)
	switch value = strings.TrimSpace(value); value {
	case "{":
		return below, ""
	case "":
		return path, name
	}
	p.relations = append(p.relations, relation{below, unquoted(value)})
	return path, ""
}

func unquoted(value string) string {
	if len(value) > 1 && value[0] == '"' {
		if end := strings.IndexByte(value[1:], '"'); end >= 0 {
			return value[1 : 1+end]
		}
	}
	return value
}

// included matches the files of a folder that are read: names of letters, digits, dashes and underscores, or ending in
// .conf.
var included = regexp.MustCompile(`^([A-Za-z0-9_-]+|[^.].*\.conf)$`)

func (p *profile) include(word, path string, depth int) error {
	if word == "include" {
		return p.readFile(path, depth+1)
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return err
	}
	for _, entry := range entries {
		if !included.MatchString(entry.Name()) {
			continue
		}
		if err := p.readFile(filepath.Join(path, entry.Name()), depth+1); err != nil {
			return err
		}
	}
	return nil
}

// values returns the values of a relation, in the files' order.
func (p *profile) values(path ...string) []string {
	var values []string
	for _, r := range p.relations {
		if slices.Equal(r.path, path) {
			values = append(values, r.value)
		}
	}
	return values
}

// get returns the first value, which is the one that counts, or def.
func (p *profile) get(def string, path ...string) string {
	if values := p.values(path...); len(values) > 0 {
		return values[0]
	}
	return def
}
