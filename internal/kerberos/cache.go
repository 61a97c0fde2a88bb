package kerberos

import (
	"encoding/binary"
	"errors"
	"os"
	"strconv"
	"strings"
	"time"

	"bulkload/internal/errcode"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// cache is a ticket cache file: its owner and the tickets (MIT's "Credential cache file format", versions 3 and 4).
type cache struct {
	file    string
	client  types.PrincipalName
	realm   string
	tickets []credential
}

// credential is a ticket with its client's data about it.
type credential struct {
	ticket    messages.Ticket
	key       types.EncryptionKey
	start     time.Time
	end       time.Time
	renewTill time.Time // zero if it can't be renewed
}

// cacheFile finds the file of a ticket cache. name is KRB5CCNAME; if it is empty, krb5.conf decides.
func cacheFile(name string, c *conf) (string, error) {
	source := "KRB5CCNAME"
	if name == "" {
		source = "default_ccache_name of " + c.profile.files[0]
		name = c.profile.get("FILE:/tmp/krb5cc_%{uid}", "libdefaults", "default_ccache_name")
	}
	name = strings.NewReplacer("%{uid}", strconv.Itoa(os.Getuid()), "%{euid}", strconv.Itoa(os.Geteuid()),
		"%{USERID}", strconv.Itoa(os.Getuid()), "%{TEMP}", os.TempDir()).Replace(name)
	kind, path, ok := strings.Cut(name, ":")
	if !ok || strings.HasPrefix(name, "/") {
		return name, nil
	}
	if kind != "FILE" {
		return "", errcode.KerberosNoLogin.Errorf(
			"the ticket cache is %s (%s), which only programs with MIT's library can read: "+
				"run kinit -c FILE:/tmp/krb5cc_bulkload and set KRB5CCNAME=FILE:/tmp/krb5cc_bulkload, or use a keytab",
			name, source)
	}
	return path, nil
}

func readCache(file string) (*cache, error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrNotExist) {
		return nil, errcode.KerberosNoLogin.Errorf(
			"no ticket cache: %w; run kinit, set KRB5CCNAME to the cache that has the ticket, or use a keytab", err)
	}
	if err != nil {
		return nil, errcode.KerberosNoLogin.Errorf("ticket cache: %w", err)
	}
	c, err := parseCache(text)
	if err != nil {
		return nil, errcode.KerberosNoLogin.Errorf("ticket cache %s: %w", file, err)
	}
	c.file = file
	return c, nil
}

var errCache = errors.New("damaged, or no ticket cache of version 3 or 4: run kinit again")

// parseCache reads a cache file. It omits unusable entries: configuration, and other kinds of tickets.
func parseCache(text []byte) (c *cache, err error) {
	if len(text) < 4 || text[0] != 5 || text[1] != 3 && text[1] != 4 {
		return nil, errCache
	}
	r := &cacheReader{rest: text[2:]}
	if text[1] == 4 {
		r.bytes(int(r.uint16()))
	}
	c = &cache{}
	c.client, c.realm = r.principal()
	for len(r.rest) > 0 && !r.short {
		if cred, ok := r.credential(text[1] == 3); ok {
			c.tickets = append(c.tickets, cred)
		}
	}
	if r.short || len(c.client.NameString) == 0 || c.realm == "" {
		return nil, errCache
	}
	return c, nil
}

// cacheReader reads fields of a cache file. After a truncated field, all others are empty.
type cacheReader struct {
	rest  []byte
	short bool
}

func (r *cacheReader) bytes(n int) []byte {
	if n < 0 || n > len(r.rest) {
		r.short, r.rest = true, nil
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *cacheReader) uint16() uint16 {
	if b := r.bytes(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *cacheReader) uint32() uint32 {
	if b := r.bytes(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *cacheReader) data() []byte { return r.bytes(int(r.uint32())) }

func (r *cacheReader) time() time.Time {
	if seconds := r.uint32(); seconds != 0 {
		return time.Unix(int64(seconds), 0)
	}
	return time.Time{}
}

func (r *cacheReader) principal() (types.PrincipalName, string) {
	name := types.PrincipalName{NameType: int32(r.uint32())}
	count := r.uint32()
	realm := string(r.data())
	for i := uint32(0); i < count && !r.short; i++ {
		name.NameString = append(name.NameString, string(r.data()))
	}
	return name, realm
}

// renewable is the bit of a ticket's flags, counted from the left as in RFC 4120, 2.
const renewable = 1 << (31 - 8)

func (r *cacheReader) credential(version3 bool) (c credential, ok bool) {
	r.principal()
	_, realm := r.principal()
	c.key.KeyType = int32(r.uint16())
	if version3 {
		r.uint16() // the type again
	}
	c.key.KeyValue = append([]byte(nil), r.data()...)
	auth := r.time()
	if c.start = r.time(); c.start.IsZero() {
		c.start = auth
	}
	c.end, c.renewTill = r.time(), r.time()
	r.bytes(1) // only used with a second ticket
	if r.uint32()&renewable == 0 {
		c.renewTill = time.Time{}
	}
	for range 2 { // addresses, authorization data
		for n := r.uint32(); n > 0 && !r.short; n-- {
			r.uint16()
			r.data()
		}
	}
	ticket := r.data()
	r.data() // the second ticket
	if r.short || strings.HasPrefix(realm, "X-CACHECONF") {
		return c, false
	}
	return c, parse(func() error { return c.ticket.Unmarshal(ticket) }) == nil
}

// ticketFor returns the newest ticket for a service.
func (c *cache) ticketFor(service, realm string) (credential, bool) {
	var found credential
	for _, cred := range c.tickets {
		if cred.ticket.Realm == realm && cred.ticket.SName.PrincipalNameString() == service && cred.end.After(found.end) {
			found = cred
		}
	}
	return found, !found.end.IsZero()
}
