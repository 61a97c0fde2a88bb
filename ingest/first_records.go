package ingest

import (
	"bytes"
	"errors"
	"regexp"
	"strings"

	"bulkload/internal/storage"
)

// firstRecords is how many records at the start of a file are examined.
const firstRecords = 1000

// Sample opens the first file that is not empty for look. It does not report a file that can't be read, because the
// file's reader will.
func Sample(form Format, fsys storage.FS, files []SourceFile, look func(in Records, file SourceFile)) {
	for _, f := range files {
		if f.Size == 0 {
			continue
		}
		if in, err := form.Open(fsys, Split{File: f, End: f.Size}); err == nil {
			look(in, f)
			_ = in.Close() // it was only read
		}
		return
	}
}

// EndingWithCR is how many records at the start of a file were examined, if each of them ends with a CR of its own;
// otherwise 0.
func EndingWithCR(in Records) (seen int) {
	eachFirst(in, func(rec *Record) bool {
		if !bytes.HasSuffix(rec.Raw, []byte{'\r'}) {
			seen = 0
			return false
		}
		seen++
		return true
	})
	return seen
}

var columnName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_$#]{0,127}$`)

// HeadingIn returns the first record if it looks like a heading that is read as a record: all of its values are names,
// and some column has numbers or dates in all other records. Otherwise it returns "".
func HeadingIn(in Records) string {
	var names []string
	var digits, others []bool // by column: some value begins with a digit or a sign, some other one does not
	eachFirst(in, func(rec *Record) bool {
		if names == nil {
			for _, f := range rec.Fields {
				if !columnName.Match(f.Bytes()) {
					return false
				}
				names = append(names, string(f.Bytes()))
			}
			digits, others = make([]bool, len(names)), make([]bool, len(names))
			return true
		}
		for i, f := range rec.Fields {
			if x := f.Bytes(); len(x) > 0 {
				number := strings.IndexByte("0123456789-+.", x[0]) >= 0
				digits[i], others[i] = digits[i] || number, others[i] || !number
			}
		}
		return true
	})
	for i := range digits {
		if digits[i] && !others[i] {
			return strings.Join(names, ", ")
		}
	}
	return ""
}

// eachFirst visits the first good records until visit returns false.
func eachFirst(in Records, visit func(*Record) bool) {
	for n := 0; n < firstRecords; n++ {
		rec, err := in.Next()
		if bad := new(BadRecord); errors.As(err, &bad) {
			continue
		}
		if err != nil || !visit(rec) {
			return
		}
	}
}
