package hbase

import (
	"bytes"
	"crypto/md5"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	"bulkload/internal/errcode"

	"github.com/tsuna/gohbase/pb"
	"google.golang.org/protobuf/proto"
)

// TableName is HBase.proto's TableName.
type TableName struct {
	Namespace string
	Qualifier string
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
		return t, errcode.TableName.Errorf("table name %q lacks the namespace or the name", name)
	case t.Qualifier[0] == '.' || t.Qualifier[0] == '-':
		return t, errcode.TableName.Errorf("table name %q: a table's name can't begin with %q", name, t.Qualifier[:1])
	case strings.ContainsFunc(t.Namespace, func(r rune) bool { return !wordRune(r) }):
		return t, errcode.TableName.Errorf("table name %q: a namespace has only letters, digits and _", name)
	case strings.ContainsFunc(t.Qualifier, func(r rune) bool { return !wordRune(r) && r != '-' && r != '.' }):
		return t, errcode.TableName.Errorf("table name %q: a table has only letters, digits, _, . and - in its name", name)
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

func (t TableName) message() *pb.TableName {
	return &pb.TableName{Namespace: []byte(t.Namespace), Qualifier: []byte(t.Qualifier)}
}

func tableName(m *pb.TableName) TableName {
	return TableName{Namespace: string(m.GetNamespace()), Qualifier: string(m.GetQualifier())}
}

// regionSpecifier names a region by its whole name.
func regionSpecifier(name []byte) *pb.RegionSpecifier {
	return &pb.RegionSpecifier{Type: pb.RegionSpecifier_REGION_NAME.Enum(), Value: name}
}

// ReplicaName is the name of a region's read replica, 1 or more, made from the region's own name: after the region's id
// comes the replica's number, such as "_0001" in hexadecimal, and the hash is the MD5 of all bytes before it
// (RegionInfo.createRegionName).
func ReplicaName(region []byte, replica int) ([]byte, error) {
	const hash = 2 * md5.Size // hexadecimal, between two dots
	end := len(region) - len("..") - hash
	if end < 0 || region[end] != '.' || region[len(region)-1] != '.' {
		return nil, fmt.Errorf("region %q does not end in its hash", region)
	}
	name := fmt.Appendf(nil, "%s_%04X", region[:end], replica)
	return fmt.Appendf(name, ".%x.", md5.Sum(name)), nil
}

// ParseZNode returns the protocol buffer of a znode: after RecoverableZooKeeper's metadata, and "PBUF".
func ParseZNode(data []byte) ([]byte, error) {
	if len(data) < 5 || data[0] != 0xff {
		return nil, errors.New("not a znode of HBase: it does not begin with 0xff")
	}
	skip := binary.BigEndian.Uint32(data[1:])
	if uint64(skip) > uint64(len(data)-5) {
		return nil, fmt.Errorf("znode's metadata of %d bytes is longer than the znode", skip)
	}
	found, ok := bytes.CutPrefix(data[5+skip:], []byte(magic))
	if !ok {
		return nil, errors.New("znode holds no protocol buffer")
	}
	return found, nil
}

// ParseServerZNode reads the address from the znodes "master" and "meta-region-server": ZooKeeper.proto's Master or
// MetaRegionServer, both {1 ServerName}.
func ParseServerZNode(data []byte) (addr string, err error) {
	found, err := ParseZNode(data)
	if err != nil {
		return "", err
	}
	var master pb.Master // a MetaRegionServer has the server in the same field
	if err := proto.Unmarshal(found, &master); err != nil {
		return "", fmt.Errorf("znode: %w", err)
	}
	server, err := serverName(master.GetMaster())
	return server.Addr(), err
}

// magic precedes protocol buffers in znodes and in hbase:meta (ProtobufMagic).
const magic = "PBUF"

// ServerName is HBase.proto's ServerName: one run of a server's process.
type ServerName struct {
	Host      string
	Port      uint32
	StartCode uint64 // when the process began, in epoch milliseconds
}

// Addr is the server's address, host:port.
func (s ServerName) Addr() string {
	return net.JoinHostPort(s.Host, strconv.FormatUint(uint64(s.Port), 10))
}

func (s ServerName) message() *pb.ServerName {
	return &pb.ServerName{HostName: &s.Host, Port: &s.Port, StartCode: &s.StartCode}
}

func serverName(m *pb.ServerName) (ServerName, error) {
	s := ServerName{Host: m.GetHostName(), Port: m.GetPort(), StartCode: m.GetStartCode()}
	if s.Host == "" || s.Port == 0 || s.Port > 65535 {
		return s, fmt.Errorf("server name without a host and port: %q, %d", s.Host, s.Port)
	}
	return s, nil
}
