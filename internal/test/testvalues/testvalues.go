// Package testvalues makes values for tests.
package testvalues

import "bulkload/values"

// Of returns a value for each text.
func Of(texts ...string) []values.Value {
	all := make([]values.Value, len(texts))
	for i, text := range texts {
		all[i] = values.ValueOf([]byte(text))
	}
	return all
}
