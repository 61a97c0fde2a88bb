package main

import (
	"bytes"
	"debug/buildinfo"
	"fmt"
	"os"
	"strings"

	"github.com/CycloneDX/cyclonedx-go"
)

// writeSBOM writes the modules that are linked into the program, as the program itself records them, in CycloneDX. The
// document has no serial number and no time, so the same program gives the same bytes.
func (r *release) writeSBOM(p platform, program string) error {
	info, err := buildinfo.ReadFile(program)
	if err != nil {
		return err
	}
	sum, err := sha256File(program)
	if err != nil {
		return err
	}
	self := cyclonedx.Component{BOMRef: "bulkload", Type: cyclonedx.ComponentTypeApplication,
		Name: "bulkload", Version: r.version,
		Hashes: &[]cyclonedx.Hash{{Algorithm: cyclonedx.HashAlgoSHA256, Value: fmt.Sprintf("%x", sum)}}}
	components := []cyclonedx.Component{{BOMRef: "go", Type: cyclonedx.ComponentTypeLibrary, Name: "std",
		Version:    strings.TrimPrefix(info.GoVersion, "go"),
		PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go")}}
	for _, m := range info.Deps {
		if m.Replace != nil {
			m = m.Replace
		}
		url := "pkg:golang/" + m.Path + "@" + m.Version
		components = append(components, cyclonedx.Component{BOMRef: url, Type: cyclonedx.ComponentTypeLibrary, Name: m.Path,
			Version: m.Version, PackageURL: url})
	}
	bom := cyclonedx.NewBOM()
	bom.Metadata = &cyclonedx.Metadata{Component: &self}
	bom.Components = &components
	var text bytes.Buffer
	if err := cyclonedx.NewBOMEncoder(&text, cyclonedx.BOMFileFormatJSON).SetPretty(true).Encode(bom); err != nil {
		return err
	}
	return os.WriteFile(r.name(p, ".cdx.json"), text.Bytes(), 0o644) //nolint:gosec // releases are public
}
