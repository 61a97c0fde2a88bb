import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.time.format.DateTimeFormatter;
import java.time.format.DateTimeFormatterBuilder;
import java.time.format.DateTimeParseException;
import java.time.format.ResolverStyle;
import java.time.temporal.ChronoField;
import java.time.temporal.TemporalAccessor;
import java.time.temporal.TemporalQueries;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Random;
import java.util.Set;

/**
 * Writes clocks.txt: a text, and what java.time makes of it, with a TAB between: the milliseconds since 1970 of a clock in
 * Asia/Shanghai where the text tells no offset, and the nanoseconds after them; "-" where none of the formatters reads it.
 * Needs Java 17 and nothing else: java Clocks.java > clocks.txt
 */
public class Clocks {
  static final List<DateTimeFormatter> formatters = new ArrayList<>();

  /** year has four digits: uuuu alone would take a sign and more of them, too. */
  static DateTimeFormatterBuilder date(String separator) {
    DateTimeFormatterBuilder b = new DateTimeFormatterBuilder().appendValue(ChronoField.YEAR, 4);
    return b.appendLiteral(separator).appendPattern("MM").appendLiteral(separator).appendPattern("dd");
  }

  static void add(DateTimeFormatterBuilder b) {
    formatters.add(b.toFormatter(java.util.Locale.ROOT).withResolverStyle(ResolverStyle.STRICT));
  }

  static void forms() {
    for (String separator : new String[] {"-", "/"}) {
      add(date(separator));
      for (String between : new String[] {" ", "T"}) {
        for (String time : new String[] {"HH:mm", "HH:mm:ss", "HH:mm:ss."}) {
          for (String offset : new String[] {"", "+HH:MM", "+HHMM", "+HH"}) {
            for (String blank : new String[] {"", " "}) {
              DateTimeFormatterBuilder b = date(separator).appendLiteral(between).appendPattern(time.replace(".", ""));
              if (time.endsWith(".")) {
                b.appendFraction(ChronoField.NANO_OF_SECOND, 1, 9, true);
              }
              if (!offset.isEmpty()) {
                b.appendLiteral(blank).appendOffset(offset, "Z");
              } else if (!blank.isEmpty()) {
                continue;
              }
              add(b);
            }
          }
        }
      }
    }
    add(new DateTimeFormatterBuilder().appendValue(ChronoField.YEAR, 4).appendPattern("MMdd"));
    add(new DateTimeFormatterBuilder().appendValue(ChronoField.YEAR, 4).appendPattern("MMddHHmmss"));
  }

  static String said(String text) {
    for (DateTimeFormatter f : formatters) {
      try {
        TemporalAccessor t = f.parse(text);
        LocalDate day = t.query(TemporalQueries.localDate());
        java.time.LocalTime time = t.query(TemporalQueries.localTime());
        LocalDateTime clock = time == null ? day.atStartOfDay() : day.atTime(time);
        ZoneId zone = t.query(TemporalQueries.offset());
        ZonedDateTime z = clock.atZone(zone == null ? ZoneId.of("Asia/Shanghai") : zone);
        return z.toInstant().toEpochMilli() + "\t" + z.getNano() % 1_000_000;
      } catch (DateTimeParseException refused) {
        // the next one
      }
    }
    return "-\t-";
  }

  /** What two grammars of this program once read in two ways comes first. */
  static final String[] thought = {"2019-01-31 12:34:56+01:99", "2019-01-31 12:34:56+08:", "2019-01-31 12:34:56+18:30", "0000-01-01", "20190131", "1548938096",
    "1548938096000", "20190131123456", "201901311234", "2019013112", "2019-01-31", "2019/01/31", "2019-01/31", "2019/01-31", "2019-1-31", "2019-01-31 12:34", "2019-01-31T12:34:56",
    "2019-01-31t12:34:56", "2019-01-31 12:34:56.", "2019-01-31 12:34:56.1", "2019-01-31 12:34:56.123456789", "2019-01-31 12:34:56.1234567891", "2019-01-31 12:34.5",
    "2019-01-31 12:34:56,5", "2019-01-31 12:34:56Z", "2019-01-31 12:34:56z", "2019-01-31 12:34:56 Z", "2019-01-31 12:34:56  Z", "2019-01-31 12:34:56+08", "2019-01-31 12:34:56+0800",
    "2019-01-31 12:34:56 +08:00", "2019-01-31 12:34:56-00:00", "2019-01-31 12:34:56+00:00", "2019-01-31 12:34:56+8", "2019-01-31 12:34:56+8:00", "2019-01-31 12:34:56+18:00", "2019-01-31 12:34:56-18:00",
    "2019-01-31 12:34:56+18:01", "2019-01-31 12:34:56+19:00", "2019-01-31 12:34:56+01:59", "2019-01-31 12:34:56+01:60", "2019-01-31 12:34:56+010", "2019-01-31 12:34:56+01:00:00", "2019-01-31 12:34:56 ",
    "2019-01-31 ", " 2019-01-31", "2019-01-31Z", "2019-01-31 +08:00", "2019-01-31 12", "2019-01-31 12:34:60", "2019-01-31 12:60:00", "2019-01-31 24:00:00", "2019-01-31 23:59:59.999999999", "2019-02-29",
    "2020-02-29", "1900-02-29", "2000-02-29", "0000-02-29", "0000-12-31 23:59:59Z", "0001-01-01", "9999-12-31", "10000-01-01", "-2019-01-31", "+2019-01-31", "00000000", "00000101", "20190229", "20190131245960", "99991231235959",
    "2019-00-10", "2019-13-01", "2019-01-00", "2019-01-32", "2019-04-31", "", "-", "2019", "2019-", "2019-01", "2019-01-31 12:34Z", "2019-01-31 12:34+0800", "2019-01-31T12:34:56.5 -0330", "2019-01-31 12:34:56+", "2019-01-31 12:34:56+ 08:00",
    "1986-05-04 02:30:00", "1940-06-01 00:00:00", "1900-12-31 23:54:16", "\u0662\u0660\u0661\u0669-01-31"};

  static final Random random = new Random(20261122);

  /** A number of a field: nearly always one that the field has, now and then one that is too great, and often a first or last one. */
  static String field(int width, int low, int high) {
    int n = random.nextInt(20) > 0 ? low + random.nextInt(high - low + 1) : random.nextInt((int) Math.pow(10, width));
    return String.format("%0" + width + "d", random.nextInt(8) > 0 ? n : random.nextBoolean() ? low : high);
  }

  static String one(String... of) {
    return of[random.nextInt(of.length)];
  }

  /** A text that has the form of one of the formatters. Days go to 31 and offsets to 18:59, so that Java refuses some. */
  static String drawn() {
    String separator = one("-", "/", "");
    boolean far = random.nextInt(4) == 0;
    String date = field(4, far ? 0 : 1900, far ? 9999 : 2099) + separator + field(2, 1, 12) + separator + field(2, 1, 31);
    String hour = field(2, 0, 23);
    String minute = field(2, 0, 59);
    String second = field(2, 0, 59);
    if (separator.isEmpty()) {
      return random.nextBoolean() ? date : date + hour + minute + second;
    }
    if (random.nextInt(8) == 0) {
      return date;
    }
    String text = date + one(" ", "T") + hour + ":" + minute;
    if (random.nextInt(4) > 0) {
      text += ":" + second;
      if (random.nextBoolean()) {
        text += "." + String.format("%09d", random.nextInt(1_000_000_000)).substring(0, 1 + random.nextInt(9));
      }
    }
    if (random.nextBoolean()) {
      return text;
    }
    String offset = one("+", "-") + field(2, 0, 18);
    return text + one("", " ") + one("Z", offset, offset + field(2, 0, 59), offset + ":" + field(2, 0, 59));
  }

  /** One or two characters of a text changed, left out or put in. */
  static String changed(String text) {
    String alphabet = "0123456789-/:.TZ+ ";
    StringBuilder b = new StringBuilder(text);
    for (int n = 1 + random.nextInt(2); n > 0 && b.length() > 0; n--) {
      int at = random.nextInt(b.length());
      char c = alphabet.charAt(random.nextInt(alphabet.length()));
      switch (random.nextInt(3)) {
        case 0: b.setCharAt(at, c); break;
        case 1: b.deleteCharAt(at); break;
        default: b.insert(at, c);
      }
    }
    return b.toString();
  }

  public static void main(String[] a) {
    forms();
    Set<String> texts = new LinkedHashSet<>(List.of(thought));
    while (texts.size() < 800) {
      texts.add(changed(one(thought)));
    }
    while (texts.size() < 1200) {
      texts.add(changed(drawn()));
    }
    while (texts.size() < 3000) {
      texts.add(drawn());
    }
    java.io.PrintStream out = new java.io.PrintStream(System.out, false, java.nio.charset.StandardCharsets.UTF_8);
    for (String text : texts) {
      out.print(text + "\t" + said(text) + "\n");
    }
    out.flush();
  }
}
