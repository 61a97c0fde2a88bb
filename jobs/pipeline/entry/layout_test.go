package entry

import (
	"fmt"
	"testing"

	"bulkload/internal/digest"
	"bulkload/internal/test/testvalues"
	"bulkload/jobs/spec/jobfile"
)

// columnsJob is a job with a cell for each of the given families and qualifiers.
func columnsJob(columns ...[2]string) *jobfile.Job {
	j := &jobfile.Job{Wide: &jobfile.Wide{}}
	for i, c := range columns {
		j.Columns = append(j.Columns, jobfile.Column{Name: fmt.Sprint(i), Family: c[0], Qualifier: c[1]})
	}
	return j
}

// TestLayout: cells are in order of family and qualifier, and each is digested under its own family's name.
func TestLayout(t *testing.T) {
	t.Parallel()
	l, err := NewLayout(columnsJob([2]string{"long", "q"}, [2]string{"f", "b"}, [2]string{"f", "a"}, [2]string{"g", "qualifier"}))
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []struct{ family, qualifier string }{{"f", "a"}, {"f", "b"}, {"g", "qualifier"}, {"long", "q"}} {
		if l.hash(i, []byte("x")) != digest.Column([]byte(want.family), []byte("x"+want.qualifier)) {
			t.Errorf("cell %d is not x%s of family %s", i, want.qualifier, want.family)
		}
	}
	for i, name := range []string{"f", "g", "long"} {
		if at := l.FamilyNamed([]byte(name)); at != i {
			t.Errorf("family %s is at %d", name, at)
		}
	}
	if at := l.FamilyNamed([]byte("none")); at != 0 {
		t.Errorf("a family that does not exist is at %d", at)
	}
	if l.Longest != len("g"+"qualifier") {
		t.Errorf("the longest column has %d bytes", l.Longest)
	}
}

// TestManyFamilies: a cell's family is not searched among all. With 200,000 families, that would take a minute.
func TestManyFamilies(t *testing.T) {
	t.Parallel()
	const n = 200_000
	columns, texts := make([][2]string, n), make([]string, n)
	for i := range columns {
		columns[i] = [2]string{fmt.Sprintf("family_%06d", i), "q"}
	}
	l, err := NewLayout(columnsJob(columns...))
	if err != nil {
		t.Fatal(err)
	}
	var sum digest.Sum
	l.DigestValues(&sum, []byte("row"), []byte("x"), testvalues.Of(texts...), 1)
	if sum.Cells != n {
		t.Errorf("%d cells", sum.Cells)
	}
	for i, c := range columns {
		if l.FamilyNamed([]byte(c[0])) != i {
			t.Fatalf("family %d is not found", i)
		}
	}
}
