package oracle;

import java.io.IOException;
import java.util.HashSet;
import java.util.Set;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;

/** compact: a major compaction of a whole table, to its end. */
final class Compaction {
  private static final int SECONDS = 300;

  private Compaction() {}

  static void major(String name) throws Exception {
    TableName table = TableName.valueOf(name);
    try (Admin admin = Tables.connection().getAdmin()) {
      long start = System.currentTimeMillis(), end = System.nanoTime() + SECONDS * 1_000_000_000L;
      allow(admin, table);
      for (int looks = 0; !done(admin, table, start); looks++) {
        if (looks % 150 == 0) { // where HBase compacts already, of halves or of some files, it takes the request for the same
          admin.majorCompact(table);
        }
        if (System.nanoTime() > end) {
          throw new IOException(name + " is not compacted after " + SECONDS + " s");
        }
        Thread.sleep(100);
      }
    }
  }

  private static void allow(Admin admin, TableName table) throws IOException {
    TableDescriptor d = admin.getDescriptor(table);
    if (!d.isCompactionEnabled()) {
      admin.modifyTable(TableDescriptorBuilder.newBuilder(d).setCompactionEnabled(true).build());
    }
  }

  /** Whether every region has one file a family at most, and the oldest that came from a major compaction is newer than start. */
  private static boolean done(Admin admin, TableName table, long start) throws IOException {
    Set<ServerName> servers = new HashSet<>();
    for (HRegionLocation l : Tables.locations(table.getNameAsString())) {
      servers.add(l.getServerName());
    }
    for (ServerName server : servers) {
      for (RegionMetrics r : admin.getRegionMetrics(server, table)) {
        if (r.getStoreFileCount() > r.getStoreCount() || r.getStoreFileCount() > 0 && r.getLastMajorCompactionTimestamp() < start) {
          return false;
        }
      }
    }
    return true;
  }
}
