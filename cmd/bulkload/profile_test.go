package main

import (
	"bytes"
	"compress/gzip"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"
)

// The fields of pprof's profile.proto that name what the processor did.
const (
	profileSample, profileLocation, profileFunction, profileString = 2, 4, 5, 6

	sampleLocation, sampleValue = 1, 2
	locationID, locationLine    = 1, 4
	lineFunction                = 1
	functionID, functionName    = 1, 2
)

// eachField visits the fields of a message: its number or its bytes.
func eachField(message []byte, visit func(field protowire.Number, n uint64, content []byte)) error {
	for len(message) > 0 {
		field, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return protowire.ParseError(n)
		}
		message = message[n:]
		var number uint64
		var content []byte
		switch kind {
		case protowire.VarintType:
			number, n = protowire.ConsumeVarint(message)
		case protowire.BytesType:
			content, n = protowire.ConsumeBytes(message)
		default:
			n = protowire.ConsumeFieldValue(field, kind, message)
		}
		if n < 0 {
			return protowire.ParseError(n)
		}
		visit(field, number, content)
		message = message[n:]
	}
	return nil
}

// numbers are those of a packed field.
func numbers(packed []byte) (all []uint64) {
	for len(packed) > 0 {
		n, length := protowire.ConsumeVarint(packed)
		if length < 0 {
			return all
		}
		all, packed = append(all, n), packed[length:]
	}
	return all
}

// cpuTime is the time of a CPU profile that was spent in each function itself.
func cpuTime(profile []byte) (map[string]int64, error) {
	var names []string
	var errs []error
	functions, locations := map[uint64]uint64{}, map[uint64]uint64{} // the index of a name; the innermost function
	type sample struct {
		location uint64
		time     int64
	}
	var samples []sample
	visit := func(message []byte, each func(field protowire.Number, n uint64, content []byte)) {
		errs = append(errs, eachField(message, each))
	}
	visit(profile, func(field protowire.Number, _ uint64, content []byte) {
		switch field {
		case profileString:
			names = append(names, string(content))
		case profileFunction:
			var id, name uint64
			visit(content, func(field protowire.Number, n uint64, _ []byte) {
				switch field {
				case functionID:
					id = n
				case functionName:
					name = n
				}
			})
			functions[id] = name
		case profileLocation:
			var id, function uint64
			visit(content, func(field protowire.Number, n uint64, line []byte) {
				switch {
				case field == locationID:
					id = n
				case field == locationLine && function == 0: // the first one was inlined into those after it
					visit(line, func(field protowire.Number, n uint64, _ []byte) {
						if field == lineFunction {
							function = n
						}
					})
				}
			})
			locations[id] = function
		case profileSample:
			var s sample
			visit(content, func(field protowire.Number, n uint64, content []byte) {
				all := append(numbers(content), n)
				switch field {
				case sampleLocation:
					if s.location == 0 {
						s.location = all[0]
					}
				case sampleValue:
					s.time = int64(all[max(0, len(numbers(content))-1)]) // the last value is the time
				}
			})
			samples = append(samples, s)
		}
	})
	spent := map[string]int64{}
	for _, s := range samples {
		if name := functions[locations[s.location]]; name < uint64(len(names)) {
			spent[names[name]] += s.time
		}
	}
	return spent, errors.Join(errs...)
}

// programFunctions are the functions and methods of the module, as a profile names them.
func programFunctions(t *testing.T) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	for path := range importsOfFiles(t) {
		name := filepath.Join("../..", filepath.FromSlash(path))
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		at := "bulkload/" + filepath.ToSlash(filepath.Dir(path)) + "."
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok {
				continue
			}
			if f.Recv == nil {
				all[at+f.Name.Name] = true
				continue
			}
			receiver := f.Recv.List[0].Type
			pointer, isPointer := receiver.(*ast.StarExpr)
			if isPointer {
				receiver = pointer.X
			}
			if generic, ok := receiver.(*ast.IndexExpr); ok {
				receiver = generic.X
			}
			if named, ok := receiver.(*ast.Ident); ok && isPointer {
				all[at+"(*"+named.Name+")."+f.Name.Name] = true
			} else if ok {
				all[at+named.Name+"."+f.Name.Name] = true
			}
		}
	}
	return all
}

// declared reports whether there is the function that a profile's name is of: closures and inlined calls are named
// after those that they are in.
func declared(known map[string]bool, name string) bool {
	name = strings.ReplaceAll(name, "[...]", "")
	for !known[name] {
		at := strings.LastIndexByte(name, '.')
		if at < strings.LastIndexByte(name, '/') {
			return false
		}
		name = name[:at]
	}
	return true
}

// TestProfileNamesTheProgram: the functions in which default.pgo saw the program spend its time exist. The compiler
// passes over others without a word, so after a renaming the profile would be of no use.
func TestProfileNamesTheProgram(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("default.pgo")
	if err != nil {
		t.Fatal(err)
	}
	unpacked, err := gzip.NewReader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	profile, err := io.ReadAll(unpacked)
	if err != nil {
		t.Fatal(err)
	}
	spent, err := cpuTime(profile)
	if err != nil {
		t.Fatal(err)
	}
	known := programFunctions(t)
	var all, lost int64
	var missing []string
	for name, time := range spent {
		if !strings.HasPrefix(name, "bulkload/") {
			continue
		}
		all += time
		if !declared(known, name) {
			lost += time
			missing = append(missing, name)
		}
	}
	slices.Sort(missing)
	if all == 0 || lost*50 > all { // 2%: what a change of speed must exceed to count
		t.Errorf("%d of %d ns were spent in functions that are gone: %q; make profile GONE=…", lost, all, missing)
	}
}
