package kerberos

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"bulkload/internal/errcode"

	"github.com/jcmturner/gokrb5/v8/keytab"
	"github.com/jcmturner/gokrb5/v8/types"
)

// keys are a principal's keys in a keytab: the newest of each encryption type.
type keys struct {
	file string
	list []keyOf
}

type keyOf struct {
	key     types.EncryptionKey
	version uint32 // kvno
}

// readKeytab reads a principal's keys. It refuses a file that others may read, because whoever has it can act as the
// principal.
func readKeytab(file, principal string) (*keys, error) {
	text, err := readSecret(file)
	if err != nil {
		return nil, err
	}
	kt, err := parseKeytab(text)
	if err != nil {
		return nil, errcode.KerberosKeytab.Errorf("keytab %s: %w", file, err)
	}
	k := &keys{file: file}
	for _, e := range kt.Entries {
		if strings.Join(e.Principal.Components, "/")+"@"+e.Principal.Realm == principal {
			k.add(keyOf{e.Key, max(e.KVNO, uint32(e.KVNO8))})
		}
	}
	if k.list == nil {
		return nil, errcode.KerberosKeytab.Errorf("keytab %s has no key of %s; it has %s", file,
			principal, listed(principals(kt)))
	}
	return k, nil
}

// readSecret reads a keytab, which only its owner, and perhaps a group, may read.
func readSecret(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err != nil {
		return nil, errcode.KerberosKeytab.Errorf("keytab: %w", err)
	}
	if info.IsDir() {
		return nil, errcode.KerberosKeytab.Errorf("keytab %s is a folder", file)
	}
	if mode := info.Mode().Perm(); mode&0o007 != 0 {
		return nil, errcode.KerberosKeytab.Errorf(
			"keytab %s may be used by everybody on this machine (mode %04o): chmod 400 %s", file, mode, file)
	}
	text, err := os.ReadFile(file)
	if errors.Is(err, os.ErrPermission) {
		return nil, errcode.KerberosKeytab.Errorf("keytab: %w; make the user of this process (uid %d) its owner",
			err, os.Getuid())
	}
	if err != nil {
		return nil, errcode.KerberosKeytab.Errorf("keytab: %w", err)
	}
	return text, nil
}

// parseKeytab never panics, although gokrb5 does on some damaged files.
func parseKeytab(text []byte) (kt *keytab.Keytab, err error) {
	defer func() {
		if recover() != nil {
			kt, err = nil, errors.New("damaged")
		}
	}()
	kt = keytab.New()
	if err := kt.Unmarshal(text); err != nil {
		return nil, errors.New("damaged, or no keytab")
	}
	return kt, nil
}

func principals(kt *keytab.Keytab) []string {
	var names []string
	for _, e := range kt.Entries {
		names = append(names, strings.Join(e.Principal.Components, "/")+"@"+e.Principal.Realm)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// onlyPrincipal is the principal of a keytab that has just one.
func onlyPrincipal(file string) (string, error) {
	text, err := readSecret(file)
	if err != nil {
		return "", err
	}
	kt, err := parseKeytab(text)
	if err != nil {
		return "", errcode.KerberosKeytab.Errorf("keytab %s: %w", file, err)
	}
	names := principals(kt)
	if len(names) != 1 {
		return "", errcode.KerberosKeytab.Errorf("keytab %s has %s; say which principal logs in", file, listed(names))
	}
	return names[0], nil
}

func listed(names []string) string {
	switch {
	case len(names) == 0:
		return "no keys at all"
	case len(names) > 5:
		return fmt.Sprintf("%s and %d more", strings.Join(names[:5], ", "), len(names)-5)
	}
	return strings.Join(names, ", ")
}

// add keeps the newest key of each known type.
func (k *keys) add(key keyOf) {
	if !slices.Contains(known, key.key.KeyType) {
		return
	}
	for i, old := range k.list {
		if old.key.KeyType == key.key.KeyType {
			if key.version > old.version {
				k.list[i] = key
			}
			return
		}
	}
	k.list = append(k.list, key)
}

func (k *keys) forType(etype int32) (keyOf, bool) {
	for _, key := range k.list {
		if key.key.KeyType == etype {
			return key, true
		}
	}
	return keyOf{}, false
}

// versions lists the numbers of the keys, for messages.
func (k *keys) versions() string {
	var numbers []string
	for _, key := range k.list {
		numbers = append(numbers, fmt.Sprintf("%d (%s)", key.version, etypeName(key.key.KeyType)))
	}
	return strings.Join(numbers, ", ")
}
