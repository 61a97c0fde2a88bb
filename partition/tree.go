package partition

// tree is a tournament of cursors (a loser tree): the next winner is found with one comparison for each level.
type tree struct {
	cursors []cursor
	losers  []int // at each inner node the cursor that lost there; at 0 the overall winner
}

// newTree builds a tree of cursors that are at their first entries.
func newTree(cursors []cursor) *tree {
	t := &tree{cursors: cursors, losers: make([]int, max(len(cursors), 1))}
	if len(cursors) > 0 {
		t.losers[0] = t.play(1)
	}
	return t
}

// play plays the games below a node; the leaves follow the inner nodes.
func (t *tree) play(node int) (winner int) {
	n := len(t.cursors)
	if node >= n {
		return node - n
	}
	winner, loser := t.play(2*node), t.play(2*node+1)
	if t.cursors[loser].before(&t.cursors[winner]) {
		winner, loser = loser, winner
	}
	t.losers[node] = loser
	return winner
}

// winner is the cursor with the first entry; nil if all are done.
func (t *tree) winner() *cursor {
	if len(t.cursors) == 0 || t.cursors[t.losers[0]].done {
		return nil
	}
	return &t.cursors[t.losers[0]]
}

// replay finds the next winner after the last one has advanced.
func (t *tree) replay() {
	winner := t.losers[0]
	for node := (winner + len(t.cursors)) / 2; node > 0; node /= 2 {
		if loser := t.losers[node]; t.cursors[loser].before(&t.cursors[winner]) {
			t.losers[node], winner = winner, loser
		}
	}
	t.losers[0] = winner
}
