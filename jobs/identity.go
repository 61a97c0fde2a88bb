package jobs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"bulkload/ingest"
)

// identify gives the job, or each of its outputs, its hash.
func (j *Job) identify() error {
	var accepts []string
	if j.Outputs != nil { // a record that one of them refuses goes into none
		for _, out := range j.outputs() {
			text, err := json.Marshal(struct {
				Columns []Column
				RowKey  string
				Wide    string      `json:",omitempty"`
				Rules   outputRules `json:",omitzero"`
			}{out.Columns, out.RowKey.String(), out.Wide.String(), out.rules()})
			if err != nil {
				return fmt.Errorf("hash the job: %w", err)
			}
			accepts = append(accepts, string(text))
		}
	}
	for _, out := range j.outputs() {
		var err error
		if out.hash, err = out.identity(accepts); err != nil {
			return fmt.Errorf("hash the job: %w", err)
		}
	}
	return nil
}

// identity is the hash of all that the job file says of the files' content. What decides only whether and how the job
// runs (max_rejects, load, where the cluster is) is no part of it, nor are comments and the place of the input, whose
// files a run names one by one. accepts is what decides on a record beside the output itself.
func (j *Job) identity(accepts []string) (string, error) {
	form, err := formIdentity(j.Input.Form)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(struct {
		Table     string
		Columns   []Column
		Timestamp int64
		RowKey    string
		Wide      string `json:",omitempty"`
		Form      string
		Regions   Regions
		HFile     HFile
		Strict    bool
		Accepts   []string
		Rules     outputRules `json:",omitzero"`
	}{j.Table, j.Columns, j.Timestamp, j.RowKey.String(), j.Wide.String(), form, j.Regions, j.HFile, j.Strict, accepts, j.rules()})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:]), nil
}

// outputRules are those that most jobs do without.
type outputRules struct {
	Constants *[]Constant
	Moments   string
	Filter    string
}

func (j *Job) rules() outputRules {
	r := outputRules{Moments: j.Moments}
	if j.Constants != nil {
		r.Constants = &j.Constants
	}
	if j.Filter != nil {
		r.Filter = j.Filter.String()
	}
	return r
}

// formIdentity is all that a form says, with its type.
func formIdentity(form ingest.Form) (string, error) {
	text, err := json.Marshal(form) // null where a []byte is nil
	return fmt.Sprintf("%T %s", form, text), err
}

// runID names a run: the job, the logical date, and the input files with their sizes and times.
func (j *Job) runID(inputs []manifestInput) string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\n%s\n", j.hash, j.dateText())
	for _, f := range inputs {
		fmt.Fprintf(h, "%q %d %s\n", f.Path, f.Size, f.ModTime)
	}
	return hex.EncodeToString(h.Sum(nil)[:16])
}
