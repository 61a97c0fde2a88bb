package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// openFiles is a file system that knows which files are being written. HDFS is one.
type openFiles interface {
	isBeingWritten(name string) (bool, error)
}

var _ openFiles = (*hdfsFS)(nil)

// IsBeingWritten reports whether a file is still being written, as far as the file system knows, so that its size is
// not yet final. HDFS also says so of a file whose writer has died, until it ends the writer's lease. A file that does
// not exist is not being written.
func IsBeingWritten(fsys FS, name string) (bool, error) {
	if f, ok := extension[openFiles](fsys); ok {
		return f.isBeingWritten(name)
	}
	return false, nil
}

func (h *hdfsFS) isBeingWritten(name string) (bool, error) {
	name, err := absolute("look at", name)
	if err != nil {
		return false, err
	}
	a, err := h.names.call(context.Background(), "isFileClosed", message(nil).text(1, name))
	closed, found := false, false // the field of an IsFileClosedResponseProto
	if err == nil {
		err = eachField(a.body, func(f field) error {
			if f.key() == varintField(1) {
				closed, found = f.number != 0, true
			}
			return nil
		})
	}
	if err == nil && !found {
		err = malformedf("the answer does not say it")
	}
	var remote *remoteError
	switch {
	case err == nil:
		return !closed, nil
	case errors.As(err, &remote) && remote.class == classNotFound:
		return false, nil
	case remote != nil && remote.denies():
		err = fmt.Errorf("%w: %w", fs.ErrPermission, err)
	}
	return false, fmt.Errorf("ask whether %s is being written: %w", h.URI(name), err)
}
