package oracle;

import java.io.PrintStream;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.format.DateTimeFormatter;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.MD5Hash;

/**
 * payments: the cells of jobs/examples/payments.yaml, as a Java program that loads the same text would make them with HBase's Bytes, in HBase's
 * order, family by family. A record that the job rejects or filters gives none.
 */
final class Payments {
  private static final ZoneId ZONE = ZoneId.of("Asia/Shanghai");
  private static final List<String> COLUMNS = Arrays.asList(
      "pay_id,account,status,amount,rate,paid,paid_at,settled_on,channel,items,digest,memo,operator".split(","));

  private final String[] values;
  private final TreeMap<String, byte[]> cells = new TreeMap<>();
  private long timestamp;

  private Payments(String line) {
    values = line.split("\\|", -1);
    for (int i = 0; i < values.length; i++) {
      if (values[i].equals("\\N")) {
        values[i] = null;
      }
    }
  }

  static void expect(String[] a, PrintStream out) throws Exception {
    TreeMap<byte[], Payments> rows = new TreeMap<>(Bytes.BYTES_COMPARATOR);
    for (String line : new String(Files.readAllBytes(Paths.get(a[1])), StandardCharsets.UTF_8).split("\n")) {
      Payments p = new Payments(line);
      try {
        if (p.wanted() && p.make(LocalDate.parse(a[2]))) {
          rows.put(Bytes.toBytes(p.key()), p);
        }
      } catch (RuntimeException rejected) {
        // as the job says
      }
    }
    PrintStream to = Oracle.outputOf(a, out);
    CellLine.Sink sink = new CellLine.Sink(to, false);
    for (String family : new String[] {"d", "x"}) {
      for (Map.Entry<byte[], Payments> row : rows.entrySet()) {
        for (Map.Entry<String, byte[]> c : row.getValue().cells.entrySet()) {
          if (c.getKey().startsWith(family + ":")) {
            byte[] qualifier = Bytes.toBytes(c.getKey().substring(2));
            sink.add(new KeyValue(row.getKey(), Bytes.toBytes(family), qualifier, row.getValue().timestamp, c.getValue()));
          }
        }
      }
    }
    sink.finish();
    if (to != out) {
      to.close();
    }
  }

  private String get(String column) {
    return values[COLUMNS.indexOf(column)];
  }

  private boolean wanted() {
    String status = get("status");
    String memo = get("memo");
    return ("PAID".equals(status) || "REFUNDED".equals(status)) && new BigDecimal(get("amount")).signum() > 0 && (memo == null || !memo.startsWith("TEST"));
  }

  private String key() {
    String account = get("account");
    String newest = Long.toString(Long.MAX_VALUE - Long.parseLong(get("pay_id")));
    return MD5Hash.getMD5AsHex(Bytes.toBytes(account)).substring(0, 4) + "0".repeat(10 - account.length()) + account + "0".repeat(19 - newest.length()) + newest;
  }

  /** Makes the cells; false where the job rejects the record. */
  private boolean make(LocalDate date) {
    timestamp = LocalDateTime.parse(get("paid_at").replace(' ', 'T')).atZone(ZONE).toInstant().toEpochMilli();
    if (get("items") == null) {
      return false;
    }
    put("d:pay_id", Bytes.toBytes(Long.parseLong(get("pay_id"))));
    put("d:acct", Bytes.toBytes(get("account")));
    put("d:status", Bytes.toBytes(get("status")));
    put("d:amount", Bytes.toBytes(new BigDecimal(get("amount"))));
    if (get("rate") != null) {
      put("d:rate", Bytes.toBytes(Double.parseDouble(get("rate"))));
    }
    put("d:paid", Bytes.toBytes(Arrays.asList("Y", "true", "1").contains(get("paid"))));
    put("d:paid_at", Bytes.toBytes(timestamp));
    put("d:settled_on", get("settled_on") == null ? new byte[0] : Bytes.toBytes(DateTimeFormatter.ISO_DATE.format(LocalDate.parse(get("settled_on")))));
    if (get("channel") != null) {
      put("x:ch", Bytes.toBytes(Short.parseShort(get("channel"))));
    }
    put("x:n", Bytes.toBytes(Integer.parseInt(get("items"))));
    if (get("digest") != null) {
      put("d:digest", Bytes.fromHex(get("digest").replace(" ", "")));
    }
    put("d:memo", get("memo") == null ? new byte[0] : Bytes.toBytes(get("memo")));
    put("x:src", Bytes.toBytes("oracle"));
    put("d:loaded", Bytes.toBytes(date.atStartOfDay(ZONE).toInstant().toEpochMilli()));
    return true;
  }

  private void put(String column, byte[] value) {
    cells.put(column, value);
  }
}
