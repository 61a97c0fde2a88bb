package loading

import (
	"slices"

	"bulkload/internal/errcode"
	"bulkload/jobs/pipeline/output"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// checkCounts refuses a load, before anything is cut or loaded, if a region would get more files of a family than the
// loader allows, most likely because regions have merged. A file with rows of several regions counts for the first and
// the last of them, in which it certainly has rows. advice says what helps other than a higher limit.
func checkCounts(out *output.Dir, table *load.Table, files []load.HFile, advice string) error {
	limit, err := out.Site.MaxFiles()
	if err != nil {
		return err
	}
	type place struct {
		family string
		region *load.Region
	}
	counts := map[place]int64{}
	var most place
	for _, f := range files {
		first, last := &table.Overlapping(f.FirstRow, f.FirstRow)[0], &table.Overlapping(f.LastRow, f.LastRow)[0]
		for _, at := range slices.Compact([]place{{f.Family, first}, {f.Family, last}}) {
			if counts[at]++; counts[at] > counts[most] {
				most = at
			}
		}
	}
	n := counts[most]
	if n <= limit {
		return nil
	}
	return errcode.FilesLimit.Errorf("%s of table %s would get %d files of family %s, and %s is %d: nothing was loaded; "+
		"raise the property (in the site files, or with -D)%s",
		most.region, table.Name, n, most.family, load.MaxFilesProperty, limit, advice)
}

// checkSettings refuses to load files whose family had other settings when they were written.
//
// HBase would accept them, because a file carries its own compression and encoding. But if the family's owner has
// changed these, the rows would silently keep the old ones until a compaction. If nothing is left to load, nothing is
// refused.
func checkSettings(out *output.Output, table *load.Table) error {
	if len(out.Manifest.NotLoaded()) == 0 {
		return nil
	}
	for name, written := range out.Manifest.Families {
		live, err := targets.TableSettings(out.Site, table, name)
		if err != nil {
			return err
		}
		if now := jobfile.SettingsText(live); now != written {
			return errcode.OutputChanged.Errorf("family %s of table %s was altered after the files were written: the files "+
				"have %s, the table now has %s; %s to write them again",
				name, table.Name, written, now, writeAgain(out))
		}
	}
	return nil
}
