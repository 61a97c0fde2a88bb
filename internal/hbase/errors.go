package hbase

import (
	"errors"
	"fmt"
	"strings"

	"bulkload/internal/errcode"

	"github.com/tsuna/gohbase/pb"
)

// ErrMalformed marks an answer that violates HBase's protocol. Asking again will not help.
var ErrMalformed = errcode.HBaseAnswer.New("malformed answer")

// ConnError is a failure of the connection: no answer arrived.
type ConnError struct {
	Addr   string // host:port
	Method string // the called method; "" while connecting
	Sent   bool   // the server may have seen the request, and may still be working on it
	Err    error
}

func (e *ConnError) Error() string {
	if e.Method == "" {
		return fmt.Sprintf("connect to HBase server %s: %v", e.Addr, e.Err)
	}
	return fmt.Sprintf("call %s of HBase server %s: %v", e.Method, e.Addr, e.Err)
}

// Unwrap is the cause.
func (e *ConnError) Unwrap() error { return e.Err }

// RemoteError is an exception with which the server answered (ExceptionResponse of RPC.proto).
type RemoteError struct {
	Addr       string // of the server that answered
	Method     string // the called method
	Class      string // with its package
	Message    string // the first line of the stack trace, without the class
	Host       string // the new host of a moved region; "" if the server does not say
	Port       int
	DoNotRetry bool
}

func (e *RemoteError) Error() string {
	return fmt.Sprintf("HBase server %s refused %s: %s: %s", e.Addr, e.Method, e.ShortClass(), e.Message)
}

// ShortClass is the class without its package.
func (e *RemoteError) ShortClass() string { return e.Class[strings.LastIndexByte(e.Class, '.')+1:] }

// IsRemote reports whether err is an exception of one of the classes, given without their packages.
func IsRemote(err error, classes ...string) bool {
	var remote *RemoteError
	if !errors.As(err, &remote) {
		return false
	}
	for _, class := range classes {
		if remote.Class == class || strings.HasSuffix(remote.Class, "."+class) {
			return true
		}
	}
	return false
}

func remoteError(m *pb.ExceptionResponse) *RemoteError {
	class := m.GetExceptionClassName()
	return &RemoteError{
		Class: class, Message: firstLine(m.GetStackTrace(), class),
		Host: m.GetHostname(), Port: int(m.GetPort()), DoNotRetry: m.GetDoNotRetry(),
	}
}

// firstLine extracts the message from a stack trace, which begins "class: message".
func firstLine(stack, class string) string {
	line, _, _ := strings.Cut(stack, "\n")
	line = strings.TrimPrefix(strings.TrimSpace(line), class)
	return strings.TrimSpace(strings.TrimPrefix(line, ":"))
}
