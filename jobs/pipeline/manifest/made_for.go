package manifest

import (
	"fmt"
	"maps"
	"slices"

	"bulkload/hfilewriter"
	"bulkload/internal/printable"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// MadeFor has the regions and the settings of the table that a run's files are made for. It is embedded in the manifest
// because its fields are the manifest's own in JSON.
type MadeFor struct {
	Splits   []string          `json:"splits"` // in the notation of Printable
	Families map[string]string `json:"families"`
	MaxSize  int64             `json:"max_size"` // bytes at which a file ends
	// MaxFiles limits the files of a region and family, and so the slices of a region; 0: HBase's default.
	MaxFiles int64 `json:"max_files,omitempty"`
	// Encoders has hfilewriter.EncoderOf of the families' compressions, by their names. With others, an unfinished run's
	// files would not be those of a run that was not interrupted.
	Encoders map[string]string `json:"encoders,omitempty"`
}

// Planned returns the run's boundaries; nil if they are not set yet.
func (m *MadeFor) Planned() (*targets.LiveTable, error) {
	if m.MaxSize == 0 {
		return nil, nil
	}
	// SetTable has recorded them, perhaps in a process that was killed before its first slice. They are kept because
	// planning boundaries may mean reading all of the input.
	splits, err := m.Boundaries()
	return &targets.LiveTable{Splits: splits}, err
}

// Boundaries returns the run's region boundaries.
func (m *MadeFor) Boundaries() (splits [][]byte, err error) {
	for _, text := range m.Splits {
		split, err := printable.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("take region boundaries from the manifest: %w", err)
		}
		splits = append(splits, split)
	}
	return splits, nil
}

// SameTable reports whether the boundaries and the family settings are still those that the files were made for.
//
// The settings are compared as texts, in full: files with other settings would be valid HFiles, so the table would have
// two kinds. Splits are compared although each file could be cut, because slices and counts refer to these regions.
func (m *MadeFor) SameTable(t *targets.Target) bool {
	if m.MaxSize != t.MaxSize || m.MaxFiles != recordedFiles(t.MaxFiles) ||
		len(m.Families) != len(t.Families) || !slices.Equal(m.Splits, printable.All(t.Splits)) {
		return false
	}
	for _, f := range t.Families {
		if m.Families[f.Name] != jobfile.SettingsText(f.Settings) {
			return false
		}
	}
	return true
}

// SameEncoders reports whether this program compresses as the one did that made the files.
func (m *MadeFor) SameEncoders(t *targets.Target) (bool, error) {
	now, err := encodersOf(t)
	return maps.Equal(now, m.Encoders), err
}

func encodersOf(t *targets.Target) (map[string]string, error) {
	encoders := map[string]string{}
	for _, f := range t.Families {
		encoder, err := hfilewriter.EncoderOf(f.Settings.Compression)
		if err != nil {
			return nil, fmt.Errorf("identify the encoder of family %s: %w", f.Name, err)
		}
		if encoder != "" {
			encoders[f.Settings.Compression.String()] = encoder
		}
	}
	return encoders, nil
}

// SetTable records the boundaries, the settings and the encoders that the files are made for.
func (m *MadeFor) SetTable(t *targets.Target) (err error) {
	m.Splits, m.MaxSize, m.MaxFiles = printable.All(t.Splits), t.MaxSize, recordedFiles(t.MaxFiles)
	m.Families = map[string]string{}
	for _, f := range t.Families {
		m.Families[f.Name] = jobfile.SettingsText(f.Settings)
	}
	m.Encoders, err = encodersOf(t)
	return err
}

// recordedFiles returns the recorded form of the limit of files: 0 for HBase's default.
func recordedFiles(limit int64) int64 {
	if limit == load.DefaultMaxFiles {
		return 0
	}
	return limit
}
