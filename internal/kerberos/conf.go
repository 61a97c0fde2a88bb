package kerberos

import (
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/errcode"

	"github.com/jcmturner/gokrb5/v8/iana/etypeID"
)

// conf is the part of krb5.conf that a login needs.
type conf struct {
	profile  *profile
	realm    string // default_realm
	lifetime time.Duration
	skew     time.Duration
	etypes   []int32           // the permitted ones, the best first
	answered map[string]string // by realm, the KDC that answered last; guarded by Login.turn
}

// known are the encryption types that gokrb5 supports and that current tickets use, in the order of MIT's default.
var known = []int32{etypeID.AES256_CTS_HMAC_SHA1_96, etypeID.AES128_CTS_HMAC_SHA1_96,
	etypeID.AES256_CTS_HMAC_SHA384_192, etypeID.AES128_CTS_HMAC_SHA256_128, etypeID.RC4_HMAC}

// sessionTypes are the known types whose wrapped messages the connections can read: AES.
var sessionTypes = known[:4]

// readConf reads krb5.conf, or the files named by KRB5_CONFIG.
func readConf(paths string) (*conf, error) {
	if paths == "" {
		paths = "/etc/krb5.conf"
	}
	p, err := readProfile(paths)
	if err != nil {
		return nil, err
	}
	return newConf(p)
}

func newConf(p *profile) (*conf, error) {
	c := &conf{profile: p, realm: p.get("", "libdefaults", "default_realm"), answered: map[string]string{}}
	var err error
	if c.lifetime, err = duration(p.get("24h", "libdefaults", "ticket_lifetime")); err != nil {
		return nil, errcode.KerberosConfig.Errorf("%s: ticket_lifetime: %w", p.files[0], err)
	}
	if c.skew, err = duration(p.get("300", "libdefaults", "clockskew")); err != nil {
		return nil, errcode.KerberosConfig.Errorf("%s: clockskew: %w", p.files[0], err)
	}
	if c.etypes, err = permitted(p.get("", "libdefaults", "permitted_enctypes")); err != nil {
		return nil, errcode.KerberosConfig.Errorf("%s: permitted_enctypes: %w", p.files[0], err)
	}
	return c, nil
}

// families are the names of groups of encryption types.
var families = map[string][]int32{
	"aes":     sessionTypes,
	"rc4":     known[4:],
	"default": known[:4],
}

// permitted reads permitted_enctypes: names, families, and those after a minus, which are removed. Unknown names are
// skipped. An empty list permits all types; a list that leaves no type is an error.
func permitted(list string) ([]int32, error) {
	if strings.Trim(list, ", \t") == "" {
		return known, nil
	}
	var types []int32
	for _, word := range strings.FieldsFunc(strings.ToLower(list),
		func(r rune) bool { return r == ',' || r == ' ' || r == '\t' }) {
		name, minus := strings.CutPrefix(word, "-")
		group, ok := families[name]
		if id := etypeID.ETypesByName[name]; !ok && slices.Contains(known, id) {
			group = []int32{id}
		}
		types = slices.DeleteFunc(types, func(t int32) bool { return slices.Contains(group, t) })
		if !minus {
			types = append(types, group...)
		}
	}
	if len(types) == 0 {
		return nil, fmt.Errorf("%q permits no type that is supported: name some of aes256-cts-hmac-sha1-96, "+
			"aes128-cts-hmac-sha1-96, aes256-cts-hmac-sha384-192 and aes128-cts-hmac-sha256-128, or drop the line", list)
	}
	return types, nil
}

// realmOf is the realm of a host according to [domain_realm]: that of its own name, or else of the longest listed
// domain; "" if neither is listed.
func (c *conf) realmOf(host string) string {
	host = strings.ToLower(host)
	if realm := c.profile.get("", "domain_realm", host); realm != "" {
		return realm
	}
	for dot := strings.IndexByte(host, '.'); dot >= 0; {
		if realm := c.profile.get("", "domain_realm", host[dot:]); realm != "" {
			return realm
		}
		next := strings.IndexByte(host[dot+1:], '.')
		if next < 0 {
			return ""
		}
		dot += 1 + next
	}
	return ""
}

// next is the realm to ask next on the way from one realm to another: the one in [capaths], or else the other realm
// itself.
func (c *conf) next(from, to string) string {
	if via := c.profile.get("", "capaths", from, to); via != "" && via != "." {
		return via
	}
	return to
}

// kdcs are the addresses of a realm's KDCs: from krb5.conf, or else from DNS.
func (c *conf) kdcs(realm string) []string {
	var addrs []string
	for _, kdc := range c.profile.values("realms", realm, "kdc") {
		for _, prefix := range []string{"tcp/", "udp/", "TCP/", "UDP/"} {
			kdc = strings.TrimPrefix(kdc, prefix)
		}
		if _, _, err := net.SplitHostPort(kdc); err != nil {
			kdc = net.JoinHostPort(strings.Trim(kdc, "[]"), "88")
		}
		addrs = append(addrs, kdc)
	}
	return addrs
}

// byDNS reports whether a realm's KDCs may be looked up in DNS.
func (c *conf) byDNS() bool { return truth(c.profile.get("true", "libdefaults", "dns_lookup_kdc")) }

func truth(text string) bool {
	return slices.Contains([]string{"y", "yes", "true", "t", "1", "on"}, strings.ToLower(text))
}

// duration reads MIT's forms: seconds, h:m[:s], and numbers with d, h, m and s.
func duration(text string) (time.Duration, error) {
	bad := fmt.Errorf("%q is not a time such as 10h, 7d or 36000", text)
	text = strings.ReplaceAll(strings.ReplaceAll(text, " ", ""), "\t", "")
	if parts := strings.Split(text, ":"); len(parts) > 1 {
		if parts = append(parts, "0"); len(parts) > 4 {
			return 0, bad
		}
		text = parts[0] + "h" + parts[1] + "m" + parts[2] + "s"
	}
	if _, err := strconv.ParseUint(text, 10, 32); err == nil {
		text += "s"
	}
	days, rest, hasDays := strings.Cut(text, "d")
	if !hasDays {
		days, rest = "0", text
	}
	n, err := strconv.ParseUint(days, 10, 16)
	if err != nil {
		return 0, bad
	}
	total := time.Duration(n) * 24 * time.Hour
	if rest != "" {
		d, err := time.ParseDuration(rest)
		if err != nil || d < 0 || d > 10*365*24*time.Hour {
			return 0, bad
		}
		total += d
	}
	if total <= 0 {
		return 0, bad
	}
	return total, nil
}
