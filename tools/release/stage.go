package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
)

// Paths in a package and in an image.
const (
	programPath = "usr/bin/bulkload"
	jobsPath    = "usr/share/bulkload/jobs"
	deployPath  = "usr/share/bulkload/deploy"
	docsPath    = "usr/share/doc/bulkload"
	manualPath  = "usr/share/man/man1/bulkload.1.gz"
)

// completions are the shells' files, by shell.
var completions = map[string]string{
	"bash": "usr/share/bash-completion/completions/bulkload",
	"zsh":  "usr/share/zsh/vendor-completions/_bulkload",
	"fish": "usr/share/fish/vendor_completions.d/bulkload.fish",
}

// stage fills root with the files of a package, all with the commit's time.
func (r *release) stage(ctx context.Context, p platform, root string) error {
	if err := r.build(ctx, p, filepath.Join(root, programPath)); err != nil {
		return err
	}
	if err := r.stageGenerated(ctx, root); err != nil {
		return err
	}
	if err := r.stageShared(root); err != nil {
		return err
	}
	return filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.Type() == fs.ModeSymlink {
			return err
		}
		return os.Chtimes(path, r.time, r.time)
	})
}

// links are symbolic links in the folder of the documents, for the targets of the documents' own links.
var links = map[string]string{
	docsPath + "/jobs": "../../bulkload/jobs", docsPath + "/deploy": "../../bulkload/deploy",
	docsPath + "/LICENSE": "copyright",
}

// stageShared copies the documents, jobs and schedules.
func (r *release) stageShared(root string) error {
	for from, to := range map[string]string{
		"jobs/examples": jobsPath + "/examples", "deploy": deployPath,
		"docs": docsPath + "/docs", "README.md": docsPath + "/README.md", "CONTRIBUTING.md": docsPath + "/CONTRIBUTING.md",
		"SECURITY.md": docsPath + "/SECURITY.md", "CHANGELOG.md": docsPath + "/CHANGELOG.md",
		"LICENSE": docsPath + "/copyright",
	} {
		if err := copyAll(filepath.Join(r.source, from), filepath.Join(root, to)); err != nil {
			return err
		}
	}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			return err
		}
	}
	return nil
}

// build makes the program. -trimpath and an empty build ID keep the folder and the linker's cache out of it.
func (r *release) build(ctx context.Context, p platform, to string) error {
	ld := "-s -w -buildid= -X bulkload/internal/program.release=" + r.version
	args := append([]string{"build", "-trimpath", "-ldflags", ld, "-o", to}, r.flags...)
	_, err := command(ctx, r.source, []string{"CGO_ENABLED=0", "GOFLAGS=", "GOAMD64=v1", "GOOS=" + p.os,
		"GOARCH=" + p.arch}, "go", append(args, "./cmd/bulkload")...)
	return err
}

// stageGenerated writes the output of the program itself: its manual and the shells' completions. They don't depend on
// the platform, so the program of this machine's platform prints them for all.
func (r *release) stageGenerated(ctx context.Context, root string) error {
	native := filepath.Join(r.work, "native")
	if _, err := os.Stat(native); err != nil {
		if err := r.build(ctx, platform{runtime.GOOS, runtime.GOARCH}, native); err != nil {
			return err
		}
	}
	manual, err := command(ctx, r.source, nil, native, "man")
	if err != nil {
		return err
	}
	packed, err := compressed([]byte(manual))
	if err == nil {
		err = writeFile(filepath.Join(root, manualPath), packed)
	}
	if err != nil {
		return err
	}
	for shell, to := range completions {
		script, err := command(ctx, r.source, nil, native, "completion", shell)
		if err != nil {
			return err
		}
		if err := writeFile(filepath.Join(root, to), []byte(script)); err != nil {
			return err
		}
	}
	return nil
}

// compressed is a gzip file without a name and a time, as from gzip -n.
func compressed(text []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := w.Write(text); err != nil {
		return nil, err
	}
	err = w.Close()
	return b.Bytes(), err
}

func writeFile(name string, text []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil { //nolint:gosec // a package's folders are public
		return err
	}
	return os.WriteFile(name, text, 0o644) //nolint:gosec // a package's files are public
}

// copyAll copies a file, or a folder with everything below it. Of the permissions it keeps only whether a file is
// executable.
func copyAll(from, to string) error {
	return filepath.WalkDir(from, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		below, err := filepath.Rel(from, path)
		if err != nil || entry.IsDir() {
			return err
		}
		if !entry.Type().IsRegular() {
			return fmt.Errorf("%s is neither a file nor a folder", path)
		}
		text, err := os.ReadFile(path) //nolint:gosec // a file of the checkout
		if err != nil {
			return err
		}
		target := filepath.Join(to, below)
		if err := writeFile(target, text); err != nil {
			return err
		}
		return os.Chmod(target, modeOf(entry))
	})
}

// modeOf is 0755 for files that their owner can execute and 0644 for others, whatever the umask of the checkout was.
func modeOf(entry fs.DirEntry) fs.FileMode {
	if info, err := entry.Info(); err == nil && info.Mode()&0o100 != 0 {
		return 0o755
	}
	return 0o644
}
