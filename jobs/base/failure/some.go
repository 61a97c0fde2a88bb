package failure

import (
	"fmt"
	"strings"
)

// FirstFew names the first few of many.
func FirstFew(names []string) string {
	const few = 5
	if len(names) <= few {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:few], ", "), len(names)-few)
}
