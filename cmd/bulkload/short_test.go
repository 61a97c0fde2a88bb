package main

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"bulkload/jobs/base/failure"
	"bulkload/jobs/run/summary"
)

// TestShortSummaryFits: whatever the job, its short summary has at most 2,048 bytes, and its error says what is wrong.
func TestShortSummaryFits(t *testing.T) {
	long := strings.Repeat("\x01号", 5000)
	s := &summary.Summary{}
	s.Run.Job, s.Run.Date = long, "2026-11-20T05"
	s.Rejects = []summary.RejectFile{{Path: long, Records: 1}}
	s.Outcome = failure.Outcome{Schema: 1, Status: failure.StatusFailed, Exit: 5, Error: errors.New("open the input: " + long).Error()}
	for _, outputs := range []int{0, 1, 2, 50} {
		s.OutputSummary, s.Outputs = nil, nil
		if outputs == 1 {
			s.Run.Table, s.Run.ID = long, strings.Repeat("f", 32)
			s.OutputSummary = &summary.OutputSummary{Output: long}
		}
		for range outputs - 1 {
			out := &summary.OutputReport{Status: failure.StatusDone}
			out.Run.Table, out.Output = "shop:orders", "hdfs://nameservice/user/tina/hfile/orders/2026-11-20"
			s.Outputs = append(s.Outputs, out)
		}
		short := shorten(s, 1.5)
		text, err := json.Marshal(short)
		if err != nil || len(text)+1 > shortBytes {
			t.Errorf("%d outputs: %d bytes, %v", outputs, len(text), err)
		}
		if !strings.Contains(string(text), `"exit":5,"error":"open the input: `) || len(short.Outputs)+short.LeftOut != max(outputs-1, 0) || outputs == 50 && len(short.Outputs) < 3 {
			t.Errorf("%d outputs, %d left out: %s", len(short.Outputs), short.LeftOut, text)
		}
	}
}
