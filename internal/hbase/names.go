package hbase

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
)

// TableName is HBase.proto's TableName.
type TableName struct {
	Namespace string // 1
	Qualifier string // 2
}

// ParseTableName reads "namespace:qualifier", or "qualifier" in the default namespace, and checks the characters as
// org.apache.hadoop.hbase.TableName does.
func ParseTableName(name string) (TableName, error) {
	t := TableName{Namespace: "default", Qualifier: name}
	if namespace, qualifier, ok := strings.Cut(name, ":"); ok {
		t = TableName{Namespace: namespace, Qualifier: qualifier}
	}
	switch {
	case t.Namespace == "" || t.Qualifier == "":
		return t, fmt.Errorf("table name %q lacks a part", name)
	case t.Qualifier[0] == '.' || t.Qualifier[0] == '-':
		return t, fmt.Errorf("table name %q: a table's name can't begin with %q", name, t.Qualifier[:1])
	case strings.ContainsFunc(t.Namespace, func(r rune) bool { return !wordRune(r) }):
		return t, fmt.Errorf("table name %q: a namespace has only letters, digits and _", name)
	case strings.ContainsFunc(t.Qualifier, func(r rune) bool { return !wordRune(r) && r != '-' && r != '.' }):
		return t, fmt.Errorf("table name %q: a table has only letters, digits, _, . and - in its name", name)
	}
	return t, nil
}

func wordRune(r rune) bool {
	return r == '_' || '0' <= r && r <= '9' || 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z'
}

// String is the name as HBase writes it: without the default namespace.
func (t TableName) String() string {
	if t.Namespace == "default" {
		return t.Qualifier
	}
	return t.Namespace + ":" + t.Qualifier
}

func (t TableName) build(m *message) {
	m.string(1, t.Namespace)
	m.string(2, t.Qualifier)
}

func parseTableName(b []byte) (t TableName, err error) {
	err = fields(b, func(f field) error {
		switch f.number {
		case 1:
			t.Namespace = string(f.bytes)
		case 2:
			t.Qualifier = string(f.bytes)
		}
		return nil
	})
	return t, err
}

// buildRegion builds a RegionSpecifier{1 type REGION_NAME, 2 value}.
func buildRegion(name []byte) func(*message) {
	return func(m *message) {
		m.uint(1, 1)
		m.data(2, name)
	}
}

// ParseServerZNode reads the address out of the znodes "master" and "meta-region-server" (RecoverableZooKeeper's
// metadata, then "PBUF" and ZooKeeper.proto's Master or MetaRegionServer, both {1 ServerName}).
func ParseServerZNode(data []byte) (addr string, err error) {
	if len(data) < 5 || data[0] != 0xff {
		return "", errors.New("not a znode of HBase: it does not begin with 0xff")
	}
	skip := binary.BigEndian.Uint32(data[1:])
	if uint64(skip) > uint64(len(data)-5) {
		return "", fmt.Errorf("znode's metadata of %d bytes is longer than the znode", skip)
	}
	pb, ok := bytes.CutPrefix(data[5+skip:], []byte(magic))
	if !ok {
		return "", errors.New("znode holds no protocol buffer")
	}
	err = fields(pb, func(f field) (err error) {
		if f.number == 1 {
			addr, err = parseServerName(f.bytes)
		}
		return err
	})
	if err == nil && addr == "" {
		err = errors.New("znode names no server")
	}
	return addr, err
}

// magic precedes protocol buffers in znodes and in hbase:meta (ProtobufMagic).
const magic = "PBUF"

// ServerName is HBase.proto's ServerName: one life of a server's process.
type ServerName struct {
	Host      string // 1
	Port      uint64 // 2
	StartCode uint64 // 3: when the process began, in epoch milliseconds
}

// Addr is the server's address, host:port.
func (s ServerName) Addr() string { return net.JoinHostPort(s.Host, strconv.FormatUint(s.Port, 10)) }

func (s ServerName) build(m *message) {
	m.string(1, s.Host)
	m.uint(2, s.Port)
	m.uint(3, s.StartCode)
}

func readServerName(b []byte) (s ServerName, err error) {
	err = fields(b, func(f field) error {
		switch f.number {
		case 1:
			s.Host = string(f.bytes)
		case 2:
			s.Port = f.uint
		case 3:
			s.StartCode = f.uint
		}
		return nil
	})
	if err == nil && (s.Host == "" || s.Port == 0 || s.Port > 65535) {
		err = fmt.Errorf("server name without a host and port: %q, %d", s.Host, s.Port)
	}
	return s, err
}

// parseServerName reads a ServerName as "host:port".
func parseServerName(b []byte) (string, error) {
	s, err := readServerName(b)
	return s.Addr(), err
}
