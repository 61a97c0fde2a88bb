package jobfile

import (
	"bulkload/internal/kerberos"
	"bulkload/jobs/jobkeys"
)

// Kerberos is the principal and keytab with which a job logs in. If both are empty it uses the ticket cache.
type Kerberos struct {
	Principal string // NAME, NAME/HOST or either with @REALM
	Keytab    string // a file
}

// readKerberos reads hbase.kerberos.
func readKerberos(j *Job, s *section) {
	if s == nil {
		return
	}
	s.known(jobkeys.Kerberos)
	s.require("principal", "keytab")
	k := Kerberos{s.text("principal"), s.path("keytab", j.Dir)}
	if k.Principal != "" {
		if err := kerberos.CheckPrincipal(k.Principal); err != nil {
			s.fail("principal", "%v", err)
		}
	}
	j.HBase.Kerberos = k
}
