package peer;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.BufferedMutator;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Durability;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Loads rows with HBase's client, and looks at tables that were loaded in any way.
 *
 * <pre>
 * load TABLE INPUT FAMILY COLUMNS DURABILITY   puts the lines of a folder: row key and columns, TAB between. Returns when the last mutator is flushed
 * flush TABLE                                  flushes the memstores, and compacts where HBase would
 * digest TABLE                                 prints rows, cells and a SHA-256 of all cells without their timestamps
 * read TABLE KEYS PERIOD                       reads a random row every PERIOD milliseconds until stdin ends; prints "ready", then each read's microseconds
 * sample TABLE KEYS COUNT                      reads COUNT random rows, one after the other; prints each read's microseconds
 * </pre>
 *
 * KEYS is a local file with a row key of the table on each line.
 */
public final class Puts {
  private static final int THREADS = 2;
  private static final int LINES_A_TURN = 1000;
  private static final int WARM = 500;

  private Puts() {}

  public static void main(String[] a) throws Exception {
    Configuration conf = HBaseConfiguration.create();
    PrintStream out = new PrintStream(System.out, false, "UTF-8");
    try (Connection c = ConnectionFactory.createConnection(conf)) {
      TableName table = TableName.valueOf(a[1]);
      switch (a[0]) {
        case "load": load(conf, c, table, a[2], Bytes.toBytes(a[3]), a[4].split(","), Durability.valueOf(a[5])); break;
        case "flush": flush(c, table); break;
        case "digest": digest(c, table, out); break;
        case "read": read(c, table, a[2], Integer.parseInt(a[3]), out); break;
        case "sample": sample(c, table, a[2], Integer.parseInt(a[3]), out); break;
        default: throw new IllegalArgumentException(a[0]);
      }
    }
    out.flush();
    System.exit(0); // HBase's client leaves threads running
  }

  /** Each thread has a mutator of its own, as each task of a job that puts would have. */
  static void load(Configuration conf, Connection c, TableName table, String input, byte[] family, String[] columns, Durability durability)
      throws Exception {
    byte[][] qualifiers = new byte[columns.length][];
    for (int i = 0; i < columns.length; i++) {
      qualifiers[i] = Bytes.toBytes(columns[i]);
    }
    FileSystem fs = new Path(input).getFileSystem(conf);
    ExecutorService threads = Executors.newFixedThreadPool(THREADS);
    for (FileStatus file : fs.listStatus(new Path(input))) {
      try (BufferedReader lines = new BufferedReader(new InputStreamReader(fs.open(file.getPath()), StandardCharsets.UTF_8), 1 << 16)) {
        List<Future<Void>> ends = new ArrayList<>();
        for (int i = 0; i < THREADS; i++) {
          ends.add(threads.submit(() -> {
            try (BufferedMutator m = c.getBufferedMutator(table)) {
              for (List<String> some = turn(lines); !some.isEmpty(); some = turn(lines)) {
                for (String line : some) {
                  m.mutate(put(line.split("\t", -1), family, qualifiers, durability));
                }
              }
            } // close flushes
            return null;
          }));
        }
        for (Future<Void> end : ends) {
          end.get();
        }
      }
    }
    threads.shutdown();
  }

  private static List<String> turn(BufferedReader lines) throws IOException {
    List<String> some = new ArrayList<>(LINES_A_TURN);
    synchronized (lines) {
      for (String line; some.size() < LINES_A_TURN && (line = lines.readLine()) != null; ) {
        some.add(line);
      }
    }
    return some;
  }

  private static Put put(String[] fields, byte[] family, byte[][] qualifiers, Durability durability) throws IOException {
    if (fields.length != qualifiers.length + 1) {
      throw new IOException(fields.length + " fields");
    }
    Put put = new Put(Bytes.toBytes(fields[0])).setDurability(durability);
    for (int i = 0; i < qualifiers.length; i++) {
      put.addColumn(family, qualifiers[i], Bytes.toBytes(fields[i + 1]));
    }
    return put;
  }

  /** After a flush for want of memory a region server looks whether there is something to compact, but not after one that was asked for. */
  static void flush(Connection c, TableName table) throws IOException {
    try (Admin admin = c.getAdmin()) {
      admin.flush(table);
      admin.compact(table);
    }
  }

  static void digest(Connection c, TableName table, PrintStream out) throws Exception {
    MessageDigest d = MessageDigest.getInstance("SHA-256");
    long rows = 0, cells = 0;
    try (Table t = c.getTable(table); ResultScanner scanner = t.getScanner(new Scan().setCaching(2000).setCacheBlocks(false).setAsyncPrefetch(true).readAllVersions())) {
      for (Result r : scanner) {
        rows++;
        for (Cell cell : r.rawCells()) {
          cells++;
          part(d, cell.getRowArray(), cell.getRowOffset(), cell.getRowLength());
          part(d, cell.getFamilyArray(), cell.getFamilyOffset(), cell.getFamilyLength());
          part(d, cell.getQualifierArray(), cell.getQualifierOffset(), cell.getQualifierLength());
          part(d, cell.getValueArray(), cell.getValueOffset(), cell.getValueLength());
          d.update(cell.getTypeByte());
        }
      }
    }
    out.println(rows + " rows, " + cells + " cells, " + Bytes.toHex(d.digest()));
  }

  /** The length first, so that no two lists of parts have the same bytes. */
  private static void part(MessageDigest d, byte[] b, int offset, int length) {
    d.update((byte) (length >> 24));
    d.update((byte) (length >> 16));
    d.update((byte) (length >> 8));
    d.update((byte) length);
    d.update(b, offset, length);
  }

  /** Times count from when a read was due, so that a read which waits for a slow one before it is slow, too. */
  static void read(Connection c, TableName table, String keys, int period, PrintStream out) throws Exception {
    byte[][] rows = rows(keys);
    Random random = new Random(1);
    List<Long> micros = new ArrayList<>();
    Thread stopped = new Thread(() -> {
      try {
        while (System.in.read() >= 0) {}
      } catch (IOException e) {
        // an end as well
      }
    });
    try (Table t = c.getTable(table)) {
      for (int i = 0; i < WARM; i++) {
        get(t, rows[random.nextInt(rows.length)]);
      }
      out.println("ready");
      out.flush();
      stopped.setDaemon(true);
      stopped.start();
      for (long due = System.nanoTime(); stopped.isAlive(); due += period * 1_000_000L) {
        TimeUnit.NANOSECONDS.sleep(due - System.nanoTime());
        get(t, rows[random.nextInt(rows.length)]);
        micros.add((System.nanoTime() - due) / 1000);
      }
    }
    micros.forEach(out::println);
  }

  /** The first reads, which find the regions and warm up the JVM, are not reported. */
  static void sample(Connection c, TableName table, String keys, int count, PrintStream out) throws Exception {
    byte[][] rows = rows(keys);
    Random random = new Random(2);
    try (Table t = c.getTable(table)) {
      for (int i = 0; i < WARM + count; i++) {
        long begun = System.nanoTime();
        get(t, rows[random.nextInt(rows.length)]);
        if (i >= WARM) {
          out.println((System.nanoTime() - begun) / 1000);
        }
      }
    }
  }

  private static void get(Table t, byte[] row) throws IOException {
    if (t.get(new Get(row)).isEmpty()) {
      throw new IOException(t.getName() + " lacks row " + Bytes.toStringBinary(row));
    }
  }

  private static byte[][] rows(String keys) throws IOException {
    return Files.readAllLines(Paths.get(keys), StandardCharsets.UTF_8).stream().map(Bytes::toBytes).toArray(byte[][]::new);
  }
}
