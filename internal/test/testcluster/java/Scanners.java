package oracle;

import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;

/** Scanners of HFiles, without the block cache. HBase 2.4 asks for them in another way: see 2.4/Scanners.java. */
final class Scanners {
  private Scanners() {}

  static HFileScanner reading(HFile.Reader r) {
    return r.getScanner(Oracle.CONF, false, false);
  }

  /** With reads of their own place, as for gets. */
  static HFileScanner seeking(HFile.Reader r) {
    return r.getScanner(Oracle.CONF, false, true);
  }
}
