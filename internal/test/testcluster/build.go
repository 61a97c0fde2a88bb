package testcluster

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
)

//go:embed java/pom.xml java/*.java java/2.4/*.java java/other/*.java java/*.properties java/zone.jceks
var javaFiles embed.FS

// errNoJava marks that this machine can't run Java programs, because java, javac or mvn is missing, or Maven can't
// fetch the jars.
var errNoJava = errors.New("no Java here")

// classpath returns the jars of a release and of Hadoop in the form of java's -cp. Maven is asked once for each pom and
// release; the answer is kept in the user's cache folder. profiles are those of the pom that are active.
func classpath(ctx context.Context, hbase release, profiles ...string) (string, error) {
	for _, tool := range []string{"java", "mvn"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", fmt.Errorf("%w: %w (install a JDK 17 or 21, and Maven)", errNoJava, err)
		}
	}
	if err := JDK(); err != nil {
		return "", fmt.Errorf("%w: %w", errNoJava, err)
	}
	pom, err := javaFiles.ReadFile("java/pom.xml")
	if err != nil {
		return "", err
	}
	content := [][]byte{pom, []byte(hbase)}
	for _, p := range profiles {
		content = append(content, []byte(p))
	}
	dir, err := cached("jars-"+hash(content...), func(dir string) error { return resolve(ctx, pom, hbase, profiles, dir) }, jarsPresent)
	if err != nil {
		return "", err
	}
	return readClasspath(dir)
}

// JDK returns an error that says why this machine's JDK can't run the tests: it is missing, or its version is neither
// 17 nor 21. Hadoop does not run on newer ones, which have no security manager.
var JDK = sync.OnceValue(func() error {
	out, err := exec.Command("javac", "-version").CombinedOutput() // javac 17.0.15
	if err != nil {
		return fmt.Errorf("%w (install a JDK 17 or 21)", err)
	}
	said := strings.TrimSpace(string(out))
	if major, _, _ := strings.Cut(strings.TrimPrefix(said, "javac "), "."); major != "17" && major != "21" {
		return fmt.Errorf("this is %q: the tests need a JDK 17 or 21", said)
	}
	return nil
})

func readClasspath(dir string) (string, error) {
	b, err := os.ReadFile(filepath.Join(dir, "classpath"))
	jars := filepath.SplitList(strings.TrimSpace(string(b)))
	return strings.Join(slices.DeleteFunc(jars, oldLog), string(os.PathListSeparator)), err
}

// oldLog reports whether a jar is Log4j 1, which Hadoop 2 brings along, and which doesn't run on Java 17 beside
// reload4j.
func oldLog(jar string) bool {
	name := filepath.Base(jar)
	return strings.HasPrefix(name, "slf4j-log4j12-") || strings.HasPrefix(name, "log4j-1.2")
}

// resolve lets Maven fetch the jars and write dir/classpath.
func resolve(ctx context.Context, pom []byte, hbase release, profiles []string, dir string) error {
	if err := os.WriteFile(filepath.Join(dir, "pom.xml"), hbase.pom(pom), 0o644); err != nil {
		return err
	}
	args := append([]string{"-q", "-B", "dependency:build-classpath", "-Dmdep.outputFile=" + filepath.Join(dir, "classpath")}, hbase.properties()...)
	for _, p := range profiles {
		args = append(args, "-P"+p)
	}
	cmd := exec.CommandContext(ctx, "mvn", args...)
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%w: fetch HBase's jars with mvn: %w\n%s", errNoJava, err, lastLines(string(out), 20))
	}
	return nil
}

// jarsPresent reports whether every jar of a cached class path is still in Maven's local repository.
func jarsPresent(dir string) bool {
	cp, err := readClasspath(dir)
	if err != nil || cp == "" {
		return false
	}
	for _, jar := range filepath.SplitList(cp) {
		if _, err := os.Stat(jar); err != nil {
			return false
		}
	}
	return true
}

// oracleClasses returns the folder of the oracle, compiled with a release. It is compiled once for each version of its
// sources and of the pom.
func oracleClasses(ctx context.Context, cp string, hbase release) (string, error) {
	all, err := hbase.sources()
	if err != nil {
		return "", err
	}
	content := [][]byte{[]byte(hbase)}
	for _, name := range all {
		b, err := javaFiles.ReadFile(name)
		if err != nil {
			return "", err
		}
		content = append(content, []byte(name), b)
	}
	compiled := func(dir string) bool {
		_, err := os.Stat(filepath.Join(dir, "oracle", "Oracle.class"))
		return err == nil
	}
	return cached("oracle-"+hash(content...), func(dir string) error { return compile(ctx, cp, all, dir) }, compiled)
}

// compile writes the oracle's sources to dir/src and javac's classes to dir, with the files that the oracle needs on
// its class path.
func compile(ctx context.Context, cp string, files []string, dir string) error {
	args := []string{"-nowarn", "-encoding", "UTF-8", "-cp", cp, "-d", dir}
	if err := os.Mkdir(filepath.Join(dir, "src"), 0o755); err != nil {
		return err
	}
	for _, name := range files {
		b, err := javaFiles.ReadFile(name)
		if err != nil {
			return err
		}
		to := filepath.Join(dir, path.Base(name))
		if strings.HasSuffix(name, ".java") {
			to = filepath.Join(dir, "src", path.Base(name))
			args = append(args, to)
		}
		if err := os.WriteFile(to, b, 0o644); err != nil {
			return err
		}
	}
	if err := writeSite(filepath.Join(dir, "hbase-site.xml"), codecs); err != nil {
		return err
	}
	if out, err := exec.CommandContext(ctx, "javac", args...).CombinedOutput(); err != nil {
		return fmt.Errorf("compile the oracle: %w\n%s", err, out)
	}
	return nil
}

// cached returns the folder name in the user's cache. fill fills it, unless it exists and whole accepts it. One builder
// fills it at a time, and the others wait. It is filled in another place and renamed, so that a killed builder leaves
// no incomplete folder.
func cached(name string, fill func(dir string) error, whole func(dir string) bool) (string, error) {
	root, err := cacheRoot()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, name)
	if whole(dir) {
		return dir, nil
	}
	unlock, err := lock(dir + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if whole(dir) {
		return dir, nil
	}
	return dir, build(dir, fill)
}

// cacheRoot returns our folder in the user's cache.
func cacheRoot() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find a folder for Java's class path: %w (set HOME or XDG_CACHE_HOME)", err)
	}
	root := filepath.Join(cache, "bulkload-testcluster")
	return root, os.MkdirAll(root, 0o755)
}

// build fills a folder beside dir and then moves it to dir.
func build(dir string, fill func(dir string) error) error {
	aside, err := os.MkdirTemp(filepath.Dir(dir), filepath.Base(dir)+".*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(aside) }()
	if err := fill(aside); err != nil {
		return err
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.Rename(aside, dir)
}

// lock waits until it holds the lock of a file, which excludes other processes and goroutines.
func lock(file string) (unlock func(), err error) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("lock %s: %w", file, err)
	}
	return func() { _ = f.Close() }, nil
}

func hash(parts ...[]byte) string {
	h := sha256.New()
	for _, p := range parts {
		h.Write(p)
		h.Write([]byte{0})
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// lastLines returns the last n lines of s.
func lastLines(s string, n int) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
