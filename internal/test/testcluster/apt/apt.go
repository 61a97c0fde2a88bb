// Package apt installs system packages that tests need, where this process may do so, and ends tests that can't run
// without them.
package apt

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
)

// ErrUnable means that this process may not install anything: it is not root, CI is not true, or there is no apt-get.
var ErrUnable = errors.New("only root with CI=true installs it by itself")

// allowed reports whether this process may use apt-get: only CI's machines are changed.
func allowed() bool { return os.Geteuid() == 0 && os.Getenv("CI") == "true" }

// Install installs packages, without those that they recommend. The error has apt-get's output.
func Install(packages ...string) error {
	if !allowed() {
		return ErrUnable
	}
	defer exclude()()
	if err := run("", "apt-get", "update"); err != nil {
		return err
	}
	return run("", "apt-get", append([]string{"install", "-y", "--no-install-recommends"}, packages...)...)
}

// Unpack unpacks a package into a folder. It installs neither the package nor its dependencies, so it starts no
// service.
func Unpack(dir, name string) error {
	if !allowed() {
		return ErrUnable
	}
	defer exclude()()
	if err := run("", "apt-get", "update"); err != nil {
		return err
	}
	if err := run(dir, "apt-get", "download", name); err != nil {
		return err
	}
	files, err := filepath.Glob(filepath.Join(dir, name+"_*.deb"))
	if err != nil || len(files) != 1 {
		return fmt.Errorf("apt-get download %s: it left %d files", name, len(files))
	}
	return run(dir, "dpkg-deb", "-x", files[0], dir)
}

// Without ends a test that can't run on this machine: with a loud message, and as a failure if all tests must run
// (CI=true).
func Without(t testing.TB, why string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s (CI=true: it must not be skipped)", why)
	}
	if testing.Short() { // make quick, make race: nobody expects it
		t.Skip(why)
	}
	fmt.Fprintf(os.Stderr, "\n*** SKIPPED %s: %s\n\n", t.Name(), why)
	t.Skip(why)
}

// exclude waits until no other test uses apt-get, which fails if another one is at work.
func exclude() (end func()) {
	f, err := os.OpenFile(filepath.Join(os.TempDir(), "bulkload-tests-apt"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return func() {}
	}
	_ = syscall.Flock(int(f.Fd()), syscall.LOCK_EX) // if it fails, apt-get itself reports what blocks it
	return func() { _ = f.Close() }
}

func run(dir, program string, args ...string) error {
	cmd := exec.Command(program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "DEBIAN_FRONTEND=noninteractive")
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return ErrUnable
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w\n%s", program, args[0], err, out)
	}
	return nil
}
