// Package kdc runs MIT's Kerberos KDC for tests: a separate realm in a folder, on a port of this machine.
//
// It needs Debian's krb5-kdc, krb5-admin-server and krb5-user, and installs them if the process is root and there is
// apt-get. It neither reads nor changes the machine's own Kerberos configuration.
package kdc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"

	"bulkload/internal/child"
	"bulkload/internal/test/testcluster/apt"
)

// Options describe a realm.
type Options struct {
	Dir   string // has all files; created if necessary
	Realm string // "" is LAB.TEST
	Port  int    // on 127.0.0.1, TCP and UDP
	// Types are the encryption types of keys, the best first; nil is aes256-cts-hmac-sha1-96 and
	// aes128-cts-hmac-sha1-96.
	Types []string
	// Others are the krb5.conf files of other realms, to include.
	Others []string
}

// KDC is a realm.
type KDC struct {
	Options
	process *exec.Cmd
}

// ErrMissing means that the machine has no KDC and that this process can't install one.
var ErrMissing = errors.New("no Kerberos KDC on this machine: apt-get install -y --no-install-recommends krb5-kdc krb5-admin-server krb5-user")

var install = sync.OnceValue(func() error {
	if _, err := find("krb5kdc"); err == nil {
		if _, err := find("kadmin.local"); err == nil {
			return nil
		}
	}
	err := apt.Install("krb5-kdc", "krb5-admin-server", "krb5-user")
	if errors.Is(err, apt.ErrUnable) {
		return ErrMissing
	}
	if err != nil {
		return fmt.Errorf("%w; %w", ErrMissing, err)
	}
	return nil
})

// find also searches the folders of programs for administrators.
func find(program string) (string, error) {
	if path, err := exec.LookPath(program); err == nil {
		return path, nil
	}
	return exec.LookPath(filepath.Join("/usr/sbin", program))
}

// New makes a realm without principals in o.Dir; it deletes an earlier one there. Command or Start runs it.
func New(ctx context.Context, o Options) (*KDC, error) {
	if err := install(); err != nil {
		return nil, err
	}
	if o.Realm == "" {
		o.Realm = "LAB.TEST"
	}
	if o.Types == nil {
		o.Types = []string{"aes256-cts-hmac-sha1-96", "aes128-cts-hmac-sha1-96"}
	}
	k := &KDC{Options: o}
	if err := os.RemoveAll(k.path("db")); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(k.path("db"), 0o700); err != nil {
		return nil, err
	}
	if err := k.writeConf(); err != nil {
		return nil, err
	}
	_, err := k.Run(ctx, "kdb5_util", "create", "-s", "-r", k.Realm, "-P", "lab")
	return k, err
}

// Open returns the realm that an earlier New made in o.Dir, with the same options.
func Open(o Options) *KDC {
	if o.Realm == "" {
		o.Realm = "LAB.TEST"
	}
	return &KDC{Options: o}
}

func (k *KDC) path(name string) string { return filepath.Join(k.Dir, name) }

// Conf is the realm's krb5.conf.
func (k *KDC) Conf() string { return k.path("krb5.conf") }

// Log is the file in which the KDC logs its requests.
func (k *KDC) Log() string { return k.path("kdc.log") }

// Addr is the address on which it listens.
func (k *KDC) Addr() string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(k.Port)) }

func (k *KDC) writeConf() error {
	var includes strings.Builder
	for _, file := range k.Others {
		fmt.Fprintf(&includes, "include %s\n", file)
	}
	conf := fmt.Sprintf(`[libdefaults]
  default_realm = %[1]s
  dns_lookup_kdc = false
  dns_lookup_realm = false
  dns_canonicalize_hostname = false
  rdns = false
  udp_preference_limit = 1
  permitted_enctypes = %[4]s
[realms]
  %[1]s = {
    kdc = %[2]s
  }
[domain_realm]
  localhost = %[1]s
%[3]s`, k.Realm, k.Addr(), includes.String(), strings.Join(k.Types, " "))
	kdc := fmt.Sprintf(`[kdcdefaults]
  kdc_listen = %[2]s
  kdc_tcp_listen = %[2]s
[realms]
  %[1]s = {
    database_name = %[3]s/principal
    key_stash_file = %[3]s/stash
    acl_file = %[3]s/acl
    master_key_type = %[6]s
    max_life = 24h
    max_renewable_life = 7d
    supported_enctypes = %[4]s
  }
[logging]
  kdc = FILE:%[5]s
`, k.Realm, k.Addr(), k.path("db"), strings.Join(k.Types, " "), k.Log(), k.Types[0])
	return errors.Join(os.WriteFile(k.Conf(), []byte(conf), 0o644), os.WriteFile(k.path("kdc.conf"), []byte(kdc), 0o644))
}

// env makes MIT's programs see only this realm.
func (k *KDC) env() []string {
	return append(os.Environ(), "KRB5_CONFIG="+k.Conf(), "KRB5_KDC_PROFILE="+k.path("kdc.conf"), "LC_ALL=C")
}

// Run runs one of MIT's programs on this realm and returns its output.
func (k *KDC) Run(ctx context.Context, program string, args ...string) (string, error) {
	path, err := find(program)
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, path, args...)
	cmd.Env = k.env()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return string(out), fmt.Errorf("%s %s: %w\n%s", program, strings.Join(args, " "), err, out)
	}
	return string(out), nil
}

// Admin runs commands of kadmin.local.
func (k *KDC) Admin(ctx context.Context, commands ...string) error {
	for _, c := range commands {
		out, err := k.Run(ctx, "kadmin.local", "-r", k.Realm, "-q", c)
		if err == nil && (strings.Contains(out, "kadmin.local: Unknown") || strings.Contains(out, " while ")) {
			err = errors.New(out)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c, err)
		}
	}
	return nil
}

// Keytab makes principals with random keys, writes them into a keytab, and returns its path. flags are kadmin's, such
// as +requires_preauth or -maxlife 1min.
func (k *KDC) Keytab(ctx context.Context, name, flags string, principals ...string) (string, error) {
	file := k.path(name + ".keytab")
	if err := os.RemoveAll(file); err != nil {
		return "", err
	}
	for _, p := range principals {
		if err := k.Admin(ctx, "addprinc -randkey "+flags+" "+p, "ktadd -k "+file+" "+p); err != nil {
			return "", err
		}
	}
	return file, nil
}

// Kinit fills a ticket cache from a keytab. flags are kinit's.
func (k *KDC) Kinit(ctx context.Context, cache, keytab, principal string, flags ...string) error {
	args := append([]string{"-c", "FILE:" + cache, "-k", "-t", keytab}, flags...)
	_, err := k.Run(ctx, "kinit", append(args, principal)...)
	return err
}

// Marker is an argument that only this KDC's process has.
func (k *KDC) Marker() string { return k.path("kdc.pid") }

// Command is the KDC's process, not started.
func (k *KDC) Command() (*exec.Cmd, error) {
	path, err := find("krb5kdc")
	if err != nil {
		return nil, ErrMissing
	}
	cmd := exec.Command(path, "-n", "-r", k.Realm, "-P", k.Marker())
	cmd.Env = k.env()
	return cmd, nil
}

// Start runs the KDC as a child of this process and returns when it answers.
func (k *KDC) Start() error {
	cmd, err := k.Command()
	if err != nil {
		return err
	}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	child.EndWithThread(cmd)
	if err := cmd.Start(); err != nil {
		return err
	}
	k.process = cmd
	for end := time.Now().Add(20 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		if conn, err := net.Dial("tcp", k.Addr()); err == nil {
			return conn.Close()
		}
		if time.Now().After(end) {
			return errors.Join(fmt.Errorf("the KDC does not listen on %s: %s", k.Addr(), out.String()), k.Stop())
		}
	}
}

// Stop ends the process that Start started.
func (k *KDC) Stop() error {
	if k.process == nil {
		return nil
	}
	err := k.process.Process.Kill()
	_ = k.process.Wait() // it was killed
	k.process = nil
	return err
}
