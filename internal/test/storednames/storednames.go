// Package storednames is for tests of data that is stored or hashed as JSON, or promised as the answer of a command:
// each field must have an explicit JSON name, so that renaming a Go field changes no file.
package storednames

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
)

// Check lists the fields without a JSON name of the types and of all types in them, and counts the structs.
func Check(types ...reflect.Type) (unnamed []string, structs int) {
	seen := map[reflect.Type]bool{}
	for _, t := range types {
		unnamed = append(unnamed, check(t, seen)...)
	}
	return unnamed, len(seen)
}

var containers = []reflect.Kind{reflect.Pointer, reflect.Slice, reflect.Map, reflect.Array}

func check(of reflect.Type, seen map[reflect.Type]bool) (unnamed []string) {
	for slices.Contains(containers, of.Kind()) {
		of = of.Elem()
	}
	own := of.Implements(reflect.TypeFor[json.Marshaler]()) || of.Implements(reflect.TypeFor[interface{ MarshalText() ([]byte, error) }]())
	if of.Kind() != reflect.Struct || own || seen[of] {
		return nil
	}
	seen[of] = true
	for i := range of.NumField() {
		f := of.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case !f.Anonymous && !f.IsExported(), name == "-":
			continue
		case !f.Anonymous && name == "":
			unnamed = append(unnamed, of.String()+"."+f.Name)
		}
		unnamed = append(unnamed, check(f.Type, seen)...)
	}
	return unnamed
}
