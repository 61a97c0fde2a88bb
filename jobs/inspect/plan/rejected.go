package plan

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"bulkload/ingest"
	"bulkload/jobs/stats"
)

// rejectsShown is how many records that can't be used are shown.
const rejectsShown = 3

// shownReject is a record that can't be used, with its place in the input.
type shownReject struct {
	stats.RejectedRecord
	file   int
	offset int64
}

// newShownReject copies what is shown of a record.
func newShownReject(bad *ingest.BadRecord) shownReject {
	text := bad.Raw[:min(len(bad.Raw), bytesShown)]
	for cut := 0; len(text) < len(bad.Raw) && cut < utf8.UTFMax && !utf8.Valid(text); cut++ { // don't cut a character
		text = text[:len(text)-1]
	}
	shown := stats.RejectedRecord{At: bad.Location(), Column: bad.Column, Reason: bad.Reason,
		Cut: len(text) < len(bad.Raw)}
	if shown.Text = string(text); !utf8.Valid(text) { // it may be in another charset
		shown.Text = strings.ToValidUTF8(string(bad.Raw[:min(len(bad.Raw), bytesShown)]), string(utf8.RuneError))
	}
	return shownReject{shown, bad.File.Ordinal, bad.Offset}
}

// firstRejects returns the first rejects of two lists, by file and offset.
func firstRejects(a, b []shownReject) []shownReject {
	all := append(slices.Clip(a), b...)
	slices.SortStableFunc(all, func(a, b shownReject) int {
		return cmp.Or(cmp.Compare(a.file, b.file), cmp.Compare(a.offset, b.offset))
	})
	return all[:min(len(all), rejectsShown)]
}

func listRejects(all []shownReject) []stats.RejectedRecord {
	var list []stats.RejectedRecord
	for i := range all {
		list = append(list, all[i].RejectedRecord)
	}
	return list
}
