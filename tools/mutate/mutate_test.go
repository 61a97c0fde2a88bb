package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const sample = `package p

import "errors"

var errLow = errors.New("low")

type counter struct{ n int }

func (c *counter) add(n int) error {
	if n < 0 {
		return errLow
	}
	if err := c.check(n); err != nil {
		return err
	}
	c.n += n
	return nil
}

func (c *counter) check(n int) error {
	if n > 9 && c.n > 0 {
		return errors.New("high")
	}
	return nil
}

func unused() {
	println("x")
}
`

// TestMutantsOfCases: whoever comes to a switch may evaluate its cases, even if no test has one of them chosen.
func TestMutantsOfCases(t *testing.T) {
	all, err := mutantsIn("p.go", []byte("package p\n\nfunc f(n int) {\n\tswitch {\n\tcase n > 1 && n < 5:\n\t\tprintln(n > 2)\n\t}\n}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range all {
		if want := map[int]int{5: 4, 6: 6}[m.line]; m.begins != want {
			t.Errorf("%v begins at %d, not at %d", m, m.begins, want)
		}
	}
	if len(all) < 4 {
		t.Error(all)
	}
}

// TestMutants: each kind of change is made at its place.
func TestMutants(t *testing.T) {
	all, err := mutantsIn("p.go", []byte(sample))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range all {
		got = append(got, m.String())
	}
	for _, want := range []string{
		`p.go:10: n < 0 → !(n < 0)`, `p.go:10: n < 0 → (n < 0) && false`, `p.go:10: < → <=`, `p.go:13: != → ==`, `p.go:14: err → error(nil)`,
		`p.go:16: c.n += n → _ = n`, `p.go:21: && → ||`, `p.go:21: > → >=`, `p.go:22: errors.New("high") → error(nil)`, `p.go:28: println("x") → nothing`,
	} {
		if !slices.Contains(got, want) {
			t.Errorf("no mutant %s in\n%s", want, strings.Join(got, "\n"))
		}
	}
}

// TestMeasure draws mutants of a package whose tests miss some.
func TestMeasure(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module p\n\ngo 1.26\n", "p.go": sample, "p_test.go": `package p

import "testing"

func TestAdd(t *testing.T) {
	c := new(counter)
	if c.add(-1) == nil || c.add(1) != nil || c.n != 1 || c.add(9) != nil {
		t.Error(c.n)
	}
}
`} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	const survivor = "p.go:10: < → <="
	seed := uint64(1)
	for ; ; seed++ { // one that draws it
		all, err := mutantsOf(dir, rand.New(rand.NewPCG(seed, 1)))
		if err != nil {
			t.Fatal(err)
		}
		if slices.ContainsFunc(all, func(m *mutant) bool { return m.String() == survivor }) {
			break
		}
	}
	test := "cd " + dir + " && go test -vet=off ."
	commands := []string{test + " -run TestNothing", test} // the first one reaches no mutant and so never kills one
	var out bytes.Buffer
	enough, err := measure(t.Context(), &out, dir, commands, 40, seed, 100, 1)
	if err != nil || enough {
		t.Fatalf("%v, %v\n%s", enough, err, &out)
	}
	for _, want := range []string{fmt.Sprintf("-seed %d\n", seed), "killed       p.go:16: c.n += n → _ = n  by " + test + "\n", "not reached  p.go:22: ", "not reached  p.go:28: ", "SURVIVED     " + survivor + "\n", "\n" + survivor + "\n"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in\n%s", want, &out)
		}
	}
	if text, err := os.ReadFile(filepath.Join(dir, "p.go")); err != nil || string(text) != sample {
		t.Errorf("the package has changed: %v", err)
	}
	var inParallel bytes.Buffer
	if enough, err = measure(t.Context(), &inParallel, dir, commands, 40, seed, 10, 3); err != nil || !enough {
		t.Errorf("%v, %v", enough, err)
	}
	if one, three := strings.Split(out.String(), "\n"), strings.Split(inParallel.String(), "\n"); !slices.Equal(slices.Sorted(slices.Values(one)), slices.Sorted(slices.Values(three))) {
		t.Errorf("three at a time:\n%s\ninstead of\n%s", &inParallel, &out)
	}
}
