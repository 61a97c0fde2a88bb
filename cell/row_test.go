package cell

import (
	"strings"
	"testing"
)

// TestPrintable: the results of Bytes.toStringBinary for all kinds of bytes.
func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"": "", "az09AZ": "az09AZ", " `~!@#$%^&*()-_=+[]{}|;:'\",.<>/?": " `~!@#$%^&*()-_=+[]{}|;:'\",.<>/?",
		`\`: `\x5C`, "\x00\x1f\x7f\x80\xff": `\x00\x1F\x7F\x80\xFF`, "é": `\xC3\xA9`,
	} {
		if got := Printable([]byte(in)); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
	if n := len(Printable([]byte(strings.Repeat("\x00", 100)))); n != 400 {
		t.Errorf("100 bytes become %d", n)
	}
}
