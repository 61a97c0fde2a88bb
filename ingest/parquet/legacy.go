package parquet

import (
	"strconv"
	"strings"

	"github.com/apache/arrow/go/v15/parquet/metadata"
)

// legacy says which values of a file count days in the calendar of java.util, which is Julian before 1582-10-15.
type legacy struct {
	dates bool // and timestamps in INT64
	int96 bool
}

// legacyOf follows the keys that Spark writes into a footer, as
// org.apache.spark.sql.execution.datasources.DataSourceUtils does (datetimeRebaseSpec, int96RebaseSpec). Files of other
// writers use the Gregorian calendar.
func legacyOf(meta *metadata.FileMetaData) legacy {
	keys := meta.KeyValueMetadata()
	version := keys.FindValue("org.apache.spark.version")
	if version == nil {
		return legacy{}
	}
	return legacy{
		dates: before(*version, 3, 0) || keys.FindValue("org.apache.spark.legacyDateTime") != nil,
		int96: before(*version, 3, 1) || keys.FindValue("org.apache.spark.legacyINT96") != nil,
	}
}

// before reports whether a version such as 2.4.8 is older than major.minor.
func before(version string, major, minor int) bool {
	parts := strings.SplitN(version, ".", 3)
	have, err := strconv.Atoi(parts[0])
	if err != nil || have != major || len(parts) < 2 {
		return err == nil && have < major
	}
	have, err = strconv.Atoi(parts[1])
	return err == nil && have < minor
}
