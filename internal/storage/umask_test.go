package storage

import (
	"io/fs"
	"testing"

	"bulkload/internal/errcode"
	"bulkload/internal/siteconf"
	"bulkload/internal/test/testwords"
)

func TestUmask(t *testing.T) {
	for text, want := range map[string]fs.FileMode{
		"": 0o022, "022": 0o022, "0027": 0o027, "077": 0o077, "000": 0,
		"u=rwx,g=rx,o=rx": 0o022, "u=rwx,g=rx,o=": 0o027, "u=rwx, g=, o=": 0o077, "a=rwx": 0, "u=rwx": 0o077, "a+rwx,o-w": 0o002, "=rwx,go-w": 0o022,
	} {
		conf := new(siteconf.Conf)
		conf.Set(umaskProperty, text)
		if got, err := readUmask(conf); err != nil || got != want {
			t.Errorf("%q is %o, want %o; %v", text, got, want, err)
		}
	}
	for _, text := range []string{"18", "22", "0x12", "u=rwz", "u", "rwx", "-22", "99999", ","} {
		conf := new(siteconf.Conf)
		conf.Set(umaskProperty, text)
		got, err := readUmask(conf)
		if errcode.Outermost(err) != errcode.SiteProperty || !testwords.Names(err, umaskProperty) {
			t.Errorf("%q is %o, %v", text, got, err)
		}
	}
}
