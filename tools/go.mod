// The tools of releases and benches, and the one that tries mutants. They are a module of their own, so that go.mod names what
// the program needs.
module bulkload/tools

go 1.26.0

require (
	bulkload v0.0.0
	github.com/CycloneDX/cyclonedx-go v0.12.0
	github.com/opencontainers/go-digest v1.0.0
	github.com/opencontainers/image-spec v1.1.1
	golang.org/x/sync v0.24.0
)

replace bulkload => ../
