package failure

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"bulkload/hfilewriter"
	"bulkload/ingest/charset"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/load"
	"bulkload/partition"
)

// kinds are all kinds of failure.
var kinds = []Kind{Failed, Usage, Rejects, Interrupted, Refused, Differs, Later, NotYet}

// TestEveryKind: each kind has a code of that kind for unforeseen errors, and a place in the order of kinds.
func TestEveryKind(t *testing.T) {
	t.Parallel()
	for _, kind := range kinds {
		err := New(kind, errors.New("x"))
		if KindOf(err) != kind || CodeOf(err).Kind() != kind || CodeOf(err) == "" {
			t.Errorf("kind %d: %d, %s", kind, KindOf(err), CodeOf(err))
		}
	}
	if worst := slices.Sorted(slices.Values(Worst)); !slices.Equal(worst, slices.Sorted(slices.Values(kinds))) || len(others) != len(kinds) {
		t.Errorf("the order of kinds is %v", Worst)
	}
}

// TestKindsOfErrors: the kind of an error of any package says what the operator can do, even if others have wrapped the
// error. The code always has the same kind as the error, so that the two never give different advice.
func TestKindsOfErrors(t *testing.T) {
	t.Parallel()
	path := &fs.PathError{Op: "open", Path: "/a", Err: fs.ErrPermission}
	for name, c := range map[string]struct {
		err  error
		kind Kind
		code errcode.Code
	}{
		"unknown":                        {errors.New("x"), Failed, errcode.OtherFailed},
		"interrupted":                    {context.Canceled, Interrupted, errcode.Stopped},
		"interrupted, of a coded error":  {errcode.TableMissing.Errorf("x: %w", context.Canceled), Interrupted, errcode.Stopped},
		"HBase is down":                  {load.ErrUnavailable, Later, errcode.HBaseDown},
		"HDFS is down":                   {storage.ErrUnavailable, Later, errcode.HDFSDown},
		"down, of a refusal":             {errcode.Locked.Errorf("x: %w", errcode.TableMissing.Errorf("y: %w", load.ErrUnavailable)), Later, errcode.Locked},
		"down, with a code of that kind": {errcode.HBaseRegion.Errorf("x: %w", load.ErrUnavailable), Later, errcode.HBaseRegion},
		"a damaged block":                {storage.ErrChecksum, Differs, errcode.HDFSBlockCorrupt},
		"a damaged block of a refusal":   {errcode.TableMissing.Errorf("x: %w", storage.ErrChecksum), Differs, errcode.HDFSBlockCorrupt},
		"the outermost code":             {errcode.OutputChanged.Errorf("x: %w", errcode.InputMissing.New("y")), errcode.OutputChanged.Kind(), errcode.OutputChanged},
		"a code above a sentinel":        {errcode.TableName.Errorf("x: %w", load.ErrNotFound), Usage, errcode.TableName},
		"no such table":                  {load.ErrNotFound, Refused, errcode.TableMissing},
		"HBase refuses":                  {load.ErrRefused, Refused, errcode.HBaseRefused},
		"no permission":                  {path, Refused, errcode.Permission},
		"no space":                       {syscall.ENOSPC, Failed, errcode.DiskFull},
		"over the quota":                 {syscall.EDQUOT, Failed, errcode.DiskFull},
		"a damaged run":                  {partition.ErrDamaged, Failed, errcode.SpillDamaged},
		"a damaged HFile":                {Damagedf("f: %w", hfilewriter.ErrCorrupt), Differs, errcode.HFileCorrupt},
		"an HFile that can't be read":    {Damagedf("f: %w", path), Refused, errcode.Permission},
		"a mark of another charset":      {&charset.MarkError{}, Refused, errcode.InputFormat},
		"damage, and a failed cleanup":   {errors.Join(errcode.Digest.New("y"), storage.ErrUnavailable), Differs, errcode.Digest},
		"rejects, and a failed cleanup":  {errors.Join(errcode.RejectsMany.New("y"), load.ErrUnavailable), Rejects, errcode.RejectsMany},
		"unknown, and a failed cleanup":  {errors.Join(errors.New("x"), storage.ErrUnavailable), Failed, errcode.OtherFailed},
		"unknown, and damage after it":   {errors.Join(errors.New("x"), errcode.Digest.New("y")), Failed, errcode.OtherFailed},
		"a denied cleanup of damage":     {fmt.Errorf("a: %w", errors.Join(fmt.Errorf("b: %w", storage.ErrChecksum), path)), Differs, errcode.HDFSBlockCorrupt},
		"a cancelled cleanup of damage":  {errors.Join(errcode.Digest.New("y"), context.Canceled), Differs, errcode.Digest},
		"down, and a damaged cleanup":    {errors.Join(load.ErrUnavailable, errcode.Digest.New("y")), Later, errcode.HBaseDown},
		"a mark of a full disk":          {errors.Join(syscall.ENOSPC, &charset.MarkError{}), Failed, errcode.DiskFull},
		"several outputs":                {Several(nil, load.ErrUnavailable, errcode.Digest.New("y"), path), Differs, errcode.Digest},
		"several marks of one error":     {fmt.Errorf("%w: %w", load.ErrRefused, fmt.Errorf("x: %w", load.ErrUnavailable)), Later, errcode.HBaseDown},
		"too early":                      {Early(errors.New("x")), Refused, errcode.OtherRefused},
		"too early, and damaged":         {Early(errcode.Digest.New("x")), Differs, errcode.Digest},
		"too early, but worth a try":     {Early(fmt.Errorf("x: %w", load.ErrUnavailable)), Later, errcode.HBaseDown},
	} {
		for _, err := range []error{c.err, fmt.Errorf("do it: %w", c.err), errors.Join(c.err, errcode.Digest.New("after"), storage.ErrUnavailable)} {
			if kind, code := KindOf(err), CodeOf(err); kind != c.kind || code != c.code || code.Kind() != kind {
				t.Errorf("%s: kind %d, want %d; code %s, want %s, for %v", name, kind, c.kind, code, c.code, err)
			}
		}
	}
	if Several() != nil || Several(nil, nil) != nil || Early(nil) != nil || Default(errcode.Digest, nil) != nil {
		t.Error("no error has become one")
	}
}

// TestDefaultCode: an error gets a code only if it has none.
func TestDefaultCode(t *testing.T) {
	t.Parallel()
	if code := CodeOf(Default(errcode.SiteRead, errors.New("x"))); code != errcode.SiteRead {
		t.Errorf("without one: %s", code)
	}
	for _, err := range []error{errcode.TableMissing.New("x"), fmt.Errorf("x: %w", load.ErrUnavailable), syscall.ENOSPC} {
		if got := Default(errcode.SiteRead, err); got != err {
			t.Errorf("%v has become %s", err, CodeOf(got))
		}
	}
}

// lines is an error of several lines.
type lines struct{ error }

func (lines) TextWithCodes() string { return "a [1]\nb [2]" }

// TestTextOfErrors: people see the code of an error after its text, and those of several lines after each.
func TestTextOfErrors(t *testing.T) {
	t.Parallel()
	if text := TextOf(errcode.TableMissing.New("no table")); text != "no table [BL-TABLE-MISSING]" {
		t.Error(text)
	}
	if text := TextOf(lines{errors.New("x")}); text != "a [1]\nb [2]" {
		t.Error(text)
	}
}

// TestFirstFew: a list of many names is cut, and the number of the others is right.
func TestFirstFew(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "", 1: "a", 5: "a, a, a, a, a", 6: "a, a, a, a, a and 1 more", 1000: "a, a, a, a, a and 995 more"} {
		if got := FirstFew(strings.Split(strings.Repeat("a ", n), " ")[:n]); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}
