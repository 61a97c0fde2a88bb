package jobfile

import (
	"bulkload/internal/kerberos"
	"bulkload/jobs/spec/yamldoc"
)

// Kerberos has the principal and the keytab with which a job logs in. If both are empty, it uses the ticket cache.
type Kerberos struct {
	Principal string // NAME, NAME/HOST or either with @REALM
	Keytab    string // a file
}

// readKerberos reads hbase.kerberos.
func readKerberos(j *Job, s *yamldoc.Section) {
	if s == nil {
		return
	}
	s.Known(yamldoc.Kerberos)
	s.Require("principal", "keytab")
	k := Kerberos{s.Text("principal"), s.Path("keytab", j.Dir)}
	if k.Principal != "" {
		if err := kerberos.CheckPrincipal(k.Principal); err != nil {
			s.Fail("principal", "%v", err)
		}
	}
	j.HBase.Kerberos = k
}
