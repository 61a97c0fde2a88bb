package oracle;

import java.util.EnumSet;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hdfs.DistributedFileSystem;
import org.apache.hadoop.hdfs.client.CreateEncryptionZoneFlag;
import org.apache.hadoop.hdfs.client.HdfsAdmin;

/** What HDFS's superuser sets on directories. */
final class Directories {
  private Directories() {}

  private static HdfsAdmin admin() throws Exception {
    return new HdfsAdmin(FileSystem.getDefaultUri(Oracle.CONF), Oracle.CONF);
  }

  /** quota PATH NAMES SPACE: the number of names and of bytes of all replicas; - for none. */
  static void quota(String path, String names, String space) throws Exception {
    HdfsAdmin admin = admin();
    if (names.equals("-")) {
      admin.clearQuota(new Path(path));
    } else {
      admin.setQuota(new Path(path), Long.parseLong(names));
    }
    if (space.equals("-")) {
      admin.clearSpaceQuota(new Path(path));
    } else {
      admin.setSpaceQuota(new Path(path), Long.parseLong(space));
    }
  }

  /** zone PATH KEY: an encryption zone in an empty directory. */
  static void zone(String path, String key) throws Exception {
    admin().createEncryptionZone(new Path(path), key, EnumSet.of(CreateEncryptionZoneFlag.NO_TRASH));
  }

  /** erasure PATH POLICY. */
  static void erasure(String path, String policy) throws Exception {
    DistributedFileSystem fs = (DistributedFileSystem) FileSystem.get(Oracle.CONF);
    fs.enableErasureCodingPolicy(policy);
    fs.setErasureCodingPolicy(new Path(path), policy);
  }
}
