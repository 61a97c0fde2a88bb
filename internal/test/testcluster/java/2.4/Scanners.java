package oracle;

import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;

/** Stands for ../Scanners.java where the oracle is compiled with HBase 2.4. */
final class Scanners {
  private Scanners() {}

  static HFileScanner reading(HFile.Reader r) {
    return r.getScanner(false, false);
  }

  static HFileScanner seeking(HFile.Reader r) {
    return r.getScanner(false, true);
  }
}
