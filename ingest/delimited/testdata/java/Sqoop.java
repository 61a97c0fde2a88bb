package ingest;

import com.cloudera.sqoop.lib.DelimiterSet;
import com.cloudera.sqoop.lib.FieldFormatter;
import com.cloudera.sqoop.lib.RecordParser;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.HexFormat;
import org.apache.sqoop.SqoopOptions;

/**
 * Writes and reads records with the classes that Sqoop's generated code calls. Each line of the input is a command and its
 * arguments, and gives one line. Texts are UTF-8 in hex, with an x before it.
 *
 *   format FIELD RECORD ENCLOSE ESCAPE REQUIRED TEXT…   the record of these values, as toString(DelimiterSet) of a generated class
 *   parse  FIELD RECORD ENCLOSE ESCAPE REQUIRED TEXT    the values of a record, or ! and what is wrong with it
 *   char   TEXT                                         the character that a delimiter's argument stands for, or !
 */
public class Sqoop {
  private static final HexFormat HEX = HexFormat.of();

  public static void main(String[] args) throws Exception {
    PrintStream out = new PrintStream(System.out, false, "UTF-8");
    BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    for (String line = in.readLine(); line != null; line = in.readLine()) {
      out.println(run(line.split(" ")));
    }
    out.flush();
  }

  private static String run(String[] args) {
    if (args[0].equals("char")) {
      try {
        return hex("" + SqoopOptions.toChar(text(args[1])));
      } catch (Exception e) {
        return "!" + e.getClass().getSimpleName();
      }
    }
    DelimiterSet set = new DelimiterSet(one(args[1]), one(args[2]), one(args[3]), one(args[4]), args[5].equals("true"));
    return args[0].equals("format") ? format(set, args) : parse(set, text(args[6]));
  }

  private static String format(DelimiterSet set, String[] args) {
    StringBuilder record = new StringBuilder();
    for (int i = 6; i < args.length; i++) {
      if (i > 6) {
        record.append(set.getFieldsTerminatedBy());
      }
      record.append(FieldFormatter.escapeAndEnclose(text(args[i]), set));
    }
    record.append(set.getLinesTerminatedBy());
    return hex(record.toString());
  }

  private static String parse(DelimiterSet set, String record) {
    StringBuilder fields = new StringBuilder();
    try {
      for (String field : new RecordParser(set).parseRecord(record)) {
        fields.append(fields.length() > 0 ? " " : "").append(hex(field));
      }
    } catch (RecordParser.ParseError e) {
      return "!" + e.getMessage();
    }
    return fields.toString();
  }

  private static char one(String arg) {
    return text(arg).charAt(0);
  }

  private static String text(String arg) {
    return new String(HEX.parseHex(arg.substring(1)), StandardCharsets.UTF_8);
  }

  private static String hex(String text) {
    return "x" + HEX.formatHex(text.getBytes(StandardCharsets.UTF_8));
  }
}
