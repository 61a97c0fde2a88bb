package loading

import (
	"context"
	"errors"
	"fmt"

	"bulkload/internal/errcode"
	"bulkload/jobs/cutting"
	"bulkload/jobs/failure"
	"bulkload/jobs/output"
	"bulkload/jobs/site"
	"bulkload/jobs/tablelock"
	"bulkload/load"
)

// Turn is the turn of an output's load. Each step of a load returns what the next one needs: Recover, Load, Confirm.
type Turn struct{ load *outputLoad }

// Recovered is a load none of whose files is in doubt: each is at its source, or recorded as loaded.
type Recovered struct{ load *outputLoad }

// Handed is a load whose files HBase has accepted. The table may still not serve them.
type Handed struct{ load *outputLoad }

// End lets the next load begin.
func (t *Turn) End() error { return t.load.send.end() }

// Recover determines what happened to files that an interrupted load has left in doubt.
//
// It must come before anything else is done with the files: before a second load, because a file in staging would be
// missing there; before they are deleted or written again, because rows might then be in the table twice or not at
// all.
func (t *Turn) Recover(ctx context.Context) (*Recovered, error) {
	// A file and its parts must not exist together when every recorded file is asked for.
	if err := t.load.out.FinishCuts(); err != nil {
		return nil, err
	}
	if err := t.load.recover(ctx); err != nil {
		return nil, err
	}
	return &Recovered{t.load}, nil
}

// Load loads the files of the manifest that the table does not have, and records each of them.
//
// The order of the steps decides what a kill costs. Ledger and manifest say "loading" before the first request, and
// the manifest names the staging folder before the first file can be in it. So whatever the table has, the next
// process knows where to look. "Loaded" is written only by Confirm, after every file was probed: it is never written on
// HBase's word alone.
func (r *Recovered) Load(ctx context.Context) (*Handed, *load.Report, error) {
	l := r.load
	table, err := l.check(ctx)
	if err != nil {
		return nil, nil, err
	}
	if err := l.record.begin(table); err != nil {
		return nil, nil, err
	}
	// The manifest says "loading" on disk. Requests may follow.
	report, err := l.loadAndCut(ctx)
	if err != nil {
		return nil, report, l.describeFailure(ctx, err)
	}
	// A load without an error and with files left would be a fault of this program: better an error than a table that
	// lacks rows.
	if missing := l.out.Manifest.NotLoaded(); missing != nil {
		return nil, report, errcode.LoadIncomplete.Errorf("%s: the table lacks %s after the load", l.out.FS.URI(l.out.Path), failure.FirstFew(missing))
	}
	return &Handed{l}, report, nil
}

// Confirm ends a load: every file must be served, and every row readable. Only then does the manifest say that it is
// loaded.
func (h *Handed) Confirm(ctx context.Context) error {
	l := h.load
	files, err := l.out.Manifest.Files().Loadable(l.out.FS, l.out.Path)
	if err != nil {
		return err
	}
	table, err := site.LookUp(ctx, l.cluster, l.table())
	if err != nil {
		return err
	}
	findings, err := l.probes.probeAndReopen(ctx, table, files, loadsShare, 1)
	if err != nil {
		return l.describeFailure(ctx, err)
	}
	// The state stays Loading on disk. The next command probes again, whatever a person did to the table meanwhile.
	if err := refuseUnreadable(table.Name, findings, lostSomehow); err != nil {
		return err
	}
	return l.record.end(table)
}

// outputLoad is the load of a run's output, while it has its turn. The manifest says of each file where it is.
type outputLoad struct {
	loader  *Loader
	out     *output.Dir
	cluster *load.Cluster
	record  *outputRecord
	probes  prober
	lost    lostFiles
	cuts    cutting.Output
	send    *handover
}

func newOutputLoad(l *Loader, turn *tablelock.Lock) *outputLoad {
	return &outputLoad{
		loader:  l,
		out:     l.Out,
		cluster: l.Cluster,
		record:  &outputRecord{out: l.Out, ledger: l.Ledger},
		probes:  l.prober(),
		lost:    lostFiles{l.Ledger, l.Cluster, l.Out},
		cuts:    cutting.Output{Out: l.Out},
		send:    &handover{out: l.Out, cluster: l.Cluster, turn: turn},
	}
}

// table is the name of the table.
func (l *outputLoad) table() string { return l.out.Manifest.Run.Table }

// check checks what can refuse the load before its first request: rows that were left out, damaged files, files that
// the table lost, too many of them, cells that may win over these later. Regions that do not serve their files are
// opened again.
func (l *outputLoad) check(ctx context.Context) (*load.Table, error) {
	if err := l.loader.CheckLeftOut(ctx); err != nil {
		return nil, err
	}
	if err := VerifyBeforeLoad(ctx, l.out); err != nil {
		return nil, err
	}
	table, err := site.LookUp(ctx, l.cluster, l.table())
	if err != nil {
		return nil, err
	}
	if err := l.checkLoaded(ctx, table); err != nil {
		return nil, err
	}
	if err := l.checkUnloadedCounts(table); err != nil {
		return nil, err
	}
	return table, l.lost.checkCorrection(ctx, table.Name, l.out.Manifest.Run.ID, l.out.Manifest.Digest)
}

// checkLoaded probes the files that an earlier process has loaded. If the table is still the same, files that it does
// not serve are written again, as the earlier process would have done; otherwise that is for a person to decide.
func (l *outputLoad) checkLoaded(ctx context.Context, table *load.Table) error {
	if l.out.Manifest.Table != table.Identity() {
		// Created again, restored or split since: only a person knows whether rows are missing on purpose.
		return l.loader.CheckServed(ctx)
	}
	loaded, err := l.out.Manifest.Files().Loaded().Loadable(l.out.FS, l.out.Path)
	if err != nil || len(loaded) == 0 {
		return err
	}
	findings, err := l.probes.probeAndReopen(ctx, table, loaded, 0, checkShare)
	if err != nil {
		return l.describeFailure(ctx, err)
	}
	return refuseUnreadable(table.Name, findings, lostUnchanged)
}

// checkUnloadedCounts is checkCounts for the files that are not loaded.
func (l *outputLoad) checkUnloadedCounts(table *load.Table) error {
	files, err := l.out.Manifest.Unloaded(l.out.FS, l.out.Path)
	if err != nil {
		return err
	}
	return checkCounts(l.out, table, files)
}

// maxCuts bounds how often regions may split during a load.
const maxCuts = 10

// loadAndCut loads the files that the table does not have. Files with rows of several regions are cut first, and
// again if regions split during the load.
func (l *outputLoad) loadAndCut(ctx context.Context) (*load.Report, error) {
	report := &load.Report{}
	l.send.begin(len(l.out.Manifest.NotLoaded()))
	// Each pass looks the table up anew: the boundaries to cut at, and the family settings, must be those of the
	// regions that get the files.
	for cuts := 0; len(l.out.Manifest.NotLoaded()) > 0; cuts++ {
		table, err := site.LookUp(ctx, l.cluster, l.table())
		if err != nil {
			return report, err
		}
		if err := checkSettings(l.out, table); err != nil {
			return report, err
		}
		if err := l.cuts.Cut(ctx, table); err != nil {
			return report, err
		}
		files, err := l.out.Manifest.Unloaded(l.out.FS, l.out.Path)
		if err != nil {
			return report, err
		}
		one, err := l.send.send(ctx, table.Name, files, l.record.hooks(len(files)))
		report.Add(one)
		// Save what is loaded, whatever send returned: its error must not hide files that the table has.
		if failed := l.record.saveLoaded(); failed != nil {
			return report, errors.Join(err, failed)
		}
		if err == nil || !errors.Is(err, load.ErrStraddles) {
			return report, err
		}
		if cuts == maxCuts {
			return report, stillSplitting(table.Name)
		}
		// A region split during the load. Before the next pass every file must be at its source again or recorded as
		// loaded: cutting a file that HBase still holds would put its rows into the table twice.
		if err := l.recover(ctx); err != nil {
			return report, err
		}
	}
	return report, nil
}

// stillSplitting ends a load whose files were cut again and again.
func stillSplitting(table string) error {
	return errcode.HBaseRegion.Errorf("%w: the files were cut %d times during the load, and regions of table %s have split again: run this again when they no longer split",
		load.ErrUnavailable, maxCuts, table)
}

// describeFailure adds to the error of a load how far it came, and what to do.
func (l *outputLoad) describeFailure(ctx context.Context, err error) error {
	var lost *load.LostError
	if errors.As(err, &lost) {
		return l.rewriteLost(ctx, lost)
	}
	all := len(l.out.Manifest.Files())
	return fmt.Errorf("%w; %d of %d files are in the table", err, all-len(l.out.Manifest.NotLoaded()), all)
}
