package testcluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"bulkload/internal/test/testcluster/kdc"
)

// Kerberos makes a secured cluster: its own KDC, HDFS with block tokens, HBase with its AccessController. The user
// hbase may do anything in HBase but is not a superuser of HDFS. A protection of "" is authentication.
type Kerberos struct {
	RPC      string `json:"rpc"`      // hadoop.rpc.protection
	Transfer string `json:"transfer"` // dfs.data.transfer.protection
	HBase    string `json:"hbase"`    // hbase.rpc.protection
	AES      bool   `json:"aes"`      // dfs.encrypt.data.transfer.cipher.suites is AES/CTR/NoPadding
	Encrypt  bool   `json:"encrypt"`  // dfs.encrypt.data.transfer
	HBaseAES bool   `json:"hbaseAES"` // hbase.rpc.crypto.encryption.aes.enabled
	// PrivilegedPort is the port of dn1 if it must be below 1024, which only root may open; 0: like the others.
	PrivilegedPort int `json:"privileged_port"`
	// Life is the longest life of loader's tickets, in kadmin's notation; "" is 24 hours.
	Life string `json:"life"`
	// TokenLife is how long HDFS's delegation tokens last without a renewal, in milliseconds; 0 is 24 hours.
	TokenLife int `json:"token_life"`
}

const (
	kdcRole = "kdc"
	realm   = "LAB.TEST"
)

// Krb5Conf is the krb5.conf of a cluster with Kerberos.
func (c *Cluster) Krb5Conf() string { return c.KDC().Conf() }

// KDC is the realm of a cluster with Kerberos.
func (c *Cluster) KDC() *kdc.KDC {
	return kdc.Open(kdc.Options{Dir: c.ConfDir(), Realm: realm, Port: c.Port + portKDC})
}

// Keytab is a keytab of a cluster with Kerberos: hdfs and hbase are those of the services (hdfs/localhost,
// hbase/localhost), loader and other those of two users, neither of whom has any rights in HBase.
func (c *Cluster) Keytab(name string) string { return filepath.Join(c.ConfDir(), name+".keytab") }

// prepareKDC makes the realm and its principals.
func (c *Cluster) prepareKDC(ctx context.Context) error {
	if c.Kerberos == nil {
		return nil
	}
	k, err := kdc.New(ctx, c.KDC().Options)
	if err != nil {
		return err
	}
	for name, principals := range map[string][]string{"yarn": {"yarn/localhost"}, "hdfs": {"hdfs/localhost", "HTTP/localhost"}, "hbase": {"hbase/localhost"}, "loader": {"loader"}, "other": {"other"}} {
		flags := "+requires_preauth"
		if name == "loader" && c.Kerberos.Life != "" {
			flags += fmt.Sprintf(" -maxlife %q", c.Kerberos.Life)
		}
		if _, err := k.Keytab(ctx, name, flags, principals...); err != nil {
			return err
		}
	}
	return nil
}

// ticketCache is the cache with a service's ticket, for Java programs that act as the service.
func ticketCache(conf, service string) string { return filepath.Join(conf, service+".cache") }

// loginServices fills the caches. The KDC must be running.
func (c *Cluster) loginServices(ctx context.Context) error {
	if c.Kerberos == nil {
		return nil
	}
	for _, service := range []string{"hdfs", "hbase"} {
		if err := c.KDC().Kinit(ctx, ticketCache(c.ConfDir(), service), c.Keytab(service), service+"/localhost"); err != nil {
			return err
		}
	}
	return nil
}

// openRoot lets everybody make folders in HDFS's root, so that HBase makes its own, and in /user.
func (c *Cluster) openRoot() error {
	if c.Kerberos == nil {
		return nil
	}
	superuser := newOracle(c.ConfDir(), c.classes, c.jars, "hdfs")
	var errs []error
	for _, command := range []string{"-mkdir /user", "-chmod 1777 / /user"} {
		_, err := superuser.Run(append([]string{"fs"}, strings.Fields(command)...)...)
		errs = append(errs, err)
	}
	return errors.Join(append(errs, superuser.Close())...)
}

func (c *Cluster) kdcRoles() []role {
	if c.Kerberos == nil {
		return nil
	}
	return []role{{name: kdcRole, stage: stageKeys, port: portKDC, program: func() (*exec.Cmd, error) { return c.KDC().Command() }}}
}

// secured adds the settings that a Java program needs on a cluster with Kerberos: krb5.conf, and the ticket of a
// service. conf is the cluster's folder.
func (j jvm) secured(conf, service string) jvm {
	file := filepath.Join(conf, "krb5.conf")
	if _, err := os.Stat(file); err != nil {
		return j
	}
	j.properties = append(j.properties[:len(j.properties):len(j.properties)], "java.security.krb5.conf="+file)
	j.env = append(j.env, "KRB5CCNAME="+ticketCache(conf, service))
	return j
}

func principalsOf(name string, prefixes ...string) []property {
	var p []property
	for _, prefix := range prefixes {
		p = append(p, property{prefix + ".principal", name + "/_HOST@" + realm})
	}
	return p
}

func (c *Cluster) secureCore() []property {
	if c.Kerberos == nil {
		return nil
	}
	return []property{
		{"hadoop.security.authentication", "kerberos"},
		{"hadoop.security.authorization", "true"},
		{"hadoop.rpc.protection", cmp.Or(c.Kerberos.RPC, "authentication")},
	}
}

func (c *Cluster) secureHDFS() []property {
	if c.Kerberos == nil {
		return nil
	}
	p := append(principalsOf("hdfs", "dfs.namenode.kerberos", "dfs.datanode.kerberos"),
		principalsOf("HTTP", "dfs.namenode.kerberos.internal.spnego", "dfs.web.authentication.kerberos")...)
	for _, name := range []string{"dfs.namenode.keytab.file", "dfs.datanode.keytab.file", "dfs.web.authentication.kerberos.keytab"} {
		p = append(p, property{name, c.Keytab("hdfs")})
	}
	if c.Kerberos.AES {
		p = append(p, property{"dfs.encrypt.data.transfer.cipher.suites", "AES/CTR/NoPadding"})
	}
	if c.Kerberos.TokenLife > 0 {
		p = append(p, property{"dfs.namenode.delegation.token.renew-interval", fmt.Sprint(c.Kerberos.TokenLife)})
	}
	return append(p,
		property{"dfs.block.access.token.enable", "true"},
		property{"dfs.data.transfer.protection", cmp.Or(c.Kerberos.Transfer, "authentication")},
		property{"dfs.encrypt.data.transfer", fmt.Sprint(c.Kerberos.Encrypt)},
		property{"ignore.secure.ports.for.testing", "true"}, // a DataNode without privileged ports
		property{"dfs.http.policy", "HTTP_ONLY"},
	)
}

func (c *Cluster) secureHBase() []property {
	if c.Kerberos == nil {
		return nil
	}
	const access = "org.apache.hadoop.hbase.security.access.AccessController"
	regions := "org.apache.hadoop.hbase.security.token.TokenProvider," + access
	if strings.HasPrefix(c.HBase, "1.") {
		regions += "," + oldEndpoint
	}
	return append(principalsOf("hbase", "hbase.master.kerberos", "hbase.regionserver.kerberos"),
		property{"hbase.master.keytab.file", c.Keytab("hbase")},
		property{"hbase.regionserver.keytab.file", c.Keytab("hbase")},
		property{"hbase.security.authentication", "kerberos"},
		property{"hbase.security.authorization", "true"},
		property{"hbase.rpc.protection", cmp.Or(c.Kerberos.HBase, "authentication")},
		property{"hbase.rpc.crypto.encryption.aes.enabled", fmt.Sprint(c.Kerberos.HBaseAES)},
		property{"hbase.superuser", "hbase"},
		property{"hbase.coprocessor.master.classes", access},
		property{"hbase.coprocessor.regionserver.classes", access},
		property{"hbase.coprocessor.region.classes", regions},
	)
}
