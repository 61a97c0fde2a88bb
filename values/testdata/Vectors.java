import java.math.BigDecimal;
import java.math.BigInteger;
import java.sql.Timestamp;
import java.time.LocalDateTime;
import java.time.OffsetDateTime;
import java.time.ZoneId;
import java.util.Random;
import org.apache.hadoop.hbase.util.Bytes;

/** Writes vectors.txt: kind, zone, text and the hex of Bytes.toBytes of it, with TABs between; "-" where Java refuses the text. */
public class Vectors {
  static final Random random = new Random(20261120);

  interface Reader {
    byte[] read(String text) throws Exception;
  }

  static void line(String kind, String zone, String text, Reader reader) {
    String hex;
    try {
      hex = Bytes.toHex(reader.read(text));
    } catch (Exception refused) {
      hex = "-";
    }
    System.out.println(kind + "\t" + zone + "\t" + text + "\t" + hex);
  }

  static void whole() {
    String[] texts = {"0", "-0", "+0", "1", "-1", "+7", "007", "-007", "32767", "32768", "-32768", "-32769", "2147483647", "2147483648", "-2147483648",
      "-2147483649", "9223372036854775807", "9223372036854775808", "-9223372036854775808", "-9223372036854775809", "18446744073709551616", "", "-", "+",
      "--1", "+-1", "1.0", "1 ", " 1", "1e3", "0x10", "1_000", "12a", "99999999999999999999x"};
    for (int i = 0; i < texts.length + 150; i++) {
      String text = i < texts.length ? texts[i] : Long.toString(random.nextLong() >> random.nextInt(64));
      line("int16", "", text, t -> Bytes.toBytes(Short.parseShort(t)));
      line("int32", "", text, t -> Bytes.toBytes(Integer.parseInt(t)));
      line("int64", "", text, t -> Bytes.toBytes(Long.parseLong(t)));
    }
  }

  static void fractions() {
    String[] texts = {"0", "-0", "0.0", "-0.0", ".5", "5.", "-.5", "+.5", "1e3", "1E+3", "1e-3", "1.50", "1.5", "000.1500", "0.1", "1.0E10", "123456789.987654321",
      "99999999999999999999999999999999999999", "-99999999999999999999999999999999999999", "170141183460469231731687303715884105727",
      "-170141183460469231731687303715884105728", "99999999999999999999999999999999999999999999999999999.99999", "-128", "-129", "127", "128", "-256", "255", "256",
      "-32768", "0.00", "0e5", "0e-5", "3.4028235E38", "1.17549435E-38", "1.4E-45", "7.0064923216240854e-46", "4.9E-324", "1.7976931348623157E308", "2.2250738585072014E-308",
      "16777217", "9007199254740993", "0.3", "2.5", "1e22", "1e23", "8.5899345E9", "0.1e1", "1e", "e1", ".", "", "-", "1.2.3", "1,5", "abc", "1e5.0", "--1", "1e2147483648", "1 2"};
    for (int i = 0; i < texts.length + 300; i++) {
      String text = i < texts.length ? texts[i] : number();
      line("decimal", "", text, t -> Bytes.toBytes(new BigDecimal(t)));
      line("float32", "", text, t -> Bytes.toBytes(checked(t, Float.parseFloat(t))));
      line("float64", "", text, t -> Bytes.toBytes(checked(t, Double.parseDouble(t))));
    }
    for (String text : new String[] {"NaN", "Infinity", "-Infinity", "+Infinity"}) {
      line("float32", "", text, t -> Bytes.toBytes(Float.parseFloat(t)));
      line("float64", "", text, t -> Bytes.toBytes(Double.parseDouble(t)));
    }
  }

  /** What no decimal number is, and what becomes an infinity, is refused by us, too. */
  static float checked(String text, float f) {
    new BigDecimal(text);
    if (Float.isInfinite(f)) {
      throw new NumberFormatException();
    }
    return f;
  }

  static double checked(String text, double d) {
    new BigDecimal(text);
    if (Double.isInfinite(d)) {
      throw new NumberFormatException();
    }
    return d;
  }

  static String number() {
    switch (random.nextInt(4)) {
      case 0: return Double.toString(Double.longBitsToDouble(random.nextLong() & ~(1L << 62) | (random.nextBoolean() ? 1L << 61 : 0)));
      case 1: return Float.toString(Float.intBitsToFloat(random.nextInt() & ~(1 << 30)));
      case 2: return new BigDecimal(new BigInteger(random.nextInt(140), random), random.nextInt(60) - 20).toString();
      default: return new BigDecimal(new BigInteger(random.nextInt(150), random).negate(), random.nextInt(45)).toPlainString();
    }
  }

  static void moments() {
    String[] zones = {"UTC", "Asia/Shanghai", "America/New_York", "Europe/Berlin", "Asia/Kathmandu", "Australia/Lord_Howe", "Pacific/Apia"};
    String[] texts = {"1970-01-01 00:00:00.0", "2026-11-20 01:02:03.0", "2026-11-20 01:02:03", "2026-11-20 01:02:03.123456789", "1969-12-31 23:59:59.999999999",
      "1986-05-04 00:00:00.0", "1986-05-04 02:30:00.0", "1940-06-01 00:00:00.0", "1927-12-31 23:54:10.0", "1900-12-31 23:54:17.0", "1900-12-31 23:54:16.0", "2026-03-08 02:30:00", "2026-11-01 01:30:00", "2026-11-01 01:30:00.5", "2026-11-01 02:00:00",
      "2026-03-29 02:00:00", "2026-03-29 03:00:00", "2026-10-25 02:59:59", "2026-10-25 03:00:00", "2026-04-05 01:45:00", "2026-10-04 02:15:00", "2011-12-30 12:00:00", "2011-12-31 00:00:00",
      "0001-01-01 00:00:00", "1582-10-10 12:00:00", "9999-12-31 23:59:59.999", "2024-02-29 00:00:00", "2000-02-29 00:00:00", "1900-02-28 23:59:59", "1900-02-29 00:00:00", "2026-02-30 00:00:00",
      "2026-13-01 00:00:00", "2026-00-10 00:00:00", "2026-01-01 24:00:00", "2026-01-01 00:60:00", "2026-01-01 00:00:60"};
    for (String zone : zones) {
      for (String text : texts) {
        line("timestamp", zone, text, t -> local(t, zone));
      }
      for (int i = 0; i < 60; i++) {
        String text = new Timestamp(Math.floorMod(random.nextLong(), 7_258_000_000_000L) - 3_155_673_600_000L).toInstant().toString().replace('T', ' ').replace("Z", "");
        line("timestamp", zone, text, t -> local(t, zone));
      }
    }
    for (String offset : new String[] {"Z", "+08:00", "-03:30", "+00:00", "+14:00", "-18:00"}) {
      for (int i = 0; i < 10; i++) {
        String text = new Timestamp(Math.floorMod(random.nextLong(), 9_258_000_000_000L)).toInstant().toString().replace("Z", offset);
        line("timestamp", "UTC", text, t -> Bytes.toBytes(OffsetDateTime.parse(t).toInstant().toEpochMilli()));
      }
    }
  }

  static byte[] local(String text, String zone) {
    return Bytes.toBytes(LocalDateTime.parse(text.replace(' ', 'T')).atZone(ZoneId.of(zone)).toInstant().toEpochMilli());
  }

  static void plain() {
    line("boolean", "", "true", t -> Bytes.toBytes(true));
    line("boolean", "", "TRUE", t -> Bytes.toBytes(true));
    line("boolean", "", "false", t -> Bytes.toBytes(false));
    line("text", "", "中文 é", Bytes::toBytes);
    line("hex", "", "0aFF00", t -> Bytes.fromHex(t));
  }

  public static void main(String[] a) {
    whole();
    fractions();
    moments();
    plain();
  }
}
