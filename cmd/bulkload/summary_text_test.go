package main

import (
	"bytes"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"testing"
	"time"

	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/timing"
	"bulkload/jobs/run/summary"
)

// TestTimesAddUp: the times that a summary shows for the stages, and the rest, add up to the run's total time, to the
// last digit, however they are rounded.
func TestTimesAddUp(t *testing.T) {
	shown := regexp.MustCompile(`(?m)^  (\w+) +([0-9]+\.[0-9]{2}) s`)
	for i := range 200 {
		s := &summary.Summary{Phases: []timing.PhaseTime{
			{Name: "sort", Seconds: 0.004 + float64(i)*0.0137}, {Name: "key", Of: "sort", Seconds: 7},
			{Name: "write", Seconds: 0.005 * float64(i)}, {Name: "load", Seconds: 0.0049},
		}}
		s.Status = failure.StatusDone
		wall := time.Duration((0.0089+float64(i)*0.0187)*float64(time.Second)) + time.Duration(i%7)*3*time.Millisecond
		var text bytes.Buffer
		writePhases(&text, s, wall, false)
		sum, took := 0.0, -1.0
		for _, m := range shown.FindAllStringSubmatch(text.String(), -1) {
			seconds, err := strconv.ParseFloat(m[2], 64)
			if err != nil {
				t.Fatal(err)
			}
			if m[1] == "took" {
				took = seconds
			} else {
				sum += seconds
			}
		}
		if fmt.Sprintf("%.2f", sum) != fmt.Sprintf("%.2f", took) || math.Abs(took-wall.Seconds()) > 0.02 {
			t.Fatalf("%v: the stages add up to %.2f s:\n%s", wall, sum, &text)
		}
	}
}
