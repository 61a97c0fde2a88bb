package main

import (
	"context"
	"path/filepath"
	"strconv"
)

// nfpm makes deb and rpm packages. It is run rather than linked, so that its 60 modules stay out of go.mod. Later
// versions need modules that not all module proxies serve.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2"

// packages writes the deb and the rpm package of the files staged in root, as nfpm.yaml describes them.
func (r *release) packages(ctx context.Context, p platform, root string) error {
	environment := []string{"STAGED=" + root, "ARCH=" + p.arch, "VERSION=" + r.version,
		"SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.time.Unix(), 10), "GOFLAGS=-pgo=off"}
	for _, kind := range []string{"deb", "rpm"} {
		_, err := command(ctx, filepath.Join(r.source, "tools/release"), environment,
			"go", "run", nfpm, "package", "-f", "nfpm.yaml", "-p", kind, "-t", r.name(p, "."+kind))
		if err != nil {
			return err
		}
	}
	return nil
}
