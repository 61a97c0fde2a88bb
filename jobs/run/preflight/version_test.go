package preflight

import (
	"errors"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/internal/test/testwords"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// TestOldVersionsKnowLess: settings that the cluster's HBase does not know are refused, by name.
func TestOldVersionsKnowLess(t *testing.T) {
	t.Parallel()
	plain := hfilewriter.Settings{Compression: hfilewriter.CompressSnappy, Encoding: hfilewriter.EncodeFastDiff, Bloom: hfilewriter.BloomRow}
	for _, c := range []struct {
		change  func(*hfilewriter.Settings)
		setting string
		knows   string // the first version
		not     string // the last that does not
	}{
		{func(*hfilewriter.Settings) {}, "", "1.2.12", ""},
		{func(s *hfilewriter.Settings) { s.Encoding = hfilewriter.EncodeRowIndexV1 }, "ROW_INDEX_V1", "1.4.0", "1.3.6"},
		{func(s *hfilewriter.Settings) { s.Bloom, s.BloomPrefix = hfilewriter.BloomRowPrefix, 4 }, "ROWPREFIX_FIXED_LENGTH", "2.2.0", "2.1.4"},
		{func(s *hfilewriter.Settings) { s.Compression = hfilewriter.CompressZSTD }, "ZSTD", "2.5.0-hadoop3", "2.4.18"},
		{func(s *hfilewriter.Settings) { s.Compression = hfilewriter.CompressZSTD }, "ZSTD", "3.0.0-alpha-4", "1.7.2"},
	} {
		s := plain
		c.change(&s)
		o := &CheckedOutput{}
		for _, version := range []string{"", "a.b", c.knows, "10.0"} {
			o.Target = &targets.Target{Families: []targets.TargetFamily{{Name: "f", Settings: plain}, {Name: "g", Settings: s}}}
			if err := o.checkKnown(version); err != nil {
				t.Errorf("%q: %v", version, err)
			}
		}
		err := o.checkKnown(c.not)
		if c.not != "" && (!errors.Is(err, load.ErrRefused) || errcode.Outermost(err) != errcode.TableSettings || !testwords.Names(err, "family g", c.setting, "HBase "+c.not)) {
			t.Errorf("%s: %v", c.not, err)
		}
	}
	if err := (&CheckedOutput{}).checkKnown("1.2.0"); err != nil {
		t.Errorf("without a table: %v", err)
	}
}

// TestTriedVersions: the versions that pass the check without a word are those of the table of tried ones, but for
// previews.
func TestTriedVersions(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../../docs/versions.md")
	if err != nil {
		t.Fatal(err)
	}
	var tried []string
	for _, row := range regexp.MustCompile(`(?m)^\| (\d+\.\d+\.)\d+ \| \d`).FindAllSubmatch(page, -1) {
		tried = append(tried, string(row[1]))
	}
	if tried = slices.Compact(tried); !slices.Equal(tried, testedVersions) {
		t.Errorf("the page has %q, the check %q", tried, testedVersions)
	}
}

// TestReadReplicas: of a table with read replicas the checks say when those show what was loaded.
func TestReadReplicas(t *testing.T) {
	t.Parallel()
	for n, warned := range map[string]bool{"": false, "1": false, "3": true} {
		o := &CheckedOutput{Loads: true, Table: &load.Table{Attributes: map[string]string{"REGION_REPLICATION": n}}}
		var err error
		if o.Site, err = site.Open(options.Options{}, jobfile.HBase{}, false); err != nil {
			t.Fatal(err)
		}
		o.checkReplicas()
		if (len(o.list) == 1 && o.list[0].State == Warning && strings.Contains(o.list[0].Detail, "3 replicas")) != warned || !warned && len(o.list) > 0 {
			t.Errorf("%q: %+v", n, o.list)
		}
	}
}
