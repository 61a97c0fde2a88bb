package ingest

import (
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testwords"
)

// TestLimitErrorNamesTheFirst: the error for too many rejects names the first one of the input, whichever was found
// first. Its hint and code are those of the first one that has a hint.
func TestLimitErrorNamesTheFirst(t *testing.T) {
	t.Parallel()
	raw := []byte("the record")
	at := func(file int, offset int64, reason, hint string, code errcode.Code) *BadRecord {
		return &BadRecord{Position: Position{File: SourceFile{Path: "in", Ordinal: file}, Offset: offset}, Reason: reason, Hint: hint, Code: code, Raw: raw}
	}
	c := RejectCounter{Limit: Limit{Count: 3}}
	for i, b := range []*BadRecord{at(1, 5, "c", "", errcode.RejectKey), at(0, 90, "b", "late", errcode.RejectType), at(0, 10, "a", "", errcode.RejectKey), at(0, 70, "x", "early", errcode.RejectColumns)} {
		if exceeded := c.Add(b); exceeded != (i == 3) {
			t.Errorf("reject %d: exceeded %t", i+1, exceeded)
		}
	}
	copy(raw, "something else") // the reader's buffer
	err := c.LimitError(0)
	if err.First.Reason != "a" || err.Hint != "early" || err.ErrorCode() != errcode.RejectColumns || err.Rejects != 4 || string(err.First.Raw) != "the record" {
		t.Errorf("%+v, %s", err, err.ErrorCode())
	}
	if !testwords.Names(err, "4 records", "max_rejects is 3", "; early") {
		t.Error(err)
	}
}

// TestPercentageOfRejects: a percentage is of all records, and is applied only at the end.
func TestPercentageOfRejects(t *testing.T) {
	t.Parallel()
	c := RejectCounter{Limit: Limit{Percent: 10}}
	for range 5 {
		if c.Add(&BadRecord{Reason: "no"}) {
			t.Error("a percentage is exceeded before the end")
		}
	}
	if c.Exceeded(50) || !c.Exceeded(49) || c.Count() != 5 {
		t.Errorf("of 50: %t, of 49: %t, %d rejects", c.Exceeded(50), c.Exceeded(49), c.Count())
	}
}
