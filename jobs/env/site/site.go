// Package site describes where a job runs: the cluster's site files, and the user.
package site

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/user"
	"strconv"

	"bulkload/hfilewriter"
	"bulkload/internal/errcode"
	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// Site describes where a job runs: the cluster's site files, and the user.
type Site struct {
	Conf *siteconf.Conf
	User string          // the user's name in HDFS
	log  options.Options // gets notes
	wrap func(storage.FS) storage.FS

	login   *kerberos.Login // nil if nothing requires Kerberos, or nobody is logged in
	tokens  []storage.Token // of HADOOP_TOKEN_FILE_LOCATION, if nobody is logged in
	noLogin error           // why HBase can't be used with the tokens alone; nil if it can, or with a login
}

// Open reads the site files if they are needed. remote is false for a job that uses local disks only, which must work
// in any environment.
func Open(o options.Options, hbase jobfile.HBase, remote bool) (*Site, error) {
	hbase = Chosen(o, hbase)
	var dirs []string
	if remote {
		if dirs = []string{hbase.Conf}; hbase.Conf == "" {
			dirs = siteconf.FindDirs()
		}
	}
	conf, err := siteconf.Load(dirs...)
	if err != nil {
		return nil, errcode.SiteRead.Errorf("read the site files: %w", err)
	}
	for name, value := range o.Properties {
		if name == "" {
			return nil, errcode.Command.Errorf("-D =%s names no property; write -D NAME=VALUE", value)
		}
		conf.Set(name, value)
	}
	s := &Site{Conf: conf, User: userName(), log: o, wrap: o.Storage}
	s.logProperties(dirs, o.Properties)
	if !remote {
		return s, nil
	}
	return s, s.logIn(hbase.Kerberos)
}

// Chosen returns the folder of site files and the login that a job uses: the command line's, or else its own. Without a
// folder, the environment or the packages' default decides.
func Chosen(o options.Options, h jobfile.HBase) jobfile.HBase {
	h.Conf = cmp.Or(o.Conf, h.Conf)
	if o.Principal != "" {
		h.Kerberos = jobfile.Kerberos{Principal: o.Principal, Keytab: o.Keytab}
	}
	return h
}

// userName returns the user's name for HDFS and HBase.
func userName() string {
	if name := os.Getenv("HADOOP_USER_NAME"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}

// Resolve returns a path's file system.
func (s *Site) Resolve(path, base string) (storage.FS, string, error) {
	if s.log.HDFS != nil && storage.IsHDFS(path) {
		_, name := storage.SplitURI(path)
		return s.log.HDFS, name, nil
	}
	fsys, name, err := storage.ResolveAs(path, base, s.Conf,
		storage.Identity{User: s.User, Login: s.login, Tokens: s.tokens})
	if err == nil {
		storage.Listen(fsys, s.log.Log)
		storage.Throttle(fsys, s.log.Rate)
		storage.Interrupt(fsys, s.log.Stopped)
		if s.wrap != nil {
			fsys = s.wrap(fsys)
		}
	}
	return fsys, name, failure.Early(err)
}

// OpenPath opens the site and the file system for a path on the command line, which is relative to the current folder.
func OpenPath(o options.Options, hbase jobfile.HBase, path string) (s *Site, fsys storage.FS, name string, err error) {
	if s, err = Open(o, hbase, storage.IsHDFS(path)); err != nil {
		return nil, nil, "", err
	}
	if fsys, name, err = s.Resolve(path, "."); err != nil {
		return nil, nil, "", fmt.Errorf("open %s: %w", path, err)
	}
	return s, fsys, name, nil
}

// Connect connects to HBase.
func (s *Site) Connect(ctx context.Context) (*load.Cluster, error) {
	if s.noLogin != nil {
		return nil, s.noLogin
	}
	c, err := load.Connect(ctx, s.Conf,
		load.Caller{User: s.User, Login: s.login, Log: s.log.Log, Rate: s.log.Rate}, s.log.HBase)
	return c, failure.Early(err)
}

// Adjust applies the site files' settings for all HFiles of a cluster, by HBase's property names.
func (s *Site) Adjust(settings *hfilewriter.Settings) error {
	for name, into := range map[string]*int{
		"hfile.index.block.max.size":      &settings.IndexBlockSize,
		"hfile.index.block.min.entries":   &settings.IndexMinEntries,
		"io.storefile.bloom.block.size":   &settings.BloomBlockSize,
		"io.storefile.bloom.max.fold":     &settings.BloomMaxFold,
		"hbase.hstore.bytes.per.checksum": &settings.BytesPerChecksum,
	} {
		text := s.Conf.Get(name, "")
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return errcode.SiteProperty.Errorf("property %s is %q, not a number", name, text)
		}
		*into = n
	}
	if text := s.Conf.Get("io.storefile.bloom.error.rate", ""); text != "" {
		rate, err := strconv.ParseFloat(text, 32)
		if err != nil {
			return errcode.SiteProperty.Errorf("property io.storefile.bloom.error.rate is %q, not a number", text)
		}
		settings.BloomErrorRate = float32(rate)
	}
	if text := s.Conf.Get("hbase.hstore.checksum.algorithm", ""); text != "" {
		sum, err := hfilewriter.ParseChecksum(text)
		if err != nil {
			return errcode.SiteProperty.Errorf("property hbase.hstore.checksum.algorithm: %w", err)
		}
		settings.Checksum = sum
	}
	return s.checkCodec(settings.Compression)
}

// ByteProperties are the properties that, with the job and the table, decide the files' bytes.
var ByteProperties = []string{"hfile.index.block.max.size", "hfile.index.block.min.entries",
	"io.storefile.bloom.block.size",
	"io.storefile.bloom.max.fold", "io.storefile.bloom.error.rate", "hbase.hstore.bytes.per.checksum",
	"hbase.hstore.checksum.algorithm", "hbase.hregion.max.filesize"}

// Properties returns the ByteProperties that the site sets.
func (s *Site) Properties() map[string]string {
	set := map[string]string{}
	for _, name := range ByteProperties {
		if value := s.Conf.Get(name, ""); value != "" {
			set[name] = value
		}
	}
	return set
}

// framed has the codec classes, of HBase's own modules, that frame ZSTD and LZ4 as this program does. Another class may
// frame the same codec differently, as Hadoop's ZStandardCodec does, and can't read our files.
var framed = map[hfilewriter.Compression]struct{ property, class string }{
	hfilewriter.CompressZSTD: {"hbase.io.compress.zstd.codec", "org.apache.hadoop.hbase.io.compress.zstd.ZstdCodec"},
	hfilewriter.CompressLZ4:  {"hbase.io.compress.lz4.codec", "org.apache.hadoop.hbase.io.compress.lz4.Lz4Codec"},
}

// checkCodec refuses a compression whose codec class on the cluster uses another framing.
func (s *Site) checkCodec(c hfilewriter.Compression) error {
	f, ok := framed[c]
	if !ok {
		return nil
	}
	if class := s.Conf.Get(f.property, f.class); class != f.class {
		return errcode.SiteProperty.Errorf("property %s is %s, whose framing of %s is not supported; %s is, and so are "+
			"families with SNAPPY, GZ or NONE", f.property, class, c, f.class)
	}
	return nil
}

// MaxSize returns hbase.hregion.max.filesize, or def if the site does not set it.
func (s *Site) MaxSize(def int64) (int64, error) {
	text := s.Conf.Get("hbase.hregion.max.filesize", "")
	if text == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return 0, errcode.SiteProperty.Errorf("property hbase.hregion.max.filesize is %q, not a number of bytes", text)
	}
	return n, nil
}

// MaxFiles returns how many files of a family a region may get.
func (s *Site) MaxFiles() (int64, error) {
	n, err := load.MaxFiles(s.Conf)
	if err != nil {
		return 0, errcode.SiteProperty.Wrap(err)
	}
	return int64(n), nil
}

// LookUp looks a table up. Its errors have the kind of failures before anything was changed.
func LookUp(ctx context.Context, c *load.Cluster, name string) (*load.Table, error) {
	return lookUp(ctx, c.Table, name)
}

// LookUpThrough is LookUp at the end of a load; see load.Cluster.TableThrough.
func LookUpThrough(ctx context.Context, c *load.Cluster, name string) (*load.Table, error) {
	return lookUp(ctx, c.TableThrough, name)
}

func lookUp(ctx context.Context, table func(context.Context, string) (*load.Table, error),
	name string) (*load.Table, error) {
	found, err := table(ctx, name)
	if err != nil {
		return nil, failure.Early(MissingTable(err))
	}
	return found, nil
}

// MissingTable adds to the error of a look-up how to create a table that does not exist.
func MissingTable(err error) error {
	if errors.Is(err, load.ErrNotFound) {
		return fmt.Errorf("%w; bulkload plan JOB --create makes it", err)
	}
	return err
}

// Number returns a property as a whole number; def if it is not set, or not a positive number.
func (s *Site) Number(name string, def int64) int64 {
	n, err := strconv.ParseInt(s.Conf.Get(name, ""), 10, 64)
	if err != nil || n <= 0 {
		return def
	}
	return n
}
