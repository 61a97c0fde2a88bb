package oracle;

import java.io.BufferedReader;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Paths;
import java.security.MessageDigest;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.util.Bytes;

/** A cell as a line of text: row in hex, family, qualifier in hex, timestamp, type (Put, Delete, …), value in hex; TAB between. */
final class CellLine {
  private static final char[] HEX = "0123456789abcdef".toCharArray();

  private CellLine() {}

  interface CellUse {
    void use(KeyValue kv) throws Exception;
  }

  /** Each cell of a local file of lines. */
  static void read(String file, CellUse to) throws Exception {
    try (BufferedReader r = Files.newBufferedReader(Paths.get(file), StandardCharsets.UTF_8)) {
      int n = 0;
      for (String line; (line = r.readLine()) != null; ) {
        n++;
        to.use(parse(line, file + ":" + n));
      }
    }
  }

  static KeyValue parse(String line, String where) throws IOException {
    String[] p = line.split("\t", -1);
    if (p.length != 6) {
      throw new IOException(where + ": " + p.length + " parts, want 6");
    }
    return new KeyValue(unhex(p[0]), Bytes.toBytes(p[1]), unhex(p[2]), Long.parseLong(p[3]), KeyValue.Type.valueOf(p[4]), unhex(p[5]));
  }

  static String of(Cell c) {
    return hex(c.getRowArray(), c.getRowOffset(), c.getRowLength())
        + "\t" + Bytes.toString(c.getFamilyArray(), c.getFamilyOffset(), c.getFamilyLength())
        + "\t" + hex(c.getQualifierArray(), c.getQualifierOffset(), c.getQualifierLength())
        + "\t" + c.getTimestamp() + "\t" + KeyValue.Type.codeToType(c.getTypeByte())
        + "\t" + hex(c.getValueArray(), c.getValueOffset(), c.getValueLength());
  }

  static String hex(byte[] b, int off, int len) {
    char[] c = new char[len * 2];
    for (int i = 0; i < len; i++) {
      c[2 * i] = HEX[(b[off + i] >> 4) & 15];
      c[2 * i + 1] = HEX[b[off + i] & 15];
    }
    return new String(c);
  }

  static byte[] unhex(String s) throws IOException {
    if (s.length() % 2 != 0) {
      throw new IOException("not hex: " + s);
    }
    byte[] b = new byte[s.length() / 2];
    for (int i = 0; i < b.length; i++) {
      int high = Character.digit(s.charAt(2 * i), 16), low = Character.digit(s.charAt(2 * i + 1), 16);
      if (high < 0 || low < 0) {
        throw new IOException("not hex: " + s);
      }
      b[i] = (byte) (high << 4 | low);
    }
    return b;
  }

  /** Lines, written or only hashed. */
  static final class Sink {
    private final java.io.PrintStream out;
    private final MessageDigest digest;
    private long rows;
    private long cells;
    private byte[] lastRow;

    Sink(java.io.PrintStream out, boolean digest) throws Exception {
      this.out = out;
      this.digest = digest ? MessageDigest.getInstance("SHA-256") : null;
    }

    void add(Cell c) {
      cells++;
      if (lastRow == null || !Bytes.equals(lastRow, 0, lastRow.length, c.getRowArray(), c.getRowOffset(), c.getRowLength())) {
        rows++;
        lastRow = Bytes.copy(c.getRowArray(), c.getRowOffset(), c.getRowLength());
      }
      if (digest == null) {
        out.println(of(c));
      } else {
        digest.update((of(c) + "\n").getBytes(StandardCharsets.UTF_8));
      }
    }

    /** With a digest: rows, cells and the SHA-256 of the lines, timestamps and all. */
    void finish() {
      if (digest != null) {
        byte[] d = digest.digest();
        out.println("rows=" + rows + " cells=" + cells + " sha256=" + hex(d, 0, d.length));
      }
      out.flush();
    }
  }
}
