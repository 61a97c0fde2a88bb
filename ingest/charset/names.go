package charset

import (
	"fmt"
	"strings"
	"sync"
)

// known lists the charsets: the name, and what Oracle's NLS_LANG calls it.
var known = []struct{ name, oracle string }{
	{"utf-8", "AL32UTF8"},
	{"cesu-8", ""}, // Oracle's UTF8, a name that most people read as UTF-8
	{"us-ascii", "US7ASCII"},
	{"gbk", "ZHS16GBK"},
	{"gb18030", "ZHS32GB18030"},
	{"gb2312", "ZHS16CGB231280"},
	{"big5", "ZHT16BIG5"},
	{"windows-950", "ZHT16MSWIN950"},
	{"shift_jis", ""},
	{"windows-31j", "JA16SJISTILDE"},
	{"euc-kr", "KO16KSC5601"},
	{"windows-949", "KO16MSWIN949"},
	{"iso-8859-1", "WE8ISO8859P1"},
	{"iso-8859-2", "EE8ISO8859P2"},
	{"iso-8859-3", "SE8ISO8859P3"},
	{"iso-8859-4", "NEE8ISO8859P4"},
	{"iso-8859-5", "CL8ISO8859P5"},
	{"iso-8859-6", "AR8ISO8859P6"},
	{"iso-8859-7", "EL8ISO8859P7"},
	{"iso-8859-8", "IW8ISO8859P8"},
	{"iso-8859-9", "WE8ISO8859P9"},
	{"iso-8859-13", "BLT8ISO8859P13"},
	{"iso-8859-15", "WE8ISO8859P15"},
	{"koi8-r", "CL8KOI8R"},
	{"windows-1250", "EE8MSWIN1250"},
	{"windows-1251", "CL8MSWIN1251"},
	{"windows-1252", "WE8MSWIN1252"},
	{"windows-1253", "EL8MSWIN1253"},
	{"windows-1254", "TR8MSWIN1254"},
	{"windows-1255", "IW8MSWIN1255"},
	{"windows-1256", "AR8MSWIN1256"},
	{"windows-1257", "BLT8MSWIN1257"},
	{"windows-1258", "VN8MSWIN1258"},
}

// Names lists the names of the known charsets.
func Names() []string {
	names := make([]string, len(known))
	for i, k := range known {
		names[i] = k.name
	}
	return names
}

// Named finds a charset by its name, or by its name in NLS_LANG, in any case; nil for UTF-8. The error for an unknown
// name lists the known ones.
func Named(name string) (*Charset, error) {
	for _, k := range known {
		if strings.EqualFold(name, k.name) || k.oracle != "" && strings.EqualFold(name, k.oracle) {
			return load(k.name)
		}
	}
	if strings.EqualFold(name, "utf8") {
		return nil, nil
	}
	return nil, fmt.Errorf("charset %q is not known; there are %s, and the names of NLS_LANG for them",
		name, strings.Join(Names(), ", "))
}

var loaded struct {
	sync.Mutex
	byName map[string]*Charset
}

// load returns the only Charset with that name; its table is read on first use.
func load(name string) (*Charset, error) {
	if name == "utf-8" {
		return nil, nil
	}
	loaded.Lock()
	defer loaded.Unlock()
	if c := loaded.byName[name]; c != nil {
		return c, nil
	}
	c := &Charset{name: name, cesu: name == "cesu-8"}
	if !c.cesu {
		t, err := readTable(name)
		if err != nil {
			return nil, err
		}
		c.table = *t
	}
	if loaded.byName == nil {
		loaded.byName = map[string]*Charset{}
	}
	loaded.byName[name] = c
	return c, nil
}
