package ingest

import "testing"

func TestCharsetHint(t *testing.T) {
	for record, hinted := range map[string]bool{
		"1|\xbf\xcd\xbb\xa7|x":          true,  // 客户
		"1|caf\xe9|x":                   false, // Latin-1
		"1|\xe9t\xe9|x":                 false,
		"1|\xbf\xcd\xbb\xa7|\xe9|x":     false, // GBK in one value, and not in another
		"1|\xe5\xae\xa2|x":              false, // UTF-8
		"1|a|x":                         false,
		"1|\xbf\xcd\xbb\xa7\xbf":        false,
		"\xff\xfe\x31\x00\x7c\x00\x61x": false,
	} {
		if got := CharsetHint([]byte(record)); (got != "") != hinted {
			t.Errorf("%q: %q", record, got)
		}
	}
}
