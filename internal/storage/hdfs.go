package storage

import (
	"errors"

	"bulkload/internal/siteconf"
)

func resolveHDFS(uri, rest string, conf *siteconf.Conf, user string) (FS, string, error) {
	return nil, "", errors.New("hdfs is not built yet")
}
