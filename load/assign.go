package load

import (
	"bytes"

	"bulkload/internal/errcode"
)

// group is one request: a region and its files.
type group struct {
	region Region
	files  []*pendingFile
}

// assign finds each file's region. It refuses a file with rows of a second region, and more than perFamily files of one
// family in a region.
//
// Every file is in exactly one group, or nothing is sent: a file left out would be missing from the table without an
// error. A region server compares the rows, too, but refuses without a reason. Only clients check the number of files,
// as HBase's own does.
func assign(files []*pendingFile, regions []Region, perFamily int) ([]group, error) {
	byRegion := make([][]*pendingFile, len(regions))
	for _, f := range files {
		i, err := find(f, regions)
		if err != nil {
			return nil, err
		}
		byRegion[i] = append(byRegion[i], f)
	}
	var groups []group
	for i, files := range byRegion {
		if len(files) == 0 {
			continue
		}
		if err := checkCount(files, &regions[i], perFamily); err != nil {
			return nil, err
		}
		groups = append(groups, group{regions[i], files})
	}
	return groups, nil
}

// find is the index of the region that holds all rows of a file.
func find(f *pendingFile, regions []Region) (int, error) {
	if len(f.FirstRow) == 0 || bytes.Compare(f.FirstRow, f.LastRow) > 0 {
		return 0, errcode.HFileCorrupt.Errorf("%w: file %s says that its rows go from %q to %q", ErrRefused,
			f.URI, f.FirstRow, f.LastRow)
	}
	i := regionOf(regions, f.FirstRow)
	if r := &regions[i]; !r.holds(f.LastRow) {
		return 0, errcode.LoadStraddles.Errorf("%w: %w: file %s has rows from %q to %q, but %s ends before %q: the file "+
			"was written for other region boundaries; write it again for the present ones",
			ErrRefused, ErrStraddles, f.URI, f.FirstRow, f.LastRow, r, r.End)
	}
	return i, nil
}

func checkCount(files []*pendingFile, r *Region, perFamily int) error {
	count := make(map[string]int)
	for _, f := range files {
		if count[f.Family]++; count[f.Family] > perFamily {
			return errcode.FilesLimit.Errorf("%w: more than %d files of family %s for %s: raise %s (in the site files, or "+
				"with -D), or write fewer files",
				ErrRefused, perFamily, f.Family, r, MaxFilesProperty)
		}
	}
	return nil
}
