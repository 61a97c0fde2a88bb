// Package testwords checks the words of an error: whether it names the required facts, and whether wrapping has doubled
// any. The kind of an error follows from its code; its sentences are in the scripts of cmd/bulkload.
package testwords

import (
	"slices"
	"strings"
	"unicode"
)

// Names reports whether an error's text has all of these facts: a path, a place, a name, a value.
func Names(err error, facts ...string) bool {
	if err == nil {
		return false
	}
	text := err.Error()
	return !slices.ContainsFunc(facts, func(fact string) bool { return !strings.Contains(text, fact) })
}

// The numbers of words that two parts of an error do not share by chance, at their beginnings or anywhere.
const (
	leading  = 3
	anywhere = 5
)

// Doubled returns words that a line of a text has in two of its parts, as in "look up table x: look up table x"; "" if
// there are none. A part ends with a colon and a space, because each is added by one wrapping.
func Doubled(text string) string {
	for line := range strings.Lines(text) {
		seen := map[string]int{}
		for i, part := range strings.Split(line, ": ") {
			words := strings.FieldsFunc(part, func(r rune) bool { return unicode.IsSpace(r) || strings.ContainsRune(",;()", r) })
			runs := []string{"^" + strings.Join(words[:min(leading, len(words))], " ")}
			if len(words) < leading {
				runs = nil
			}
			for at := 0; at+anywhere <= len(words); at++ {
				runs = append(runs, strings.Join(words[at:at+anywhere], " "))
			}
			for _, run := range runs {
				if first, known := seen[run]; known && first != i {
					return strings.TrimPrefix(run, "^")
				}
				seen[run] = i
			}
		}
	}
	return ""
}
