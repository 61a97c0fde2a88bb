package program

import (
	"runtime"
	"runtime/debug"
)

// release is the version of a release: its build sets it by -ldflags "-X bulkload/internal/program.release=v1.2.3".
var release string

// Build describes the build of a program.
type Build struct {
	Version  string `json:"version"`            // v1.2.3; "devel" without a release or a module's version
	Commit   string `json:"commit,omitempty"`   // of the source, in hex
	Modified bool   `json:"modified,omitempty"` // the source had uncommitted changes
	Go       string `json:"go"`                 // the version of Go
	Platform string `json:"platform"`           // linux/amd64
}

// ThisBuild is the build of the running program. It goes into logs and answers, but never into a run ID or an HFile,
// whose bytes must not depend on the release.
func ThisBuild() Build {
	b := Build{Version: release, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	if info, ok := debug.ReadBuildInfo(); ok {
		if b.Version == "" && info.Main.Version != "(devel)" {
			b.Version = info.Main.Version
		}
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				b.Commit = setting.Value
			case "vcs.modified":
				b.Modified = setting.Value == "true"
			}
		}
	}
	if b.Version == "" {
		b.Version = "devel"
	}
	return b
}
