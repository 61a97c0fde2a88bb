package load

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"bulkload/internal/hbase"

	"github.com/sirupsen/logrus"
	"github.com/tsuna/gohbase"
	"github.com/tsuna/gohbase/hrpc"
	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// reader reads through gohbase.
type reader struct {
	keeper *zooKeeper
	user   string
	limits settings

	metaScans atomic.Int64 // of all regions of a table

	mu      sync.Mutex
	client  gohbase.Client   // nil until it is needed
	retired []gohbase.Client // whose servers of ZooKeeper may be gone; requests may be under way still
}

const metaTable = "hbase:meta"

// hush keeps gohbase, which logs through logrus' one logger, from writing to stderr and from ending the program: what
// it calls fatal ends the goroutine instead, and our deadline answers.
var hush = sync.OnceFunc(func() {
	logrus.SetOutput(io.Discard)
	logrus.SetLevel(logrus.FatalLevel)
	logrus.StandardLogger().ExitFunc = func(int) { runtime.Goexit() }
})

func newReader(keeper *zooKeeper, user string, limits settings) *reader {
	hush()
	return &reader{keeper: keeper, user: user, limits: limits}
}

// connect makes the client where there is none. It is given those servers of ZooKeeper that answer now: of a name that is
// not known, or a server that takes connections and is silent, it would make no end.
func (r *reader) connect(ctx context.Context) (gohbase.Client, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		return r.client, nil
	}
	servers, err := r.keeper.answering(ctx)
	if err != nil {
		return nil, err
	}
	r.client = gohbase.NewClient(strings.Join(servers, ","),
		gohbase.ZookeeperRoot(r.keeper.parent),
		gohbase.ZookeeperTimeout(zooKeeperTimeout),
		gohbase.EffectiveUser(r.user),
		gohbase.RegionReadTimeout(r.limits.idle),
		gohbase.RegionLookupTimeout(r.limits.dial),
	)
	return r.client, nil
}

// retire has the next request look again which servers of ZooKeeper answer.
func (r *reader) retire(client gohbase.Client) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client == client {
		r.retired, r.client = append(r.retired, client), nil
	}
}

func (r *reader) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.client != nil {
		r.client.Close()
	}
	for _, client := range r.retired {
		client.Close()
	}
	r.client, r.retired = nil, nil
}

// send sends a request to the region of its row and waits for the answer, for limits.idle at most.
func (r *reader) send(ctx context.Context, call hrpc.Call) (proto.Message, error) {
	limited, cancel := context.WithTimeout(ctx, r.limits.idle)
	defer cancel()
	client, err := r.connect(limited)
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err()
	case err != nil:
		return nil, err
	}
	call.SetContext(limited)
	type result struct {
		message proto.Message
		err     error
	}
	got := make(chan result, 1)
	go func() { // a goroutine of its own, for hush may end it
		message, err := client.(gohbase.RPCClient).SendRPC(call)
		got <- result{message, err}
	}()
	var answer result
	select {
	case answer = <-got:
	case <-limited.Done():
		answer.err = limited.Err()
	}
	switch {
	case answer.err == nil:
		return answer.message, nil
	case errors.Is(ctx.Err(), context.Canceled):
		return nil, ctx.Err()
	case limited.Err() != nil:
		r.retire(client)
		return nil, r.silence(call.Table())
	case errors.Is(answer.err, gohbase.TableNotFound):
		return nil, fmt.Errorf("%w: no region of table %s is known", ErrNotFound, call.Table())
	}
	return nil, answer.err
}

// silence explains why gohbase, which tries again until it is told to stop, has no answer.
func (r *reader) silence(table []byte) error {
	ctx, cancel := context.WithTimeout(context.Background(), 4*time.Second)
	defer cancel()
	addr, err := r.keeper.meta(ctx)
	if err != nil {
		return err
	}
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("%w: no answer from the region server of %s: %w", ErrUnavailable, metaTable, err)
	}
	conn.Close()
	return fmt.Errorf("%w: no answer from a region server of table %s (that of %s, %s, takes connections)", ErrUnavailable, table, metaTable, addr)
}

// tableState reads table:state in hbase:meta, and when it was written (epoch milliseconds); a table without is ErrNotFound.
func (r *reader) tableState(ctx context.Context, id hbase.TableName) (state hbase.TableState, written int64, err error) {
	get, err := hrpc.NewGet(ctx, []byte(metaTable), []byte(id.String()),
		hrpc.Families(map[string][]string{"table": {"state"}}), hrpc.SkipBatch())
	if err != nil {
		return 0, 0, err
	}
	message, err := r.send(ctx, get)
	if err != nil {
		return 0, 0, fmt.Errorf("read the table's state in %s: %w", metaTable, err)
	}
	for _, cell := range message.(*pb.GetResponse).GetResult().GetCell() {
		state, err = hbase.ParseTableState(cell.GetValue())
		return state, int64(cell.GetTimestamp()), err
	}
	return 0, 0, fmt.Errorf("%w: there is no table %s", ErrNotFound, id)
}

// regionColumns are what is read of a region.
var regionColumns = map[string][]string{"info": {"regioninfo", "server", "serverstartcode", "seqnumDuringOpen", "state"}}

// regions reads a table's regions. Parents of a split, which stay until they are cleaned up, are left out. A region
// without a server is errInTransition.
func (r *reader) regions(ctx context.Context, id hbase.TableName) ([]Region, error) {
	s := scan{
		reader:   r,
		table:    metaTable,
		start:    []byte(id.String() + ",,"),
		stop:     []byte(id.String() + " ,,"), // a blank comes right behind the comma in hbase:meta's order of names
		families: regionColumns,
	}
	r.metaScans.Add(1)
	var rows []metaRow
	err := s.run(ctx, func(cell *pb.Cell) error {
		if n := len(rows); n == 0 || !bytes.Equal(rows[n-1].name, cell.Row) {
			rows = append(rows, metaRow{name: bytes.Clone(cell.Row)})
		}
		return rows[len(rows)-1].add(cell)
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", metaTable, err)
	}
	var regions []Region
	for i := range rows {
		region, err := rows[i].region()
		if err != nil {
			return nil, fmt.Errorf("read %s: row %q: %w", metaTable, rows[i].name, err)
		}
		if region != nil {
			regions = append(regions, *region)
		}
	}
	return regions, nil
}

// region reads the row of one region, by its name; nil where it is no more. One without a server is errInTransition.
func (r *reader) region(ctx context.Context, name []byte) (*Region, error) {
	get, err := hrpc.NewGet(ctx, []byte(metaTable), name, hrpc.Families(regionColumns), hrpc.SkipBatch())
	if err != nil {
		return nil, err
	}
	message, err := r.send(ctx, get)
	if err != nil {
		return nil, fmt.Errorf("read region %q in %s: %w", name, metaTable, err)
	}
	row := metaRow{name: name}
	for _, cell := range message.(*pb.GetResponse).GetResult().GetCell() {
		if err := row.add(cell); err != nil {
			return nil, err
		}
	}
	return row.region()
}

// metaRow is one region's row in hbase:meta.
type metaRow struct {
	name   []byte
	info   *hbase.RegionInfo
	server string
	state  string // "" in old clusters

	startCode, openSeq int64
}

func (m *metaRow) add(cell *pb.Cell) (err error) {
	switch string(cell.Qualifier) {
	case "regioninfo":
		if m.info, err = hbase.ParseRegionInfo(cell.Value); err != nil {
			err = fmt.Errorf("read %s: row %q: %w", metaTable, m.name, err)
		}
	case "server":
		m.server = string(cell.Value)
	case "serverstartcode":
		m.startCode = metaNumber(cell.Value)
	case "seqnumDuringOpen":
		m.openSeq = metaNumber(cell.Value)
	case "state":
		m.state = string(cell.Value)
	}
	return err
}

// metaNumber reads a number as Bytes.toBytes writes a long.
func metaNumber(value []byte) int64 {
	if len(value) != 8 {
		return 0
	}
	return int64(binary.BigEndian.Uint64(value))
}

// region is nil for a row that stands for no region with rows of its own.
func (m *metaRow) region() (*Region, error) {
	switch {
	case m.info == nil || m.info.Offline || m.info.Split || m.info.Replica != 0:
		return nil, nil
	case m.server == "" || m.state != "" && m.state != "OPEN":
		return nil, fmt.Errorf("the region is not open (state %q, server %q): %w", m.state, m.server, errInTransition)
	}
	return &Region{Name: m.name, Start: m.info.Start, End: m.info.End, Server: m.server, startCode: m.startCode, openSeq: m.openSeq}, nil
}
