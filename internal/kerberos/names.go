package kerberos

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"bulkload/internal/errcode"
)

// rule is a rule of hadoop.security.auth_to_local (org.apache.hadoop.security.authentication.util.KerberosName.Rule).
type rule struct {
	byDefault bool           // it yields the first part of principals of the default realm
	parts     int            // number of parts of the principals to which it applies
	format    string         // $0 is the realm, $1 and $2 the parts
	match     *regexp.Regexp // what the whole formatted text must match; nil: any text
	from      *regexp.Regexp // nil: nothing is replaced
	to        string
	all       bool // replace all matches, not only the first
	lower     bool
}

var ruleForm = regexp.MustCompile(
	`^\s*(?:(DEFAULT)|RULE:\[(\d*):([^\]]*)\](?:\(([^)]*)\))?(?:s/([^/]*)/([^/]*)/(g)?)?)/?(L)?`)

// readRules reads the property; an empty text is DEFAULT.
func readRules(text string) ([]rule, error) {
	if strings.TrimSpace(text) == "" {
		text = "DEFAULT"
	}
	var rules []rule
	for rest := strings.TrimSpace(text); rest != ""; rest = strings.TrimSpace(rest) {
		m := ruleForm.FindStringSubmatch(rest)
		if m == nil {
			return nil, errcode.SiteProperty.Errorf("%q is not a rule such as DEFAULT or RULE:[1:$1@$0](.*@REALM)s/@.*//", rest)
		}
		r, err := newRule(m)
		if err != nil {
			return nil, fmt.Errorf("rule %q: %w", strings.TrimSpace(m[0]), err)
		}
		rules, rest = append(rules, r), rest[len(m[0]):]
	}
	return rules, nil
}

func newRule(m []string) (r rule, err error) {
	r = rule{byDefault: m[1] != "", format: m[3], to: javaReplacement(m[6]), all: m[7] != "", lower: m[8] != ""}
	if r.byDefault {
		return r, nil
	}
	if r.parts, err = strconv.Atoi(m[2]); err != nil {
		return r, fmt.Errorf("%q parts", m[2])
	}
	if m[4] != "" {
		if r.match, err = regexp.Compile(`^(?:` + m[4] + `)$`); err != nil {
			return r, err
		}
	}
	if m[5] != "" {
		r.from, err = regexp.Compile(m[5])
	}
	return r, err
}

// javaReplacement converts Java's $1 to Go's ${1}.
func javaReplacement(text string) string {
	return regexp.MustCompile(`\$(\d)`).ReplaceAllString(text, `$${$1}`)
}

// shortName is a principal's name in HDFS.
func shortName(rules []rule, parts []string, realm, defaultRealm string) (string, error) {
	for _, r := range rules {
		if short, ok := r.apply(parts, realm, defaultRealm); ok {
			if short == "" || strings.ContainsAny(short, "/@") {
				return "", errcode.SiteProperty.Errorf("hadoop.security.auth_to_local makes %q of %s@%s, which is not a short name",
					short, strings.Join(parts, "/"), realm)
			}
			return short, nil
		}
	}
	return "", errcode.SiteProperty.Errorf("hadoop.security.auth_to_local has no rule for %s@%s: "+
		"copy the property from the cluster's core-site.xml, or set default_realm of krb5.conf",
		strings.Join(parts, "/"), realm)
}

func (r *rule) apply(parts []string, realm, defaultRealm string) (string, bool) {
	var short string
	switch {
	case r.byDefault:
		if realm != defaultRealm {
			return "", false
		}
		short = parts[0]
	case len(parts) != r.parts:
		return "", false
	default:
		base := r.fill(parts, realm)
		if r.match != nil && !r.match.MatchString(base) {
			return "", false
		}
		short = r.replace(base)
	}
	if r.lower {
		short = strings.ToLower(short)
	}
	return short, true
}

var parameter = regexp.MustCompile(`\$\d`)

// fill puts the realm and the parts into the format.
func (r *rule) fill(parts []string, realm string) string {
	return parameter.ReplaceAllStringFunc(r.format, func(p string) string {
		switch n := int(p[1] - '0'); {
		case n == 0:
			return realm
		case n <= len(parts):
			return parts[n-1]
		}
		return ""
	})
}

func (r *rule) replace(base string) string {
	if r.from == nil {
		return base
	}
	if r.all {
		return r.from.ReplaceAllString(base, r.to)
	}
	at := r.from.FindStringSubmatchIndex(base)
	if at == nil {
		return base
	}
	return base[:at[0]] + string(r.from.ExpandString(nil, r.to, base, at)) + base[at[1]:]
}
