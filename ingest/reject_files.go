package ingest

import (
	"encoding/json"
	"errors"
	"path"

	"bulkload/internal/storage"
)

// rejectFiles are rejects.dat and rejects.jsonl, under temporary names until they are complete.
type rejectFiles struct {
	fsys      storage.FS
	dir       string
	temps     string
	delimiter []byte
	data      storage.FileWriter
	reasons   storage.FileWriter
}

// rejectLine is a line of rejects.jsonl.
type rejectLine struct {
	File   string `json:"file"`
	Offset int64  `json:"offset"`
	Record int64  `json:"record,omitempty"`
	Column string `json:"column,omitempty"`
	Reason string `json:"reason"`
	Length int    `json:"length"` // of the raw record, in bytes
}

func createRejectFiles(fsys storage.FS, dir, temps string, delimiter []byte) (*rejectFiles, error) {
	out := &rejectFiles{fsys: fsys, dir: dir, temps: temps, delimiter: delimiter}
	var err error
	if out.data, err = fsys.Create(path.Join(temps, temporary+RejectsFile), 0o600); err != nil {
		return nil, err
	}
	if out.reasons, err = fsys.Create(path.Join(temps, temporary+rejectsReasons), 0o600); err != nil {
		return nil, errors.Join(err, out.data.Abort())
	}
	return out, nil
}

// begin writes the first line of the files of rejects, unless it is "".
func (o *rejectFiles) begin(heading string) error {
	if heading == "" {
		return nil
	}
	_, err := o.data.Write([]byte(heading + "\n"))
	return err
}

func (o *rejectFiles) write(file string, k reject) error {
	raw := k.raw
	if isSeparated(o.delimiter) {
		raw = stuff(raw)
	}
	if _, err := o.data.Write(raw); err != nil {
		return err
	}
	if _, err := o.data.Write(o.delimiter); err != nil {
		return err
	}
	line, err := json.Marshal(rejectLine{file, k.offset, k.number, k.column, k.reason, len(k.raw)})
	if err != nil {
		return err
	}
	_, err = o.reasons.Write(append(line, '\n'))
	return err
}

func (o *rejectFiles) abort() {
	o.data.Abort() // the earlier error is the one to report
	o.reasons.Abort()
}

func (o *rejectFiles) commit() error {
	if err := errors.Join(o.data.Close(), o.reasons.Close()); err != nil {
		o.abort()
		return err
	}
	for _, name := range []string{RejectsFile, rejectsReasons} {
		if err := o.fsys.Replace(path.Join(o.temps, temporary+name), path.Join(o.dir, name)); err != nil {
			return err
		}
	}
	return nil
}
