package oracle;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.MessageDigest;
import java.sql.Timestamp;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import org.apache.commons.lang3.StringUtils;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * keys: the row keys of jobs/examples/keys as a Java job would build them, written out one by one: no expression is read here. The input is text with TAB
 * between columns; a key is a line of hex, in the order of the records. "moments" is none of the examples: a zone and a clock in it, to milliseconds.
 */
final class Strategies {
  private static final ZoneId SHANGHAI = ZoneId.of("Asia/Shanghai");

  private Strategies() {}

  static void keys(String name, String file, PrintStream out) throws Exception {
    for (String line : new String(Files.readAllBytes(Paths.get(file)), StandardCharsets.UTF_8).split("\n")) {
      out.println(Bytes.toHex(key(name, line.split("\t", -1))));
    }
  }

  private static byte[] key(String name, String[] f) throws Exception {
    switch (name) {
      case "salt": return text(salt(f[1], 10) + f[1] + "-" + f[0]);
      case "long-salt": return text(longSalt(f[0], 16) + number(f[0], 15));
      case "md5-prefix": return text(md5(f[1]).substring(0, 4) + "-" + f[1]);
      case "md5-user": return text(md5(f[0]).substring(0, 6) + number(f[0], 15));
      case "md5-bytes": return join(digest(f[0]), Bytes.toBytes(Integer.parseInt(f[1].replace("-", ""))));
      case "rotate": return text(StringUtils.rotate(f[3], 4));
      case "modulo": return text(String.format("%02d", Long.parseLong(f[0]) % 100) + number(f[0], 15));
      case "reverse-number": return text(StringUtils.reverse(number(f[0], 12)));
      case "reverse-phone": return text(new StringBuilder(f[3]).reverse().toString());
      case "reverse-order": return text(new StringBuilder(f[1]).reverse().toString());
      case "reverse-user": return text(StringUtils.reverse(number(f[0], 15)));
      case "newest-first": return text(number(f[2], 8) + newest(millis(f[5])) + number(f[0], 12));
      case "newest-first-seconds":
        return text(f[0] + String.format("%010d", 9999999999L - Long.parseLong(f[1]) / 1000) + number(f[1], 13));
      case "enumerable-first": return text(f[4] + day(f[5], "yyyyMMdd") + number(f[0], 12));
      case "calendar-cycle": return text(LocalDate.parse(f[1]).format(DateTimeFormatter.ofPattern("MMdd")) + f[0]);
      case "date-parts": return text(number(f[2], 8) + day(f[5], "yyyyMM") + "-" + day(f[5], "dd") + number(f[0], 12));
      case "seller-orders": return text(number(f[2], 8) + millis(f[5]) + number(f[0], 12));
      case "buyer-orders": return text(number(f[3], 10) + millis(f[5]) + number(f[0], 12));
      case "order-number": return text(f[1]);
      case "salted-seller-orders": return text(salt(f[2], 10) + number(f[2], 8) + millis(f[5]));
      case "prefix-uid": return text(md5(f[1]).substring(0, 2) + f[1]);
      case "prefix-idcard": return text(md5(f[2]).substring(0, 4) + "-" + f[2]);
      case "prefix-phone": return text(StringUtils.reverse(f[3].substring(f[3].length() - 2)) + f[3]);
      case "car-track": return text(f[0] + number(f[1], 13));
      case "prefixed-car-track": return text(md5(f[0]).substring(0, 2) + f[0] + number(f[1], 13));
      case "user-newest": return text(number(f[3], 10) + newest(millis(f[5])));
      case "order-history": return text(StringUtils.reverse(number(f[0], 12)) + newest(millis(f[5])));
      case "user-history": return text(StringUtils.reverse(number(f[3], 10)) + newest(millis(f[5])));
      case "kafka-events": return text(salt(f[0], 100) + StringUtils.leftPad(f[0], 10, '_') + shanghaiDay(f[1]) + number(f[2], 19));
      case "follows": return join(digest(f[0]), digest(f[1]));
      case "monthly-table": return text(number(f[2], 8) + day(f[5], "dd") + number(f[0], 12));
      case "moments": return text(String.format("%013d", millis(f[1], ZoneId.of(f[0]))));
      default: throw new Oracle.Usage("no strategy " + name);
    }
  }

  private static String salt(String x, int n) {
    return StringUtils.leftPad("" + Math.abs(x.hashCode() % n), ("" + (n - 1)).length(), '0');
  }

  private static String longSalt(String x, int n) {
    return StringUtils.leftPad("" + Math.abs(Long.valueOf(x).hashCode() % n), ("" + (n - 1)).length(), '0');
  }

  private static String number(String x, int width) {
    return String.format("%0" + width + "d", Long.parseLong(x));
  }

  private static String newest(long millis) {
    return String.format("%019d", Long.MAX_VALUE - millis);
  }

  /** What Sqoop writes for a DATE is java.sql.Timestamp's text. */
  private static long millis(String timestamp) {
    return millis(Timestamp.valueOf(timestamp).toLocalDateTime(), SHANGHAI);
  }

  private static long millis(String local, ZoneId zone) {
    return millis(LocalDateTime.parse(local), zone);
  }

  private static long millis(LocalDateTime local, ZoneId zone) {
    return ZonedDateTime.of(local, zone).toInstant().toEpochMilli();
  }

  private static String day(String timestamp, String pattern) {
    return Timestamp.valueOf(timestamp).toLocalDateTime().format(DateTimeFormatter.ofPattern(pattern));
  }

  private static String shanghaiDay(String millis) {
    return Instant.ofEpochMilli(Long.parseLong(millis)).atZone(SHANGHAI).format(DateTimeFormatter.BASIC_ISO_DATE).substring(0, 8);
  }

  private static byte[] digest(String x) throws Exception {
    return MessageDigest.getInstance("MD5").digest(x.getBytes(StandardCharsets.UTF_8));
  }

  private static String md5(String x) throws Exception {
    return Bytes.toHex(digest(x));
  }

  private static byte[] text(String key) {
    return Bytes.toBytes(key);
  }

  private static byte[] join(byte[]... parts) throws IOException {
    ByteArrayOutputStream key = new ByteArrayOutputStream();
    for (byte[] p : parts) {
      key.write(p);
    }
    return key.toByteArray();
  }
}
