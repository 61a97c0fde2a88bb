package jobfile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"bulkload/hfilewriter"
	"bulkload/ingest"
	"bulkload/values"
)

// The texts from which a job's hash is made, and those that a manifest stores for a family's settings, are frozen here.
// Their names and numbers come from the first version's Go code and must stay, whatever the code's names are now: with
// another text, every output that was written before would belong to another job, and no run could continue. So nothing
// here depends on the names, the order or the number of the fields of Go structs elsewhere. A new setting gets a new
// name at the end, and adds no text unless it is set.

// columnIdentity is a column's part of a job's hash.
type columnIdentity struct {
	Name      string       `json:"Name"`
	Family    string       `json:"Family"`
	Qualifier string       `json:"Qualifier"`
	Skip      bool         `json:"Skip"`
	Width     int          `json:"Width"`
	Type      typeIdentity `json:"Type,omitzero"`
	Binary    bool         `json:"Binary,omitempty"`
	Null      string       `json:"Null,omitempty"`
}

type typeIdentity struct {
	Kind   int    `json:"Kind"`
	Format string `json:"Format"`
	Zone   string `json:"Zone"`
}

type constantIdentity struct {
	columnIdentity
	Value []byte `json:"Value"`
}

// acceptIdentity is what decides whether an output can use a record.
type acceptIdentity struct {
	Columns []columnIdentity `json:"Columns"`
	RowKey  string           `json:"RowKey"`
	Wide    string           `json:"Wide,omitempty"`
	Rules   rulesIdentity    `json:"Rules,omitzero"`
}

// rulesIdentity holds the rules that most jobs don't use.
type rulesIdentity struct {
	Constants *[]constantIdentity `json:"Constants"`
	Moments   string              `json:"Moments"`
	Filter    string              `json:"Filter"`
}

type jobIdentity struct {
	Table     string           `json:"Table"`
	Columns   []columnIdentity `json:"Columns"`
	Timestamp int64            `json:"Timestamp"`
	RowKey    string           `json:"RowKey"`
	Wide      string           `json:"Wide,omitempty"`
	Form      string           `json:"Form"`
	Regions   regionsIdentity  `json:"Regions"`
	HFile     hfileIdentity    `json:"HFile"`
	Strict    bool             `json:"Strict"`
	Accepts   []string         `json:"Accepts"`
	Rules     rulesIdentity    `json:"Rules,omitzero"`
	Live      string           `json:"Live,omitempty"`
}

type regionsIdentity struct {
	From   string   `json:"From"`
	Splits [][]byte `json:"Splits"`
}

type hfileIdentity struct {
	Settings  settingsIdentity `json:"Settings"`
	Given     map[string]bool  `json:"Given"`
	MaxSize   int64            `json:"MaxSize"`
	SliceSize int64            `json:"SliceSize"`
}

type settingsIdentity struct {
	Compression      int     `json:"Compression"`
	Encoding         int     `json:"Encoding"`
	Bloom            int     `json:"Bloom"`
	BloomPrefix      int     `json:"BloomPrefix"`
	BlockSize        int     `json:"BlockSize"`
	IndexBlockSize   int     `json:"IndexBlockSize"`
	IndexMinEntries  int     `json:"IndexMinEntries"`
	BloomBlockSize   int     `json:"BloomBlockSize"`
	BloomErrorRate   float32 `json:"BloomErrorRate"`
	BloomMaxFold     int     `json:"BloomMaxFold"`
	Checksum         int     `json:"Checksum"`
	BytesPerChecksum int     `json:"BytesPerChecksum"`
	Helpers          int     `json:"Helpers"` // always 0: a removed setting that job hashes still have
}

// The frozen numbers of constants that Go counts. Codecs and encodings need none: their values are HBase's own, which
// are stored in files.
var (
	kindNumbers = map[values.TypeKind]int{values.KindUnknown: 0, values.KindText: 1, values.KindInt16: 2,
		values.KindInt32: 3, values.KindInt64: 4,
		values.KindDecimal: 5, values.KindFloat32: 6, values.KindFloat64: 7, values.KindBoolean: 8,
		values.KindDate: 9, values.KindTimestamp: 10,
		values.KindBytes: 11, values.KindHex: 12}
	bloomNumbers = map[hfilewriter.Bloom]int{hfilewriter.BloomNone: 0, hfilewriter.BloomRow: 1, hfilewriter.BloomRowCol: 2,
		hfilewriter.BloomRowPrefix: 3}
	checksumNumbers = map[hfilewriter.Checksum]int{hfilewriter.ChecksumCRC32C: 0, hfilewriter.ChecksumCRC32: 1,
		hfilewriter.ChecksumNull: 2}
)

// identify sets the hash of the job, or of each of its outputs.
func (j *Job) identify() error {
	var accepts []string
	if j.Outputs != nil { // a record that one output refuses goes into none
		for _, out := range j.Feeds() {
			text, err := json.Marshal(acceptIdentity{identityOf(out.Columns), out.RowKey.String(),
				out.Wide.String(), out.rules()})
			if err != nil {
				return fmt.Errorf("hash the job: %w", err)
			}
			accepts = append(accepts, string(text))
		}
	}
	for _, out := range j.Feeds() {
		text, err := out.identity(accepts)
		if err != nil {
			return fmt.Errorf("hash the job: %w", err)
		}
		sum := sha256.Sum256(text)
		out.hash = hex.EncodeToString(sum[:])
	}
	return nil
}

// identity returns the text of everything in the job file that decides the files' content. It leaves out settings that
// only decide whether and how the job runs (max_rejects, load, the cluster), comments, and the input's path, since a
// run names the files one by one. accepts is what else decides whether a record is used.
func (j *Job) identity(accepts []string) ([]byte, error) {
	form, err := j.Input.Form.Identity()
	if err != nil {
		return nil, err
	}
	whole := jobIdentity{Table: j.Table, Columns: identityOf(j.Columns), Timestamp: j.Timestamp, RowKey: j.RowKey.String(),
		Wide: j.Wide.String(), Form: form, Regions: regionsIdentity{j.Regions.From, j.Regions.Splits},
		HFile:  j.HFile.identity(),
		Strict: j.Strict, Accepts: accepts, Rules: j.rules(), Live: string(j.Live)}
	j.parts, err = whole.parts()
	if err != nil {
		return nil, err
	}
	return json.Marshal(whole)
}

// TimestampPart is the key of Parts for what decides the cells' timestamps.
const TimestampPart = "timestamp"

// parts returns short hashes of the parts of an identity, by the keys of a job file that decide them.
func (id *jobIdentity) parts() (map[string]string, error) {
	sums := map[string]string{}
	for name, part := range map[string]any{"columns": []any{id.Columns, id.Rules.Constants},
		TimestampPart: []any{id.Timestamp, id.Rules.Moments},
		"rowkey":      id.RowKey, "wide": id.Wide, "input": id.Form, "regions": id.Regions, "hfile": id.HFile,
		"duplicates": []any{id.Strict, id.Live},
		"filter":     id.Rules.Filter, "outputs": id.Accepts} {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text)
		sums[name] = hex.EncodeToString(sum[:4])
	}
	return sums, nil
}

// Parts returns short hashes of what Hash covers, by the keys of a job file. They show in which keys two jobs differ.
func (j *Job) Parts() map[string]string { return j.parts }

func (j *Job) rules() rulesIdentity {
	r := rulesIdentity{Moments: j.Moments}
	if j.Constants != nil {
		constants := make([]constantIdentity, len(j.Constants))
		for i, c := range j.Constants {
			constants[i] = constantIdentity{c.identity(), c.Value}
		}
		r.Constants = &constants
	}
	if j.Filter != nil {
		r.Filter = j.Filter.String()
	}
	return r
}

func identityOf(columns []Column) []columnIdentity {
	if columns == nil {
		return nil
	}
	all := make([]columnIdentity, len(columns))
	for i := range columns {
		all[i] = columns[i].identity()
	}
	return all
}

func (c *Column) identity() columnIdentity {
	return columnIdentity{Name: c.Name, Family: c.Family, Qualifier: c.Qualifier, Skip: c.Skip, Width: c.Width,
		Type: typeIdentity{kindNumbers[c.Type.Kind], c.Type.Format, c.Type.Zone}, Binary: c.Binary, Null: string(c.Null)}
}

func (h *HFileSettings) identity() hfileIdentity {
	s := &h.Settings
	return hfileIdentity{Given: h.Given, MaxSize: h.MaxSize, SliceSize: h.SliceSize, Settings: settingsIdentity{
		Compression: int(s.Compression), Encoding: int(s.Encoding), Bloom: bloomNumbers[s.Bloom], BloomPrefix: s.BloomPrefix,
		BlockSize: s.BlockSize, IndexBlockSize: s.IndexBlockSize, IndexMinEntries: s.IndexMinEntries,
		BloomBlockSize: s.BloomBlockSize,
		BloomErrorRate: s.BloomErrorRate, BloomMaxFold: s.BloomMaxFold, Checksum: checksumNumbers[s.Checksum],
		BytesPerChecksum: s.BytesPerChecksum}}
}

// SettingsText returns a family's settings in the form that a manifest stores, for comparison with the table's.
func SettingsText(s hfilewriter.Settings) string {
	return fmt.Sprintf("{Compression:%v Encoding:%v Bloom:%v BloomPrefix:%d BlockSize:%d IndexBlockSize:%d "+
		"IndexMinEntries:%d "+
		"BloomBlockSize:%d BloomErrorRate:%v BloomMaxFold:%d Checksum:%v BytesPerChecksum:%d Helpers:0}",
		s.Compression, s.Encoding, s.Bloom, s.BloomPrefix, s.BlockSize, s.IndexBlockSize, s.IndexMinEntries,
		s.BloomBlockSize, s.BloomErrorRate, s.BloomMaxFold, s.Checksum, s.BytesPerChecksum)
}

// InputFile is an input file's part of a run's ID and its manifest.
type InputFile struct {
	Path    string `json:"path"`
	Size    int64  `json:"size"` // bytes
	ModTime string `json:"mtime"`
}

// InputFiles converts the files of an input for a run's ID and its manifest.
func InputFiles(files []ingest.SourceFile) []InputFile {
	all := make([]InputFile, len(files))
	for i, f := range files {
		all[i] = InputFile{Path: f.Path, Size: f.Size, ModTime: TimeText(f.ModTime)}
	}
	return all
}

// TimeText returns a file's time in the form of InputFile.
func TimeText(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }

// Listed converts the files back, with their ordinals.
func Listed(files []InputFile) ([]ingest.SourceFile, error) {
	all := make([]ingest.SourceFile, len(files))
	for i, f := range files {
		t, err := time.Parse(time.RFC3339Nano, f.ModTime)
		if err != nil {
			return nil, fmt.Errorf("the time of %s: %w", f.Path, err)
		}
		all[i] = ingest.SourceFile{Path: f.Path, Size: f.Size, ModTime: t, Ordinal: i}
	}
	return all, nil
}

// RunID names a run: the job, the logical date, and the input files with their sizes and times.
func (j *Job) RunID(inputs []InputFile) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", j.hash, j.DateText())
	for _, f := range inputs {
		fmt.Fprintf(h, "%q %d %s\n", f.Path, f.Size, f.ModTime)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}

// Hash returns the hash of everything that decides the files' content, in hex. It is "" for a job with several outputs,
// because each output has its own.
func (j *Job) Hash() string { return j.hash }
