package storage

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"path"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/test/testcluster"
	"bulkload/internal/test/testwords"
)

// dataNodes are DataNodes by address. Each answers every request for a block from the given byte on with the bytes that
// a function returns, and then hangs up; nil: it refuses connections.
type dataNodes map[string]func(from int) []byte

func (d dataNodes) dial(_ context.Context, _, address string) (net.Conn, error) {
	answer := d[address]
	if answer == nil {
		return nil, syscall.ECONNREFUSED
	}
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		if op, from := readsFrom(far); op {
			_, _ = far.Write(answer(from))
		}
	}()
	return near, nil
}

// readsFrom reads a READ_BLOCK operation, and returns the byte of the block at which it begins.
func readsFrom(c net.Conn) (ok bool, from int) {
	b := make([]byte, operationLead)
	if _, err := io.ReadFull(c, b); err != nil || b[1] != transferVersion || b[2] != readBlock {
		return false, 0
	}
	op, err := readDelimited(c, maxOperation)
	if err != nil {
		return false, 0
	}
	err = eachField(op, func(f field) error {
		if f.key() == varintField(2) {
			from = int(f.number)
		}
		return nil
	})
	return err == nil, from
}

// file is a file of one block with a replica on each of the addresses.
func (d dataNodes) file(notes *[]string, size int, addresses ...string) *hdfsFile {
	names := &rpcClient{security: &security{}}
	h := &hdfsFS{uri: "hdfs://nn", names: names, blocks: &transfers{names: names, dial: d.dial},
		replicas: &replicas{log: noting(func(s string) { *notes = append(*notes, s) })}}
	b := locatedBlock{id: blockID{"BP-1", 7}, length: int64(size)}
	for _, a := range addresses {
		b.replicas = append(b.replicas, replica{address: a})
	}
	return &hdfsFile{fs: h, name: "/f", located: located{size: int64(size), blocks: []locatedBlock{b}}}
}

func soundBlock(block []byte) func(int) []byte {
	return func(from int) []byte { return answering{checksumCRC32C, 512, 4096, from}.answer(block) }
}

// TestReplicas: a file is read from any replica that is sound, and the last error has the answers of all DataNodes, and
// distinguishes damage from temporary failures.
func TestReplicas(t *testing.T) {
	block := noise(30_000)
	wrong := func(from int) []byte {
		b := soundBlock(block)(from)
		b[len(b)-200] ^= 1 // in the last chunk
		return b
	}
	cut := func(from int) []byte { b := soundBlock(block)(from); return b[:len(b)/2] }
	bare := func(from int) []byte { return answering{checksumNone, 512, 4096, from}.answer(block) }
	damage := []string{"blk_7", "BP-1", "dn1: CRC32C of its bytes 29696 to 29999"}
	for name, c := range map[string]struct {
		nodes   dataNodes
		notes   int
		damaged bool
		wants   []string // nil: the file is read
	}{
		"sound":                   {dataNodes{"dn1": soundBlock(block)}, 0, false, nil},
		"one damaged":             {dataNodes{"dn1": wrong, "dn2": soundBlock(block)}, 1, false, nil},
		"one down":                {dataNodes{"dn1": nil, "dn2": soundBlock(block)}, 0, false, nil},
		"one ends early":          {dataNodes{"dn1": cut, "dn2": soundBlock(block)}, 0, false, nil},
		"one bare, one damaged":   {dataNodes{"dn1": wrong, "dn2": bare}, 2, false, nil},
		"bare":                    {dataNodes{"dn1": bare}, 1, false, nil},
		"the only one is damaged": {dataNodes{"dn1": wrong}, 1, true, damage},
		"all damaged":             {dataNodes{"dn1": wrong, "dn2": wrong}, 2, true, append(damage, "dn2: CRC32C")},
		"damaged and down":        {dataNodes{"dn1": wrong, "dn2": nil}, 1, false, append(damage, "dn2: "+syscall.ECONNREFUSED.Error())},
	} {
		t.Run(name, func(t *testing.T) {
			var notes []string
			addresses := []string{"dn1", "dn2"}[:len(c.nodes)]
			f := c.nodes.file(&notes, len(block), addresses...)
			var blocked *blockError
			at, err := 0, error(nil)
			for at < len(block) && err == nil {
				piece := make([]byte, 1000)
				var n int
				n, err = f.readBlock(piece, int64(at))
				if !bytes.HasPrefix(block[at:], piece[:n]) {
					t.Fatalf("wrong bytes from %d on", at)
				}
				at += n
			}
			switch {
			case c.wants == nil && err != nil:
				t.Error(err)
			case c.wants != nil && (!errors.As(err, &blocked) || blocked.damaged() != c.damaged || !testwords.Names(err, c.wants...)):
				t.Errorf("after %d bytes: %v", at, err)
			}
			notes = slices.DeleteFunc(notes, func(s string) bool { return strings.Contains(s, "could not be reported") }) // there is no NameNode
			if len(notes) != c.notes {
				t.Errorf("notes: %q", notes)
			}
			check(t, f.Close())
		})
	}
}

// locations is a NameNode's answer to getBlockLocations: a file of the given size in one block.
func locations(size, block uint64, generation uint64, nodes ...string) message {
	b := message(nil).bytes(1, message(nil).text(1, "BP-1").number(2, 7).number(3, generation).number(4, block)).number(2, 0).number(4, 0).
		bytes(5, Token{}.message())
	for _, n := range nodes {
		b = b.bytes(3, message(nil).bytes(1, message(nil).text(1, n).number(4, 9866)))
	}
	return message(nil).bytes(1, message(nil).number(1, size).bytes(2, b).number(3, 0).number(5, 1))
}

// TestNewLocations: if no replica can be read, the NameNode is asked again where the blocks are. The same file is read
// on, and another one is an error.
func TestNewLocations(t *testing.T) {
	block := noise(3000)
	wrong := func(from int) []byte {
		b := soundBlock(block)(from)
		b[len(b)-200] ^= 1
		return b
	}
	size := uint64(len(block))
	for name, c := range map[string]struct {
		now  message
		want errcode.Code // "": the file is read
	}{
		"the same file elsewhere":     {locations(size, size, 1, "dn2"), ""},
		"an append since":             {locations(size, size, 2, "dn2"), errcode.InputChanged},
		"another length":              {locations(size-1, size-1, 1, "dn2"), errcode.InputChanged},
		"no length":                   {message(nil).bytes(1, message(nil).number(3, 0)), "malformed"},
		"blocks shorter than a file":  {locations(size, size-1, 1, "dn2"), "malformed"},
		"a last block being replaced": {message(nil).bytes(1, message(nil).number(1, 0).number(5, 0)), errcode.InputChanged},
	} {
		t.Run(name, func(t *testing.T) {
			a := newBusyNameNode(t, 1000)
			first := locations(size, size, 1, "dn1")
			a.answer.Store(&first)
			var notes []string
			f := dataNodes{"dn1:9866": wrong, "dn2:9866": soundBlock(block)}.file(&notes, len(block))
			f.fs.names, f.fs.timeouts.retry, f.blocks = a.client(), time.Second, nil
			check(t, f.open())
			p := make([]byte, 3000)
			n, err := f.ReadAt(p[:1000], 0)
			check(t, err)
			a.answer.Store(&c.now)
			_, err = f.ReadAt(p[n:], int64(n))
			switch {
			case c.want == "" && (err != nil || !bytes.Equal(p, block)):
				t.Error(err)
			case c.want == "malformed" && !testwords.Names(err, "malformed"), c.want == errcode.InputChanged && errcode.Outermost(err) != c.want:
				t.Error(err)
			}
			check(t, f.Close())
		})
	}
}

// TestSizes: a file's size is that of its listing. A last block that is not complete counts, and a file in a snapshot
// ends before its last block does.
func TestSizes(t *testing.T) {
	block := noise(3000)
	incomplete := func(listed bool) message {
		last := message(nil).bytes(1, message(nil).text(1, "BP-1").number(2, 7).number(4, 3000)).number(2, 0).number(4, 0).
			bytes(3, message(nil).bytes(1, message(nil).text(1, "dn1").number(4, 9866)))
		m := message(nil).number(1, 0)
		if listed {
			m = m.bytes(2, last)
		}
		return message(nil).bytes(1, m.number(3, 1).bytes(4, last).number(5, 0))
	}
	for name, c := range map[string]struct {
		answer message
		size   int
	}{
		"complete":             {locations(3000, 3000, 1, "dn1"), 3000},
		"in a snapshot":        {locations(1234, 3000, 1, "dn1"), 1234},
		"incomplete":           {incomplete(true), 3000},
		"incomplete, unlisted": {incomplete(false), 3000},
	} {
		a := newBusyNameNode(t, 1000)
		a.answer.Store(&c.answer)
		var notes []string
		f := dataNodes{"dn1:9866": soundBlock(block)}.file(&notes, 0)
		f.fs.names, f.blocks = a.client(), nil
		check(t, f.open())
		got, err := io.ReadAll(f)
		if err != nil || !bytes.Equal(got, block[:c.size]) || f.Size() != int64(c.size) {
			t.Errorf("%s: %d bytes of %d, size %d, %v", name, len(got), c.size, f.Size(), err)
		}
		n, err := f.ReadAt(make([]byte, 3000), 0)
		if n != c.size || (n < 3000) != (err == io.EOF) {
			t.Errorf("%s: %d bytes, %v", name, n, err)
		}
		check(t, f.Close())
	}
}

// TestSkippedDamage: damage in bytes that are only skipped does not end the reading of others.
func TestSkippedDamage(t *testing.T) {
	block := noise(60_000)
	var notes []string
	f := dataNodes{"dn1": func(from int) []byte {
		a := answering{checksumCRC32C, 512, 4096, from}
		b := a.answer(block)
		if at := bytes.Index(b, block[20_000:20_050]); at >= 0 {
			b[at] ^= 1
		}
		return b
	}}.file(&notes, len(block), "dn1")
	p := make([]byte, 100)
	for _, at := range []int64{0, 40_000} {
		if n, err := f.ReadAt(p, at); err != nil || !bytes.Equal(p, block[at:at+int64(n)]) {
			t.Errorf("at %d: %v", at, err)
		}
	}
	check(t, f.Close())
}

// TestReadAllocates: reading on in a block allocates nothing.
func TestReadAllocates(t *testing.T) {
	block := noise(8 << 20)
	var notes []string
	f := dataNodes{"dn1": func(from int) []byte { return answering{checksumCRC32C, 512, 65536, from}.answer(block) }}.file(&notes, len(block), "dn1")
	p := make([]byte, 64<<10)
	read := func() {
		if _, err := io.ReadFull(f, p); err != nil {
			t.Fatal(err)
		}
	}
	read()
	read()
	if n := testing.AllocsPerRun(50, read); n != 0 {
		t.Errorf("%v allocations a read", n)
	}
	check(t, f.Close())
}

// TestSeeks reads a file of several blocks at many places, forwards and backwards.
func TestSeeks(t *testing.T) {
	content := noise(100_000)
	asked := 0
	var notes []string
	nodes := dataNodes{}
	f := nodes.file(&notes, len(content))
	f.blocks = nil
	for at := 0; at < len(content); at += 30_000 {
		part := content[at:min(at+30_000, len(content))]
		address := string(rune('a' + at/30_000))
		nodes[address] = func(from int) []byte { asked++; return soundBlock(part)(from) }
		f.blocks = append(f.blocks, locatedBlock{id: blockID{"BP-1", uint64(at)}, offset: int64(at), length: int64(len(part)),
			replicas: []replica{{address: address}}})
	}
	for _, at := range []int64{0, 10, 5_000, 29_999, 4_000, 30_000, 60_100, 99_990, 89_999, 0} {
		p := make([]byte, min(200, len(content)-int(at)))
		if _, err := f.ReadAt(p, at); err != nil || !bytes.Equal(p, content[at:int(at)+len(p)]) {
			t.Errorf("at %d: %v", at, err)
		}
	}
	if got, err := io.ReadAll(f); err != nil || !bytes.Equal(got, content) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	check(t, f.Close())
	if asked > 14 { // each block, and again after each step backwards
		t.Errorf("%d requests", asked)
	}
	if _, err := f.readBlock(make([]byte, 1), 100_000); !testwords.Names(err, "byte 100000") {
		t.Error(err)
	}
}

// TestFailedDataNodesAreLast: a DataNode that failed is asked last for the next block.
func TestFailedDataNodesAreLast(t *testing.T) {
	r := &replicas{}
	b := &locatedBlock{replicas: []replica{{address: "dn1"}, {address: "dn2"}, {address: "dn3"}}}
	first := func() string { return r.choose(b, &blockError{}).address }
	for _, want := range []string{"dn1", "dn2", "dn3", "dn1"} {
		if got := first(); got != want {
			t.Errorf("%s is asked first, want %s", got, want)
		}
		r.fail(&blockError{}, want, io.ErrUnexpectedEOF)
		time.Sleep(time.Millisecond)
	}
	failed := &blockError{failures: []replicaFailure{{"dn1", io.EOF}, {"dn2", io.EOF}, {"dn3", io.EOF}}}
	if got := r.choose(b, failed); got != nil {
		t.Errorf("%s is asked again", got.address)
	}
}

func TestNotesAreBounded(t *testing.T) {
	said := 0
	r := &replicas{log: noting(func(string) { said++ })}
	for i := range 100 {
		for range 2 {
			r.fail(&blockError{block: blockID{"BP-1", uint64(i)}}, "dn1", &damagedError{kind: checksumCRC32})
		}
	}
	if said != maxNoted+1 {
		t.Errorf("%d notes", said)
	}
}

// TestReplacedWhileRead: a reader of a file that is replaced gets the whole old content or an error, and ReadFile gets
// one of both contents.
func TestReplacedWhileRead(t *testing.T) {
	fsys, root := onHDFS(t, siteOf(t, testcluster.Use(t)))
	name, temp := path.Join(root, "f"), path.Join(root, "temp")
	text := func(i int) []byte { return []byte(strings.Repeat("x", 1000+i) + "\n") }
	check(t, CreateFile(fsys, name, text(0)))
	f, err := fsys.Open(name)
	check(t, err)
	defer f.Close()
	check(t, ReplaceFile(fsys, name, temp, bytes.ToUpper(text(0)))) // as long
	if got, err := io.ReadAll(f); !bytes.Equal(got, text(0)) && errcode.Outermost(err) != errcode.InputChanged {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	if err := f.(*hdfsFile).open(); errcode.Outermost(err) != errcode.InputChanged {
		t.Errorf("found again: %v", err)
	}
	check(t, ReplaceFile(fsys, name, temp, text(0)))
	done := make(chan error)
	go func() {
		var err error
		for i := 1; i < 100 && err == nil; i++ {
			err = ReplaceFile(fsys, name, temp, text(i))
		}
		done <- err
	}()
	other, _ := onHDFS(t, siteOf(t, testcluster.Use(t)))
	for replacing := true; replacing; {
		select {
		case err := <-done:
			check(t, err)
			replacing = false
		default:
		}
		got, err := ReadFile(other, name, 10_000)
		if err != nil || len(got) < 1001 || !bytes.Equal(got, text(len(got)-1001)) {
			t.Fatalf("%d bytes, %v", len(got), err)
		}
	}
}
