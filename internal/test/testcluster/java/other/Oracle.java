package oracle;

import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.FsShell;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.security.access.AccessControlClient;
import org.apache.hadoop.hbase.security.access.Permission;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.util.ToolRunner;

/**
 * The commands of the larger Oracle that trials of other versions need, in the API that HBase 1.2 to 3.0 have in common. With the same
 * arguments they do and print the same.
 *
 * <pre>
 *   split TABLE ROW
 *   scan TABLE -digest
 *   compact TABLE           a major compaction, until each store has a file that it did not have before
 *   truncate TABLE -preserve
 *   grant USER TABLE RIGHTS
 *   fs ARGUMENTS…
 *   protos CLASS…           the fields of messages, such as ClientProtos$GetRequest, and of those in them
 *   serve
 * </pre>
 */
public final class Oracle {
  private static final int SECONDS = 120;
  private static final Configuration CONF = HBaseConfiguration.create();
  private static Connection connection;

  private Oracle() {}

  interface Condition {
    boolean holds() throws Exception;
  }

  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(new FileOutputStream(FileDescriptor.out), true, "UTF-8");
    System.setOut(System.err);
    if (args.length != 1 || !args[0].equals("serve")) {
      run(args, out);
      System.exit(0);
    }
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line; (line = in.readLine()) != null; ) {
      String end = ".ok";
      try {
        run(line.split("\t", -1), out);
      } catch (Throwable e) {
        end = ".err " + e.toString().replaceAll("\\s+", " ");
        e.printStackTrace();
      }
      out.println(end);
      out.flush();
    }
    System.exit(0);
  }

  private static void run(String[] a, PrintStream out) throws Exception {
    switch (a[0]) {
      case "split": split(TableName.valueOf(a[1]), Bytes.toBytesBinary(a[2])); break;
      case "scan": scan(TableName.valueOf(a[1]), out); break;
      case "compact": compact(TableName.valueOf(a[1])); break;
      case "truncate": truncate(TableName.valueOf(a[1])); break;
      case "grant": grant(a[1], TableName.valueOf(a[2]), a[3]); break;
      case "protos": Protos.print(a, out); break;
      case "fs":
        if (ToolRunner.run(CONF, new FsShell(), Arrays.copyOfRange(a, 1, a.length)) != 0) {
          throw new IOException("hdfs dfs fails");
        }
        break;
      default: throw new IOException("unknown command " + a[0]);
    }
  }

  private static Connection connection() throws IOException {
    if (connection == null) {
      connection = ConnectionFactory.createConnection(CONF);
    }
    return connection;
  }

  private static void await(String what, Condition c) throws Exception {
    for (int i = 0; !c.holds(); i++) {
      if (i > 10 * SECONDS) {
        throw new IOException("not after " + SECONDS + " s: " + what);
      }
      Thread.sleep(100);
    }
  }

  private static int regions(TableName table) throws IOException {
    try (RegionLocator locator = connection().getRegionLocator(table)) {
      return locator.getAllRegionLocations().size();
    }
  }

  private static void split(TableName table, byte[] row) throws Exception {
    try (Admin admin = connection().getAdmin()) {
      int before = regions(table);
      admin.split(table, row);
      await("split " + table, () -> regions(table) > before && admin.isTableAvailable(table));
    }
  }

  private static void truncate(TableName table) throws IOException {
    try (Admin admin = connection().getAdmin()) {
      admin.disableTable(table);
      admin.truncateTable(table, true);
    }
  }

  /** The names of the files of each store. */
  private static Map<Path, Set<String>> files(TableName table) throws IOException {
    Path root = new Path(CONF.get("hbase.rootdir"));
    FileSystem fs = root.getFileSystem(CONF);
    Path stores = new Path(root, "data/" + table.getNamespaceAsString() + "/" + table.getQualifierAsString() + "/*/[a-zA-Z0-9]*");
    Map<Path, Set<String>> files = new HashMap<>();
    for (FileStatus store : fs.globStatus(stores)) {
      if (store.isDirectory() && !store.getPath().getName().equals("recovered.edits")) {
        Set<String> names = new HashSet<>();
        for (FileStatus f : fs.listStatus(store.getPath())) {
          names.add(f.getPath().getName());
        }
        files.put(store.getPath(), names);
      }
    }
    return files;
  }

  private static void compact(TableName table) throws Exception {
    try (Admin admin = connection().getAdmin()) {
      Map<Path, Set<String>> before = files(table);
      admin.majorCompact(table);
      await("compact " + table, () -> {
        Map<Path, Set<String>> now = files(table);
        for (Map.Entry<Path, Set<String>> store : before.entrySet()) {
          Set<String> fresh = new HashSet<>(now.getOrDefault(store.getKey(), new HashSet<>()));
          fresh.removeAll(store.getValue());
          if (!store.getValue().isEmpty() && fresh.isEmpty()) {
            return false;
          }
        }
        return true;
      });
    }
  }

  private static void grant(String user, TableName table, String rights) throws Exception {
    Permission.Action[] actions = new Permission.Action[rights.length()];
    for (int i = 0; i < actions.length; i++) {
      for (Permission.Action action : Permission.Action.values()) {
        if ((char) action.code() == rights.charAt(i)) {
          actions[i] = action;
        }
      }
    }
    try {
      AccessControlClient.grant(connection(), table, user, null, null, actions);
    } catch (Throwable e) {
      throw new IOException(e);
    }
  }

  private static void scan(TableName table, PrintStream out) throws Exception {
    Scan scan = new Scan();
    scan.setCaching(1000);
    try {
      Scan.class.getMethod("readAllVersions").invoke(scan);
    } catch (NoSuchMethodException e) { // HBase 1
      Scan.class.getMethod("setMaxVersions").invoke(scan);
    }
    MessageDigest digest = MessageDigest.getInstance("SHA-256");
    long rows = 0;
    long cells = 0;
    try (Table t = connection().getTable(table); ResultScanner s = t.getScanner(scan)) {
      for (Result r; (r = s.next()) != null; rows++) {
        for (Cell c : r.rawCells()) {
          cells++;
          String line = hex(c.getRowArray(), c.getRowOffset(), c.getRowLength())
              + "\t" + Bytes.toString(c.getFamilyArray(), c.getFamilyOffset(), c.getFamilyLength())
              + "\t" + hex(c.getQualifierArray(), c.getQualifierOffset(), c.getQualifierLength())
              + "\t" + c.getTimestamp() + "\t" + type(c)
              + "\t" + hex(c.getValueArray(), c.getValueOffset(), c.getValueLength());
          digest.update((line + "\n").getBytes(StandardCharsets.UTF_8));
        }
      }
    }
    byte[] d = digest.digest();
    out.println("rows=" + rows + " cells=" + cells + " sha256=" + hex(d, 0, d.length));
  }

  private static Object type(Cell c) throws Exception {
    try {
      return Cell.class.getMethod("getType").invoke(c);
    } catch (NoSuchMethodException e) { // HBase 1
      return KeyValue.Type.codeToType((Byte) Cell.class.getMethod("getTypeByte").invoke(c));
    }
  }

  private static String hex(byte[] b, int off, int len) {
    StringBuilder s = new StringBuilder();
    for (int i = 0; i < len; i++) {
      s.append(String.format("%02x", b[off + i] & 255));
    }
    return s.toString();
  }
}
