package loading

import (
	"context"
	"errors"
	"fmt"
	"path"

	"bulkload/internal/errcode"
	"bulkload/jobs/env/ledger"
	"bulkload/jobs/env/lock"
	"bulkload/jobs/env/site"
	"bulkload/jobs/loading/cutting"
	"bulkload/jobs/pipeline/hfiles"
	"bulkload/jobs/pipeline/output"
	"bulkload/load"
)

// directoryLoad is the load of a directory that another tool wrote, or of one that is loaded into a table other than
// its job's. It records what happened to the files only in the ledger, under the directory's name. Without that record,
// a second command would take files that HBase has moved away for loaded ones.
type directoryLoad struct {
	out      *output.Dir
	table    string
	cluster  *load.Cluster
	record   directoryRecord
	lost     lostFiles
	cuts     cutting.DirectoryCutter
	requests *requests
}

func newDirectoryLoad(out *output.Dir, table string, cluster *load.Cluster, l *ledger.Ledger,
	turn *lock.Turn) *directoryLoad {
	record := directoryRecord{out, l, table, turn}
	return &directoryLoad{
		out:      out,
		table:    table,
		cluster:  cluster,
		record:   record,
		lost:     lostFiles{l, cluster, out},
		cuts:     cutting.DirectoryCutter{Out: out, Replaced: record.replaceFiles},
		requests: &requests{out: out, turn: turn},
	}
}

// recovered brings back the files of an interrupted load, and then lists the directory. An earlier listing would lack
// the files in HBase's staging folder, and they would never be loaded.
func (l *directoryLoad) recovered(ctx context.Context) (*hfiles.Directory, error) {
	// This comes first, because recover looks up every file of the ledger's entry, and a file must not exist together with
	// its parts then.
	if err := l.cuts.Finish(); err != nil {
		return nil, err
	}
	if err := l.recover(ctx); err != nil {
		return nil, err
	}
	return hfiles.OpenDirectory(l.out.FS, l.out.Path)
}

// interrupted reports whether a load of the directory has begun and not ended.
func (l *directoryLoad) interrupted() (bool, error) {
	e, err := l.record.read()
	return e != nil && e.State != ledger.Loaded, err
}

// checkServed checks that the table serves what was loaded from a directory in which no file is left.
func (l *directoryLoad) checkServed(ctx context.Context) error {
	if err := l.cuts.Finish(); err != nil {
		return err
	}
	e, err := l.record.read()
	if err != nil {
		return err
	}
	if e == nil {
		return errcode.HFileMissing.Errorf("%s has no HFiles in folders of families, and according to the ledger nothing "+
			"was loaded from it into table %s",
			l.out.FS.URI(l.out.Path), l.table)
	}
	c, err := l.claim(e)
	if err != nil {
		return err
	}
	return l.proof().check(ctx, c)
}

// claim returns what was loaded, according to the ledger's entry.
func (l *directoryLoad) claim(e *ledger.Entry) (claim, error) {
	files, err := loadedFiles(e)
	return claim{l.table, e.Identity, e.Repeated, files, nil, l.record.othersHadEqualCells}, err
}

func (l *directoryLoad) proof() proof {
	return proof{cluster: l.cluster, options: l.out.Options,
		compare: "compare it with the source of the files", again: l.again()}
}

// again says what a person can do about files that the table lacks. Unlike a run's files, they can't be written again.
func (l *directoryLoad) again() string {
	return fmt.Sprintf("to load them again, put the files into %s once more and repeat the command; if the table "+
		"already shows their effect, or they are no longer wanted, delete %s, the ledger's entry of this load",
		l.out.FS.URI(l.out.Path), l.record.uri())
}

// load loads the files that recovered listed. It first cuts files with rows of several regions, and does so again if
// regions split during the load.
//
// Before the first request, the ledger's entry says "loading" and lists all files. A kill after that leaves each file
// at its source, in staging, or taken by HBase. recover brings back what it can, and the entry still lists the others,
// so they are probed.
func (l *directoryLoad) load(ctx context.Context, d *hfiles.Directory) (*load.Report, error) {
	report := &load.Report{}
	if len(d.Files) == 0 {
		e, err := l.record.read()
		if err != nil {
			return report, err
		}
		if e == nil || e.State == ledger.Loaded {
			return report, errcode.RunAgain.Errorf("the files of %s are gone since they were listed: run this again",
				l.out.FS.URI(l.out.Path))
		}
		return report, l.confirm(ctx, e) // HBase had taken all files before the interruption
	}
	table, err := site.LookUp(ctx, l.cluster, l.table)
	if err == nil {
		err = checkCounts(l.out, table, loadable(d), "")
	}
	if err == nil {
		err = l.lost.checkCorrection(ctx, table, l.cells())
	}
	if err != nil {
		return report, err
	}
	for cuts := 0; ; cuts++ {
		if d, err = l.cuts.Cut(ctx, table, d); err != nil {
			return report, err
		}
		if cuts == 0 {
			l.requests.begin(len(d.Files))
		}
		if err := d.PickProbes(ctx); err != nil {
			return report, err
		}
		e, err := l.record.begin(table, d)
		if err != nil {
			return report, err
		}
		files := loadable(d)
		hooks := l.requests.hooks(len(files), l.record.hooks(e))
		hooks.Folder = e.Staging
		one, err := l.cluster.LoadFrom(ctx, l.out.FS, l.table, files, hooks)
		report.Add(one)
		if err == nil {
			return report, l.confirm(ctx, e)
		}
		err = l.describeFailure(ctx, fmt.Errorf("%w; %d of %d files are in the table", err, report.Files, len(e.Files)))
		if !errors.Is(err, load.ErrStraddles) {
			return report, err
		}
		if cuts == maxCuts {
			return report, stillSplitting(l.table)
		}
		// A region split during the load. Every file must be at its source again, or in the table, before the next cut.
		if err = l.recover(ctx); err == nil {
			table, err = site.LookUp(ctx, l.cluster, l.table)
		}
		if err == nil {
			d, err = hfiles.OpenDirectory(l.out.FS, l.out.Path)
		}
		if err != nil {
			return report, err
		}
	}
}

// confirm ends a load. The ledger says that the files are loaded only if the table serves all of them, so that every
// row is readable.
func (l *directoryLoad) confirm(ctx context.Context, e *ledger.Entry) error {
	c, err := l.claim(e)
	if err != nil {
		return err
	}
	table, err := l.proof().confirm(ctx, c, loadsShare, 1)
	if err != nil {
		return l.describeFailure(ctx, err)
	}
	return l.record.end(e, table)
}

// describeFailure records files that HBase lost, and says what to do. They can't be written again, so a person must
// act.
func (l *directoryLoad) describeFailure(ctx context.Context, err error) error {
	var lost *load.LostError
	if !errors.As(err, &lost) {
		return err
	}
	if failed := l.lost.add(ctx, lost, l.cells()); failed != nil {
		return errors.Join(err, failed)
	}
	return errcode.LoadLost.Errorf("%v. The region may have them when it is opened again: move it to another server in "+
		"the HBase shell, and run this again; otherwise, %s", err, l.again())
}

// cells describes the directory's cells. They are not all read, so neither their digest nor their timestamps are known.
func (l *directoryLoad) cells() cells { return cells{run: l.record.key()} }

// loadable converts a directory's files for package load.
func loadable(d *hfiles.Directory) []load.HFile {
	var files []load.HFile
	for _, f := range d.Files {
		files = append(files, load.HFile{Family: f.Family, URI: d.FS.URI(path.Join(d.Path, f.Path)), FirstRow: f.First,
			LastRow: f.Last, Probes: f.Probes})
	}
	return files
}
