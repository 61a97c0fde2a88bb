package draft

import (
	"fmt"
	"regexp"
	"strings"
)

// key is a proposed row key.
type key struct {
	expression string
	columns    []string // in the expression
	query      string
	splits     []string
	reasons    []string
}

// identifying matches the names of columns that identify something.
var identifying = regexp.MustCompile(
	`(?i)^(id|uuid|guid|key|no|code|sn)$|(_|^)(id|uuid|guid|key|no|code|sn)$|(Id|ID|No|Key)$`)

// maxKeyColumn is the longest value, in bytes, that a key should hold.
const maxKeyColumn = 64

// suits reports whether a column can be part of a key.
func (c *column) suits() bool {
	return c.complete() && c.longest <= maxKeyColumn && c.kind != "decimal" && c.kind != "timestamp"
}

// better returns the best column that fits: the first with the name of an identifier, or else the first.
func better(columns []*column, fits func(*column) bool) (best *column) {
	for _, c := range columns {
		if fits(c) && (best == nil || identifying.MatchString(c.name) && !identifying.MatchString(best.name)) {
			best = c
		}
	}
	return best
}

// keyOf proposes a key: a column with unique values, with a salt unless the values are already spread, or two columns.
func keyOf(columns []*column, records [][]string) key {
	repeated := better(columns, func(c *column) bool {
		return c.suits() && !c.nearlyUnique() && identifying.MatchString(c.name) && len(c.distinct)*20 > c.n
	})
	if id := better(columns, func(c *column) bool { return c.suits() && c.unique() }); id != nil {
		return keyOfOne(id, repeated)
	}
	if id := better(columns, func(c *column) bool { return c.suits() && c.nearlyUnique() }); id != nil {
		return keyOfOne(id, nil)
	}
	if first, second := pair(columns, records, repeated); first != nil {
		return key{expression: fmt.Sprintf("salt(%s, 10) + %s + '-' + %s", quoted(first.name), quoted(first.name),
			quoted(second.name)), columns: []string{first.name, second.name}, query: first.name, splits: digits(10),
			reasons: []string{"No column of the sample is unique. " + first.name + " and " + second.name +
				" are, together.", saltReason}}
	}
	return unknownKey("No column of the sample is unique, and no two columns are: name those that identify a record.",
		columns)
}

const saltReason = "The salt spreads the rows over ten regions: keys that grow with time would all be written to the " +
	"last one."

func keyOfOne(id, repeated *column) key {
	k := key{expression: fmt.Sprintf("salt(%s, 10) + %s", quoted(id.name), quoted(id.name)), columns: []string{id.name},
		query: id.name, splits: digits(10),
		reasons: []string{id.uniqueness(), saltReason}}
	if id.kind == "int64" {
		k.reasons = append(k.reasons, "salt(x, n) is the salt of the text, as Java's String.hashCode; a reader that salts "+
			"the number needs long_salt(x, n).")
	}
	if id.spread() {
		k.expression, k.splits = quoted(id.name), hexDigits()
		k.reasons = []string{id.uniqueness(), "Its values are spread like hashes: it needs no salt."}
	}
	if repeated != nil {
		k.reasons = append(k.reasons,
			fmt.Sprintf("If readers look up rows by %s (%.1f each), one scan finds them with: salt(%s, 10) + %s + '-' + %s",
				repeated.name, float64(repeated.n)/float64(len(repeated.distinct)), quoted(repeated.name),
				quoted(repeated.name), quoted(id.name)))
	}
	return k
}

// maxPairs bounds the columns that are tried in pairs.
const maxPairs = 12

// pair finds two columns that are unique together. If one of them is repeated, it is the first.
func pair(columns []*column, records [][]string, repeated *column) (first, second *column) {
	var tried []int
	for i, c := range columns {
		if c.suits() && len(tried) < maxPairs {
			tried = append(tried, i)
		}
	}
	for k, i := range tried {
		for _, j := range tried[k+1:] {
			if !together(records, len(columns), i, j) {
				continue
			}
			if columns[j] == repeated {
				i, j = j, i
			}
			return columns[i], columns[j]
		}
	}
	return nil, nil
}

func together(records [][]string, n, i, j int) bool {
	seen := make(map[string]bool, len(records))
	for _, r := range records {
		if len(r) != n {
			continue
		}
		both := r[i] + "\x00" + r[j]
		if seen[both] {
			return false
		}
		seen[both] = true
	}
	return len(seen) > 1
}

// keyByNames proposes a key if only the names are known.
func keyByNames(columns []*column) key {
	if id := better(columns, func(c *column) bool { return identifying.MatchString(c.name) }); id != nil {
		return key{expression: fmt.Sprintf("salt(%s, 10) + %s", quoted(id.name), quoted(id.name)), columns: []string{id.name},
			query: id.name, splits: digits(10),
			reasons: []string{id.name + " is chosen for its name alone: check that it is unique.", saltReason}}
	}
	return unknownKey("No column has the name of an identifier: name those that identify a record.", columns)
}

// unknownKey proposes a key of the first column, with a warning.
func unknownKey(why string, columns []*column) key {
	first := columns[0].name
	return key{expression: fmt.Sprintf("salt(%s, 10) + %s", quoted(first), quoted(first)), columns: []string{first},
		query: first, splits: digits(10),
		reasons: []string{"CHANGE THIS. " + why, "Of records with the same key, the last one wins."}}
}

func digits(n int) (splits []string) {
	for i := 1; i < n; i++ {
		splits = append(splits, fmt.Sprint(i))
	}
	return splits
}

func hexDigits() []string { return strings.Split("1 2 3 4 5 6 7 8 9 a b c d e f", " ") }

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// quoted returns a column's name as a key expression has it.
func quoted(name string) string {
	if plainName.MatchString(name) {
		return name
	}
	return "`" + name + "`"
}
