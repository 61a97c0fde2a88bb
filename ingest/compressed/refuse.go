package compressed

import (
	"bytes"
	"fmt"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/printable"

	"github.com/golang/snappy"
)

// RefusedError reports a file that can't be read as text, with its kind and a remedy.
type RefusedError struct {
	Name string // of the file
	What string // e.g. "compressed with lzop"
	Do   string // e.g. "unpack it with lzop -d first"
}

// ErrorCode is that of an input in another format than the job file says.
func (e *RefusedError) ErrorCode() errcode.Code { return errcode.InputFormat }

// Error names the file, its kind and the remedy.
func (e *RefusedError) Error() string {
	return fmt.Sprintf("read %s: it is %s, which can't be read; %s", printable.Name(e.Name), e.What, e.Do)
}

const (
	decrypt = "decrypt it first and give the plain or compressed file"
	unpack  = "unpack it first, or compress it with gzip, bzip2, zstd, snappy or lz4"
)

// unreadableMagics are the magics of files that are neither text nor in a supported codec.
var unreadableMagics = []struct{ magic, what, do string }{
	{"Salted__", "encrypted with openssl enc", decrypt},
	{"-----BEGIN PGP MESSAGE", "encrypted with PGP", decrypt},
	{"age-encryption.org/", "encrypted with age", decrypt},
	{"-----BEGIN AGE ENCRYPTED FILE", "encrypted with age", decrypt},
	{"-----BEGIN PKCS7", "encrypted or signed by S/MIME", decrypt},
	{"-----BEGIN CMS", "encrypted or signed by S/MIME", decrypt},
	{"AES\x02", "encrypted with AES Crypt", decrypt},
	{"$ANSIBLE_VAULT;", "encrypted with Ansible Vault", decrypt},
	{"\x89LZO\x00\r\n\x1a\n", "compressed with lzop",
		"lzo's license keeps it out of bulkload: unpack it with lzop -d, or export with another codec"},
	{"\xfd7zXZ\x00", "compressed with xz", unpack},
	{"LZIP\x00", "compressed with lzip", unpack}, // with the version: a column may be called LZIP_CODE
	{"LZIP\x01", "compressed with lzip", unpack},
	{"\x1f\xa0", "compressed with compress (.Z)", unpack},
	{"7z\xbc\xaf\x27\x1c", "a 7z archive", unpack},
	{"Rar!\x1a\x07", "a RAR archive", unpack},
	{"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old Office document, as Excel's .xls",
		"save the sheet as CSV and read it with format: csv"},
}

// unreadableNames are the extensions of files that have no magic, or one that text may begin with.
var unreadableNames = map[string]struct{ what, do string }{
	".lzo": {"compressed with lzo",
		"lzo's license keeps it out of bulkload: unpack it with lzop -d, or export with another codec"},
	".xz": {"compressed with xz", unpack}, ".lzma": {"compressed with lzma", unpack},
	".br": {"compressed with brotli", unpack},
	".z":  {"compressed with compress", unpack}, ".gpg": {"encrypted with GPG", decrypt},
	".pgp": {"encrypted with PGP", decrypt},
	".enc": {"encrypted", decrypt}, ".aes": {"encrypted with AES", decrypt}, ".age": {"encrypted with age", decrypt},
	".p7m": {"encrypted by S/MIME", decrypt}, ".zip": {"a zip archive", unpack}, ".7z": {"a 7z archive", unpack},
	".rar":         {"a RAR archive", unpack},
	".lzo_deflate": {"compressed with lzo", "export with another codec"},
}

// detectUnreadable returns an error for a file that is not text; nil for all others.
func detectUnreadable(name, ext string, head []byte) error {
	if bytes.HasPrefix(head, []byte("PK\x03\x04")) || bytes.HasPrefix(head, []byte("PK\x05\x06")) {
		return refuseZip(name, head)
	}
	for _, r := range unreadableMagics {
		if bytes.HasPrefix(head, []byte(r.magic)) {
			return &RefusedError{Name: name, What: r.what, Do: r.do}
		}
	}
	if r, ok := unreadableNames[ext]; ok {
		return &RefusedError{Name: name, What: r.what + " by its name",
			Do: r.do + "; if it is plain text, say so with input.compression: none"}
	}
	if compressZ(head) {
		return &RefusedError{Name: name, What: "compressed with compress (.Z)", Do: unpack}
	}
	if openPGP(head) {
		return &RefusedError{Name: name, What: "encrypted with GPG", Do: decrypt}
	}
	return nil
}

// refuseZip refuses a zip file: a workbook, an encrypted archive, or any other.
func refuseZip(name string, head []byte) error {
	switch {
	case bytes.Contains(head, []byte("[Content_Types].xml")) || bytes.Contains(head, []byte("xl/")) ||
		strings.HasSuffix(strings.ToLower(name), ".xlsx"):
		return &RefusedError{Name: name, What: "an Excel workbook", Do: "save the sheet as CSV and read it with format: csv"}
	case bytes.Contains(head, []byte("mimetypeapplication/vnd.oasis")):
		return &RefusedError{Name: name, What: "an OpenDocument file",
			Do: "save the sheet as CSV and read it with format: csv"}
	case len(head) > 6 && head[6]&1 != 0:
		return &RefusedError{Name: name, What: "an encrypted zip archive", Do: "unpack it with its password first"}
	}
	return &RefusedError{Name: name, What: "a zip archive", Do: unpack}
}

// compressZ recognises a file of compress by its third byte, too, which has the highest bit set and a maximum code
// length of 9 to 16 bits. The first two bytes alone may be a delimiter \x1f and half a character of GBK.
func compressZ(head []byte) bool {
	return len(head) > 2 && head[0] == 0x1f && head[1] == 0x9d && head[2]&0x60 == 0 &&
		head[2]&0x1f >= 9 && head[2]&0x1f <= 16
}

// openPGP recognises a binary message that begins with an encrypted session key: a packet of type 1 or 3, of version 3,
// 4 or 6 (RFC 4880 section 4.2, RFC 9580 sections 5.1 and 5.3). No such message is UTF-8. Only 0xc3 may begin a
// character, and the next byte would then be 0x80 or above, a length that no session key encrypted with a password has.
func openPGP(head []byte) bool {
	if len(head) < 4 {
		return false
	}
	switch head[0] {
	case 0x84, 0x8c: // old format, length of one byte
		return head[2] >= 3 && head[2] <= 6
	case 0x85, 0x8d: // old format, length of two bytes
		return head[3] >= 3 && head[3] <= 6
	case 0xc1: // new format, length of one byte
		return head[1] < 192 && head[2] >= 3 && head[2] <= 6
	case 0xc3:
		return head[1] < 0x80 && head[2] >= 3 && head[2] <= 6
	}
	return false
}

// mismatch reports that a file's content does not match its name.
func mismatch(name, ext string, head []byte) error {
	e := &RefusedError{Name: name, What: fmt.Sprintf("named %s, but its content is something else", ext),
		Do: "if it is plain text rename it, or say so with input.compression: none"}
	of := extensions[ext]
	if of.bare != HadoopSnappy {
		return e
	}
	e.What = "named .snappy and is neither of Hadoop's block framing nor of snappy's frame format"
	if n, err := snappy.DecodedLen(head); err == nil && n > 0 && n < 1<<30 && head[0] >= 0x80 {
		e.What = "probably a raw snappy block, without Hadoop's framing or snappy's frame format"
		e.Do = "write it by Hadoop's SnappyCodec, or with a tool that writes the frame format"
	}
	return e
}
