package oracle;

import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FsShell;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.NamespaceDescriptor;
import org.apache.hadoop.hbase.NamespaceExistException;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.TableNotFoundException;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.RegionLocator;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.tool.BulkLoadHFiles;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.CommonFSUtils;
import org.apache.hadoop.util.ToolRunner;

/** What is done to and read from tables, by HBase's client. */
final class Tables {
  private static final int SPLIT_SECONDS = 60;
  private static final int CHORE_SECONDS = 150; // the chore comes every two minutes
  private static final int ROWS_A_CALL = 1000;
  /** A server that gets little time answers few gets within the time of a call; what it has done for a lost call is done again. */
  private static final int GETS_A_CALL = 100;
  private static Connection connection;

  private Tables() {}

  /** One connection a process: opening one takes longer than most commands. */
  static Connection connection() throws IOException {
    if (connection == null || connection.isClosed()) {
      connection = ConnectionFactory.createConnection(Oracle.CONF);
    }
    return connection;
  }

  static void create(String[] a) throws Exception {
    TableName table = TableName.valueOf(a[1]);
    TableDescriptorBuilder b = TableDescriptorBuilder.newBuilder(table);
    Settings settings = new Settings(a, 4);
    settings.takeScope("TABLE").forEach(b::setValue);
    for (String family : a[2].split(",")) {
      b.setColumnFamily(settings.family(family));
    }
    settings.doneWithScopes();
    byte[][] splits = a[3].isEmpty() ? null : Arrays.stream(a[3].split(",")).map(Bytes::toBytesBinary).toArray(byte[][]::new);
    try (Admin admin = connection().getAdmin()) {
      namespace(admin, table.getNamespaceAsString());
      admin.createTable(b.build(), splits);
    }
  }

  /** What hdfs dfs does; its complaints are the error. */
  static void fs(String[] a) throws Exception {
    PrintStream err = System.err;
    ByteArrayOutputStream said = new ByteArrayOutputStream();
    int status;
    try {
      System.setErr(new PrintStream(said, true, StandardCharsets.UTF_8));
      status = ToolRunner.run(Oracle.CONF, new FsShell(), Arrays.copyOfRange(a, 1, a.length));
    } finally {
      System.setErr(err);
    }
    if (status != 0) {
      throw new IOException("status " + status + ": " + said.toString(StandardCharsets.UTF_8).trim());
    }
  }

  private static void namespace(Admin admin, String name) throws IOException {
    try {
      if (!Arrays.asList(admin.listNamespaces()).contains(name)) {
        admin.createNamespace(NamespaceDescriptor.create(name).build());
      }
    } catch (NamespaceExistException e) {
      // another has just made it
    }
  }

  static void drop(String name, boolean ifExists) throws Exception {
    TableName table = TableName.valueOf(name);
    try (Admin admin = connection().getAdmin()) {
      if (ifExists && !admin.tableExists(table)) {
        return;
      }
      if (!admin.isTableDisabled(table)) {
        admin.disableTable(table);
      }
      admin.deleteTable(table);
    }
  }

  static void load(String dir, String table, PrintStream out) throws Exception {
    out.println(BulkLoadHFiles.create(Oracle.CONF).bulkLoad(TableName.valueOf(table), new Path(dir)).size() + " files loaded");
  }

  static void scan(String[] a, PrintStream out) throws Exception {
    PrintStream to = Oracle.outputOf(a, out);
    CellLine.Sink sink = new CellLine.Sink(to, Oracle.flag(a, "-digest"));
    Scan scan = new Scan().setCaching(ROWS_A_CALL).readAllVersions().setRaw(Oracle.flag(a, "-raw")).setReversed(Oracle.flag(a, "-reversed"));
    try (Table t = connection().getTable(TableName.valueOf(a[1])); ResultScanner rows = t.getScanner(scan)) {
      for (Result row : rows) {
        for (Cell c : row.rawCells()) {
          sink.add(c);
        }
      }
    }
    sink.finish();
    if (to != out) {
      to.close();
    }
  }

  static void get(String[] a, PrintStream out) throws Exception {
    PrintStream to = Oracle.outputOf(a, out);
    try (Table t = connection().getTable(TableName.valueOf(a[1])); BufferedReader asked = Files.newBufferedReader(Paths.get(a[2]), StandardCharsets.UTF_8)) {
      List<Get> gets = new ArrayList<>();
      for (String line; (line = asked.readLine()) != null; ) {
        gets.add(get(line));
        if (gets.size() == GETS_A_CALL) {
          found(t.get(gets), to);
          gets.clear();
        }
      }
      found(t.get(gets), to);
    }
    to.flush();
    if (to != out) {
      to.close();
    }
  }

  private static Get get(String line) throws IOException {
    String[] p = line.split("\t", -1);
    Get g = new Get(CellLine.unhex(p[0])).readAllVersions();
    return p.length == 3 ? g.addColumn(Bytes.toBytes(p[1]), CellLine.unhex(p[2])) : g;
  }

  private static void found(Result[] results, PrintStream to) {
    for (Result r : results) {
      if (r.isEmpty()) {
        to.println("absent");
        continue;
      }
      for (Cell c : r.rawCells()) {
        to.println(CellLine.of(c));
      }
    }
  }

  static void files(String name, PrintStream out) throws Exception {
    Path table = CommonFSUtils.getTableDir(CommonFSUtils.getRootDir(Oracle.CONF), TableName.valueOf(name));
    for (FileStatus f : table.getFileSystem(Oracle.CONF).globStatus(new Path(table, "*/[^.]*/*"))) {
      Path family = f.getPath().getParent();
      if (f.isFile() && !family.getName().equals(HConstants.RECOVERED_EDITS_DIR)) {
        out.println(family.getParent().getName() + "/" + family.getName() + "/" + f.getPath().getName());
      }
    }
  }

  static void regions(String table, PrintStream out) throws Exception {
    for (HRegionLocation l : locations(table)) {
      RegionInfo r = l.getRegion();
      out.println(Bytes.toStringBinary(r.getStartKey()) + "\t" + Bytes.toStringBinary(r.getEndKey()) + "\t" + l.getServerName() + "\t" + r.getEncodedName());
    }
  }

  /** From hbase:meta, not from the connection's memory: regions split and move. */
  static List<HRegionLocation> locations(String table) throws IOException {
    try (Admin admin = connection().getAdmin()) {
      if (!admin.tableExists(TableName.valueOf(table))) {
        throw new TableNotFoundException(table);
      }
    }
    connection().clearRegionLocationCache();
    try (RegionLocator l = connection().getRegionLocator(TableName.valueOf(table))) {
      return l.getAllRegionLocations();
    }
  }

  static void split(String name, String row, PrintStream out) throws Exception {
    TableName table = TableName.valueOf(name);
    try (Admin admin = connection().getAdmin()) {
      int before = admin.getRegions(table).size();
      // A half of another split can't be split before a chore has deleted the files that its compaction has replaced.
      long end = System.nanoTime() + CHORE_SECONDS * 1_000_000_000L;
      for (boolean asked = false; !asked;) {
        try {
          if (row == null) {
            admin.split(table);
          } else {
            admin.split(table, Bytes.toBytesBinary(row));
          }
          asked = true;
        } catch (IOException e) {
          if (!String.valueOf(e.getMessage()).contains("NOT splittable") || System.nanoTime() > end) {
            throw e;
          }
          Thread.sleep(1000);
        }
      }
      end = System.nanoTime() + SPLIT_SECONDS * 1_000_000_000L;
      while (admin.getRegions(table).size() <= before || !admin.isTableAvailable(table)) {
        if (System.nanoTime() > end) {
          throw new IOException(name + " has not split" + (row == null ? "" : " at " + row) + " after " + SPLIT_SECONDS + " s");
        }
        Thread.sleep(100);
      }
      out.println(admin.getRegions(table).size() + " regions");
    }
  }
}
