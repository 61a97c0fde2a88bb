package draft

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"

	"bulkload/ingest"
	"bulkload/jobs/spec/jobfile"
)

// spelling is one way in which exporters write a day in a path.
type spelling struct {
	day      *regexp.Regexp // its groups are year, month and day, and digits of a time if they may follow
	variable string         // of the job file
}

var spellings = []spelling{
	{regexp.MustCompile(`year=(20\d\d)/month=(\d\d)/day=(\d\d)`), "year=${date:2006}/month=${date:01}/day=${date:02}"},
	{regexp.MustCompile(`(20\d\d)-(\d\d)-(\d\d)`), "${date:2006-01-02}"},
	{regexp.MustCompile(`(20\d\d)/(\d\d)/(\d\d)`), "${date:2006/01/02}"},
	{regexp.MustCompile(`(20\d\d)_(\d\d)_(\d\d)`), "${date:2006_01_02}"},
	{regexp.MustCompile(`(20\d\d)\.(\d\d)\.(\d\d)`), "${date:2006.01.02}"},
	{regexp.MustCompile(`(20\d\d)(\d\d)(\d\d)(\d*)`), "${date:20060102}"},
}

// dated is a path with a variable in place of its day. day is the day as --date reads it; "" if the path has no day, or
// several.
type dated struct{ path, day string }

// withDate replaces the day in a path, so that the job reads another day's export on another day. A time that follows
// the day differs from day to day, so it becomes a *.
func withDate(name string) dated {
	all := dated{path: name}
	for _, s := range spellings {
		if !all.replace(s) {
			return dated{path: name}
		}
	}
	all.path = strings.ReplaceAll(all.path, "${date:2006-01-02}", "${date}")
	return all
}

// replace replaces the days in one spelling. ok is false if there are several.
func (p *dated) replace(s spelling) (ok bool) {
	var done strings.Builder
	rest := p.path
	for {
		m := s.day.FindStringSubmatchIndex(rest)
		if m == nil {
			done.WriteString(rest)
			p.path = done.String()
			return true
		}
		day, known := dayOf(rest, m)
		if !known || insideVariable(done.String()+rest[:m[0]]) || digitAt(rest, m[0]-1) || digitAt(rest, m[1]) {
			done.WriteString(rest[:m[1]])
			rest = rest[m[1]:]
			continue
		}
		if p.day != "" && p.day != day {
			return false
		}
		p.day = day
		done.WriteString(rest[:m[0]] + s.variable)
		if len(m) > 8 && m[9] > m[8] {
			done.WriteByte('*')
		}
		rest = rest[m[1]:]
	}
}

// dayOf returns the day in the groups of a match. known is false if there is no such day.
func dayOf(text string, m []int) (day string, known bool) {
	day = text[m[2]:m[3]] + "-" + text[m[4]:m[5]] + "-" + text[m[6]:m[7]]
	_, err := time.Parse(time.DateOnly, day)
	return day, err == nil
}

// insideVariable reports whether a text ends within ${…}, whose layout looks like a day.
func insideVariable(text string) bool {
	return strings.LastIndex(text, "${") > strings.LastIndexByte(text, '}')
}

func digitAt(s string, i int) bool { return i >= 0 && i < len(s) && s[i] >= '0' && s[i] <= '9' }

// ofDays turns the path of a folder with exports of several days into the path of one day's export, and returns the
// files of the latest day that has records. found is false if the files' paths don't tell their days.
func (d *Draft) ofDays(folder string, files []ingest.SourceFile) (latest []ingest.SourceFile, found bool) {
	days := map[string][]ingest.SourceFile{}
	var paths, undated []string
	for _, f := range files {
		below, ok := strings.CutPrefix(f.Path, strings.TrimSuffix(folder, "/")+"/")
		if !ok {
			return nil, false // folder is a file or a glob
		}
		p := withDate(below)
		if p.day == "" {
			undated = append(undated, below)
			continue
		}
		days[p.day] = append(days[p.day], f)
		paths = append(paths, ofExport(p.path))
	}
	if len(days) == 0 {
		return nil, false
	}
	slices.Sort(paths)
	one, ok := commonPath(slices.Compact(paths))
	if !ok || len(undated) > 0 {
		d.unclear = whyUnclear(paths, undated)
		return nil, false
	}
	d.Path, d.day = strings.TrimSuffix(d.Path, "/")+"/"+one, latestDay(days)
	if len(days) > 1 {
		d.note("The folder has exports of %s, up to %s. This job reads one of them a run: --from DATE --to DATE runs "+
			"several, one by one. To load all at once, see History in docs/jobfile.md.", jobfile.Plural(len(days), "day"), d.day)
	}
	return days[d.day], true
}

func whyUnclear(paths, undated []string) string {
	if len(undated) > 0 {
		return fmt.Sprintf("%q has a day in its name, but %q has none", paths[0], undated[0])
	}
	return fmt.Sprintf("%q and %q may be two exports", paths[0], paths[len(paths)-1])
}

// latestDay returns the last day with a record, or else the last day.
func latestDay(days map[string][]ingest.SourceFile) (latest string) {
	full := func(day string) bool {
		return slices.ContainsFunc(days[day], func(f ingest.SourceFile) bool { return f.Size > 0 })
	}
	for day := range days {
		if latest == "" || full(day) && !full(latest) || full(day) == full(latest) && day > latest {
			latest = day
		}
	}
	return latest
}

var variable = regexp.MustCompile(`\$\{[^}]*\}`)

// ofExport returns the part of a file's path that identifies its export: the folder that has the day, or the whole path
// if only the file's name has it.
func ofExport(name string) string {
	const slash = "\x00" // stands for a slash within a layout such as ${date:2006/01/02}
	dir := path.Dir(variable.ReplaceAllStringFunc(name,
		func(v string) string { return strings.ReplaceAll(v, "/", slash) }))
	if !variable.MatchString(dir) {
		return name
	}
	for !variable.MatchString(path.Base(dir)) {
		dir = path.Dir(dir)
	}
	return strings.ReplaceAll(dir, slash, "/")
}

var number = regexp.MustCompile(`[0-9]+`)

// commonPath returns the only path or, if the paths differ only in numbers, one with a * for every number.
func commonPath(paths []string) (common string, ok bool) {
	if len(paths) == 1 {
		return paths[0], true
	}
	for i, p := range paths {
		p = withoutNumbers(p)
		if i > 0 && p != common {
			return "", false
		}
		common = p
	}
	return common, true
}

// withoutNumbers replaces the numbers outside of variables with *.
func withoutNumbers(p string) string {
	var done strings.Builder
	from := 0
	for _, v := range variable.FindAllStringIndex(p, -1) {
		done.WriteString(number.ReplaceAllString(p[from:v[0]], "*") + p[v[0]:v[1]])
		from = v[1]
	}
	done.WriteString(number.ReplaceAllString(p[from:], "*"))
	return done.String()
}
