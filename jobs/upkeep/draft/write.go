package draft

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"bulkload/ingest"
	"bulkload/internal/bytesize"
	"bulkload/jobs/spec/jobfile"
)

// YAML returns the job file.
func (d *Draft) YAML() []byte {
	var w bytes.Buffer
	name := tableName(d.Path)
	d.head(&w)
	fmt.Fprintf(&w, "table: %s\nfamily: f\n", name)
	fmt.Fprintf(&w, "timestamp: ${date}   # of all cells: midnight UTC of --date; column:NAME takes it from a column\n")
	fmt.Fprintf(&w, "input:\n  path: %s%s\n", text(d.Path), d.pathComment())
	d.input(&w)
	d.columnsMap(&w)
	for _, reason := range d.key.reasons {
		fmt.Fprintf(&w, "# %s\n", reason)
	}
	fmt.Fprintf(&w, "rowkey: %s\nquery: [%s]\n", text(d.key.expression), flow(d.key.query))
	fmt.Fprintf(&w, "# bulkload plan shows how even the regions are, and suggests how many there should be. A job that "+
		"loads takes the table's: regions: {from: table}\n")
	fmt.Fprintf(&w, "regions:\n  from: splits\n  splits: [%s]\n", quotedList(d.key.splits))
	fmt.Fprintf(&w, "hfile: {compression: snappy, encoding: fast_diff, bloom: row, block_size: 64KiB}\n")
	fmt.Fprintf(&w, "# To load: an output in HDFS, such as hdfs:///user/me/hfile/%s/${date}, load: true, and regions: "+
		"{from: table}\n", name)
	output := "out/" + name
	if d.day != "" {
		output += "/${date}"
	}
	fmt.Fprintf(&w, "output: %s\nload: false\n", output)
	return w.Bytes()
}

// pathComment says what to do about a path that is the same on every day.
func (d *Draft) pathComment() string {
	switch {
	case d.day != "":
		return ""
	case d.unclear != "":
		return "   # CHECK THIS. Each run reads all of it: " + d.unclear + ". Give init the path of one day's export"
	}
	return "   # CHECK THIS. Each run reads all of it. If there is an export for each day, write ${date} where its path " +
		"has the day"
}

func (d *Draft) head(w *bytes.Buffer) {
	size := bytesize.Format(d.Bytes)
	if d.form.format == "parquet" {
		fmt.Fprintf(w, "# A draft by bulkload init, from the footer of a file; the input has %s, %s.\n",
			jobfile.Plural(d.Files, "file"), size)
	} else {
		fmt.Fprintf(w, "# A draft by bulkload init, from %d records at the start of files; the input has %s, %s.\n",
			d.Records, jobfile.Plural(d.Files, "file"), size)
	}
	fmt.Fprint(w, "# It is a guess: read each line. docs/jobfile.md describes all keys, docs/keys.md row keys. Then:\n")
	day := d.day
	if day == "" {
		day = "DATE"
	}
	fmt.Fprintf(w, "#   bulkload plan THIS-FILE --date %s\n", day)
	for _, note := range d.notes {
		fmt.Fprintf(w, "# Note: %s\n", note)
	}
}

func (d *Draft) input(w *bytes.Buffer) {
	if d.form.format != "delimited" {
		fmt.Fprintf(w, "  format: %s\n", d.form.format)
	}
	if d.form.charset != "" {
		fmt.Fprintf(w, "  charset: %s   # the sample is not UTF-8; it would also be text in similar charsets\n",
			d.form.charset)
	}
	d.names(w)
	switch d.form.format {
	case "csv":
		if !d.form.heading {
			fmt.Fprint(w, "  header: false\n")
		}
		if d.form.noise {
			fmt.Fprint(w,
				"  skip_noise: true   # some lines are not records, such as repeated headings and \"40 rows selected.\"\n")
		}
		if d.form.field != "," {
			fmt.Fprintf(w, "  field_delimiter: %s\n", text(ingest.FormatDelimiter([]byte(d.form.field))))
		}
	case "delimited":
		fmt.Fprintf(w, "  field_delimiter: %s\n", text(ingest.FormatDelimiter([]byte(d.form.field))))
		fmt.Fprintf(w, "  record_delimiter: %s\n", text(ingest.FormatDelimiter([]byte(d.form.record))))
		if d.form.escape {
			fmt.Fprint(w, "  escaped_by: '\\'\n")
		}
		if d.form.enclosure {
			fmt.Fprint(w, "  optionally_enclosed_by: '\"'\n")
		}
	}
	d.nulls(w)
	fmt.Fprint(w, "  max_rejects: 0\n")
}

func (d *Draft) names(w *bytes.Buffer) {
	if d.form.format == "delimited" || d.form.format == "csv" && !d.form.heading {
		fmt.Fprint(w, "  # The files have no heading: give the columns their names.\n")
	}
	line := "  columns: ["
	for i, c := range d.columns {
		item := flow(c.name)
		if i < len(d.columns)-1 {
			item += ","
		}
		if len(line)+len(item) > 110 {
			fmt.Fprintln(w, strings.TrimRight(line, " "))
			line = "            "
		}
		line += item + " "
	}
	fmt.Fprintf(w, "%s]\n", strings.TrimRight(line, " "))
}

// nulls writes which texts are nulls. A text that stands for a null in a column of numbers or times is taken for a null
// in other columns, too.
func (d *Draft) nulls(w *bytes.Buffer) {
	var typed, untyped []string
	for _, c := range d.columns {
		for _, t := range c.null {
			if c.kind != "" || t == `\N` {
				typed = append(typed, t)
			}
		}
	}
	slices.Sort(typed)
	typed = slices.Compact(typed)
	for _, c := range d.columns {
		for _, t := range c.null {
			if c.kind != "" {
				continue
			}
			if slices.Contains(typed, t) {
				untyped = append(untyped, t)
			} else {
				fmt.Fprintf(w, "  # Column %s has the text %s %d times. If it means a null, add it to null.\n",
					c.name, t, c.nulls[t])
			}
		}
	}
	slices.Sort(untyped)
	untyped = slices.Compact(untyped)
	switch {
	case len(typed) == 0:
	case d.form.format == "csv" || !slices.Contains(typed, ""):
		fmt.Fprintf(w, "  null: [%s]\n", quotedList(slices.DeleteFunc(typed, func(t string) bool { return t == "" })))
	default: // an empty number is a null; an empty text may be a value
		fmt.Fprint(w, "  # An empty number or time is a null. An empty text is a value here: Oracle has none, so add '' to "+
			"null_string to omit those cells.\n")
		fmt.Fprintf(w, "  null_non_string: [%s]\n  null_string: [%s]\n", quotedList(typed), quotedList(orNone(untyped)))
	}
}

// orNone returns texts, or \N if there are none: null_string needs a text, and no exporter writes \N for a value.
func orNone(texts []string) []string {
	if len(texts) == 0 {
		return []string{`\N`}
	}
	return texts
}

// columnsMap writes the types, except those of the key's columns: a key uses the text, as in salt(x, n).
func (d *Draft) columnsMap(w *bytes.Buffer) {
	begun := false
	for _, c := range d.columns {
		if c.kind == "" || slices.Contains(d.key.columns, c.name) {
			continue
		}
		if !begun {
			begun = true
			fmt.Fprint(w, "# The types that all values of the sample have. A value of another type makes its record a reject; "+
				"delete a line to accept any text.\n")
			fmt.Fprint(w, "columns_map:\n")
		}
		fmt.Fprintf(w, "  %s: {type: %s}%s\n", flow(c.name), c.kind, zoneComment(c))
	}
}

func zoneComment(c *column) string {
	switch {
	case c.kind != "timestamp" || !c.unzoned:
		return ""
	case c.zoned:
		return "   # some values have an offset, some have none: add their zone, such as zone: Asia/Shanghai"
	}
	return "   # without an offset: add zone: Asia/Shanghai, or another one, if milliseconds are computed from it"
}

var plainText = regexp.MustCompile(`^[A-Za-z/.$][A-Za-z0-9_/.${}:()-]*$`)

// text writes a text as YAML, in single quotes unless it is plain.
func text(s string) string {
	if plainText.MatchString(s) && !slices.Contains([]string{"null", "true", "false", "yes", "no", "on", "off", "y", "n"},
		strings.ToLower(s)) && !strings.Contains(s, ": ") && !strings.HasSuffix(s, ":") {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}

// flow writes a text as YAML within a list or mapping in brackets.
func flow(s string) string {
	if strings.ContainsAny(s, "{}[],") {
		return "'" + strings.ReplaceAll(s, "'", "''") + "'"
	}
	return text(s)
}

func quotedList(texts []string) string {
	var all []string
	for _, t := range texts {
		all = append(all, "'"+strings.ReplaceAll(t, "'", "''")+"'")
	}
	return strings.Join(all, ", ")
}
