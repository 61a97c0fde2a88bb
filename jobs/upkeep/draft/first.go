package draft

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"bulkload/internal/bytesize"
	"bulkload/internal/errcode"
	"bulkload/internal/storage"
	"bulkload/jobs/base/failure"
	"bulkload/jobs/base/options"
	"bulkload/jobs/env/site"
	"bulkload/jobs/spec/jobfile"
	"bulkload/load"
)

// maxProperties bounds the properties of a job, in bytes.
const maxProperties = 1 << 20

// ConvertFile makes a job file from the properties file of the Spark job that bulkload replaces.
func ConvertFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, errcode.Convert.Errorf("read the properties: %w", err)
	}
	defer func() { _ = f.Close() }() // it was only read
	text, err := io.ReadAll(io.LimitReader(f, maxProperties+1))
	if err != nil {
		return nil, errcode.Convert.Errorf("read the properties: %w", err)
	}
	if len(text) > maxProperties {
		return nil, errcode.Convert.Errorf("%s has more than %s; is it another file?", name, bytesize.Format(maxProperties))
	}
	return Convert(text, filepath.Base(name))
}

var tableArgument = regexp.MustCompile(`^[A-Za-z0-9_]+:[A-Za-z0-9_][A-Za-z0-9_.-]*$`)

// IsTable reports whether an input is a table's name with its namespace, and not a local file.
func IsTable(input string) bool {
	_, err := os.Lstat(input)
	return tableArgument.MatchString(input) && err != nil
}

// ForTable writes the first job file for a live table, from its descriptor and its regions. It reads no rows.
func ForTable(ctx context.Context, name string, o options.Options) (job []byte, err error) {
	name = jobfile.TableName(name)
	s, err := site.Open(o, jobfile.HBase{}, true)
	if err != nil {
		return nil, err
	}
	c, err := s.Connect(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	live, err := c.Table(ctx, name)
	if err != nil {
		return nil, failure.Early(err)
	}
	t := &TableDraft{Name: name, Output: fmt.Sprintf("hdfs:///user/%s/hfile/%s/${date}", s.User,
		strings.ReplaceAll(name, ":", "_")), Splits: live.Splits()}
	for i := range live.Families {
		t.Families = append(t.Families, TableFamily{Name: live.Families[i].Name, Settings: familySettings(&live.Families[i])})
	}
	return t.YAML(), nil
}

// forever is HConstants.FOREVER: the TTL of cells that don't expire.
const forever = "2147483647"

// familySettings lists the settings of a family that the user should know.
func familySettings(f *load.Family) string {
	text := fmt.Sprintf("%s, %s, bloom %s, blocks of %s", f.Compression, f.DataBlockEncoding, f.BloomFilter,
		bytesize.Format(int64(f.BlockSize)))
	if ttl := f.Attributes["TTL"]; ttl != "" && ttl != forever && ttl != "FOREVER" {
		text += ", TTL " + ttl + " s"
	}
	if versions := f.Attributes["VERSIONS"]; versions != "" && versions != "1" {
		text += ", VERSIONS " + versions
	}
	return text
}

// ForInput writes the first job file for an input: a file, a folder or a glob. base is the folder of the job file, to
// which its paths are relative.
func ForInput(input, base string, o options.Options) (job []byte, err error) {
	_, fsys, name, err := site.OpenPath(o, jobfile.HBase{}, input)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, fsys.Close()) }()
	shown := input
	if !storage.IsHDFS(input) {
		if base, err = filepath.Abs(base); err == nil {
			shown, err = filepath.Rel(base, name)
		}
		if err != nil {
			return nil, fmt.Errorf("the path of %s from the job file: %w", input, err)
		}
	}
	d, err := Of(fsys, name, shown)
	if err != nil {
		return nil, failure.Early(err)
	}
	return d.YAML(), nil
}
