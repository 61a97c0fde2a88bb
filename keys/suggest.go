package keys

import (
	"fmt"
	"strings"
)

// Meant suggests the known name that is nearest to an unknown one, as the end of a message: "; did you mean NAME?". It is
// empty where none is near.
func Meant(name string, known []string) string {
	if len(name) > longestMeant {
		return ""
	}
	best, least := "", len([]rune(name))/3+2
	for _, k := range known {
		if d := editDistance(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// longestMeant bounds the names for which a known one is looked for.
const longestMeant = 200

// editDistance is Levenshtein's: how many characters to insert, delete or replace.
func editDistance(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(y)]
}
