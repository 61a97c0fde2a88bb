package testwords

import (
	"errors"
	"testing"
)

func TestNames(t *testing.T) {
	err := errors.New("read /a at byte 4: it is gone")
	if !Names(err, "/a", "byte 4") || !Names(err) || Names(err, "/a", "byte 5") || Names(nil) {
		t.Error("an error names what is in its text, and no error names nothing")
	}
}

func TestDoubled(t *testing.T) {
	for text, want := range map[string]string{
		"look up table x: look up table x: not found": "look up table",
		"run: look up table x (y): look up table x":   "look up table",
		"x is one of those here: yes is one of those": "",
		"so it is one of those: or is one of those a": "",
		"y so it is one of those: x so it is one of":  "so it is one of",
		"open the output a: open the output b":        "open the output",
		"read the job: a b c a b c":                   "",
		"one error: a b c\nanother error: a b c":      "",
		"a b: a b":                                    "",
	} {
		if got := Doubled(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
