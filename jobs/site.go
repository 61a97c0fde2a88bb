package jobs

import (
	"context"
	"os"
	"os/user"
	"strconv"

	"bulkload/hfilewriter"
	"bulkload/internal/kerberos"
	"bulkload/internal/siteconf"
	"bulkload/internal/storage"
	"bulkload/jobs/failure"
	"bulkload/jobs/jobfile"
	"bulkload/jobs/options"
	"bulkload/load"
)

// site is where a job runs: the cluster's site files and who we are there.
type site struct {
	conf *siteconf.Conf
	user string       // as HDFS names us
	say  func(string) // nil: nobody listens

	login  *kerberos.Login // nil where nothing wants Kerberos, or nobody is logged in
	tokens []storage.Token // of HADOOP_TOKEN_FILE_LOCATION
}

// openSite reads the site files where something needs them: remote is false for a job that stays on local disks, which
// must work whatever the environment points to.
func openSite(o options.Options, hbase jobfile.HBase, remote bool) (*site, error) {
	var dirs []string
	if remote {
		dirs = siteDirs(o.Conf, hbase.Conf)
	}
	conf, err := siteconf.Load(dirs...)
	if err != nil {
		return nil, failure.Usagef("read the site files: %w", err)
	}
	for name, value := range o.Properties {
		if name == "" {
			return nil, failure.Usagef("-D =%s names no property; write -D NAME=VALUE", value)
		}
		conf.Set(name, value)
	}
	s := &site{conf: conf, user: userName(), say: o.Say}
	if !remote {
		return s, nil
	}
	return s, s.logIn(hbase.Kerberos)
}

// siteDirs are the folders of site files: what the command line says, else the job, else the environment, else where
// packages put them.
func siteDirs(flag, job string) []string {
	switch {
	case flag != "":
		return []string{flag}
	case job != "":
		return []string{job}
	}
	return siteconf.FindDirs()
}

// userName is who HDFS and HBase take us for.
func userName() string {
	if name := os.Getenv("HADOOP_USER_NAME"); name != "" {
		return name
	}
	if u, err := user.Current(); err == nil {
		return u.Username
	}
	return os.Getenv("USER")
}

// resolve finds a path's file system.
func (s *site) resolve(path, base string) (storage.FS, string, error) {
	fsys, name, err := storage.ResolveAs(path, base, s.conf, storage.Identity{User: s.user, Login: s.login, Tokens: s.tokens})
	if err == nil {
		storage.Listen(fsys, s.say)
	}
	return fsys, name, beforehand(err)
}

// connect reaches HBase.
func (s *site) connect(ctx context.Context) (*load.Cluster, error) {
	c, err := load.ConnectAs(ctx, s.conf, load.Identity{User: s.user, Login: s.login})
	return c, beforehand(err)
}

// beforehand gives an error its kind that comes when nothing was changed yet, such as that of missing site files.
func beforehand(err error) error {
	if err != nil && failure.KindOf(err) == failure.Failed {
		return failure.New(failure.Refused, err)
	}
	return err
}

// adjust fills in what the site files say of all HFiles of a cluster, by HBase's property names.
func (s *site) adjust(settings *hfilewriter.Settings) error {
	for name, into := range map[string]*int{
		"hfile.index.block.max.size":      &settings.IndexBlockSize,
		"hfile.index.block.min.entries":   &settings.IndexMinEntries,
		"io.storefile.bloom.block.size":   &settings.BloomBlockSize,
		"io.storefile.bloom.max.fold":     &settings.BloomMaxFold,
		"hbase.hstore.bytes.per.checksum": &settings.BytesPerChecksum,
	} {
		text := s.conf.Get(name, "")
		if text == "" {
			continue
		}
		n, err := strconv.Atoi(text)
		if err != nil {
			return failure.Refusef("property %s is %q, not a number", name, text)
		}
		*into = n
	}
	if text := s.conf.Get("io.storefile.bloom.error.rate", ""); text != "" {
		rate, err := strconv.ParseFloat(text, 32)
		if err != nil {
			return failure.Refusef("property io.storefile.bloom.error.rate is %q, not a number", text)
		}
		settings.BloomErrorRate = float32(rate)
	}
	if text := s.conf.Get("hbase.hstore.checksum.algorithm", ""); text != "" {
		sum, err := hfilewriter.ParseChecksum(text)
		if err != nil {
			return failure.Refusef("property hbase.hstore.checksum.algorithm: %w", err)
		}
		settings.Checksum = sum
	}
	return s.checkCodec(settings.Compression)
}

// byteProperties are those that decide bytes of the files beside the job and the table.
var byteProperties = []string{"hfile.index.block.max.size", "hfile.index.block.min.entries", "io.storefile.bloom.block.size",
	"io.storefile.bloom.max.fold", "io.storefile.bloom.error.rate", "hbase.hstore.bytes.per.checksum",
	"hbase.hstore.checksum.algorithm", "hbase.hregion.max.filesize"}

// properties are the byteProperties that the site sets.
func (s *site) properties() map[string]string {
	set := map[string]string{}
	for _, name := range byteProperties {
		if value := s.conf.Get(name, ""); value != "" {
			set[name] = value
		}
	}
	return set
}

// framed are the codec classes whose framing of ZSTD and LZ4 this program writes: HBase's own modules. Another class may
// frame the same codec otherwise, as Hadoop's ZStandardCodec does, and read nothing of our files.
var framed = map[hfilewriter.Compression]struct{ property, class string }{
	hfilewriter.CompressZSTD: {"hbase.io.compress.zstd.codec", "org.apache.hadoop.hbase.io.compress.zstd.ZstdCodec"},
	hfilewriter.CompressLZ4:  {"hbase.io.compress.lz4.codec", "org.apache.hadoop.hbase.io.compress.lz4.Lz4Codec"},
}

// checkCodec refuses a compression whose codec class on the cluster is not the one that is written for.
func (s *site) checkCodec(c hfilewriter.Compression) error {
	f, ok := framed[c]
	if !ok {
		return nil
	}
	if class := s.conf.Get(f.property, f.class); class != f.class {
		return failure.Refusef("property %s is %s, whose framing of %s is not supported; %s is, and so are families with SNAPPY, GZ or NONE", f.property, class, c, f.class)
	}
	return nil
}

// maxSize is hbase.hregion.max.filesize, or def where the site does not say.
func (s *site) maxSize(def int64) (int64, error) {
	text := s.conf.Get("hbase.hregion.max.filesize", "")
	if text == "" {
		return def, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n <= 0 {
		return 0, failure.Refusef("property hbase.hregion.max.filesize is %q, not a number of bytes", text)
	}
	return n, nil
}
