package jobs

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"bulkload/hfilewriter"
	"bulkload/keys"
)

// InspectReport says what is in an HFile.
type InspectReport struct {
	Outcome
	File        string    `json:"file"`
	Bytes       int64     `json:"bytes"`
	Cells       int64     `json:"cells"`
	FirstRow    string    `json:"first_row"`
	LastRow     string    `json:"last_row"`
	Compression string    `json:"compression"`
	Encoding    string    `json:"encoding"`
	Bloom       string    `json:"bloom"`
	Info        []InfoRow `json:"info"`
}

// InfoRow is one entry of a file's info, in the notation of Printable.
type InfoRow struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Inspect describes an HFile. visit, which may be nil, sees each cell.
func Inspect(ctx context.Context, name string, o Options, visit func(*keys.Cell) error) (*InspectReport, error) {
	report := &InspectReport{Outcome: newOutcome(), File: name, Info: []InfoRow{}}
	s, err := openSite(o, "", isRemote(name))
	if err != nil {
		return report, err
	}
	fsys, path, err := s.resolve(name, ".")
	if err != nil {
		return report, fmt.Errorf("open %s: %w", name, err)
	}
	defer fsys.Close()
	file, err := fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return report, refusef("%s is not there", fsys.URI(path))
	}
	if err != nil {
		return report, err
	}
	defer file.Close()
	r, err := hfilewriter.Open(file, file.Size())
	if err != nil {
		return report, differsf("%s: %w", fsys.URI(path), err)
	}
	report.File, report.Bytes = fsys.URI(path), file.Size()
	report.fill(r)
	if visit != nil {
		if err := visitAll(ctx, r, visit); err != nil {
			return report, err
		}
	}
	report.Status = StatusDone
	return report, nil
}

func (report *InspectReport) fill(r *hfilewriter.Reader) {
	settings := r.Settings()
	report.Cells = r.Cells()
	report.FirstRow, report.LastRow = Printable(r.FirstRow()), Printable(r.LastRow())
	report.Compression, report.Encoding, report.Bloom = settings.Compression.String(), settings.Encoding.String(), settings.Bloom.String()
	info := r.Info()
	for _, name := range info.Keys() {
		report.Info = append(report.Info, InfoRow{Printable([]byte(name)), Printable(info[name])})
	}
}

func visitAll(ctx context.Context, r *hfilewriter.Reader, visit func(*keys.Cell) error) error {
	scanner := r.Seek(nil)
	for n := 1; scanner.Next(); n++ {
		if n%checkEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := visit(scanner.Cell()); err != nil {
			return err
		}
	}
	if err := scanner.Err(); err != nil {
		return differsf("read the cells: %w", err)
	}
	return nil
}
