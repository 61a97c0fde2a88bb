package stats

// InputReport describes the input, what a run of the job would make of it, and what to consider before the first run.
// Figures of the whole input are estimates if Sample is true.
type InputReport struct {
	Key    string `json:"rowkey"`         // the expression
	Wide   bool   `json:"wide,omitempty"` // many records share a row, distinguished by their qualifiers
	Sample bool   `json:"sample"`         // not all of the input was read
	How    string `json:"how"`            // which part of the input was read

	InputFiles int            `json:"input_files"`
	InputBytes int64          `json:"input_bytes"`
	BytesRead  int64          `json:"bytes_read"`
	RowsRead   int64          `json:"rows_read"`
	Rows       int64          `json:"rows"` // rows that can be used
	Rejected   int64          `json:"rows_rejected"`
	Filtered   int64          `json:"rows_filtered"`
	Rejects    []RejectCount  `json:"rejects"`
	Records    []SampleRecord `json:"records,omitempty"`
	// RejectedRecords are the first records that can't be used.
	RejectedRecords []RejectedRecord `json:"rejected_records,omitempty"`

	Cells     int64 `json:"cells"`
	RawBytes  int64 `json:"raw_bytes"`  // KeyValue lengths, before encoding and compression
	SortBytes int64 `json:"sort_bytes"` // keys and values, as the sort holds them

	KeyBytes KeyBytes   `json:"key_bytes"`
	Shares   ByteShares `json:"shares"`
	HFiles   Estimate   `json:"hfiles"`
	Repeats  Repeats    `json:"repeats"`

	Query   *QueryFit   `json:"query,omitempty"` // nil if the job names no query columns
	Queries []QueryLoad `json:"queries"`         // the job's list, with what each query costs
	Daily   Day         `json:"a_day"`           // the sum of Queries; of a sample, Rows and Bytes are the sample's

	Regions    []PlannedRegion `json:"regions"`
	Skew       float64         `json:"skew"` // largest region over the mean, by raw bytes
	Suggestion Proposal        `json:"suggestion"`
	Families   []string        `json:"families"`
	TableFound bool            `json:"table_found"`
	Live       *Live           `json:"live,omitempty"`
	Created    bool            `json:"created"`
	// CreatedNamespace is the table's namespace, if it had to be created as well.
	CreatedNamespace string `json:"created_namespace,omitempty"`
	// Existed is true if the table was to be created but already exists.
	Existed bool     `json:"existed,omitempty"`
	Splits  []string `json:"splits"`
	Create  string   `json:"create"` // statement for HBase's shell

	Forecast Forecast  `json:"forecast"`
	Checks   []Finding `json:"checks"`
}

// Unique names what distinguishes a record from all others.
func (r *InputReport) Unique() string {
	if r.Wide {
		return "pairs of row key and qualifier"
	}
	return "row keys"
}

// RejectCount is a reason why records can't be used, and their number.
type RejectCount struct {
	Column string `json:"column,omitempty"`
	Reason string `json:"reason"`
	Rows   int64  `json:"rows"`
	First  string `json:"first"` // the position of the first one
}

// KeyBytes are the lengths of row keys: Min and Max by the expression (Max is -1 if it sets no limit), the others as
// found.
type KeyBytes struct {
	Min      int     `json:"min"`
	Max      int     `json:"max"`
	Shortest int     `json:"shortest"`
	Longest  int     `json:"longest"`
	Mean     float64 `json:"mean"`
}

// ByteShares are what the KeyValue bytes are made of. Each cell repeats row, family and qualifier.
type ByteShares struct {
	Row       int64 `json:"row"`
	Family    int64 `json:"family"`
	Qualifier int64 `json:"qualifier"`
	Frame     int64 `json:"frame"` // lengths, timestamp and type: 20 bytes a cell
	Value     int64 `json:"value"`
}

// Total returns the sum of the shares.
func (b *ByteShares) Total() int64 { return b.Row + b.Family + b.Qualifier + b.Frame + b.Value }

// Keys returns the share of row keys in the bytes.
func (b *ByteShares) Keys() float64 { return part(b.Row, b.Total()) }

func part(of, all int64) float64 {
	if all == 0 {
		return 0
	}
	return float64(of) / float64(all)
}

// Estimate is the predicted size of the HFiles, from sampled rows that were encoded with the settings of the job or the
// table.
type Estimate struct {
	Bytes      int64   `json:"bytes"`
	Ratio      float64 `json:"ratio"` // of the KeyValue bytes
	SampleRows int64   `json:"sample_rows"`
	SampleRaw  int64   `json:"sample_raw_bytes"`
	SampleSize int64   `json:"sample_bytes"` // of the HFiles made from the sample
	// rows of a query key lie apart in the input, so what they share is extrapolated
	Scattered bool             `json:"scattered"`
	Families  []FamilyEstimate `json:"families"`
}

// FamilyEstimate is one family's part of an Estimate.
type FamilyEstimate struct {
	Family   string `json:"family"`
	Settings string `json:"settings"`
	RawBytes int64  `json:"raw_bytes"`
	Bytes    int64  `json:"bytes"`
}

// PlannedRegion is a region's share of the input.
type PlannedRegion struct {
	Region     int    `json:"region"`
	Start      string `json:"start"`
	End        string `json:"end"`
	Rows       int64  `json:"rows"`
	RawBytes   int64  `json:"raw_bytes"`
	HFileBytes int64  `json:"hfile_bytes"` // estimated
	Files      int    `json:"files"`       // that a run writes for the family with the most
}

// QueryFit says how well the row key serves the job's query columns.
type QueryFit struct {
	Columns []string     `json:"columns"`
	Prefix  string       `json:"prefix"` // the part of the key that they determine; empty: none
	Scans   int          `json:"scans"`  // of one query
	Full    bool         `json:"full"`   // each scan reads a whole region
	Keys    int64        `json:"keys"`   // different query keys
	Exact   bool         `json:"exact"`  // Keys is exact; else within 2 %
	Rows    Distribution `json:"rows"`   // that a query returns
	Top     []Frequency  `json:"top"`
	Error   string       `json:"error,omitempty"` // why no prefix is determined

	InSample bool `json:"in_sample"` // Keys, Rows and Top are those of the rows read, not of the whole input
}

// QueryLoad is a query of the job's list, and what it costs with the row key.
type QueryLoad struct {
	Columns  []string `json:"columns"`
	PerDay   int64    `json:"per_day"`
	Prefix   string   `json:"prefix"`
	Scans    int      `json:"scans"`
	Full     bool     `json:"full"`
	Returned float64  `json:"rows_returned"` // by one query, on average over the query keys
	Read     float64  `json:"rows_read"`     // by the server for one query
	Bytes    float64  `json:"bytes_read"`    // KeyValues, for one query
	Daily    Day      `json:"a_day"`
	InSample bool     `json:"in_sample"` // rows and bytes are those of the rows read, not of the whole input
}

// Day is what queries cost per day.
type Day struct {
	Scans float64 `json:"scans"`
	Rows  float64 `json:"rows_read"`
	Bytes float64 `json:"bytes_read"`
}

// Live is what the cluster reports about the table.
type Live struct {
	Unknown  string       `json:"unknown,omitempty"` // why there are no figures of servers and regions; empty if there are
	Servers  int          `json:"region_servers"`
	Regions  []LiveRegion `json:"regions"`
	Families []LiveFamily `json:"families"`
	Empty    int          `json:"empty_regions"`
	Skew     float64      `json:"skew"` // largest region over the mean; 0 if none has a megabyte
	Checked  int64        `json:"keys_checked"`
	Present  int64        `json:"keys_present"` // checked keys that the table has already
}

// LiveRegion is a region as its server reports it. Sizes are whole megabytes, in bytes.
type LiveRegion struct {
	Start    string `json:"start"`
	Files    int    `json:"files"`
	Bytes    int64  `json:"bytes"`
	Memstore int64  `json:"memstore_bytes"`
}

// LiveFamily is what decides how long cells live.
type LiveFamily struct {
	Name     string `json:"name"`
	TTL      int64  `json:"ttl_seconds"` // 0: forever
	Versions int    `json:"versions"`
}
