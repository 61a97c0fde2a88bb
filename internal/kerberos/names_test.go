package kerberos

import (
	"strings"
	"testing"

	"bulkload/internal/errcode"
)

func TestShortNames(t *testing.T) {
	const bank = `RULE:[1:$1@$0](.*@CORP\.BANK)s/@.*//L
RULE:[2:$1@$0](nn@HADOOP.BANK)s/.*/hdfs/
RULE:[2:$1-$2@$0](etl-.*@HADOOP.BANK)s/-.*//
RULE:[1:$1](svc_.*)s/svc_(.*)/$1_app/ DEFAULT`
	for principal, want := range map[string]string{
		"Tina@CORP.BANK": "tina", "nn/host1@HADOOP.BANK": "hdfs", "etl/edge1@HADOOP.BANK": "etl", "svc_load@HADOOP.BANK": "load_app",
		"loader@HADOOP.BANK": "loader", "hbase/rs1@HADOOP.BANK": "hbase",
	} {
		if got, err := short(t, bank, principal); err != nil || got != want {
			t.Errorf("%s: got %q, %v; want %s", principal, got, err, want)
		}
	}
	for _, c := range []struct{ rules, principal, names string }{
		{bank, "x/y@ELSE.BANK", "no rule for x/y@ELSE.BANK"}, {"RULE:[1:$1@$0]", "a@X",
			`"a@X"`}, {"RULE:[1:$1@$0](a.*)s/a/b/g", "aa@a", `"bb@b"`},
	} {
		_, err := short(t, c.rules, c.principal)
		wantError(t, err, errcode.SiteProperty, c.names)
	}
	if got, err := short(t, "", "etl/edge@HADOOP.BANK"); err != nil || got != "etl" {
		t.Errorf("got %q, %v", got, err)
	}
	for _, bad := range []string{"nonsense", "RULE:[:$1]", "RULE:[1:$1](()", "DEFAULT x"} {
		if _, err := readRules(bad); err == nil {
			t.Errorf("%q is accepted", bad)
		}
	}
}

func short(t *testing.T, rules, principal string) (string, error) {
	t.Helper()
	r, err := readRules(rules)
	must(t, err)
	name, realm, err := (&conf{}).parsePrincipal(principal)
	must(t, err)
	return shortName(r, name.NameString, realm, "HADOOP.BANK")
}

func FuzzRules(f *testing.F) {
	f.Add("RULE:[2:$1-$2@$0](etl-.*)s/-(.)/$1/g/L DEFAULT", "a", "b", "R")
	f.Fuzz(func(t *testing.T, text, a, b, realm string) {
		rules, err := readRules(text)
		if err != nil {
			return
		}
		if name, err := shortName(rules, []string{a, b}, realm, "R"); err == nil && strings.ContainsAny(name, "/@") {
			t.Errorf("got %q", name)
		}
	})
}
