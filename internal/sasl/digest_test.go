package sasl

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bulkload/internal/test/testwords"
)

// digestVector is an exchange between the JDK's client and server (testdata/DigestVectors.java).
type digestVector struct {
	Case                       string
	Challenge, Response, Proof []byte
	Plain, Client, Server      [][]byte
}

func digestVectors(t testing.TB) []digestVector {
	t.Helper()
	b, err := os.ReadFile("testdata/digest-md5.json")
	if err != nil {
		t.Fatal(err)
	}
	var list []digestVector
	if err := json.Unmarshal(b, &list); err != nil {
		t.Fatal(err)
	}
	return list
}

var (
	qopOf    = regexp.MustCompile(`qop=([a-z-]+)`)
	cipherOf = regexp.MustCompile(`cipher="([a-z0-9]+)"`)
	cnonceOf = regexp.MustCompile(`cnonce="([^"]+)"`)
	proofOf  = regexp.MustCompile(`response=([0-9a-f]+)`)
)

// asJDK makes the same client as the JDK's.
func asJDK(v digestVector) *digest {
	d := &digest{Digest: Digest{User: "dXNlcg==", Password: "c2VjcmV0", Service: "hdfs", Host: "0"}}
	d.Preferred = []Protection{names[qopOf.FindStringSubmatch(string(v.Response))[1]]}
	if m := cipherOf.FindStringSubmatch(string(v.Response)); m != nil {
		d.Cipher = m[1]
	}
	d.nonceOf = func() string { return cnonceOf.FindStringSubmatch(string(v.Response))[1] }
	return d
}

func TestDigestAgainstJDK(t *testing.T) {
	for _, v := range digestVectors(t) {
		t.Run(v.Case, func(t *testing.T) {
			d := asJDK(v)
			if first, err := d.Start(); first != nil || err != nil {
				t.Fatalf("starts with %q, %v", first, err)
			}
			response, done, err := d.Next(v.Challenge)
			if err != nil || done {
				t.Fatal(done, err)
			}
			want, got := proofOf.FindStringSubmatch(string(v.Response))[1], proofOf.FindStringSubmatch(string(response))[1]
			if want != got {
				t.Fatalf("response %s, the JDK's is %s", got, want)
			}
			if response, done, err := d.Next(v.Proof); response != nil || !done || err != nil {
				t.Fatal(response, done, err)
			}
			if d.Preferred[0] == Authentication {
				if d.Layer() != nil {
					t.Error("a layer for authentication")
				}
				return
			}
			for i, plain := range v.Plain {
				if len(plain) == 0 {
					continue // the JDK makes no token for no bytes
				}
				token, err := d.Layer().Wrap([]byte("before"), plain)
				if err != nil || !bytes.Equal(token, append([]byte("before"), v.Client[i]...)) {
					t.Errorf("token %d is %x, %v; the JDK's is %x", i, token, err, v.Client[i])
				}
				if back, err := d.Layer().Unwrap(slices.Clone(v.Server[i])); err != nil || !bytes.Equal(back, plain) {
					t.Errorf("of token %d of the JDK's server comes %q, %v; want %q", i, back, err, plain)
				}
			}
		})
	}
}

// TestDigestOfRFC2831: the example of RFC 2831, 4.
func TestDigestOfRFC2831(t *testing.T) {
	d := &digest{Digest: Digest{User: "chris", Password: "secret", Service: "imap", Host: "elwood.innosoft.com", Preferred: []Protection{Authentication}},
		nonceOf: func() string { return "OA6MHXh6VqTrRk" }}
	response, _, err := d.Next([]byte(`realm="elwood.innosoft.com",nonce="OA6MG9tEQGm2hh",qop="auth",algorithm=md5-sess,charset=utf-8`))
	if err != nil || !strings.Contains(string(response), "response=d388dad90d4bbd760a152321f2143af7") {
		t.Fatalf("%s, %v", response, err)
	}
	if _, done, err := d.Next([]byte("rspauth=ea40f60335c427b5527b84dbabcdfffd")); !done || err != nil {
		t.Fatal(done, err)
	}
	if _, _, err := d.Next(nil); err == nil {
		t.Error("goes on after the end")
	}
}

// TestDigestTokensChanged: a token with any changed bit, or out of turn, is refused.
func TestDigestTokensChanged(t *testing.T) {
	for _, v := range digestVectors(t)[1:] {
		t.Run(v.Case, func(t *testing.T) {
			begin := func() Layer {
				d := asJDK(v)
				_, _, err := d.Next(v.Challenge)
				if err == nil {
					_, _, err = d.Next(v.Proof)
				}
				if err != nil {
					t.Fatal(err)
				}
				return d.Layer()
			}
			first := v.Server[1]
			for bit := range len(first) * 8 {
				changed := slices.Clone(first)
				changed[bit/8] ^= 1 << (bit % 8)
				if plain, err := begin().Unwrap(changed); err == nil {
					t.Errorf("bit %d changed: %q", bit, plain)
				}
			}
			for n := range len(first) {
				if plain, err := begin().Unwrap(slices.Clone(first[:n])); err == nil {
					t.Errorf("cut to %d bytes: %q", n, plain)
				}
			}
			if plain, err := begin().Unwrap(slices.Clone(v.Server[2])); err == nil {
				t.Errorf("the second token first: %q", plain)
			}
			layer := begin()
			if _, err := layer.Unwrap(slices.Clone(first)); err != nil {
				t.Fatal(err)
			}
			if plain, err := layer.Unwrap(slices.Clone(first)); err == nil {
				t.Errorf("the same token again: %q", plain)
			}
		})
	}
}

func TestDigestRefusals(t *testing.T) {
	const good = `realm="0",nonce="n",qop="auth,auth-int,auth-conf",cipher="3des,rc4",algorithm=md5-sess,charset=utf-8`
	private := []Protection{Privacy}
	for _, c := range []struct {
		challenge string
		accepts   []Protection
		cipher    string
		want      string
	}{
		{strings.Replace(good, `nonce="n",`, "", 1), private, "", "no nonce"},
		{good + `,nonce="m"`, private, "", "nonce twice"},
		{good + `,qop="auth"`, private, "", "qop twice"},
		{strings.Replace(good, "md5-sess", "md5", 1), private, "", "algorithm"},
		{strings.Replace(good, ",algorithm=md5-sess", "", 1), private, "", "algorithm"},
		{strings.Replace(good, "utf-8", "latin1", 1), private, "", "charset"},
		{strings.Replace(good, "auth,auth-int,auth-conf", "auth,auth-int", 1), private, "",
			"authentication,integrity,"},
		{`realm="0",nonce="n",algorithm=md5-sess`, private, "", "offers authentication,"},
		{`realm="0",nonce="n",qop="auth-max",algorithm=md5-sess`, []Protection{Authentication}, "",
			"no known protection"},
		{strings.Replace(good, "3des,rc4", "des,rc4-40", 1), private, "", "des,rc4-40"},
		{good, private, "rc4-56", "dfs.encrypt.data.transfer.algorithm"},
		{`nonce`, private, "", "malformed"},
		{`nonce="n`, private, "", "malformed"},
		{`nonce="n\`, private, "", "malformed"},
		{`nonce="n"qop="auth"`, private, "", "malformed"},
		{`="n"`, private, "", "malformed"},
		{strings.Repeat(",", maxChallenge+1), private, "", "more than"},
	} {
		d := DigestMD5(Digest{User: "u", Password: "topsecret", Preferred: c.accepts, Cipher: c.cipher})
		_, _, err := d.Next([]byte(c.challenge))
		if !testwords.Names(err, c.want) || testwords.Names(err, "topsecret") {
			t.Errorf("%.80s: %v; want %q", c.challenge, err, c.want)
		}
	}
	for _, proof := range []string{"", "rspauth=", "rspauth=00000000000000000000000000000000", "stale=true"} {
		d := DigestMD5(Digest{User: "u", Password: "p", Preferred: private})
		if _, _, err := d.Next([]byte(good)); err != nil {
			t.Fatal(err)
		}
		if _, done, err := d.Next([]byte(proof)); err == nil || done || d.Layer() != nil {
			t.Errorf("a server that proves by %q is believed", proof)
		}
	}
}

// TestDigestQuotes: a quoted text is read back unchanged.
func TestDigestQuotes(t *testing.T) {
	for _, text := range []string{"", "plain", `a "b" \c\`, "with, comma=1"} {
		list, err := parseDirectives([]byte(` , name = ` + quote(text) + ` ,, other=2`))
		if err != nil || !slices.Equal(list, []directive{{"name", text}, {"other", "2"}}) {
			t.Errorf("%q: %q, %v", text, list, err)
		}
	}
}

func TestDigestSecretIsNotPrinted(t *testing.T) {
	d := Digest{User: "u", Password: "topsecret", Service: "hdfs", Host: "0"}
	for _, text := range []string{fmt.Sprint(d), fmt.Sprintf("%+v", d), fmt.Sprintf("%#v", d), fmt.Sprintf("%v", &d)} {
		if strings.Contains(text, "topsecret") {
			t.Error(text)
		}
	}
}

// ends returns both ends of a connection that is protected with integrity or rc4.
func ends(cipher string, chosen Protection) (client, server *digestLayer) {
	d := &digest{Digest: Digest{User: "u", Password: "p", Service: "hdfs", Host: "0"}, chosen: chosen, cnonce: "c",
		challenge: challenge{realm: "0", nonce: "n", cipher: cipher}}
	a, _ := d.protect()
	b, _ := d.protect()
	client, server = a.(*digestLayer), b.(*digestLayer)
	server.in, server.out = server.out, server.in
	return client, server
}

func TestDigestLongStreams(t *testing.T) {
	for _, cipher := range []string{"", "rc4"} {
		chosen := Privacy
		if cipher == "" {
			chosen = Integrity
		}
		client, server := ends(cipher, chosen)
		random := rand.New(rand.NewPCG(1, 2))
		var buffer []byte
		for range 300 {
			plain := make([]byte, 1+random.IntN(1<<17))
			for i := range plain {
				plain[i] = byte(random.Uint32())
			}
			var err error
			if buffer, err = client.Wrap(buffer[:0], plain); err != nil {
				t.Fatal(err)
			}
			if back, err := server.Unwrap(buffer); err != nil || !bytes.Equal(back, plain) {
				t.Fatalf("%d bytes: %v", len(plain), err)
			}
		}
	}
}

func FuzzDigestChallenge(f *testing.F) {
	for _, v := range digestVectors(f) {
		f.Add(v.Challenge, v.Proof)
	}
	f.Add([]byte(`nonce="\"",algorithm=md5-sess,qop=`), []byte("rspauth"))
	f.Fuzz(func(t *testing.T, first, second []byte) {
		d := DigestMD5(Digest{User: "u", Password: "p", Service: "s", Host: "h", Preferred: []Protection{Privacy, Integrity, Authentication}})
		response, done, err := d.Next(first)
		if err != nil {
			return
		}
		if done {
			t.Fatal("done without a proof")
		}
		list, err := parseDirectives(response)
		if err != nil {
			t.Fatalf("our own answer %q: %v", response, err)
		}
		c, _ := parseChallenge(first)
		if i := slices.IndexFunc(list, func(v directive) bool { return v.name == "nonce" }); list[i].value != c.nonce {
			t.Fatalf("nonce %q comes back as %q", c.nonce, list[i].value)
		}
		if _, done, _ := d.Next(second); done {
			t.Fatal("a stranger's proof is believed")
		}
	})
}

func FuzzDigestToken(f *testing.F) {
	for _, v := range digestVectors(f)[1:] {
		f.Add(v.Server[1], "rc4")
		f.Add(v.Server[2], "3des")
		f.Add(v.Server[2], "")
	}
	f.Fuzz(func(t *testing.T, token []byte, cipher string) {
		chosen := Privacy
		if cipher != "rc4" && cipher != "3des" {
			cipher, chosen = "", Integrity
		}
		d := &digest{chosen: chosen, challenge: challenge{nonce: "n", cipher: cipher}, cnonce: "c"}
		l, err := d.protect()
		if err != nil {
			t.Fatal(err)
		}
		if plain, err := l.Unwrap(token); err == nil {
			t.Fatalf("a forged token is believed: %q", plain)
		}
	})
}

func BenchmarkDigest(b *testing.B) {
	for _, cipher := range []string{"", "rc4", "3des"} {
		chosen := Privacy
		if cipher == "" {
			chosen = Integrity
		}
		b.Run(chosen.Token()+cipher, func(b *testing.B) {
			d := &digest{chosen: chosen, challenge: challenge{nonce: "n", cipher: cipher}, cnonce: "c"}
			l, _ := d.protect()
			plain := make([]byte, 64<<10)
			var out []byte
			b.SetBytes(int64(len(plain)))
			b.ReportAllocs()
			for b.Loop() {
				out, _ = l.Wrap(out[:0], plain)
			}
		})
	}
}
