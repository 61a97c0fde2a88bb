package lock

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Owner identifies the holder of a lock. Boot and namespaces are empty if the system does not name them.
type Owner struct {
	Host string `json:"host"`
	PID  int    `json:"pid"`
	// Process says when the process started, so that a reused pid is not mistaken for it.
	Process    string    `json:"process"`
	Boot       string    `json:"boot,omitempty"`       // of the machine
	Namespaces string    `json:"namespaces,omitempty"` // those in which pid and process start are valid
	Token      string    `json:"token,omitempty"`      // unique to this lock; it names the folder of temporary files
	User       string    `json:"user"`
	Since      time.Time `json:"since"`
	Purpose    string    `json:"purpose,omitempty"` // what it does, for people
	Output     string    `json:"output,omitempty"`  // for a table's lock: URI of the output whose lock the owner also has

	// foreign: the lock is a complete document that names nobody in this program's form, so another version may have
	// written it.
	foreign bool
}

// String describes the owner for people.
func (o Owner) String() string {
	if o.blank() {
		return "an unidentified process"
	}
	by := fmt.Sprintf("process %d on %s (user %s, since %s)", o.PID, o.Host, o.User, o.Since.Format(time.RFC3339))
	if o.Purpose == "" {
		return by
	}
	return fmt.Sprintf("%s, by %s", o.Purpose, by)
}

// blank reports whether the lock names nobody: writing it failed, or is still in progress, unless it is foreign.
func (o Owner) blank() bool { return o.PID == 0 }

func (o Owner) same(p Owner) bool {
	return o.Host == p.Host && o.PID == p.PID && o.Process == p.Process && o.Token == p.Token && o.Since.Equal(p.Since)
}

// liveness is what is known about a lock's owner.
type liveness int

const (
	unknown liveness = iota // it can't be seen from this process
	alive
	dead
)

// ended stands for the start of a process that has ended, and is listed only until its parent waits for it.
const ended = "ended"

// processes is this process's view of other processes.
type processes struct {
	proc   string              // mount point of the proc file system
	signal func(pid int) error // reports whether such a process exists
}

var systemProcesses = processes{"/proc", func(pid int) error { return syscall.Kill(pid, 0) }}

// self returns this process as an owner, without what differs in each lock.
func (p processes) self() Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Owner{Host: host, PID: os.Getpid(), Process: p.start("self"), Boot: p.boot(), Namespaces: p.namespaces()}
}

var thisProcess = sync.OnceValue(systemProcesses.self)

// newOwner returns this process as an owner, with a new token.
func newOwner(user string) Owner {
	o := thisProcess()
	o.Token, o.User, o.Since = NewToken(), user, time.Now().UTC().Truncate(time.Second)
	return o
}

const tokenBytes = 8

// NewToken returns a new, unique name for a lock.
func NewToken() string {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // it never fails
	return hex.EncodeToString(b)
}

// isToken reports whether a name has the form of a lock's token.
func isToken(name string) bool {
	return len(name) == 2*tokenBytes && strings.Trim(name, "0123456789abcdef") == ""
}

func (p processes) read(elements ...string) string {
	// A missing file counts as empty, which all callers handle.
	text, _ := os.ReadFile(filepath.Join(append([]string{p.proc}, elements...)...))
	return string(text)
}

// boot identifies the machine's current boot; "" if unknown.
func (p processes) boot() string {
	return strings.TrimSpace(p.read("sys/kernel/random/boot_id"))
}

// BootID identifies the machine's current boot; "" if unknown.
func BootID() string { return systemProcesses.boot() }

// start tells processes with the same pid apart, by the kernel's start time and boot. It is "" if unknown, as for
// another user's process where /proc hides those.
func (p processes) start(pid string) string {
	stat := p.read(pid, "stat")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // the name before it may contain anything
	if len(fields) < 20 {
		return ""
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return ended
	}
	return fields[19] + "@" + p.boot()
}

// namespaces identifies the namespaces of pids and start times. It is "" if unknown, or if /proc shows another pid
// namespace, in which its numbers mean other processes.
func (p processes) namespaces() string {
	for line := range strings.Lines(p.read("self/status")) {
		pids, found := strings.CutPrefix(line, "NSpid:") // this process in /proc's namespace, and in each one within it
		if found && strings.TrimSpace(pids) != strconv.Itoa(os.Getpid()) {
			return ""
		}
		if !found {
			continue
		}
		pid, err := os.Readlink(filepath.Join(p.proc, "self/ns/pid"))
		if err != nil {
			return ""
		}
		clock, _ := os.Readlink(filepath.Join(p.proc, "self/ns/time")) // older kernels have none
		return strings.TrimSpace(pid + " " + clock)
	}
	return ""
}

// liveness determines whether a lock's owner is alive, as far as this process can see it, or why it can't. Only a
// process of the same boot of the same machine, in the same namespaces, is ever called dead. The boot ID identifies the
// machine: host name and machine ID don't, since clones share them.
func (p processes) liveness(o, me Owner) (f liveness, why string) {
	switch {
	case o.blank():
		return unknown, "its lock does not say who it is"
	case o.Host != me.Host:
		return unknown, "it is on another machine"
	case o.Boot == "" || o.Namespaces == "":
		return unknown, "its lock does not say on which boot of the machine and in which container it runs"
	case o.Boot != me.Boot:
		return unknown, "it began before this machine was booted, or on another machine of the same name"
	case o.Namespaces != me.Namespaces:
		return unknown, "it runs in another container (another PID namespace)"
	}
	if errors.Is(p.signal(o.PID), syscall.ESRCH) {
		return dead, ""
	}
	switch now := p.start(strconv.Itoa(o.PID)); {
	case now == "" || o.Process == "":
		return unknown, fmt.Sprintf("%s does not show it to this user", p.proc)
	case now != o.Process: // it has ended, or another process has its number
		return dead, ""
	}
	// This process has released it, but could not delete it.
	if _, held := heldHere.Load(o.Token); o.PID == os.Getpid() && !held {
		return dead, ""
	}
	return alive, ""
}

// heldHere has the tokens of the locks that this process holds. A process may do several runs, so a lock that one of
// them could not delete must not keep the next one out until the process ends.
var heldHere sync.Map
