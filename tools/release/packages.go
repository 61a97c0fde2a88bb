package main

import (
	"context"
	"path/filepath"
	"strconv"
	"strings"
)

// nfpm makes deb and rpm packages. It is run and not linked: its 60 modules stay out of go.mod. Later versions need modules that
// the module proxies don't all serve.
const nfpm = "github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.0"

// packageConfig is nfpm's description of both packages; its words in braces are replaced.
const packageConfig = `name: bulkload
arch: {arch}
platform: linux
version: {version}
release: 1
section: utils
priority: optional
maintainer: The bulkload authors <bulkload@localhost>
description: |
  HFiles for HBase, without Spark.
  Reads exports, writes the HFiles that HBase itself would write, and has HBase load them.
license: Apache-2.0
mtime: {time}
contents:
  - src: {root}/usr
    dst: /usr
    type: tree
    file_info:
      mtime: {time}
rpm:
  buildhost: localhost
  compression: gzip
`

// packages writes the deb and the rpm package of what was staged in root.
func (r *release) packages(ctx context.Context, p platform, root string) error {
	config := strings.NewReplacer("{arch}", p.arch, "{version}", r.version, "{root}", root, "{time}", r.time.Format("2006-01-02T15:04:05Z")).Replace(packageConfig)
	name := filepath.Join(r.work, p.arch+".yaml")
	if err := writeFile(name, []byte(config)); err != nil {
		return err
	}
	for _, kind := range []string{"deb", "rpm"} {
		_, err := command(ctx, r.work, []string{"GOFLAGS=-pgo=off", "SOURCE_DATE_EPOCH=" + strconv.FormatInt(r.time.Unix(), 10)},
			"go", "run", nfpm, "package", "-f", name, "-p", kind, "-t", r.name(p, "."+kind))
		if err != nil {
			return err
		}
	}
	return nil
}
