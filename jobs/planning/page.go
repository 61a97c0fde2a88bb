package planning

import "io"

// Page is what a page shows.
type Page struct{}

// WritePage writes it.
func WritePage(w io.Writer, p *Page) error { return nil }
