import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.HexFormat;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Reads rows that jobs/examples/check-hbase.yaml has loaded, with nothing but HBase's client (Java 17 or later):
 *
 * <pre>
 * java -cp "$(hbase classpath)" CheckReader.java get tinawang:check A208849559
 * java -cp "$(hbase classpath)" CheckReader.java keys A208849559
 * </pre>
 *
 * The job's row key is salt(check_id, 10) + md5(check_id) + id, and a query names check_id. So the rows of a query begin
 * with the salt and the MD5.
 */
public class CheckReader {
  public static void main(String[] args) throws Exception {
    switch (args[0]) {
      case "keys" -> {
        for (String checkId : Arrays.asList(args).subList(1, args.length)) {
          Scan scan = scan(checkId);
          HexFormat hex = HexFormat.of();
          System.out.println(hex.formatHex(scan.getStartRow()) + " " + hex.formatHex(scan.getStopRow()));
        }
      }
      case "get" -> {
        Configuration conf = HBaseConfiguration.create();
        try (Connection connection = ConnectionFactory.createConnection(conf);
            Table table = connection.getTable(TableName.valueOf(args[1]))) {
          for (String checkId : Arrays.asList(args).subList(2, args.length)) {
            get(table, checkId);
          }
        }
      }
      default -> throw new IllegalArgumentException(args[0]);
    }
  }

  /** At most 50 rows, as a service should read them. */
  static void get(Table table, String checkId) throws Exception {
    try (ResultScanner rows = table.getScanner(scan(checkId).setLimit(50))) {
      for (Result row : rows) {
        System.out.println(Bytes.toString(row.getRow()));
        for (Cell cell : row.rawCells()) {
          System.out.println("  " + Bytes.toString(CellUtil.cloneQualifier(cell)) + " = " + Bytes.toString(CellUtil.cloneValue(cell)));
        }
      }
    }
  }

  /** All rows that begin with the key's prefix: up to the prefix whose last byte is one greater. It is an ASCII letter or digit. */
  static Scan scan(String checkId) throws Exception {
    byte[] start = (salt(checkId, 10) + md5(checkId)).getBytes(StandardCharsets.UTF_8);
    byte[] stop = start.clone();
    stop[stop.length - 1]++;
    return new Scan().withStartRow(start).withStopRow(stop);
  }

  /** salt(x, n): as many digits as n-1 has. */
  static String salt(String x, int n) {
    int digits = Integer.toString(n - 1).length();
    return String.format("%0" + digits + "d", Math.abs(x.hashCode() % n));
  }

  /** md5(x): of the UTF-8 bytes, as 32 hexadecimal digits. */
  static String md5(String x) throws Exception {
    byte[] sum = MessageDigest.getInstance("MD5").digest(x.getBytes(StandardCharsets.UTF_8));
    return HexFormat.of().formatHex(sum);
  }
}
