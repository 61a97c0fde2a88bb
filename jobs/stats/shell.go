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

// CreateStatement is the statement with which HBase's shell creates a table. Splits are in the shell's notation, as
// Bytes.toStringBinary writes them: the shell reads each with Bytes.toBytesBinary.
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

// ruby is a text in single quotes, where Ruby leaves \x00 as the four characters that it is.
func ruby(text string) string {
	return "'" + strings.NewReplacer(`\x`, `\x`, `\`, `\\`, `'`, `\'`).Replace(text) + "'"
}

// WriteSplits writes what the shell takes as SPLITS_FILE: a split a line. The shell takes blanks at a line's ends for
// layout, so they are written as \x20.
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
