package storage

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"time"

	"bulkload/internal/calllog"
	"bulkload/internal/errcode"

	"github.com/colinmarc/hdfs/v2"
)

// failure is what an error of the client library means for trying again.
type failure int

const (
	refused   failure = iota // an answer: trying again would give the same
	notDone                  // the NameNode has not done it: it was not reached, is on standby or in safe mode
	uncertain                // the connection was lost: it may have been done
)

// noNameNode is how the library's plainest error begins.
const noNameNode = "no available namenodes: "

// notNow are the exceptions by which a NameNode says that it did nothing and may do it later.
var notNow = map[string]bool{
	"org.apache.hadoop.ipc.StandbyException":                           true,
	"org.apache.hadoop.ipc.ObserverRetryOnActiveException":             true,
	"org.apache.hadoop.ipc.RetriableException":                         true,
	"org.apache.hadoop.hdfs.server.namenode.SafeModeException":         true,
	"org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException": true,
}

// noDataNodes is how BlockManager.chooseTarget4NewBlock says, by a plain IOException, that no DataNode is up or has room.
const noDataNodes = "could only be written to 0 of the "

// noReplica is what the library says of a block that is on no DataNode the NameNode knows to be up.
const noReplica = "no available datanodes"

func kindOf(err error) failure {
	cause := bare(err)
	var remote hdfs.Error
	if errors.As(cause, &remote) {
		if notNow[remote.Exception()] || strings.Contains(remote.Message(), noDataNodes) {
			return notDone
		}
		return refused
	}
	var network net.Error
	switch {
	case strings.HasPrefix(cause.Error(), noNameNode), cause.Error() == noReplica:
		return notDone
	case isCut(cause), errors.As(cause, &network), cause.Error() == "unexpected sequence number":
		return uncertain
	}
	return refused
}

// bare takes the library's *fs.PathError off.
func bare(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// explain gives an error of the library the shape that this package promises.
func (h *hdfsFS) explain(op, name string, err error) error {
	cause := bare(err)
	var remote hdfs.Error
	var block *blockError
	isRemote := errors.As(cause, &remote)
	switch {
	case errors.As(cause, &block) && block.damaged():
		cause = fmt.Errorf("%w: %s: %w; write the file again, or bring up a DataNode that has a sound replica", ErrChecksum, h.uri, block)
	case block != nil:
		cause = errcode.HDFSBlockMissing.Errorf("%w: %s: %w", ErrUnavailable, h.uri, block)
	case kindOf(err) != refused:
		text := strings.TrimPrefix(cause.Error(), noNameNode)
		if isRemote {
			text = remoteText(remote.Exception(), remote.Message())
		}
		cause = codeOfRemote(text).Errorf("%w: %s: %s", ErrUnavailable, h.uri, text)
	case errors.Is(cause, fs.ErrPermission):
		cause = errcode.HDFSPermission.Errorf("%w for the HDFS user %s%s", fs.ErrPermission, h.user, h.names.denied(name))
	case isRemote && remote.Exception() == "org.apache.hadoop.fs.ParentNotDirectoryException":
		cause = syscall.ENOTDIR
	case isRemote:
		text := remoteText(remote.Exception(), remote.Message())
		cause = codeOfRemote(text).New(text)
	}
	return &fs.PathError{Op: op, Path: name, Err: cause}
}

// codeOfRemote is the code of an exception of the NameNode, or of what the library says.
func codeOfRemote(text string) errcode.Code {
	switch {
	case strings.Contains(text, "SafeModeException"):
		return errcode.HDFSSafeMode
	case strings.Contains(text, noDataNodes):
		return errcode.HDFSNoDataNode
	case strings.Contains(text, noReplica):
		return errcode.HDFSBlockMissing
	case strings.Contains(text, "QuotaExceededException"):
		return errcode.HDFSQuota
	}
	return ""
}

// remoteText is a Java exception without its package and its stack trace.
func remoteText(class, message string) string {
	text, _, _ := strings.Cut(message, "\n")
	return class[strings.LastIndexByte(class, '.')+1:] + ": " + text
}

// call makes a call of the library, and again while it is sure (or, where repeatable, no matter) that it has not been
// done, within the file system's patience.
func (h *hdfsFS) call(op, name string, repeatable bool, f func() error) error {
	begun := time.Now()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		asked := time.Now()
		err := f()
		calllog.Call(context.Background(), h.log, h.uri, op+" "+name, asked, err)
		if err == nil {
			return nil
		}
		kind := kindOf(err)
		if refused := h.names.refusal(); kind == notDone && refused != nil {
			return &fs.PathError{Op: op, Path: name, Err: refused}
		}
		if kind == refused || kind == uncertain && !repeatable || time.Since(begun) >= h.patience.retry {
			return h.explain(op, name, err)
		}
		calllog.Again(context.Background(), h.log, op+" "+name, pause, nil)
		time.Sleep(pause)
	}
}

// unknownHosts says whether an address's host is one that no name server knows, of all of them.
func unknownHosts(addresses []string) bool {
	for _, address := range addresses {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return false
		}
		var dns *net.DNSError
		if _, err := net.LookupHost(host); !errors.As(err, &dns) || !dns.IsNotFound {
			return false
		}
	}
	return true
}
