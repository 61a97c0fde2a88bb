package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testcluster/apt"

	"github.com/CycloneDX/cyclonedx-go"
	"github.com/opencontainers/go-digest"
	v1 "github.com/opencontainers/image-spec/specs-go/v1"
)

// TestRelease makes a release of the last commit twice, in two folders, and compares the bytes. Then it installs each
// package in an empty root, and runs the sample job there. The build is that of make build, whose compiled packages it
// finds in the cache.
func TestRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program")
	}
	out, again := build(t), build(t)
	sums := read(t, out, "SHA256SUMS")
	if other := read(t, again, "SHA256SUMS"); !bytes.Equal(sums, other) {
		t.Errorf("two builds differ:\n%s%s", sums, other)
	}
	check := exec.Command("sha256sum", "-c", "--strict", "SHA256SUMS")
	check.Dir = out
	if text, err := check.CombinedOutput(); err != nil || bytes.Count(text, []byte(": OK")) != 5 {
		t.Errorf("%v\n%s", err, text)
	}
	const name = "bulkload_1.2.3-rc1_linux_amd64"
	t.Run("sbom", func(t *testing.T) { checkSBOM(t, read(t, out, name+".cdx.json")) })
	t.Run("archive", func(t *testing.T) {
		root := t.TempDir()
		unpack(t, root, read(t, out, name+".tar.gz"))
		checkLinks(t, filepath.Join(root, "bulkload-1.2.3-rc1"))
		runSample(t, root, "/bulkload-1.2.3-rc1/bulkload", "bulkload-1.2.3-rc1/jobs")
	})
	t.Run("deb", func(t *testing.T) {
		root := t.TempDir()
		for _, empty := range []string{"var/lib/dpkg/status", "var/lib/dpkg/available"} {
			if err := writeFile(filepath.Join(root, empty), nil); err != nil {
				t.Fatal(err)
			}
		}
		makeFolders(t, root, "etc", "var/lib/dpkg/updates", "var/lib/dpkg/info")
		needSystemd(t)
		dpkg := []string{"--root=" + root, "--force-script-chrootless"}
		install(t, "dpkg", append(dpkg, "-i", filepath.Join(out, name+".deb"))...)
		runInstalled(t, root)
		checkUserAndFolders(t, root)
		install(t, "dpkg", append(dpkg, "-r", "bulkload")...)
		if _, err := os.Stat(filepath.Join(root, programPath)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("removed, and still there: %v", err)
		}
		checkUserAndFolders(t, root)
	})
	t.Run("rpm", func(t *testing.T) {
		root := t.TempDir()
		makeFolders(t, root, "etc")
		needSystemd(t)
		// rpm would run them in the root, which has no shell
		install(t, "rpm", "--root", root, "--dbpath", "/var/lib/rpm", "--noscripts", "-i", filepath.Join(out, name+".rpm"))
		script := exec.Command("/bin/sh", "-c", install(t, "rpm", "-qp", "--qf", "%{POSTIN}", filepath.Join(out, name+".rpm")))
		script.Env = append(os.Environ(), "DPKG_ROOT="+root)
		if text, err := script.CombinedOutput(); err != nil {
			t.Fatalf("the script after the installation: %v\n%s", err, text)
		}
		runInstalled(t, root)
		checkUserAndFolders(t, root)
	})
	t.Run("image", func(t *testing.T) {
		root := t.TempDir()
		config := unpackImage(t, root, read(t, out, "bulkload_1.2.3-rc1_image.tar"))
		if config.User != "65532:65532" || len(config.Entrypoint) != 1 {
			t.Fatalf("%+v", config)
		}
		checkLinks(t, filepath.Join(root, docsPath))
		runSample(t, root, config.Entrypoint[0], jobsPath)
	})
}

// build makes the release in a fresh clone, and returns the folder of its files.
func build(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if text, err := exec.Command("git", "clone", "-q", "--no-hardlinks", "../..", filepath.Join(dir, "source")).CombinedOutput(); err != nil { //nolint:gosec // a folder of the test
		t.Fatalf("git clone: %v\n%s", err, text)
	}
	out := filepath.Join(dir, "out")
	err := run(t.Context(), []string{"-version", "v1.2.3-rc1", "-source", filepath.Join(dir, "source"), "-out", out, "-platforms", "linux/amd64"})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestRefused: a version that packages can't order, a platform that is not built, and a folder with other files.
func TestRefused(t *testing.T) {
	full := t.TempDir()
	if err := writeFile(filepath.Join(full, "old"), nil); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		`-version "1.2"`:          {"-version", "1.2"},
		"none of linux/amd64":     {"-version", "v1.2.3", "-platforms", "plan9/386"},
		"is not empty: delete it": {"-version", "v1.2.3", "-source", "../..", "-out", full},
	} {
		if err := run(t.Context(), args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: %v", args, err)
		}
	}
}

func read(t *testing.T, dir, name string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, name))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// checkSBOM: the modules of go.mod that the program links are in it.
func checkSBOM(t *testing.T, text []byte) {
	var bom cyclonedx.BOM
	if err := json.Unmarshal(text, &bom); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"std", "github.com/golang/snappy", "github.com/colinmarc/hdfs/v2", "github.com/apache/arrow/go/v15", "google.golang.org/protobuf"} {
		if !slices.ContainsFunc(*bom.Components, func(c cyclonedx.Component) bool { return c.Name == want && c.Version != "" && c.PackageURL != "" }) {
			t.Errorf("%s is missing", want)
		}
	}
	if bom.Metadata.Component.Version != "v1.2.3-rc1" || bom.Metadata.Timestamp != "" || bom.SerialNumber != "" {
		t.Errorf("%+v", bom.Metadata)
	}
}

// need fetches a program where that is possible, by the name of its package.
func need(t *testing.T, program, name string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		err = apt.Install(name)
		if _, missing := exec.LookPath(program); missing != nil {
			testcluster.Without(t, fmt.Sprintf("needs %s: apt-get install %s (%v)", program, name, err))
		}
	}
}

// needSystemd is for the scripts of packages: they make a user and folders, which needs root.
func needSystemd(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		testcluster.Without(t, "needs root")
	}
	need(t, "systemd-sysusers", "systemd")
	need(t, "systemd-tmpfiles", "systemd")
}

// install runs a package manager and returns what it printed.
func install(t *testing.T, name string, args ...string) string {
	t.Helper()
	need(t, name, name)
	text, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", name, strings.Join(args, " "), err, text)
	}
	return string(text)
}

func makeFolders(t *testing.T, root string, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o755); err != nil { //nolint:gosec // as on any system
			t.Fatal(err)
		}
	}
}

// checkUserAndFolders: the scripts of a package have made the user, and the folders that units and schedules name.
func checkUserAndFolders(t *testing.T, root string) {
	t.Helper()
	user := regexp.MustCompile(`(?m)^bulkload:[^:]*:([0-9]+):`).FindSubmatch(read(t, filepath.Join(root, "etc"), "passwd"))
	if user == nil {
		t.Fatal("there is no user bulkload")
	}
	for name, want := range map[string]string{
		"var/lib/bulkload": "drwx------ " + string(user[1]), "var/lib/bulkload-metrics": "drwxr-xr-x " + string(user[1]), "var/log/bulkload": "drwxr-x--- " + string(user[1]),
		"opt/bulkload": "drwxr-xr-x 0", "opt/bulkload/jobs/examples": "drwxr-xr-x 0",
	} {
		info, err := os.Stat(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if got := fmt.Sprintf("%v %d", info.Mode(), info.Sys().(*syscall.Stat_t).Uid); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	for name, want := range map[string]string{"opt/bulkload/deploy": "/" + deployPath, "opt/bulkload/bin/bulkload": "/" + programPath} {
		if to, err := os.Readlink(filepath.Join(root, name)); err != nil || to != want {
			t.Errorf("%s leads to %s, want %s: %v", name, to, want, err)
		}
	}
}

func runInstalled(t *testing.T, root string) {
	t.Helper()
	for _, name := range []string{manualPath, completions["bash"], completions["zsh"], completions["fish"], docsPath + "/copyright", docsPath + "/docs/errors.md", deployPath + "/systemd/bulkload@.service",
		"usr/lib/systemd/system/bulkload@.timer", "usr/lib/sysusers.d/bulkload.conf", "usr/lib/tmpfiles.d/bulkload.conf"} {
		if info, err := os.Stat(filepath.Join(root, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if unit := read(t, filepath.Join(root, "usr/lib/systemd/system"), "bulkload@.service"); !bytes.Contains(unit, []byte("\nExecStart=/"+programPath+" run ")) {
		t.Errorf("the unit runs another program:\n%s", unit)
	}
	checkLinks(t, filepath.Join(root, docsPath))
	runSample(t, root, "/"+programPath, jobsPath)
}

var relativeLink = regexp.MustCompile(`\]\(([^)#:\s]+)[^)]*\)`)

// checkLinks follows each link of the documents in a folder.
func checkLinks(t *testing.T, folder string) {
	t.Helper()
	followed := 0
	err := filepath.WalkDir(folder, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(name) != ".md" {
			return err
		}
		for _, m := range relativeLink.FindAllStringSubmatch(string(read(t, filepath.Dir(name), entry.Name())), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), m[1])); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			followed++
		}
		return nil
	})
	if err != nil || followed < 100 {
		t.Errorf("%d links were followed: %v", followed, err)
	}
}

// TestLinksOfPackages: what the documents of a package and of the archive link to is in them.
func TestLinksOfPackages(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	r := &release{version: "v1.2.3", source: "../..", out: t.TempDir(), time: time.Unix(1e9, 0)}
	if err := r.stageShared(root); err != nil {
		t.Fatal(err)
	}
	checkLinks(t, filepath.Join(root, docsPath))
	p := platform{"linux", "amd64"}
	if err := r.archive(p, root); err != nil {
		t.Fatal(err)
	}
	unpacked := t.TempDir()
	unpack(t, unpacked, read(t, r.out, filepath.Base(r.name(p, ".tar.gz"))))
	checkLinks(t, filepath.Join(unpacked, "bulkload-1.2.3"))
}

// runSample copies the installed jobs to /tmp, where a user may write, runs one of them in a root that has nothing
// else, and requires its files and the release's version.
func runSample(t *testing.T, root, program, jobs string) {
	t.Helper()
	for _, folder := range []string{"tmp", "proc"} {
		if err := os.MkdirAll(filepath.Join(root, folder), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := copyAll(filepath.Join(root, jobs), filepath.Join(root, "tmp/jobs")); err != nil {
		t.Fatal(err)
	}
	if text := runIn(t, root, program, "version"); !strings.HasPrefix(text, "bulkload v1.2.3-rc1") {
		t.Errorf("version: %s", text)
	}
	text := runIn(t, root, program, "run", "/tmp/jobs/examples/check.yaml", "--date", "2026-11-20")
	if !strings.Contains(text, "3,000 read = 3,000 written") {
		t.Errorf("run: %s", text)
	}
	files := 0
	err := filepath.WalkDir(filepath.Join(root, "tmp/out/check/2026-11-20/f"), func(_ string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			files++
		}
		return err
	})
	if err != nil || files != 10 {
		t.Errorf("%d HFiles, %v", files, err)
	}
}

// runIn runs a program in /tmp of another root, as root or in a namespace where this user is root.
func runIn(t *testing.T, root, program string, args ...string) string {
	t.Helper()
	c := exec.CommandContext(t.Context(), program, args...)
	c.SysProcAttr = &syscall.SysProcAttr{Chroot: root}
	if os.Geteuid() != 0 {
		c.SysProcAttr.Cloneflags = syscall.CLONE_NEWUSER
		c.SysProcAttr.UidMappings = []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}
	}
	c.Dir, c.Env = "/tmp", []string{}
	text, err := c.CombinedOutput()
	if errors.Is(err, syscall.EPERM) && os.Geteuid() != 0 {
		testcluster.Without(t, "needs root, or user namespaces")
	}
	if err != nil {
		t.Fatalf("%s %s: %v\n%s", program, strings.Join(args, " "), err, text)
	}
	return string(text)
}

// unpack writes the files of a tar.gz below root.
func unpack(t *testing.T, root string, packed []byte) {
	t.Helper()
	unzipped, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	for name, file := range entries(t, unzipped) {
		target := filepath.Join(root, filepath.Clean("/"+name))
		if err := unpackOne(target, file); err != nil {
			t.Fatal(err)
		}
	}
}

func unpackOne(target string, file file) error {
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil { //nolint:gosec // as packages do
		return err
	}
	switch file.Typeflag {
	case tar.TypeDir:
		return os.MkdirAll(target, 0o700)
	case tar.TypeSymlink:
		return os.Symlink(file.Linkname, target)
	}
	if err := writeFile(target, file.text); err != nil {
		return err
	}
	return os.Chmod(target, fs.FileMode(file.Mode)&0o777) //nolint:gosec // permissions
}

type file struct {
	tar.Header
	text []byte
}

func entries(t *testing.T, in io.Reader) map[string]file {
	t.Helper()
	all, r := map[string]file{}, tar.NewReader(in)
	for {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(r)
		if err != nil {
			t.Fatal(err)
		}
		all[header.Name] = file{*header, text}
	}
}

// unpackImage follows a layout's documents, with each digest checked, unpacks the layers of its image, and returns its
// configuration.
func unpackImage(t *testing.T, root string, layout []byte) v1.ImageConfig {
	t.Helper()
	files := entries(t, bytes.NewReader(layout))
	var version v1.ImageLayout
	decode(t, files[v1.ImageLayoutFile].text, &version)
	if version.Version != v1.ImageLayoutVersion {
		t.Errorf("layout %q", version.Version)
	}
	blob := func(d v1.Descriptor) []byte {
		text := files["blobs/sha256/"+d.Digest.Encoded()].text
		if digest.FromBytes(text) != d.Digest || int64(len(text)) != d.Size {
			t.Fatalf("blob %s has %d bytes and the digest %s", d.Digest, len(text), digest.FromBytes(text))
		}
		return text
	}
	var index, platforms v1.Index
	decode(t, files[v1.ImageIndexFile].text, &index)
	decode(t, blob(index.Manifests[0]), &platforms)
	var manifest v1.Manifest
	decode(t, blob(platforms.Manifests[0]), &manifest)
	var config v1.Image
	decode(t, blob(manifest.Config), &config)
	for i, layer := range manifest.Layers {
		packed := blob(layer)
		unzipped, err := gzip.NewReader(bytes.NewReader(packed))
		if err != nil {
			t.Fatal(err)
		}
		plain, err := io.ReadAll(unzipped)
		if err != nil || digest.FromBytes(plain) != config.RootFS.DiffIDs[i] {
			t.Fatalf("layer %d: %v, or another digest than %s", i, err, config.RootFS.DiffIDs[i])
		}
		unpack(t, root, packed)
	}
	return config.Config
}

func decode(t *testing.T, text []byte, into any) {
	t.Helper()
	if err := json.Unmarshal(text, into); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}
