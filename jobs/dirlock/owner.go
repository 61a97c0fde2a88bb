package dirlock

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Owner says who holds a lock. An older bulkload's has no boot, namespaces and token.
type Owner struct {
	Host       string    `json:"host"`
	PID        int       `json:"pid"`
	Process    string    `json:"process"`              // when the process began, so that a reused pid is not taken for it
	Boot       string    `json:"boot,omitempty"`       // of the machine
	Namespaces string    `json:"namespaces,omitempty"` // in which pid and process mean something
	Token      string    `json:"token,omitempty"`      // of this lock alone; its temporary files carry it
	User       string    `json:"user"`
	Since      time.Time `json:"since"`
}

// String names the owner for people.
func (o Owner) String() string {
	if o.blank() {
		return "a process that has not said who it is"
	}
	return fmt.Sprintf("process %d on %s (user %s, since %s)", o.PID, o.Host, o.User, o.Since.Format(time.RFC3339))
}

// blank tells whether the lock names nobody: its writing failed, or lasts still.
func (o Owner) blank() bool { return o.PID == 0 }

func (o Owner) same(p Owner) bool {
	return o.Host == p.Host && o.PID == p.PID && o.Process == p.Process && o.Token == p.Token && o.Since.Equal(p.Since)
}

// fate is what is known of a lock's owner.
type fate int

const (
	unknown fate = iota // it can't be seen from here
	alive
	dead
)

// ended stands for the start of a process that has ended and is only listed still, until its parent asks how.
const ended = "ended"

// processes is how this process sees others.
type processes struct {
	proc   string              // where the proc file system is
	signal func(pid int) error // says whether there is such a process
}

var systemProcesses = processes{"/proc", func(pid int) error { return syscall.Kill(pid, 0) }}

// self is the owner that this process is, with a new token.
func (p processes) self(user string) Owner {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown"
	}
	return Owner{host, os.Getpid(), p.start("self"), p.boot(), p.namespaces(), newToken(), user, time.Now().UTC().Truncate(time.Second)}
}

const tokenBytes = 8

func newToken() string {
	b := make([]byte, tokenBytes)
	_, _ = rand.Read(b) // which never fails
	return hex.EncodeToString(b)
}

// IsToken tells whether a name has the form of a lock's token.
func IsToken(name string) bool {
	return len(name) == 2*tokenBytes && strings.Trim(name, "0123456789abcdef") == ""
}

func (p processes) read(elements ...string) string {
	text, _ := os.ReadFile(filepath.Join(append([]string{p.proc}, elements...)...)) // where it is not there, the callers do without
	return string(text)
}

// boot tells one life of the machine from the next; "" where that is not known.
func (p processes) boot() string {
	return strings.TrimSpace(p.read("sys/kernel/random/boot_id"))
}

// BootID tells one life of this machine from the next; "" where that is not known.
func BootID() string { return systemProcesses.boot() }

// start tells one life of a pid from the next: the kernel's start time and boot, or "" where it does not say, as of another
// user's process where /proc hides them.
func (p processes) start(pid string) string {
	stat := p.read(pid, "stat")
	fields := strings.Fields(stat[strings.LastIndexByte(stat, ')')+1:]) // the name before it may hold anything
	if len(fields) < 20 {
		return ""
	}
	if state := fields[0]; state == "Z" || state == "X" {
		return ended
	}
	return fields[19] + "@" + p.boot()
}

// namespaces are those that pids and start times count in. It is "" where they are not known, or where /proc shows the
// processes of another one: its numbers mean others then.
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

// fate finds out what became of a lock's owner, as far as it can be seen from here, and why it can't. Dead is said only of a
// process of the same boot of the same machine, whose number means the same here. A boot ID is one machine's: neither the
// host's name nor its machine ID are, for clones share them.
func (p processes) fate(o, me Owner) (f fate, why string) {
	switch {
	case o.blank():
		return unknown, "it has not said who it is"
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
	case now != o.Process: // it has ended, or is another one with its number
		return dead, ""
	}
	return alive, ""
}
