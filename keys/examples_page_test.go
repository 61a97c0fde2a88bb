package keys_test

import (
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bulkload/cell"
	"bulkload/jobs/spec/jobfile"
	"bulkload/keys"
)

var updateKeysPage = flag.Bool("update-keys-page", false, "write the cards of docs/keys.md anew")

const keysPage = "../docs/keys.md"

var keyCard = regexp.MustCompile("(?ms)^```text ([a-z0-9-]+)\n(.*?)^```$")

// TestKeysPage: the cards of docs/keys.md are what the program says of the examples, and there is one for each.
func TestKeysPage(t *testing.T) {
	text, err := os.ReadFile(keysPage)
	if err != nil {
		t.Fatal(err)
	}
	left := strategies(t)
	page := keyCard.ReplaceAllStringFunc(string(text), func(card string) string {
		m := keyCard.FindStringSubmatch(card)
		i := slices.Index(left, m[1])
		if i < 0 {
			t.Fatalf("%s shows %s, which is no example or is listed twice", keysPage, m[1])
		}
		left = slices.Delete(left, i, i+1)
		want := describeKey(t, m[1])
		if m[2] != want && !*updateKeysPage {
			t.Errorf("%s shows of %s\n%sbut it is\n%s", keysPage, m[1], m[2], want)
		}
		return "```text " + m[1] + "\n" + want + "```"
	})
	if len(left) > 0 {
		t.Errorf("%s does not show %v", keysPage, left)
	}
	if *updateKeysPage {
		if err := os.WriteFile(keysPage, []byte(page), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// describeKey is what a card says.
func describeKey(t *testing.T, name string) string {
	t.Helper()
	j := readStrategy(t, name)
	q, err := j.RowKey.Query(j.Query)
	if err != nil {
		t.Fatal(err)
	}
	prefix, err := keys.Parse(q.String(), j.KeyColumns())
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "rowkey   %s\n", j.RowKey)
	fmt.Fprintf(&b, "query    %s: %s below %s, %s\n", strings.Join(j.Query, ", "), counted(q.Scans(), "scan"), q, widthText(prefix.Width()))
	fmt.Fprintf(&b, "key      %s, %s\n", cell.Printable(exampleKey(t, name, j)), widthText(j.RowKey.Width()))
	fmt.Fprintf(&b, "splits   %s\n", splitsText(j.RowKey))
	fmt.Fprintf(&b, "plan     %s\n", findingsText(j))
	return b.String()
}

// exampleKey is Java's key of the first record.
func exampleKey(t *testing.T, name string, j *jobfile.Job) []byte {
	t.Helper()
	if name == "random-salt" {
		key, err := j.RowKey.Append(nil, strategyRecords(t, j)[0])
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	key, err := hex.DecodeString(readStrategyVectors(t)[name][0])
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

func widthText(w keys.Width) string {
	switch {
	case w.Fixed():
		return counted(w.Max, "byte")
	case w.Max < 0:
		return fmt.Sprintf("%d bytes or more", w.Min)
	}
	return fmt.Sprintf("%d to %d bytes", w.Min, w.Max)
}

func splitsText(e *keys.Expr) string {
	splits, err := e.Splits(4)
	if err != nil {
		return "from a sample"
	}
	var list []string
	for _, s := range splits {
		list = append(list, cell.Printable(s))
	}
	if n := len(list); n > 16 {
		list = append(list[:3], "…", list[n-1])
	}
	return strings.Join(list, " ")
}

func findingsText(j *jobfile.Job) string {
	var list []string
	for _, f := range j.RowKey.Findings(j.Query) {
		if f.Warning {
			f.Code = "!" + f.Code
		}
		list = append(list, fmt.Sprintf("%s (%s)", f.Code, f.Part))
	}
	if list == nil {
		return "nothing"
	}
	return strings.Join(list, ", ")
}
