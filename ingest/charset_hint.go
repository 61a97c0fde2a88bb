package ingest

import (
	"bulkload/ingest/charset"
)

// CharsetHint suggests GBK for a record that is not UTF-8, if all of it is GBK in the range that Chinese text uses.
// Other charsets can't be told apart by a record.
func CharsetHint(raw []byte) string {
	pairs := 0
	for i := 0; i < len(raw); i++ {
		if raw[i] < 0x80 {
			continue
		}
		if i+1 == len(raw) || raw[i] < 0xa1 || raw[i+1] < 0xa1 { // outside GB 2312
			return ""
		}
		pairs++
		i++
	}
	gbk, err := charset.Named("gbk")
	if err != nil || pairs == 0 {
		return ""
	}
	if _, valid := gbk.Append(nil, raw); valid < len(raw) {
		return ""
	}
	return "the whole record is valid GBK; if that is its charset, set input.charset: gbk"
}
