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
	"bulkload/internal/printable"

	"github.com/colinmarc/hdfs/v2"
)

// failure says whether to try again after an error of a call.
type failure int

const (
	refused   failure = iota // an answer: another try would return the same
	notDone                  // the NameNode has not done it: it was not reached, is on standby or in safe mode
	uncertain                // the connection was lost: it may have been done
)

// noNameNode is the start of the library's plainest error.
const noNameNode = "no available namenodes: "

// retryableExceptions are the exceptions with which a NameNode says that it did nothing and may do it later.
var retryableExceptions = map[string]bool{
	"org.apache.hadoop.ipc.StandbyException":                           true,
	"org.apache.hadoop.ipc.ObserverRetryOnActiveException":             true,
	"org.apache.hadoop.ipc.RetriableException":                         true,
	"org.apache.hadoop.hdfs.server.namenode.SafeModeException":         true,
	"org.apache.hadoop.hdfs.server.namenode.NotReplicatedYetException": true,
	"org.apache.hadoop.hdfs.protocol.RecoveryInProgressException":      true, // of a file whose writer was killed
}

// noDataNodes is the text of BlockManager.chooseTarget4NewBlock, in a plain IOException, if no DataNode is up or has
// room.
const noDataNodes = "could only be written to 0 of the "

// isFinal reports a refusal that needs a person: by a server that does not let us in, or by us. Other errors may be
// joined with it, for example those of another server, or of a later use of the connection; they don't make it less
// final.
func isFinal(err error) bool {
	var login *loginError
	return errors.As(err, &login) ||
		!errors.Is(err, ErrUnavailable) &&
			errcode.Of(err, func(c errcode.Code) bool { return c.Kind() == errcode.Refused }) != ""
}

func kindOf(err error) failure {
	cause := rootCause(err)
	if isFinal(cause) {
		return refused
	}
	var remote hdfs.Error
	if errors.As(cause, &remote) {
		if retryableExceptions[remote.Exception()] || strings.Contains(remote.Message(), noDataNodes) {
			return notDone
		}
		return refused
	}
	var network net.Error
	switch {
	case strings.HasPrefix(cause.Error(), noNameNode), errors.Is(cause, errNoReplica):
		return notDone
	case isCut(cause), errors.As(cause, &network), errors.Is(cause, ErrUnavailable):
		return uncertain
	}
	return refused
}

// rootCause removes the library's *fs.PathError.
func rootCause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}

// explain turns an error of the library, or of one of our calls, into the form that this package promises.
func (h *hdfsFS) explain(op, name string, err error) error {
	cause := rootCause(err)
	var remote hdfs.Error
	var block *blockError
	isRemote := errors.As(cause, &remote)
	switch {
	case isFinal(cause):
	case errors.As(cause, &block) && block.damaged():
		cause = fmt.Errorf("%w: %s: %w; write the file again, or bring up a DataNode that has a sound replica",
			ErrChecksum, h.uri, block)
	case block != nil:
		cause = errcode.HDFSBlockMissing.Errorf("%w: %s: %w: %w", ErrUnavailable, h.uri, ErrDataNode, block)
	case kindOf(err) != refused:
		text := strings.TrimPrefix(strings.TrimPrefix(cause.Error(), noNameNode), ErrUnavailable.Error()+": ")
		if isRemote {
			text = remoteText(remote.Exception(), remote.Message())
		}
		cause = codeOfRemote(text).Errorf("%w: %s: %s", ErrUnavailable, h.uri, text)
	case errors.Is(cause, fs.ErrPermission):
		cause = errcode.Permission.Errorf("%w for the HDFS user %s%s", fs.ErrPermission, h.user, h.names.denied(op, name))
	case isRemote && remote.Exception() == "org.apache.hadoop.fs.ParentNotDirectoryException":
		cause = syscall.ENOTDIR
	case isRemote && strings.HasSuffix(remote.Exception(), "PathComponentTooLongException"):
		cause = fmt.Errorf("%w: %s", syscall.ENAMETOOLONG, remoteText(remote.Exception(), remote.Message()))
	case isRemote:
		text := remoteText(remote.Exception(), remote.Message())
		cause = codeOfRemote(text).New(text)
	}
	return &fs.PathError{Op: op, Path: printable.Name(name), Err: cause}
}

// codeOfRemote is the code for an exception of the NameNode, or for another error of a call.
func codeOfRemote(text string) errcode.Code {
	switch {
	case strings.Contains(text, "SafeModeException"):
		return errcode.HDFSDown
	case strings.Contains(text, noDataNodes):
		return errcode.HDFSNoDataNode
	case strings.Contains(text, errNoReplica.Error()):
		return errcode.HDFSBlockMissing
	case strings.Contains(text, "QuotaExceededException"):
		return errcode.HDFSQuota
	case strings.Contains(text, "InvalidToken"):
		return errcode.KerberosToken
	}
	return ""
}

// remoteText is the text of a Java exception without its package and its stack trace.
func remoteText(class, message string) string {
	text, _, _ := strings.Cut(message, "\n")
	return class[strings.LastIndexByte(class, '.')+1:] + ": " + text
}

// call makes a call of the library, or one of ours. Within timeouts.retry it repeats the call after an error that shows
// that it was not done and, if repeatable, after one that leaves this uncertain.
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
		if denied := h.names.refusal(); kind != refused && denied != nil {
			return &fs.PathError{Op: op, Path: printable.Name(name), Err: denied}
		}
		if kind == refused || kind == uncertain && !repeatable || time.Since(begun) >= h.timeouts.retry {
			return h.explain(op, name, err)
		}
		calllog.Again(context.Background(), h.log, op+" "+name, pause, nil)
		if !h.pause(pause) {
			return h.explain(op, name, err)
		}
	}
}

// pause waits before another try. Some seconds after the command was stopped it returns false, so the last error
// counts.
func (h *hdfsFS) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-h.stopped:
	}
	now := time.Now()
	h.noticed.CompareAndSwap(0, now.UnixNano())
	if now.Sub(time.Unix(0, h.noticed.Load())) >= h.timeouts.stopped {
		return false
	}
	time.Sleep(min(d, h.timeouts.stopped/10))
	return true
}

// unknownHosts reports whether no name server knows the host of any of the addresses.
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
