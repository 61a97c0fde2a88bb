package testcluster

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"bulkload/internal/test/testcluster/apt"
)

// Environment is the variable with the folder of the cluster that tests use.
const Environment = "BULKLOAD_CLUSTER"

// Use returns the running cluster that the environment names. Without one the test is skipped, or fails if CI=true. If
// a role of the named cluster isn't running, the test fails.
func Use(t testing.TB) *Cluster {
	t.Helper()
	c, err := Open(t.Context(), named(t))
	if errors.Is(err, errNoJava) {
		Without(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Alive(); err != nil {
		t.Fatal(err)
	}
	return c
}

// named returns the folder that the environment names.
func named(t testing.TB) string {
	t.Helper()
	dir := os.Getenv(Environment)
	if dir == "" {
		Without(t, "needs a real HBase: `make test` brings one up, or by hand: go run ./internal/test/testcluster/cluster up -dir DIR, then "+Environment+"=DIR go test …")
	}
	if !filepath.IsAbs(dir) {
		t.Fatalf("%s=%s must be an absolute path: tests run in the folders of their packages", Environment, dir)
	}
	return dir
}

// Java returns the oracle without a cluster, for HFiles. The test is skipped with -short, and skipped, or failed if
// CI=true, if this machine has no Java to run it.
func Java(t testing.TB) *Oracle {
	t.Helper()
	return oracleOf(t, ofCluster)
}

func oracleOf(t testing.TB, hbase release) *Oracle {
	t.Helper()
	if testing.Short() {
		t.Skip("starts a JVM")
	}
	jars, err := classpath(t.Context(), hbase)
	if errors.Is(err, errNoJava) {
		Without(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	classes, err := oracleClasses(t.Context(), jars, hbase)
	if err != nil {
		t.Fatal(err)
	}
	return sharedOracle("", classes, jars)
}

// Oracle returns the oracle with the cluster's configuration.
func (c *Cluster) Oracle(t testing.TB) *Oracle {
	t.Helper()
	return sharedOracle(c.ConfDir(), c.classes, c.jars)
}

var oracles struct {
	sync.Mutex
	of map[[2]string]*Oracle // by the folders of conf and classes
}

// sharedOracle returns this process's only oracle for a conf folder and a release's classes.
func sharedOracle(conf, classes, jars string) *Oracle {
	oracles.Lock()
	defer oracles.Unlock()
	if oracles.of == nil {
		oracles.of = map[[2]string]*Oracle{}
	}
	key := [2]string{conf, classes}
	if oracles.of[key] == nil {
		oracles.of[key] = newOracle(conf, classes, jars, "hbase")
	}
	return oracles.of[key]
}

// Without ends a test that can't run on this machine: with a loud message, and as a failure if all tests must run
// (CI=true).
func Without(t testing.TB, why string) {
	t.Helper()
	apt.Without(t, why)
}

// suiteEnvironment is the variable with the make target that runs the tests, unless it is make test.
const suiteEnvironment = "BULKLOAD_SUITE"

// In reports whether the tests run in one of these make targets.
func In(targets ...string) bool { return slices.Contains(targets, os.Getenv(suiteEnvironment)) }

// OnlyIn skips a test for which make test has no time, unless one of these make targets runs it. TestSuites of
// cmd/bulkload compares the Makefile's line of such a target with its tests.
func OnlyIn(t testing.TB, targets ...string) {
	t.Helper()
	if !In(targets...) {
		t.Skipf("takes minutes: make %s runs it", targets[0])
	}
}

// UniqueTable returns a name, in HBase's default namespace, that no other test has. A table with that name is dropped
// at the end of the test.
func (c *Cluster) UniqueTable(t testing.TB) string {
	t.Helper()
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails
	plain := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
			return r
		}
		return '_'
	}, t.Name())
	table := plain + "_" + hex.EncodeToString(b[:])
	t.Cleanup(func() {
		if _, err := c.Oracle(t).Run("drop", table, "-if-exists"); err != nil {
			t.Errorf("drop the test's table: %v", err)
		}
	})
	return table
}

// SecuredEnvironment is the variable with the folder of the cluster with Kerberos that tests use. It must offer all
// protections everywhere: cluster up -kerberos P,P,P with authentication+integrity+privacy for P.
const SecuredEnvironment = "BULKLOAD_SECURED"

// UseSecured is Use for the cluster with Kerberos.
func UseSecured(t testing.TB) *Cluster {
	t.Helper()
	dir := os.Getenv(SecuredEnvironment)
	if dir == "" {
		Without(t, "needs a real HBase with Kerberos: `make test` brings one up, or by hand: go run ./internal/test/testcluster/cluster up -dir DIR "+
			"-kerberos P,P,P, where P is authentication+integrity+privacy, then "+SecuredEnvironment+"=DIR go test …")
	}
	c, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.Kerberos == nil {
		t.Fatalf("the cluster in %s has no Kerberos", dir)
	}
	if err := c.Alive(); err != nil {
		t.Fatal(err)
	}
	return c
}

// YARNEnvironment is the variable with the folder of a cluster with YARN that tests use. It needs no HBase: cluster up
// -yarn -hdfs.
const YARNEnvironment = "BULKLOAD_YARN"

// UseYARN returns the cluster with YARN that the environment names. Without one it starts a cluster without HBase for
// this test, if a cluster is wanted at all (Use).
func UseYARN(t testing.TB) *Cluster {
	t.Helper()
	dir := os.Getenv(YARNEnvironment)
	if dir == "" {
		named(t)
		return OwnYARN(t, Options{})
	}
	c, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	if c.YARN == nil {
		t.Fatalf("the cluster in %s has no YARN", dir)
	}
	if err := c.Alive(); err != nil {
		t.Fatal(err)
	}
	return c
}

// OwnYARN starts a cluster with YARN and without HBase for this test.
func OwnYARN(t testing.TB, o Options) *Cluster {
	t.Helper()
	o.Dir, o.HDFSOnly = t.TempDir(), true
	if o.YARN == nil {
		o.YARN = &YARN{}
	}
	c, err := Start(t.Context(), o)
	if errors.Is(err, errNoJava) {
		Without(t, err.Error())
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := c.Stop(); err != nil {
			t.Error(err)
		}
	})
	return c
}
