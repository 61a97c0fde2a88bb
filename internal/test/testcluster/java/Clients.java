package oracle;

import java.io.PrintStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.util.Arrays;
import java.util.Random;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Clients that read and write a table until they are stopped, each with a connection and a cache of regions of its own, as so many services have
 * them.
 *
 * <p>A line of the answer is an operation: when it began (epoch milliseconds), "write", "read" or "scan", its microseconds and, if it failed, the
 * class of its error; TAB between. A client waits for the answer, and then PAUSE milliseconds. "WrongAnswer" is the error of a read that does not
 * return what the same client has written.
 */
final class Clients {
  private static final int PAUSE = 100;
  private static final byte[] QUALIFIER = Bytes.toBytes("client");

  private final TableName table;
  private final byte[] family;
  private final Path stop;
  private final PrintStream out;
  private final Set<String> unwritten = ConcurrentHashMap.newKeySet(); // rows that may be there or not, since their write failed

  private Clients(String table, String family, String stop, PrintStream out) {
    this.table = TableName.valueOf(table);
    this.family = Bytes.toBytes(family);
    this.stop = Paths.get(stop);
    this.out = out;
  }

  /** clients TABLE FAMILY COUNT READY STOP. */
  static void run(String[] a, PrintStream out) throws Exception {
    Clients all = new Clients(a[1], a[2], a[5], out);
    Thread[] threads = new Thread[Integer.parseInt(a[3])];
    CountDownLatch ready = new CountDownLatch(threads.length);
    for (int i = 0; i < threads.length; i++) {
      int number = i;
      threads[i] = new Thread(() -> all.client(number, ready));
      threads[i].start();
    }
    ready.await();
    Files.createFile(Paths.get(a[4]));
    for (Thread t : threads) {
      t.join();
    }
  }

  /** The waits of a service: HBase's own are 20 minutes, so hardly anything would ever be an error. */
  private static Configuration patience() {
    Configuration conf = new Configuration(Oracle.CONF);
    conf.setInt("hbase.rpc.timeout", 10_000);
    conf.setInt("hbase.client.scanner.timeout.period", 30_000);
    conf.setInt("hbase.client.operation.timeout", 30_000);
    return conf;
  }

  private void client(int number, CountDownLatch ready) {
    Random random = new Random(number);
    try (Connection c = ConnectionFactory.createConnection(patience()); Table t = c.getTable(table)) {
      for (int i = 0; i < 10; i++) { // the regions are looked up before anything is measured
        t.get(new Get(Bytes.toBytes(i + "0")));
      }
      ready.countDown();
      Thread.sleep(random.nextInt(PAUSE));
      for (int i = 0; !Files.exists(stop); i++) {
        operation(t, number, i, random);
        Thread.sleep(PAUSE);
      }
    } catch (Exception e) {
      record(System.currentTimeMillis(), "connect", 0, e);
    }
    ready.countDown();
  }

  private void operation(Table t, int number, int i, Random random) {
    long at = System.currentTimeMillis();
    long begun = System.nanoTime();
    String kind = i % 2 == 0 ? "write" : i % 4 == 1 ? "read" : "scan";
    Exception failed = null;
    try {
      switch (kind) {
        case "write": write(t, number, i); break;
        case "read": read(t, number, random.nextInt(i + 1) / 2 * 2); break;
        default: scan(t, number, i - 1);
      }
    } catch (Exception e) {
      failed = e;
    }
    record(at, kind, (System.nanoTime() - begun) / 1000, failed);
  }

  /** The row of a client's write: spread over the table by its first characters. */
  private static byte[] row(int number, int i) {
    return Bytes.toBytes(String.format("%08x-client-%02d-%06d", Integer.reverse((number * 1_000_003 + i) * 0x9E3779B9), number, i));
  }

  private void write(Table t, int number, int i) throws Exception {
    try {
      t.put(new Put(row(number, i)).addColumn(family, QUALIFIER, Bytes.toBytes(i)));
    } catch (Exception e) {
      unwritten.add(Bytes.toString(row(number, i)));
      throw e;
    }
  }

  private void read(Table t, int number, int i) throws Exception {
    check(t.get(new Get(row(number, i)).addColumn(family, QUALIFIER)), number, i);
  }

  /** The client's last row and those after it. */
  private void scan(Table t, int number, int i) throws Exception {
    try (ResultScanner s = t.getScanner(new Scan().withStartRow(row(number, i)).setLimit(10).setCaching(10))) {
      check(s.next(), number, i);
      while (s.next() != null) {}
    }
  }

  private void check(Result r, int number, int i) throws WrongAnswer {
    if (unwritten.contains(Bytes.toString(row(number, i)))) {
      return;
    }
    if (r == null || !Arrays.equals(r.getRow(), row(number, i)) || !Arrays.equals(r.getValue(family, QUALIFIER), Bytes.toBytes(i))) {
      throw new WrongAnswer();
    }
  }

  static final class WrongAnswer extends Exception {}

  private void record(long at, String kind, long micros, Exception failed) {
    String error = failed == null ? "" : failed.getClass().getSimpleName();
    synchronized (out) {
      out.println(at + "\t" + kind + "\t" + micros + "\t" + error);
    }
  }
}
