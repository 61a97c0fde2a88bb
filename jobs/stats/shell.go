package stats

import (
	"fmt"
	"io"
	"strings"
)

// CreateFamily is a family as a create statement names it.
type CreateFamily struct {
	Name, Compression, Encoding, Bloom string
	BloomPrefix, BlockSize             int
}

// CreateStatement returns the statement with which HBase's shell creates a table. Splits are in the shell's notation,
// as Bytes.toStringBinary writes them, because the shell reads each with Bytes.toBytesBinary.
func CreateStatement(table string, families []CreateFamily, splits []string) string {
	var parts []string
	for _, f := range families {
		bloom := ""
		if f.BloomPrefix > 0 {
			bloom = fmt.Sprintf(", CONFIGURATION => {'RowPrefixBloomFilter.prefix_length' => '%d'}", f.BloomPrefix)
		}
		parts = append(parts, fmt.Sprintf("{NAME => %s, COMPRESSION => '%s', DATA_BLOCK_ENCODING => '%s', BLOOMFILTER => "+
			"'%s', BLOCKSIZE => '%d'%s}",
			ruby(f.Name), f.Compression, f.Encoding, f.Bloom, f.BlockSize, bloom))
	}
	if len(splits) > 0 {
		quoted := make([]string, len(splits))
		for i, s := range splits {
			quoted[i] = ruby(s)
		}
		parts = append(parts, "{SPLITS => ["+strings.Join(quoted, ", ")+"]}")
	}
	return fmt.Sprintf("create %s, %s", ruby(table), strings.Join(parts, ", "))
}

// ruby returns a text in single quotes, in which Ruby leaves \x00 as four characters.
func ruby(text string) string {
	return "'" + strings.NewReplacer(`\x`, `\x`, `\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// WriteSplits writes a file for the shell's SPLITS_FILE, with one split on each line. The shell drops blanks at the
// ends of a line, so they are written as \x20.
func WriteSplits(w io.Writer, splits []string) error {
	for _, s := range splits {
		if _, err := fmt.Fprintln(w, edges(s)); err != nil {
			return err
		}
	}
	return nil
}

func edges(s string) string {
	inner := strings.TrimLeft(s, " ")
	s = strings.Repeat(`\x20`, len(s)-len(inner)) + inner
	inner = strings.TrimRight(s, " ")
	return inner + strings.Repeat(`\x20`, len(s)-len(inner))
}
