package loading

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os/user"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/internal/test/livetable"
	"bulkload/internal/test/simcluster"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testrand"
	"bulkload/load"
)

// realWorld is a table of a real cluster, which every history calls historyTable.
type realWorld struct {
	*livetable.Table
	t       testing.TB
	cluster *testcluster.Cluster
	fs      storage.FS
	folder  string // in HDFS, of the files that are loaded
	written int    // of these
	client  *load.Cluster
	ctx     context.Context
}

// likeReal is a simulated cluster that compacts as a realWorld does, so that both forget the same delete markers.
type likeReal struct{ *simcluster.Cluster }

func (w likeReal) Compact(name string, _ []byte, _ int, _ bool) error {
	for _, row := range theRows {
		if err := w.Cluster.Compact(name, row, 0, true); err != nil {
			return err
		}
	}
	return nil
}

func (w likeReal) Merge(name string, row []byte) error {
	if err := w.Cluster.Merge(name, row); err != nil {
		return err
	}
	return w.Compact(name, nil, 0, true)
}

// BulkLoad hands over a file for each region and family that the cells belong to. The files' rows are not looked for:
// the proof that is tested does that.
func (w *realWorld) BulkLoad(_ string, cells []cell.Cell) error {
	table, err := w.client.Table(w.ctx, w.Name)
	if err != nil {
		return err
	}
	var files []load.HFile
	for _, r := range table.Regions {
		for _, family := range w.Families {
			in := slices.DeleteFunc(slices.Clone(cells), func(c cell.Cell) bool {
				return string(c.Family) != family || bytes.Compare(c.Row, r.Start) < 0 || len(r.End) > 0 && bytes.Compare(c.Row, r.End) >= 0
			})
			if len(in) == 0 {
				continue
			}
			f, err := w.write(family, in)
			if err != nil {
				return err
			}
			files = append(files, f)
		}
	}
	_, err = w.client.LoadFrom(w.ctx, w.fs, w.Name, files, load.Hooks{})
	return err
}

// write writes an HFile with a cell in each row.
func (w *realWorld) write(family string, cells []cell.Cell) (f load.HFile, err error) {
	slices.SortFunc(cells, func(a, b cell.Cell) int { return bytes.Compare(a.Row, b.Row) })
	var text bytes.Buffer
	settings := hfilewriter.Settings{Compression: hfilewriter.CompressNone, Encoding: hfilewriter.EncodeNone, Bloom: hfilewriter.BloomRow}
	to, err := hfilewriter.NewWriter(&text, settings, hfilewriter.Provenance{})
	if err != nil {
		return f, err
	}
	for i := range cells {
		if err := to.Append(&cells[i]); err != nil {
			return f, err
		}
	}
	if _, err := to.Close(); err != nil {
		return f, err
	}
	w.written++
	name := path.Join(w.folder, family, fmt.Sprintf("%032x", w.written))
	if err := errors.Join(w.fs.MkdirAll(path.Dir(name), 0), storage.CreateFile(w.fs, name, text.Bytes())); err != nil {
		return f, err
	}
	return load.HFile{Family: family, URI: w.fs.URI(name), FirstRow: cells[0].Row, LastRow: cells[len(cells)-1].Row}, nil
}

// Restart crashes both region servers and starts them again, one after the other, so that each region is opened again:
// a single one may have others than that of a simulated cluster. It waits for the regions.
func (w *realWorld) Restart(int) {
	for _, server := range []string{"rs1", "rs2"} {
		if err := errors.Join(w.cluster.Kill(server), w.cluster.StartRole(w.ctx, server)); err != nil {
			w.t.Error(err)
		}
		if _, err := w.cluster.Oracle(w.t).Run("scan", w.Name); err != nil {
			w.t.Error(err)
		}
	}
}

func (w likeReal) Restart(int) {
	w.Cluster.Restart(0)
	w.Cluster.Restart(1)
}

func (w *realWorld) Interrupt(int, func()) {}

// Unreadable reads the table as other readers do. A single newer version of a cell is enough.
func (w *realWorld) Unreadable(_ string, _ int, cells []cell.Cell) (lost []cell.Cell) {
	for _, c := range cells {
		readable := false
		err := w.client.ScanRange(w.ctx, w.Name, c.Row, append(bytes.Clone(c.Row), 0), func(f *cell.Cell) error {
			if bytes.Equal(f.Family, c.Family) && bytes.Equal(f.Qualifier, c.Qualifier) {
				readable = f.Timestamp > c.Timestamp || f.Timestamp == c.Timestamp && bytes.Equal(f.Value, c.Value)
			}
			return nil
		})
		if err != nil || !readable {
			lost = append(lost, c)
		}
	}
	return lost
}

// searchCluster is the suite that has a cluster for itself, one test at a time, so that servers may be restarted.
const searchCluster = "search-cluster"

// TestProofHistoriesOnCluster: the proof says of a table of a real cluster what it says of a simulated one with the
// same history, and it is true.
func TestProofHistoriesOnCluster(t *testing.T) {
	t.Parallel()
	cluster := testcluster.Use(t)
	conf, err := siteconf.Load(cluster.ConfDir())
	if err != nil {
		t.Fatal(err)
	}
	me, err := user.Current() // who runs the cluster's processes, too
	if err != nil {
		t.Fatal(err)
	}
	workers, longest := 3, 12 // as many as the oracle has JVMs
	if testcluster.In(searchCluster) {
		workers, longest = 1, 25
	}
	all := make([][]step, histories(t, 9))
	rng := testrand.New(t)
	for i := range all {
		// without a load there is nothing to ask
		for !slices.ContainsFunc(all[i], func(s step) bool { return s.kind == "begin" }) {
			all[i] = slices.DeleteFunc(drawHistory(rng, longest, harmless, harmful), func(s step) bool {
				return s.kind == "wait" || s.kind == "restart" && !testcluster.In(searchCluster)
			})
		}
	}
	for worker := range workers {
		t.Run(fmt.Sprint(worker), func(t *testing.T) {
			t.Parallel()
			client, err := load.Connect(t.Context(), conf, load.Caller{User: me.Username}, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer client.Close()
			for i := worker; i < len(all) && !t.Failed(); i += workers {
				w := &realWorld{Table: livetable.New(cluster.Oracle(t), cluster.UniqueTable(t)), t: t, cluster: cluster, client: client, ctx: t.Context()}
				if w.fs, w.folder, err = storage.ResolveAs(cluster.FS()+"/histories/"+w.Name, "/", conf, storage.Identity{User: me.Username}); err != nil {
					t.Fatal(err)
				}
				begun := time.Now()
				h := newHistory(w.Name, w, client)
				h.source = true
				if err := h.play(t.Context(), all[i]); err != nil {
					t.Error(err)
				}
				if err := errors.Join(w.Close(), w.fs.RemoveAll(w.folder), w.fs.Close()); err != nil {
					t.Error(err)
				}
				simulated := simulate(t, all[i], false, true)
				if h.wrong != "" || !slices.Equal(h.verdicts, simulated.verdicts) {
					t.Errorf("history %d: %s\n%s\n\nsimulated: %s\n%s", i, h.wrong, strings.Join(h.log, "\n"), simulated.wrong, strings.Join(simulated.log, "\n"))
				}
				t.Logf("history %d: %d steps, %d files, %d questions in %s", i, len(all[i]), w.written, h.checks, time.Since(begun).Round(time.Second))
			}
		})
	}
}
