package oracle;

import java.util.List;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.util.Bytes;

/** What an operator may do to a table while a load is under way, or after it. */
final class Changes {
  private static final int SECONDS = 60;

  private Changes() {}

  static void deleteRow(String table, String row) throws Exception {
    try (Table t = Tables.connection().getTable(TableName.valueOf(table))) {
      t.delete(new Delete(Bytes.toBytesBinary(row)));
    }
  }

  /** truncate TABLE [-preserve]: all regions are made anew. */
  static void truncate(String table, boolean preserve) throws Exception {
    try (Admin admin = Tables.connection().getAdmin()) {
      TableName name = TableName.valueOf(table);
      if (!admin.isTableDisabled(name)) {
        admin.disableTable(name);
      }
      admin.truncateTable(name, preserve);
    }
  }

  /** Empties the region that holds a row. */
  static void truncateRegion(String table, String row) throws Exception {
    try (Admin admin = Tables.connection().getAdmin()) {
      // Only from HBase 2.6 on, and this is compiled for older ones, too.
      Admin.class.getMethod("truncateRegion", byte[].class).invoke(admin, (Object) region(table, row).getRegionName());
    }
  }

  static void enabled(String table, boolean wanted) throws Exception {
    try (Admin admin = Tables.connection().getAdmin()) {
      if (wanted) {
        admin.enableTable(TableName.valueOf(table));
      } else {
        admin.disableTable(TableName.valueOf(table));
      }
    }
  }

  static void snapshot(String name, String table) throws Exception {
    try (Admin admin = Tables.connection().getAdmin()) {
      admin.snapshot(name, TableName.valueOf(table));
    }
  }

  static void deleteSnapshot(String name) throws Exception {
    try (Admin admin = Tables.connection().getAdmin()) {
      admin.deleteSnapshot(name);
    }
  }

  /** put TABLE CELL…: cells as ROW,FAMILY,QUALIFIER,TIMESTAMP,VALUE, or ROW,FAMILY,,TIMESTAMP for a delete marker of the family; then flushes. */
  static void put(String[] a) throws Exception {
    TableName name = TableName.valueOf(a[1]);
    try (Table t = Tables.connection().getTable(name); Admin admin = Tables.connection().getAdmin()) {
      for (int i = 2; i < a.length; i++) {
        String[] c = a[i].split(",");
        byte[] row = Bytes.toBytes(c[0]), family = Bytes.toBytes(c[1]);
        if (c.length == 4) {
          t.delete(new Delete(row).addFamily(family, Long.parseLong(c[3])));
        } else {
          t.put(new Put(row).addColumn(family, Bytes.toBytes(c[2]), Long.parseLong(c[3]), Bytes.toBytes(c[4])));
        }
      }
      admin.flush(name);
    }
  }

  /** Puts a table back to where it was at a snapshot, and deletes that. */
  static void restore(String name, String table) throws Exception {
    try (Admin admin = Tables.connection().getAdmin()) {
      if (!admin.isTableDisabled(TableName.valueOf(table))) {
        admin.disableTable(TableName.valueOf(table));
      }
      admin.restoreSnapshot(name);
      admin.enableTable(TableName.valueOf(table));
      admin.deleteSnapshot(name);
    }
  }

  /** Drops a table, if it is there, and makes it again from a snapshot, which is deleted. */
  static void reclone(String name, String table) throws Exception {
    try (Admin admin = Tables.connection().getAdmin()) {
      Tables.drop(table, true);
      admin.cloneSnapshot(name, TableName.valueOf(table));
      admin.deleteSnapshot(name);
    }
  }

  /** alter TABLE FAMILY KEY=VALUE…: settings of a family, as create takes them. */
  static void alter(String[] a) throws Exception {
    TableName name = TableName.valueOf(a[1]);
    try (Admin admin = Tables.connection().getAdmin()) {
      ColumnFamilyDescriptorBuilder family =
          ColumnFamilyDescriptorBuilder.newBuilder(admin.getDescriptor(name).getColumnFamily(Bytes.toBytes(a[2])));
      for (int i = 3; i < a.length; i++) {
        String[] pair = a[i].split("=", 2);
        family.setValue(pair[0], pair[1]);
      }
      ColumnFamilyDescriptor changed = family.build();
      admin.modifyTable(TableDescriptorBuilder.newBuilder(admin.getDescriptor(name)).modifyColumnFamily(changed).build());
    }
  }

  /** add-family TABLE FAMILY KEY=VALUE…: settings as create takes them. */
  static void addFamily(String[] a) throws Exception {
    try (Admin admin = Tables.connection().getAdmin()) {
      ColumnFamilyDescriptorBuilder family = ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(a[2]));
      for (int i = 3; i < a.length; i++) {
        String[] pair = a[i].split("=", 2);
        family.setValue(pair[0], pair[1]);
      }
      admin.addColumnFamily(TableName.valueOf(a[1]), family.build());
    }
  }

  /** Removes a family with all of its cells. */
  static void deleteFamily(String table, String family) throws Exception {
    try (Admin admin = Tables.connection().getAdmin()) {
      admin.deleteColumnFamily(TableName.valueOf(table), Bytes.toBytes(family));
    }
  }

  /** Moves the region that holds a row to another server. */
  static void move(String table, String row) throws Exception {
    try (Admin admin = Tables.connection().getAdmin()) {
      RegionInfo region = region(table, row);
      ServerName at = Tables.connection().getRegionLocator(TableName.valueOf(table)).getRegionLocation(Bytes.toBytesBinary(row), true).getServerName();
      for (ServerName server : admin.getRegionServers()) {
        if (!server.equals(at)) {
          admin.move(region.getEncodedNameAsBytes(), server);
          return;
        }
      }
      throw new Oracle.Unlike("there is no other region server");
    }
  }

  /** Merges the two regions that hold the rows. */
  static void merge(String table, String first, String second) throws Exception {
    try (Admin admin = Tables.connection().getAdmin()) {
      admin.mergeRegionsAsync(new byte[][] {region(table, first).getEncodedNameAsBytes(), region(table, second).getEncodedNameAsBytes()}, false)
          .get(SECONDS, TimeUnit.SECONDS);
    }
  }

  private static RegionInfo region(String table, String row) throws Exception {
    byte[] at = Bytes.toBytesBinary(row);
    try (Admin admin = Tables.connection().getAdmin()) {
      List<RegionInfo> regions = admin.getRegions(TableName.valueOf(table));
      for (RegionInfo r : regions) {
        if (r.containsRow(at)) {
          return r;
        }
      }
    }
    throw new Oracle.Unlike("no region of " + table + " holds row " + row);
  }
}
