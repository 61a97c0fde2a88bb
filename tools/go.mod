// The tools of releases and benches, and the one that tries mutants. They are a module of their own, so that go.mod names what
// the program needs.
module bulkload/tools

go 1.26.0

require (
	bulkload v0.0.0
	github.com/CycloneDX/cyclonedx-go v0.12.0
	github.com/opencontainers/go-digest v1.0.0
	github.com/opencontainers/image-spec v1.1.1
	github.com/tsenart/vegeta/v12 v12.13.0
	golang.org/x/sync v0.24.0
)

require (
	github.com/google/go-cmp v0.7.0 // indirect
	github.com/influxdata/tdigest v0.0.1 // indirect
	github.com/josharian/intern v1.0.0 // indirect
	github.com/mailru/easyjson v0.7.7 // indirect
	github.com/rs/dnscache v0.0.0-20230804202142-fc85eb664529 // indirect
	golang.org/x/net v0.61.0 // indirect
	golang.org/x/text v0.43.0 // indirect
)

replace bulkload => ../
