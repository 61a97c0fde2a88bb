package load

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"bulkload/internal/errcode"
	"bulkload/internal/hbase"
)

// Table describes a table as it is now.
type Table struct {
	Name       string // namespace:name, or name in the default namespace
	Families   []Family
	Regions    []Region          // in order, without gaps
	Attributes map[string]string // of the table, as stored

	stateWritten int64 // when the table's state was written, in epoch milliseconds
}

// Identity is a text that changes when the table is dropped and created, truncated, restored to a snapshot, or disabled
// and enabled, because HBase then writes the table's state anew. A change of only some regions, or of a family, changes
// OpeningsOf their files instead.
//
// Manifest and ledger store it, so its form must not change: every table would seem changed.
func (t *Table) Identity() string {
	sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", t.Name, t.stateWritten))
	return hex.EncodeToString(sum[:12])
}

// Splits are the start rows of all regions but the first.
func (t *Table) Splits() [][]byte {
	var splits [][]byte
	for i, r := range t.Regions {
		if i > 0 {
			splits = append(splits, r.Start)
		}
	}
	return splits
}

// Replicas is how many servers serve each region: 1, or more with read replicas.
func (t *Table) Replicas() int {
	n, err := strconv.Atoi(t.Attributes["REGION_REPLICATION"])
	if err != nil {
		return 1
	}
	return n
}

// Family is a column family and its settings, named as HBase names them; absent ones have HBase's defaults.
type Family struct {
	Name              string
	Compression       string            // NONE, SNAPPY, …
	DataBlockEncoding string            // NONE, FAST_DIFF, …
	BloomFilter       string            // NONE, ROW, …
	BlockSize         int               // bytes
	Attributes        map[string]string // all of them, as stored
}

// HBase's names of the attributes that have their own field, and the defaults (ColumnFamilyDescriptorBuilder).
const (
	compression       = "COMPRESSION"
	dataBlockEncoding = "DATA_BLOCK_ENCODING"
	bloomFilter       = "BLOOMFILTER"
	blockSize         = "BLOCKSIZE"

	defaultBlockSize = 65536
)

// Table looks a table up. A table that does not exist is ErrNotFound, one that is disabled ErrRefused.
func (c *Cluster) Table(ctx context.Context, name string) (*Table, error) {
	limited, cancel := c.limit(ctx)
	defer cancel()
	t, err := c.table(limited, name)
	if err != nil {
		return nil, c.lookUpError(ctx, name, err)
	}
	return t, nil
}

// TableThrough is Table at the end of a load, which waits as long for a master or a server that has died as the load
// does.
func (c *Cluster) TableThrough(ctx context.Context, name string) (*Table, error) {
	end := time.Now().Add(c.limits.outage)
	pause := c.servers.backoff("looking up the table")
	for {
		t, err := c.Table(ctx, name)
		if !errors.Is(err, ErrUnavailable) || time.Now().After(end) || !pause.wait(ctx) {
			return t, err
		}
	}
}

// Describe looks up a table without its regions, which LookUpRegions adds. The families of a table that is not enabled
// are returned together with the error (ErrRefused) that says so.
func (c *Cluster) Describe(ctx context.Context, name string) (*Table, error) {
	limited, cancel := c.limit(ctx)
	defer cancel()
	t, err := c.describe(limited, name)
	if err != nil {
		return t, c.lookUpError(ctx, name, err)
	}
	return t, nil
}

// LookUpRegions adds the regions to a described table. It waits at most that long for regions that are moving.
func (c *Cluster) LookUpRegions(ctx context.Context, t *Table, wait time.Duration) error {
	limited, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	id, err := parseName(t.Name)
	if err == nil {
		t.Regions, err = c.regions(limited, id)
	}
	if err != nil {
		return c.lookUpError(ctx, t.Name, err)
	}
	return nil
}

func (c *Cluster) lookUpError(ctx context.Context, name string, err error) error {
	if hbase.IsRemote(err, "AccessDeniedException") {
		err = errcode.HBasePermission.Errorf(
			"%w: user %s may not read its families: grant '%s', 'C', '%s' in the HBase shell (%w)",
			ErrRefused, c.user, c.user, name, err)
	}
	if text := notFound(""); errors.As(err, &text) { // err itself names the table
		return err
	}
	return fmt.Errorf("look up table %s: %w", name, classify(ctx, err))
}

func (c *Cluster) table(ctx context.Context, name string) (*Table, error) {
	t, err := c.describe(ctx, name)
	if err != nil {
		return nil, err
	}
	id, err := parseName(name)
	if err == nil {
		t.Regions, err = c.regions(ctx, id)
	}
	return t, err
}

func (c *Cluster) describe(ctx context.Context, name string) (*Table, error) {
	id, err := parseName(name)
	if err != nil {
		return nil, err
	}
	written, disabled := c.stateOf(ctx, id)
	if disabled != nil && !errors.Is(disabled, ErrRefused) {
		return nil, disabled
	}
	schema, err := c.schema(ctx, id)
	if err != nil {
		if disabled != nil {
			return nil, disabled
		}
		return nil, err
	}
	t := &Table{Name: id.String(), Attributes: schema.Attributes, stateWritten: written}
	for _, f := range schema.Families {
		family, err := parseFamily(f)
		if err != nil {
			return nil, err
		}
		t.Families = append(t.Families, family)
	}
	return t, disabled
}

func parseName(name string) (hbase.TableName, error) {
	id, err := hbase.ParseTableName(name)
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrRefused, err)
	}
	return id, err
}

// usable refuses a table that does not exist or is not enabled.
func (c *Cluster) usable(ctx context.Context, id hbase.TableName) error {
	_, err := c.stateOf(ctx, id)
	return err
}

// stateOf is usable, and also returns when the table's state was last written (epoch milliseconds): when it was
// created, enabled, truncated or restored.
//
// HBase 1 is recognised here: its hbase:meta has no family for states, which are in ZooKeeper.
func (c *Cluster) stateOf(ctx context.Context, id hbase.TableName) (written int64, err error) {
	state, written, err := c.reader.tableState(ctx, id)
	if hbase.IsRemote(err, "NoSuchColumnFamilyException") {
		c.era.Store(1)
		state, written, err = c.oldState(ctx, id)
	} else if err == nil || errors.Is(err, ErrNotFound) {
		c.era.Store(2)
	}
	if err != nil {
		return 0, err
	}
	if state != hbase.Enabled {
		return 0, errcode.TableDisabled.Errorf("%w: the table is %s, not ENABLED: enable '%s' in the HBase shell",
			ErrRefused, state, id)
	}
	return written, nil
}

func (c *Cluster) schema(ctx context.Context, id hbase.TableName) (schema *hbase.TableSchema, err error) {
	err = c.onMaster(ctx, func(ctx context.Context, master *hbase.Conn) (err error) {
		schema, err = master.TableDescriptor(ctx, id)
		return err
	})
	if err == nil && schema == nil {
		err = errcode.TableMissing.Errorf("%w: the master knows no table %s", ErrNotFound, id)
	}
	return schema, err
}

func parseFamily(s hbase.FamilySchema) (Family, error) {
	attribute := func(name, def string) string {
		if value, ok := s.Attributes[name]; ok {
			return value
		}
		return def
	}
	f := Family{
		Name:              s.Name,
		Compression:       attribute(compression, "NONE"),
		DataBlockEncoding: attribute(dataBlockEncoding, "NONE"),
		BloomFilter:       attribute(bloomFilter, "ROW"),
		Attributes:        s.Attributes,
	}
	size := attribute(blockSize, strconv.Itoa(defaultBlockSize))
	var err error
	if f.BlockSize, err = strconv.Atoi(size); err != nil || f.BlockSize <= 0 {
		return f, fmt.Errorf("family %s has %s %q, which is not a number of bytes", s.Name, blockSize, size)
	}
	return f, nil
}

// schema is the reverse: fields that are set override Attributes, and anything set in neither is left to HBase.
func (f *Family) schema() hbase.FamilySchema {
	s := hbase.FamilySchema{Name: f.Name, Attributes: maps.Clone(f.Attributes)}
	if s.Attributes == nil {
		s.Attributes = make(map[string]string)
	}
	for name, value := range map[string]string{compression: f.Compression, dataBlockEncoding: f.DataBlockEncoding,
		bloomFilter: f.BloomFilter} {
		if value != "" {
			s.Attributes[name] = value
		}
	}
	if f.BlockSize > 0 {
		s.Attributes[blockSize] = strconv.Itoa(f.BlockSize)
	}
	return s
}

func (t *Table) hasFamily(name string) bool {
	return slices.ContainsFunc(t.Families, func(f Family) bool { return f.Name == name })
}
