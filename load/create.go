package load

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"bulkload/internal/hbase"
	"bulkload/internal/pause"
)

// createTimeout is how long the creation of a table may take while the master answers. A fresh cluster needs some 20
// seconds for its first table.
const createTimeout = 5 * time.Minute

// pollEvery is the pause between two checks of a procedure.
const pollEvery = 200 * time.Millisecond

// Create makes a table with those families and splits through HBase's master, and its namespace if it is missing, and
// waits until its regions are served. Of a family, Attributes are sent as they are, and the other fields if they are
// set. Splits are in ascending order. A table that already exists is ErrExists. Create returns the namespace that it
// had to create, "" if it existed.
//
// A kill does not stop the master, which completes the creation. The same call then returns ErrExists.
func (c *Cluster) Create(ctx context.Context, name string, families []Family,
	splits [][]byte) (namespace string, err error) {
	limited, cancel := context.WithTimeout(ctx, createTimeout)
	defer cancel()
	namespace, err = c.create(limited, name, families, splits)
	switch {
	case err != nil && namespace != "":
		return namespace, fmt.Errorf("create table %s: namespace %s was created, the table was not: %w", name,
			namespace, classifyBy(ctx, err, isTransient))
	case err != nil:
		return "", fmt.Errorf("create table %s: %w", name, classifyBy(ctx, err, isTransient))
	}
	return namespace, nil
}

func (c *Cluster) create(ctx context.Context, name string, families []Family,
	splits [][]byte) (namespace string, err error) {
	id, err := parseName(name)
	if err != nil {
		return "", err
	}
	if len(families) == 0 {
		return "", fmt.Errorf("%w: a table has at least one family", ErrRefused)
	}
	if err := checkSplits(splits); err != nil {
		return "", err
	}
	old, err := c.isHBase1(ctx, id)
	if err != nil {
		return "", err
	}
	schema := &hbase.TableSchema{Name: id}
	for _, f := range families {
		family := f.schema()
		for name, value := range oldDefaults {
			if _, set := family.Attributes[name]; old && !set {
				family.Attributes[name] = value
			}
		}
		schema.Families = append(schema.Families, family)
	}
	made, err := c.createNamespace(ctx, id.Namespace)
	if err != nil {
		return "", fmt.Errorf("make namespace %s: %w", id.Namespace, err)
	}
	if made {
		namespace = id.Namespace
	}
	nonce := newNonce()
	err = c.runProcedure(ctx, func(ctx context.Context, master *hbase.Conn) (uint64, error) {
		return master.CreateTable(ctx, schema, splits, nonce)
	})
	if hbase.IsRemote(err, "AccessDeniedException") {
		return namespace,
			fmt.Errorf("%w: %s may make no table in namespace %s: grant '%s', 'C', '@%s' in the HBase shell (%w)",
				ErrRefused, c.user, id.Namespace, c.user, id.Namespace, err)
	}
	if err != nil {
		return namespace, err
	}
	_, err = c.regions(ctx, id)
	return namespace, err
}

// checkSplits refuses splits with which the master would accept a table and never finish it. Java's client checks them,
// the master does not.
func checkSplits(splits [][]byte) error {
	for i, row := range splits {
		switch {
		case len(row) == 0:
			return fmt.Errorf("%w: split %d is empty", ErrRefused, i+1)
		case i > 0 && bytes.Compare(splits[i-1], row) >= 0:
			return fmt.Errorf("%w: splits are not in ascending order: %q before %q", ErrRefused, splits[i-1], row)
		}
	}
	return nil
}

func (c *Cluster) createNamespace(ctx context.Context, namespace string) (made bool, err error) {
	exists := false
	err = c.onMasterBriefly(ctx, func(ctx context.Context, master *hbase.Conn) (err error) {
		exists, err = master.NamespaceExists(ctx, namespace)
		return err
	})
	if hbase.IsRemote(err, "AccessDeniedException") {
		return false, nil // checking a namespace needs more rights than creating a table in it
	}
	if err != nil || exists {
		return false, err
	}
	nonce := newNonce()
	err = c.runProcedure(ctx, func(ctx context.Context, master *hbase.Conn) (uint64, error) {
		return master.CreateNamespace(ctx, namespace, nonce)
	})
	if hbase.IsRemote(err, "NamespaceExistException") { // somebody else has created it meanwhile
		return false, nil
	}
	return err == nil, err
}

// runProcedure starts a procedure of the master and waits for its end. start may be called more than once, so its
// request carries a nonce.
//
// A procedure that the master no longer knows is an error: it may or may not have been done, and is never taken for
// done.
func (c *Cluster) runProcedure(ctx context.Context, start func(context.Context, *hbase.Conn) (uint64, error)) error {
	var procedure uint64
	err := c.onMasterBriefly(ctx, func(ctx context.Context, master *hbase.Conn) (err error) {
		procedure, err = start(ctx, master)
		return err
	})
	// HBase 1 has made a namespace when it answers, and names no procedure.
	for done := procedure == 0; err == nil && !done; {
		err = c.onMasterBriefly(ctx, func(ctx context.Context, master *hbase.Conn) (err error) {
			done, err = master.ProcedureDone(ctx, procedure)
			return err
		})
		if err != nil || done {
			break
		}
		if err := pause.For(ctx, pollEvery); err != nil {
			return fmt.Errorf("wait for procedure %d of the master: %w", procedure, err)
		}
	}
	return err
}

// onMasterBriefly is onMaster for one step of a longer operation: the master must answer the step in time.
func (c *Cluster) onMasterBriefly(ctx context.Context, call func(context.Context, *hbase.Conn) error) error {
	ctx, cancel := c.limit(ctx)
	defer cancel()
	return c.onMaster(ctx, call)
}

// newNonce returns a random nonce. Neither half is 0, because HBase reads 0 as no nonce, and would do a repeated
// request twice.
func newNonce() hbase.Nonce { return hbase.Nonce{Group: rand.Uint64() | 1, Value: rand.Uint64() | 1} }
