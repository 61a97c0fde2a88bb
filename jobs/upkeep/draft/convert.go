package draft

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/errcode"
	"bulkload/jobs/spec/jobfile"
)

// replaced are the properties of the Spark job that bulkload replaces.
type replaced struct {
	tableName, namespace, family string
	input, hfiles                string // prefixes; a run adds /DATE and /MILLISECONDS
	regions                      int
	unique                       string
	query, columns               []string
	unused                       []string // other properties
}

// Convert makes a job file that writes the same cells, from the properties of the Spark job that bulkload replaces.
// name is the properties file's name.
func Convert(properties []byte, name string) ([]byte, error) {
	all, err := readProperties(properties)
	if err != nil {
		return nil, errcode.Convert.Errorf("%s: %w", name, err)
	}
	r, problems := newReplaced(all)
	if len(problems) > 0 {
		return nil, errcode.Convert.Errorf("%s: %s", name, strings.Join(problems, "; "))
	}
	job := r.yaml(name)
	_, err = jobfile.Parse(name, bytes.NewReader(job),
		jobfile.ReadOptions{Date: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Environment: anyValue})
	if err != nil {
		return nil, errcode.Convert.Errorf("%s can't be converted to a job file: %w", name, err)
	}
	return job, nil
}

// anyValue gives each variable of the environment a value.
func anyValue(string) (string, bool) { return "value", true }

func newReplaced(all map[string]string) (r replaced, problems []string) {
	need := func(key string) string {
		value := all[key]
		if value == "" {
			problems = append(problems, fmt.Sprintf("property %s is missing", key))
		}
		delete(all, key)
		return value
	}
	r = replaced{tableName: need("tableName"), namespace: need("namespace"), family: need("cf"),
		input:  need("inputPathPrefix"),
		hfiles: need("hfilePathPrefix"), unique: need("uniqCol"), query: javaSplit(need("queryKey")),
		columns: javaSplit(need("cols"))}
	if regions := need("preRegions"); regions != "" {
		problems = append(problems, r.setRegions(regions)...)
	}
	for _, p := range [][2]string{{"inputPathPrefix", r.input}, {"hfilePathPrefix", r.hfiles}} {
		if s := schemeOf(p[1]); s != "" && s != "hdfs" && s != "file" {
			problems = append(problems, fmt.Sprintf("%s is %s: bulkload has no file system %s; write the path in HDFS",
				p[0], p[1], s))
		}
	}
	r.unused = slices.Sorted(maps.Keys(all))
	if problems != nil {
		return r, problems
	}
	return r, r.checkColumns()
}

// mostSalts is how many salts the key language allows.
const mostSalts = 1_000_000

func (r *replaced) setRegions(text string) (problems []string) {
	var err error
	if r.regions, err = strconv.Atoi(text); err != nil || r.regions < 1 || r.regions > mostSalts {
		return []string{fmt.Sprintf("preRegions is %q, not a number of regions", text)}
	}
	return nil
}

// salt returns the function that computes the Spark job's salts. The job pads them to one digit, whatever their number,
// so salts above 9 have more digits.
func (r *replaced) salt() string {
	if r.regions <= 10 {
		return "salt"
	}
	return "short_salt"
}

// regionsComment returns the job file's comment about the regions.
func (r *replaced) regionsComment() string {
	if r.regions <= 10 {
		return fmt.Sprintf("# The table's regions. If there is no table yet, bulkload plan THIS-FILE --date DATE --create "+
			"makes it, with a region for each of the %s.\n", jobfile.Plural(r.regions, "salt"))
	}
	return fmt.Sprintf("# The table's regions. The Spark job's salts have no leading zeros (0 to %d), so rows of salt 1 "+
		"lie before and after those of salt 10, and no\n"+
		"# salt has a region of its own. If there is no table yet, bulkload plan THIS-FILE --date DATE --create makes it, "+
		"with regions by the sizes of\n"+
		"# the sample. Or, if the keys need not be those of the Spark job, write salt(…, %d) instead: then each salt gets "+
		"a region.\n", r.regions-1, r.regions)
}

func (r *replaced) checkColumns() (problems []string) {
	for i, c := range r.columns {
		if slices.Contains(r.columns[:i], c) {
			problems = append(problems, fmt.Sprintf("cols has %s twice", c))
		}
	}
	for _, c := range append(slices.Clone(r.query), r.unique) {
		if !slices.Contains(r.columns, c) {
			problems = append(problems, fmt.Sprintf("cols has no column %q", c))
		}
	}
	return problems
}

// javaSplit splits as Java's String.split(",") does: it drops empty texts at the end, and keeps all spaces.
func javaSplit(text string) []string {
	parts := strings.Split(text, ",")
	for len(parts) > 1 && parts[len(parts)-1] == "" {
		parts = parts[:len(parts)-1]
	}
	return parts
}

// yaml returns the job file.
func (r *replaced) yaml(name string) []byte {
	var w bytes.Buffer
	fmt.Fprintf(&w, "# Made by bulkload convert from %s. docs/jobfile.md describes all keys. Then:\n#   bulkload plan "+
		"THIS-FILE --date DATE\n", printableList([]string{name}))
	fmt.Fprint(&w, differences)
	if len(r.unused) > 0 {
		fmt.Fprintf(&w, "# Properties that the Spark job does not use, and this file does not have: %s\n",
			printableList(r.unused))
	}
	for _, c := range r.columns {
		if strings.TrimSpace(c) != c || c == "" {
			fmt.Fprintf(&w, "# CHECK THIS. Column %q has a space in the properties, and so in the table.\n", c)
		}
	}
	fmt.Fprintf(&w, "table: %s\nfamily: %s\ntimestamp: ${date}\n", text(r.namespace+":"+r.tableName), text(r.family))
	fmt.Fprintf(&w, "input:\n  path: %s   # inputPathPrefix and the batch date%s. If that is 20261120, write "+
		"${date:20060102}\n", text(inHDFS(r.input)+"/${date}"), relative(r.input))
	writeColumns(&w, r.columns)
	fmt.Fprint(&w, "  field_delimiter: '\\x01'\n  record_delimiter: '\\x10'\n  max_rejects: 0\n")
	query := make([]string, len(r.query))
	listed := make([]string, len(r.query))
	for i, c := range r.query {
		query[i], listed[i] = quoted(c), flow(c)
	}
	q := strings.Join(query, " + ")
	fmt.Fprintf(&w, "rowkey: %s   # preRegions, queryKey and uniqCol\n",
		text(fmt.Sprintf("%s(%s, %d) + md5(%s) + %s", r.salt(), q, r.regions, q, quoted(r.unique))))
	fmt.Fprintf(&w, "query: [%s]\n", strings.Join(listed, ", "))
	w.WriteString(r.regionsComment())
	fmt.Fprint(&w, "regions: {from: table}\n")
	fmt.Fprintf(&w, "output: %s   # hfilePathPrefix%s\nload: true\n",
		text(inHDFS(r.hfiles)+"/${date}"), relative(r.hfiles))
	fmt.Fprint(&w, "# hbase.keyuser and hbase.keytab of kerberos.conf are: hbase: {kerberos: {principal: USER@REALM, "+
		"keytab: /FOLDER/USER.keytab}}\n")
	return w.Bytes()
}

const differences = `# Rows, columns and values are those of the Spark job. What differs:
# - The cells' timestamp is midnight UTC of --date. The Spark job's cells have the time at which it ran.
# - A record with empty columns at its end is a row. The Spark job failed.
# - A record with too many columns, or that is not UTF-8, is a reject. The Spark job left out columns, and replaced bytes.
# - The text of a null, such as null, is a value, as it was. With null: 'null' below input it becomes no cell.
`

// writeColumns writes input.columns in lines of moderate length.
func writeColumns(w *bytes.Buffer, names []string) {
	d := &Draft{form: form{format: "parquet"}}
	for _, name := range names {
		d.columns = append(d.columns, newColumn(name))
	}
	d.names(w)
}

func printableList(names []string) string {
	shown := make([]string, len(names))
	for i, name := range names {
		shown[i] = strings.Trim(strconv.Quote(name), `"`)
	}
	return strings.Join(shown, ", ")
}

// inHDFS returns a path as Hadoop understands it: without a scheme it is in the default file system, and a relative
// path is in the home folder of the user who runs the job.
func inHDFS(path string) string {
	path = strings.TrimRight(path, "/")
	rest, hdfs := strings.CutPrefix(path, "hdfs:")
	switch {
	case hdfs && !strings.HasPrefix(rest, "//"):
		return "hdfs://" + rest
	case schemeOf(path) != "":
		return path
	case strings.HasPrefix(path, "/"):
		return "hdfs://" + path
	}
	return "hdfs:///user/${env.USER}/" + path
}

// schemeOf returns the scheme of a path, such as hdfs; "" if it has none.
func schemeOf(path string) string {
	scheme, _, found := strings.Cut(path, ":")
	if !found || strings.Contains(scheme, "/") {
		return ""
	}
	return scheme
}

// relative returns a comment to put after a path that depends on who runs the job; "" for other paths.
func relative(path string) string {
	if schemeOf(path) != "" || strings.HasPrefix(path, "/") {
		return ""
	}
	return ". CHECK THIS: it is relative to the home of whoever ran the Spark job"
}
