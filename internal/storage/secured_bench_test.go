package storage

import (
	"strings"
	"testing"

	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
	"bulkload/internal/test/testcluster"
)

// BenchmarkSecuredHDFS is BenchmarkHDFS with each protection that a cluster with Kerberos offers. It needs go run
// ./internal/test/testcluster/cluster up -hdfs -measure -kerberos …, and the cluster's folder in BULKLOAD_CLUSTER.
func BenchmarkSecuredHDFS(b *testing.B) {
	c := testcluster.Use(b)
	if c.Kerberos == nil {
		b.Skip("the cluster has no Kerberos")
	}
	login, err := kerberos.Open(b.Context(), kerberos.Config{Principal: "loader", Keytab: c.Keytab("loader"), Krb5Conf: c.Krb5Conf()})
	if err != nil {
		b.Fatal(err)
	}
	conf, err := siteconf.Load(c.ConfDir())
	if err != nil {
		b.Fatal(err)
	}
	for protection := range strings.SplitSeq(conf.Get(transferProperty, ""), ",") {
		b.Run(protection+strings.ReplaceAll(conf.Get(cipherSuitesProperty, ""), "/", "-"), func(b *testing.B) {
			conf.Set(transferProperty, protection)
			fsys, root, err := ResolveAs("hdfs:///bench-storage", "/", conf, Identity{Login: login})
			if err == nil {
				err = fsys.MkdirAll(root, 0)
			}
			if err != nil {
				b.Fatal(err)
			}
			defer fsys.Close()
			benchmark(b, fsys, root)
			if err := fsys.RemoveAll(root); err != nil {
				b.Fatal(err)
			}
		})
	}
}
