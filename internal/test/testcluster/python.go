package testcluster

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// Python returns the path of a Python 3 that has the given packages of PyPI, such as pyarrow==26.0.1, in a separate
// environment in the user's cache. If they can't be installed, the test is skipped, or fails if CI=true.
func Python(t testing.TB, packages ...string) string {
	t.Helper()
	inside := filepath.Join("bin", "python")
	content := make([][]byte, len(packages))
	for i, p := range packages {
		content[i] = []byte(p + "\n")
	}
	dir, err := cached("python-"+hash(content...), func(dir string) error {
		if out, err := exec.CommandContext(t.Context(), "python3", "-m", "venv", dir).CombinedOutput(); err != nil {
			return fmt.Errorf("make a Python environment: %w\n%s", err, out)
		}
		install := append([]string{"-m", "pip", "install", "--quiet", "--disable-pip-version-check"}, packages...)
		if out, err := exec.CommandContext(t.Context(), filepath.Join(dir, inside), install...).CombinedOutput(); err != nil {
			return fmt.Errorf("install %s: %w\n%s", packages, err, out)
		}
		return os.WriteFile(filepath.Join(dir, "done"), nil, 0o644)
	}, func(dir string) bool { _, err := os.Stat(filepath.Join(dir, "done")); return err == nil })
	if err != nil {
		Without(t, err.Error())
	}
	return filepath.Join(dir, inside)
}
