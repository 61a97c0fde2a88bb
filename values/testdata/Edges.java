import java.io.ByteArrayOutputStream;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.nio.ByteBuffer;
import java.time.Instant;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.zone.ZoneOffsetTransition;
import java.util.HexFormat;
import java.util.Random;

/**
 * Writes edges.txt, in the form of vectors.txt, of values beside the bounds of their types. It needs no jar: what
 * Bytes.toBytes makes of a number is its big-endian bytes, of a BigDecimal its scale and BigInteger.toByteArray.
 */
public class Edges {
  static final Random random = new Random(1970);

  interface Reader {
    byte[] read(String text) throws Exception;
  }

  static void line(String kind, String zone, String text, Reader reader) {
    String hex;
    try {
      hex = HexFormat.of().formatHex(reader.read(text));
    } catch (Exception refused) {
      hex = "-";
    }
    System.out.println(kind + "\t" + zone + "\t" + text + "\t" + hex);
  }

  static byte[] ofLong(long n) {
    return ByteBuffer.allocate(8).putLong(n).array();
  }

  static byte[] ofDecimal(String text) {
    BigDecimal d = new BigDecimal(text);
    ByteArrayOutputStream out = new ByteArrayOutputStream();
    out.writeBytes(ByteBuffer.allocate(4).putInt(d.scale()).array());
    out.writeBytes(d.unscaledValue().toByteArray());
    return out.toByteArray();
  }

  static void decimals() {
    for (int bits = 7; bits <= 152; bits += bits < 120 ? 8 : 1) {
      for (int beside = -1; beside <= 1; beside++) {
        BigInteger n = BigInteger.ONE.shiftLeft(bits).add(BigInteger.valueOf(beside));
        line("decimal", "", n.toString(), Edges::ofDecimal);
        line("decimal", "", n.negate().toString(), Edges::ofDecimal);
        line("decimal", "", new BigDecimal(n.negate(), bits % 40).toPlainString(), Edges::ofDecimal);
      }
    }
    for (int digits = 36; digits <= 41; digits++) {
      for (String pattern : new String[] {"9".repeat(digits), "-" + "9".repeat(digits), "1" + "0".repeat(digits - 1), "0." + "9".repeat(digits),
          "-." + "0".repeat(digits), "00000" + "8".repeat(digits), "7".repeat(digits) + "." + "0".repeat(9)}) {
        line("decimal", "", pattern, Edges::ofDecimal);
      }
    }
    for (String text : new String[] {"1e-2147483647", "1e2147483647", "1e2147483648", "1e-2147483648", "0.1e-2147483646", "0.1e-2147483647",
        "0.1e2147483648", "0e2147483648", "10e2147483648", "1e2147483649", "1e99999999999", "1e-99999999999", "1e0000000000000000005", "1e+0", "1e-0", "1E+",
        "1E-", "1e+-1", "1e 5", "+1e+5", "..1", "1..", "-.e1", ".e1", "+.", "0x1", "1f", "1d", "1L", "1,000", "+-0"}) {
      line("decimal", "", text, Edges::ofDecimal);
    }
  }

  /** Decimals beside the middle between two neighbours, where rounding goes wrong first. */
  static void floats() {
    for (int i = 0; i < 120; i++) {
      float f = i < 20 ? Float.intBitsToFloat(i) : Float.intBitsToFloat(random.nextInt() & 0x7fffffff);
      if (Float.isNaN(f) || Float.isInfinite(f) || Float.isInfinite(Math.nextUp(f))) {
        continue;
      }
      BigDecimal middle = new BigDecimal(f).add(new BigDecimal(Math.nextUp(f))).divide(BigDecimal.valueOf(2));
      BigDecimal little = new BigDecimal(BigInteger.ONE, middle.scale() + 3);
      for (BigDecimal d : new BigDecimal[] {middle, middle.add(little), middle.subtract(little)}) {
        line("float32", "", d.toString(), t -> ByteBuffer.allocate(4).putFloat(Float.parseFloat(t)).array());
      }
    }
    for (int i = 0; i < 60; i++) {
      double f = i < 10 ? Double.longBitsToDouble(i) : Double.longBitsToDouble((random.nextLong() & 0x800fffffffffffffL) | (long) (900 + random.nextInt(250)) << 52);
      BigDecimal middle = new BigDecimal(f).add(new BigDecimal(Math.nextUp(f))).divide(BigDecimal.valueOf(2));
      BigDecimal little = new BigDecimal(BigInteger.ONE, middle.scale() + 3);
      for (BigDecimal d : new BigDecimal[] {middle, middle.add(little), middle.subtract(little)}) {
        line("float64", "", d.toString(), t -> ByteBuffer.allocate(8).putDouble(Double.parseDouble(t)).array());
      }
    }
  }

  /** The clock on both sides of changes of it, seen from before and from after. */
  static void changes() {
    for (String zone : new String[] {"Asia/Shanghai", "Asia/Hong_Kong", "Asia/Tokyo", "Asia/Pyongyang", "America/New_York", "America/St_Johns", "America/Caracas",
        "Australia/Lord_Howe", "Antarctica/Troll", "Europe/London", "Europe/Dublin", "Europe/Moscow", "Pacific/Apia", "Asia/Kathmandu"}) {
      ZoneId id = ZoneId.of(zone);
      Instant at = Instant.parse("1905-01-01T00:00:00Z");
      for (int i = 0; ; i++) {
        ZoneOffsetTransition change = id.getRules().nextTransition(at);
        if (change == null || change.getInstant().isAfter(Instant.parse("2022-01-01T00:00:00Z"))) {
          break;
        }
        at = change.getInstant();
        if (i % 5 != 0 && !zone.startsWith("Asia/S")) {
          continue;
        }
        for (int seconds = -1; seconds <= 0; seconds++) {
          for (LocalDateTime shown : new LocalDateTime[] {change.getDateTimeBefore(), change.getDateTimeAfter()}) {
            String text = shown.plusSeconds(seconds).toString().replace('T', ' ');
            line("timestamp", zone, text, t -> ofLong(LocalDateTime.parse(t.replace(' ', 'T')).atZone(id).toInstant().toEpochMilli()));
          }
        }
      }
    }
  }

  public static void main(String[] a) {
    decimals();
    floats();
    changes();
  }
}
