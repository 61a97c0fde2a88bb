package manifest

import (
	"fmt"
	"slices"

	"bulkload/internal/printable"
	"bulkload/jobs/pipeline/targets"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// MadeFor is what the files of a run are made for: the regions and the settings of their table. It is embedded in the
// manifest, since its fields are the manifest's own in JSON.
type MadeFor struct {
	Splits   []string          `json:"splits"` // in the notation of Printable
	Families map[string]string `json:"families"`
	MaxSize  int64             `json:"max_size"` // at which a file ends, in bytes
	// of a region and family, which limits the slices of a region; 0: HBase's default
	MaxFiles int64 `json:"max_files,omitempty"`
}

// Planned returns the boundaries that the run was given; nil if it was given none yet.
func (m *MadeFor) Planned() (*targets.LiveTable, error) {
	if m.MaxSize == 0 {
		return nil, nil
	}
	// Written by SetTable, perhaps by a process that was killed before its first slice: planning boundaries may mean
	// reading all of the input, so they are kept.
	splits, err := m.Boundaries()
	return &targets.LiveTable{Splits: splits}, err
}

// Boundaries are the run's region boundaries.
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
// The settings are compared as texts, in full: files with other settings would be valid HFiles, and the table would
// have two kinds. Splits are compared though each file could be cut, because slices and counts are by these regions.
func (m *MadeFor) SameTable(t *targets.Target) bool {
	if m.MaxSize != t.MaxSize || m.MaxFiles != recordedFiles(t.MaxFiles) || len(m.Families) != len(t.Families) ||
		!slices.Equal(m.Splits, printable.All(t.Splits)) {
		return false
	}
	for _, f := range t.Families {
		if m.Families[f.Name] != jobfile.SettingsText(f.Settings) {
			return false
		}
	}
	return true
}

// SetTable records the boundaries and the settings that the files are made for.
func (m *MadeFor) SetTable(t *targets.Target) {
	m.Splits, m.MaxSize, m.MaxFiles = printable.All(t.Splits), t.MaxSize, recordedFiles(t.MaxFiles)
	m.Families = map[string]string{}
	for _, f := range t.Families {
		m.Families[f.Name] = jobfile.SettingsText(f.Settings)
	}
}

// recordedFiles is the recorded form of the limit of files: 0 for HBase's default.
func recordedFiles(limit int64) int64 {
	if limit == load.DefaultMaxFiles {
		return 0
	}
	return limit
}
