// Package editdistance measures how much two names differ, for "did you mean".
package editdistance

// Between is Levenshtein's distance: how many characters must be inserted, deleted or replaced. Its time grows with the
// product of the lengths, which callers must bound.
func Between(a, b string) int {
	x, y := []rune(a), []rune(b)
	row := make([]int, len(y)+1)
	for j := range row {
		row[j] = j
	}
	for i := range x {
		diagonal := row[0]
		row[0] = i + 1
		for j := range y {
			cost := diagonal
			if x[i] != y[j] {
				cost = 1 + min(diagonal, row[j], row[j+1])
			}
			diagonal, row[j+1] = row[j+1], cost
		}
	}
	return row[len(y)]
}
