package yarn

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"bulkload/internal/errcode"
	"bulkload/partition"
)

// tickets is a ticket cache for Hadoop's commands, which can't use a keytab. Its folder is locked as long as the
// process lives. The next process that makes such a folder removes the folders of killed processes.
type tickets struct {
	mu    sync.Mutex
	dir   string
	lock  *os.File
	since time.Time
}

const ticketsPrefix = "bulkload-tickets-"

// ticketLife is how long a ticket is used before another one is fetched; most last ten hours or more.
const ticketLife = time.Hour

// cache returns the name of a ticket cache that is filled from the keytab; "" without one.
func (t *tickets) cache(ctx context.Context, e *Runner) (string, error) {
	if e.Keytab == "" {
		return "", nil
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.makeFolder(cmp.Or(e.WorkDir, os.TempDir())); err != nil {
		return "", fmt.Errorf("make a folder for the ticket of Hadoop's commands: %w", err)
	}
	file := filepath.Join(t.dir, "cache")
	if time.Since(t.since) < ticketLife {
		return "FILE:" + file, nil
	}
	cmd := exec.CommandContext(ctx, "kinit", "-c", file, "-k", "-t", e.Keytab, e.Principal)
	ownGroup(cmd)
	out, err := cmd.CombinedOutput()
	if errors.Is(err, exec.ErrNotFound) {
		return "", errcode.YarnCommands.Errorf("get a ticket for Hadoop's commands: %w; install MIT's krb5 programs "+
			"(krb5-user or krb5-workstation), "+
			"or log in with kinit yourself and leave the keytab out", err)
	}
	if err != nil {
		return "", errcode.KerberosService.Errorf("get a ticket for Hadoop's commands with kinit: %w: %s", err,
			strings.TrimSpace(string(out)))
	}
	t.since = time.Now()
	return "FILE:" + file, nil
}

// makeFolder makes the folder of the cache, unless it exists.
func (t *tickets) makeFolder(work string) error {
	if t.dir != "" {
		return nil
	}
	_, err := partition.MakeWorkFolder(work)
	if err == nil {
		t.dir, t.lock, err = partition.NewLockedFolder(work, ticketsPrefix)
	}
	return err
}

func (t *tickets) remove() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dir == "" {
		return nil
	}
	if err := errors.Join(os.RemoveAll(t.dir), t.lock.Close()); err != nil {
		return fmt.Errorf("delete the ticket cache of Hadoop's commands: %w", err)
	}
	t.dir, t.since = "", time.Time{} // the next folder has no ticket yet
	return nil
}
