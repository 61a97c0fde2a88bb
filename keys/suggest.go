package keys

import (
	"fmt"
	"strings"

	"bulkload/internal/editdistance"
)

// Suggest returns the known name that is nearest to an unknown one, as the end of a message: "; did you mean NAME?". It
// is empty if no name is near.
func Suggest(name string, known []string) string {
	if len(name) > maxSuggestLen {
		return ""
	}
	best, least := "", len([]rune(name))/3+2
	for _, k := range known {
		if d := editdistance.Between(strings.ToLower(name), strings.ToLower(k)); d < least {
			best, least = k, d
		}
	}
	if best == "" {
		return ""
	}
	return fmt.Sprintf("; did you mean %s?", best)
}

// maxSuggestLen bounds the length of names for which a suggestion is computed.
const maxSuggestLen = 200
