package oracle;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.MD5Hash;

/**
 * expect: the cells that the rule of the check and opinion tables gives for Sqoop text (0x01 between columns, 0x10 behind a record), in HBase's order.
 * Row key: salt(q, n) + md5(q) + id, where q is the text of the query columns one after the other. A column is a cell of the column's name; a value
 * \N is none. Of records with one key the last counts. All are held in memory.
 */
final class Rule {
  private final List<String> columns;
  private final int[] query;
  private final int id;
  private final int regions;

  private Rule(String[] a) throws Oracle.Usage {
    columns = Arrays.asList(a[2].split(","));
    String[] names = a[3].split(",");
    query = new int[names.length];
    for (int i = 0; i < names.length; i++) {
      query[i] = column(names[i]);
    }
    id = column(a[4]);
    regions = Integer.parseInt(a[5]);
  }

  private int column(String name) throws Oracle.Usage {
    int i = columns.indexOf(name);
    if (i < 0) {
      throw new Oracle.Usage("no column " + name + " in " + columns);
    }
    return i;
  }

  static void expect(String[] a, PrintStream out) throws Exception {
    Map<byte[], String[]> rows = new Rule(a).rows(a[1]);
    String[] columns = a[2].split(",");
    Integer[] order = new Integer[columns.length];
    Arrays.setAll(order, i -> i);
    Arrays.sort(order, (i, j) -> Bytes.compareTo(Bytes.toBytes(columns[i]), Bytes.toBytes(columns[j])));
    PrintStream to = Oracle.outputOf(a, out);
    CellLine.Sink sink = new CellLine.Sink(to, Oracle.flag(a, "-digest"));
    for (Map.Entry<byte[], String[]> row : rows.entrySet()) {
      for (int i : order) {
        if (!row.getValue()[i].equals("\\N")) {
          sink.add(new KeyValue(row.getKey(), Bytes.toBytes(a[6]), Bytes.toBytes(columns[i]), Long.parseLong(a[7]), Bytes.toBytes(row.getValue()[i])));
        }
      }
    }
    sink.finish();
    if (to != out) {
      to.close();
    }
  }

  private Map<byte[], String[]> rows(String file) throws IOException {
    Map<byte[], String[]> rows = new TreeMap<>(Bytes.BYTES_COMPARATOR);
    long n = 0;
    try (InputStream in = new BufferedInputStream(new FileInputStream(file), 1 << 16)) {
      for (String record; (record = record(in)) != null; ) {
        n++;
        String[] values = record.split("\u0001", -1);
        if (values.length != columns.size()) {
          throw new IOException("record " + n + " of " + file + " has " + values.length + " columns, want " + columns.size());
        }
        rows.put(Bytes.toBytes(key(values)), values);
      }
    }
    return rows;
  }

  /** The text up to the next 0x10; null at the end of the file. */
  private static String record(InputStream in) throws IOException {
    ByteArrayOutputStream b = new ByteArrayOutputStream();
    int c = in.read();
    if (c < 0) {
      return null;
    }
    for (; c >= 0 && c != 0x10; c = in.read()) {
      b.write(c);
    }
    return new String(b.toByteArray(), StandardCharsets.UTF_8);
  }

  private String key(String[] values) {
    StringBuilder q = new StringBuilder();
    for (int i : query) {
      q.append(values[i]);
    }
    String salt = Integer.toString(Math.abs(q.toString().hashCode() % regions));
    int width = Integer.toString(regions - 1).length();
    return "0".repeat(width - salt.length()) + salt + MD5Hash.getMD5AsHex(Bytes.toBytes(q.toString())) + values[id];
  }
}
