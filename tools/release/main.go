// Command release makes the files of a release from a checkout:
//
//	go run -C tools ./release -source .. -out ../out/release -version v1.2.3
//
// For each platform it makes an archive, a deb and an rpm package and an SBOM; for all of them together an OCI image
// layout, as a tar file, and SHA256SUMS. It needs nothing but Go: no Docker engine, no dpkg, no rpmbuild.
//
// The same commit, version and Go release give the same bytes, on any machine and in any folder: times are the
// commit's, names are sorted, owners are root, and the build doesn't record its folder.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is a release to be made.
type release struct {
	version   string // v1.2.3
	source    string // the checkout's root
	out       string // the folder that gets the files
	work      string // a folder for unpublished files, deleted at the end
	platforms []platform
	time      time.Time // of the commit, and of everything in the files
	flags     []string  // further flags of go build
}

// platform is an operating system and an architecture, as Go names them.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// versions are those that deb and rpm can order without rewriting: a release, or a candidate for one (v1.2.3-rc1).
var versions = regexp.MustCompile(`^v[0-9]+\.[0-9]+\.[0-9]+(-[a-z]+[0-9]*)?$`)

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	version := flags.String("version", "", "the release's version: v1.2.3, or v1.2.3-rc1")
	source := flags.String("source", ".", "the checkout to build from")
	out := flags.String("out", filepath.Join("out", "release"), "an empty or missing folder for the files")
	platforms := flags.String("platforms", "linux/amd64,linux/arm64", "which to build for")
	build := flags.String("build-flags", "", "further flags of go build; -pgo=off makes it faster, and the program slower")
	if err := flags.Parse(args); err != nil {
		return err
	}
	r := &release{version: *version, flags: strings.Fields(*build)}
	if !versions.MatchString(r.version) {
		return fmt.Errorf("-version %q: a version is v1.2.3 or v1.2.3-rc1", r.version)
	}
	for text := range strings.SplitSeq(*platforms, ",") {
		system, arch, _ := strings.Cut(text, "/")
		if system != "linux" || arch != "amd64" && arch != "arm64" {
			return fmt.Errorf("-platforms: %q is none of linux/amd64, linux/arm64", text)
		}
		r.platforms = append(r.platforms, platform{system, arch})
	}
	var err error
	if r.source, err = filepath.Abs(*source); err != nil {
		return err
	}
	if r.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	return r.make(ctx)
}

func (r *release) make(ctx context.Context) (err error) {
	if r.time, err = commitTime(ctx, r.source); err != nil {
		return err
	}
	if err := emptyFolder(r.out); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "bulkload-release-"); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(r.work)) }()
	var images []image
	for _, p := range r.platforms {
		r.say("%s: building (minutes, if nothing is cached), then the archive, the SBOM and the packages", p)
		made, err := r.makePlatform(ctx, p)
		if err != nil {
			return fmt.Errorf("%s: %w", p, err)
		}
		images = append(images, made)
	}
	r.say("the image and the checksums")
	if err := r.writeImages(images); err != nil {
		return fmt.Errorf("image: %w", err)
	}
	if err := writeSums(r.out); err != nil {
		return err
	}
	r.say("done: %s", r.out)
	return nil
}

// say prints the current step, because a release takes minutes.
func (r *release) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "release %s: "+format+"\n", append([]any{r.version}, args...)...)
}

// makePlatform makes the files of one platform, and returns its image, which goes into a layout with the others.
func (r *release) makePlatform(ctx context.Context, p platform) (image, error) {
	root := filepath.Join(r.work, p.arch)
	if err := r.stage(ctx, p, root); err != nil {
		return image{}, err
	}
	if err := r.archive(p, root); err != nil {
		return image{}, fmt.Errorf("archive: %w", err)
	}
	if err := r.writeSBOM(p, filepath.Join(root, programPath)); err != nil {
		return image{}, fmt.Errorf("SBOM: %w", err)
	}
	if err := r.packages(ctx, p, root); err != nil {
		return image{}, fmt.Errorf("packages: %w", err)
	}
	return r.image(p, root)
}

// name is a published file's path.
func (r *release) name(p platform, suffix string) string {
	return filepath.Join(r.out, fmt.Sprintf("bulkload_%s_%s_%s%s",
		strings.TrimPrefix(r.version, "v"), p.os, p.arch, suffix))
}

// commitTime is when the checkout's commit was made, so that another build of the same commit has the same times.
func commitTime(ctx context.Context, source string) (time.Time, error) {
	text, err := command(ctx, source, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return time.Time{}, err
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return time.Time{}, fmt.Errorf("the commit's time: %w", err)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// emptyFolder makes a folder, and refuses one with files, because a release must not contain files of another.
func emptyFolder(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // releases are public
		return err
	}
	names, err := os.ReadDir(dir)
	if err == nil && len(names) > 0 {
		err = fmt.Errorf("%s is not empty: delete it, or name another folder by -out", dir)
	}
	return err
}

// command runs a program and returns its output. The error has the output.
func command(ctx context.Context, dir string, environment []string, name string, args ...string) (string, error) {
	c := exec.CommandContext(ctx, name, args...) //nolint:gosec // the commands of this program's own text
	c.Dir, c.Env = dir, append(os.Environ(), environment...)
	var stderr strings.Builder
	c.Stderr = &stderr
	text, err := c.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, text, stderr.String())
	}
	return string(text), nil
}
