package hfilewriter

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// documented are the constants that docs/format/hfile.md shows in tables, by name.
var documented = map[string]any{
	"headerMagicOffset": headerMagicOffset, "headerOnDiskSizeOffset": headerOnDiskSizeOffset, "headerRawSizeOffset": headerRawSizeOffset,
	"headerPrevBlockOffset": headerPrevBlockOffset, "headerChecksumTypeOffset": headerChecksumTypeOffset, "headerBytesPerSumOffset": headerBytesPerSumOffset,
	"headerOnDiskDataOffset": headerOnDiskDataOffset, "headerLen": headerLen,
	"fastDiffTimestamp": fastDiffTimestamp, "fastDiffSameKeyLen": fastDiffSameKeyLen, "fastDiffSameValueLen": fastDiffSameValueLen,
	"fastDiffSameType": fastDiffSameType, "fastDiffSameValue": fastDiffSameValue,
	"infoAvgKeyLen": infoAvgKeyLen, "infoAvgValueLen": infoAvgValueLen, "infoCreateTime": infoCreateTime, "infoBiggestKey": infoBiggestKey,
	"infoBiggestLen": infoBiggestLen, "infoLastKey": infoLastKey, "infoBloomType": infoBloomType, "infoBloomParam": infoBloomParam,
	"infoLastBloomKey": infoLastBloomKey, "infoLoadedTask": infoLoadedTask, "infoLoadedTime": infoLoadedTime, "infoEncoding": infoEncoding,
	"infoDeleteFamilies": infoDeleteFamilies, "infoEarliestPut": infoEarliestPut, "infoNoMinorCompaction": infoNoMinorCompaction,
	"infoHistorical": infoHistorical, "infoKeyValueVersion": infoKeyValueVersion, "infoMajorCompaction": infoMajorCompaction,
	"infoMaxSequenceID": infoMaxSequenceID, "infoTimeRange": infoTimeRange,
}

// TestDocumentedConstants compares the tables of the format's document with the code, both ways.
func TestDocumentedConstants(t *testing.T) {
	text, err := os.ReadFile("../docs/format/hfile.md")
	if err != nil {
		t.Fatal(err)
	}
	missing := map[string]any{}
	for name, v := range documented {
		missing[name] = v
	}
	row := regexp.MustCompile("(?m)^\\| ([^|]+) \\|.*\\| `([a-zA-Z]+)` \\|$")
	for _, m := range row.FindAllStringSubmatch(string(text), -1) {
		want, ok := documented[m[2]]
		if !ok {
			t.Errorf("the document names %s, which the test does not know", m[2])
			continue
		}
		delete(missing, m[2])
		got := any(m[1])
		if n, err := strconv.ParseInt(m[1], 0, 64); err == nil {
			got = int(n)
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s is %v, documented as %s", m[2], want, m[1])
		}
	}
	for name := range missing {
		t.Errorf("%s is not in the document", name)
	}
	for kind, magic := range blockMagics {
		if !strings.Contains(string(text), fmt.Sprintf("| %s | `%s` |", blockNames[kind], magic)) {
			t.Errorf("the document lacks the magic of %s", blockNames[kind])
		}
	}
	for _, n := range []int{snappySliceLen, lz4SliceLen, zstdSliceLen, trailerLen, maxRowLen} {
		if s := strconv.Itoa(n); !strings.Contains(string(text), s[:len(s)-3]+","+s[len(s)-3:]) {
			t.Errorf("the document lacks the number %d", n)
		}
	}
}
