package lookup

import (
	"context"
	"errors"
	"io/fs"

	"bulkload/cell"
	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/internal/printable"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/pipeline/entry"
	"bulkload/jobs/spec/jobfile"
)

// InspectReport describes an HFile.
type InspectReport struct {
	failure.Outcome
	File    string `json:"file"`
	Bytes   int64  `json:"bytes"`
	Version string `json:"version"`
	Cells   int64  `json:"cells"`
	Rows    int64  `json:"rows"`
	// size of the cells without encoding; 0 if the file does not record it
	Unencoded   int64                      `json:"unencoded_bytes"`
	FirstRow    string                     `json:"first_row"`
	LastRow     string                     `json:"last_row"`
	Compression string                     `json:"compression"`
	Encoding    string                     `json:"encoding"`
	Checksum    string                     `json:"checksum"`
	IndexLevels int64                      `json:"index_levels"`
	Types       []InspectType              `json:"block_types"`
	Bloom       *InspectBloom              `json:"bloom"` // null if there is none
	Samples     []string                   `json:"samples"`
	Trailer     []hfilewriter.TrailerField `json:"trailer"`
	Info        []InfoRow                  `json:"info"`
	Blocks      []InspectBlock             `json:"blocks,omitempty"` // if requested
}

// InspectType sums up the blocks of one type. Sizes are in bytes.
type InspectType struct {
	Type    string  `json:"type"`
	Blocks  int64   `json:"blocks"`
	Stored  int64   `json:"stored"`
	Raw     int64   `json:"raw"` // before compression
	Ratio   float64 `json:"ratio"`
	Entries int64   `json:"entries"`
	Least   int64   `json:"least_raw"`
	Most    int64   `json:"most_raw"`
}

// InspectBloom is a hfilewriter.BloomLoad with JSON names.
type InspectBloom struct {
	Kind           string  `json:"kind"`
	Chunks         int     `json:"chunks"`
	Hashes         int     `json:"hashes"`
	Keys           int64   `json:"keys"`
	Capacity       int64   `json:"capacity"`
	Bytes          int64   `json:"bytes"`
	BitsSet        int64   `json:"bits_set"`
	FalsePositives float64 `json:"expected_false_positives"`
}

// InspectBlock is one block.
type InspectBlock struct {
	Type     string `json:"type"`
	Offset   int64  `json:"offset"`
	Stored   int64  `json:"stored"`
	Raw      int64  `json:"raw"`
	Entries  int64  `json:"entries"`
	Rows     int64  `json:"rows,omitempty"`
	FirstKey string `json:"first_key,omitempty"`
}

// maxKeySamples is how many first keys of data blocks are shown, spread over the file.
const maxKeySamples = 8

// InfoRow is one entry of a file's info, in the notation of cell.Printable.
type InfoRow struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Inspect describes an HFile, with a list of its blocks if requested. visit, which may be nil, gets each cell.
func Inspect(ctx context.Context, name string, o options.Options, blocks bool,
	visit func(*cell.Cell) error) (*InspectReport, error) {
	report := &InspectReport{Outcome: failure.NewOutcome(), File: name, Info: []InfoRow{},
		Types: []InspectType{}, Samples: []string{}}
	_, fsys, path, err := site.OpenPath(o, jobfile.HBase{}, name)
	if err != nil {
		return report, err
	}
	defer fsys.Close()
	file, err := fsys.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return report, errcode.HFileMissing.Errorf("%s does not exist", fsys.URI(path))
	}
	if info, failed := fsys.Stat(path); failed == nil && info.Dir {
		return report, errcode.HFileMissing.Errorf(
			"%s is a directory; inspect shows one HFile of it, bulkload verify DIR checks all", fsys.URI(path))
	}
	if err != nil {
		return report, err
	}
	defer file.Close()
	r, err := hfilewriter.Open(file, file.Size())
	if err != nil {
		return report, failure.Damagedf("%s: %w", fsys.URI(path), err)
	}
	report.File, report.Bytes = fsys.URI(path), file.Size()
	if err := report.fill(ctx, r, blocks); err != nil {
		return report, failure.Damagedf("%s: %w", fsys.URI(path), err)
	}
	if visit != nil {
		if err := visitAll(ctx, r, visit); err != nil {
			return report, err
		}
	}
	report.Status = failure.StatusDone
	return report, nil
}

func (report *InspectReport) fill(ctx context.Context, r *hfilewriter.Reader, blocks bool) error {
	var samples keySamples
	layout, err := r.Layout(func(b *hfilewriter.Block) error {
		samples.add(b)
		if blocks {
			report.Blocks = append(report.Blocks, InspectBlock{b.Type, b.Offset, b.Stored, b.Raw,
				b.Entries, b.Rows, firstKey(b)})
		}
		return ctx.Err()
	})
	if err != nil {
		return err
	}
	report.Version, report.Cells, report.Rows, report.Unencoded = layout.Version, layout.Cells,
		layout.Rows, layout.UnencodedLen
	report.Compression, report.Encoding, report.Checksum, report.IndexLevels = layout.Compression, layout.Encoding,
		layout.Checksum, layout.IndexLevels
	report.FirstRow, report.LastRow = printable.Bytes(r.FirstRow()), printable.Bytes(r.LastRow())
	report.Samples, report.Trailer = samples.keys, layout.Trailer
	for _, t := range layout.Types {
		report.Types = append(report.Types, InspectType{t.Type, t.Blocks, t.Stored, t.Raw, t.Ratio(),
			t.Entries, t.Smallest, t.Largest})
	}
	report.Bloom = (*InspectBloom)(layout.Bloom)
	info := r.Info()
	for _, name := range info.Keys() {
		report.Info = append(report.Info, InfoRow{printable.Bytes([]byte(name)), info.Text(name)})
	}
	return nil
}

// firstKey formats a block's first key. A bloom chunk's is a row or a column, not a flat key.
func firstKey(b *hfilewriter.Block) string {
	switch {
	case b.FirstKey == nil:
		return ""
	case b.Type == "BLOOM_CHUNK":
		return printable.Bytes(b.FirstKey)
	}
	return hfilewriter.DescribeKey(b.FirstKey)
}

// keySamples keeps the first key of every n-th data block; n doubles when there are too many.
type keySamples struct {
	keys  []string
	seen  int
	every int
}

func (k *keySamples) add(b *hfilewriter.Block) {
	if b.Rows > 0 {
		k.addKey(func() string { return firstKey(b) })
	}
}

func (k *keySamples) addKey(key func() string) {
	if k.every == 0 {
		k.every = 1
	}
	if k.seen%k.every == 0 {
		k.keys = append(k.keys, key())
	}
	k.seen++
	if len(k.keys) > maxKeySamples {
		half := (len(k.keys) + 1) / 2
		for i := range half {
			k.keys[i] = k.keys[2*i]
		}
		k.keys, k.every = k.keys[:half], 2*k.every
	}
}

func visitAll(ctx context.Context, r *hfilewriter.Reader, visit func(*cell.Cell) error) error {
	scanner := r.Seek(nil)
	for n := 1; scanner.Next(); n++ {
		if n%entry.CheckEvery == 0 && ctx.Err() != nil {
			return ctx.Err()
		}
		if err := visit(scanner.Cell()); err != nil {
			return err
		}
	}
	if err := scanner.Err(); err != nil {
		return failure.Damagedf("read the cells: %w", err)
	}
	return nil
}
