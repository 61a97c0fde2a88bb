package failure

import (
	"encoding/json"
	"testing"
)

// TestOutcomeOfAReport: a report that embeds an outcome is a failure until it says otherwise, is filled in through
// Result, and begins with the outcome's fields, whose names programs rely on.
func TestOutcomeOfAReport(t *testing.T) {
	type report struct {
		Outcome
		Rows int `json:"rows"`
	}
	r := &report{Outcome: NewOutcome(), Rows: 3}
	if text, err := json.Marshal(r); err != nil || string(text) != `{"schema":1,"status":"failed","exit":0,"rows":3}` {
		t.Errorf("new: %s, %v", text, err)
	}
	out := r.Result()
	out.Status, out.Exit, out.Error, out.Code = StatusNothing, 75, "locked", "BL-LOCKED"
	const want = `{"schema":1,"status":"nothing to do","exit":75,"error":"locked","code":"BL-LOCKED","rows":3}`
	if text, err := json.Marshal(r); err != nil || string(text) != want {
		t.Errorf("filled in: %s, %v, want %s", text, err, want)
	}
}
