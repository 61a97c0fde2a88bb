// Package yamldoc reads the text of a job file: YAML with variables and included files. It knows the keys, the lines of
// values and all problems, but not what a key means for a run.
package yamldoc

// Files reads the files that a job file names: included files and lists of splits.
type Files interface {
	// Read returns a file of at most limit bytes.
	Read(name string, limit int64) ([]byte, error)
}

// Read returns a file that the job file names, of at most limit bytes.
func (d *Document) Read(name string, limit int64) ([]byte, error) { return d.from.Read(name, limit) }
