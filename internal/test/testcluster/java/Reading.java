package oracle;

import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.LocatedFileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RemoteIterator;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;

/** HFiles found, opened and listed. */
final class Reading {
  private Reading() {}

  static HFile.Reader open(Path p) throws IOException {
    return HFile.createReader(p.getFileSystem(Oracle.CONF), p, CacheConfig.DISABLED, true, Oracle.CONF);
  }

  static void cells(String[] a, PrintStream out) throws Exception {
    PrintStream to = Oracle.outputOf(a, out);
    for (Path p : files(a[1])) {
      try (HFile.Reader r = open(p); HFileScanner s = Scanners.reading(r)) {
        for (boolean more = s.seekTo(); more; more = s.next()) {
          to.println(CellLine.of(s.getCell()));
        }
      }
    }
    to.flush();
    if (to != out) {
      to.close();
    }
  }

  /** The file itself, or the HFiles below a directory in order of their paths; as for HBase's loader, names that begin with _ or . are none. */
  static List<Path> files(String p) throws IOException {
    Path root = new Path(p);
    FileSystem fs = root.getFileSystem(Oracle.CONF);
    if (fs.getFileStatus(root).isFile()) {
      return Collections.singletonList(root);
    }
    root = fs.makeQualified(root);
    List<Path> found = new ArrayList<>();
    for (RemoteIterator<LocatedFileStatus> it = fs.listFiles(root, true); it.hasNext(); ) {
      Path f = it.next().getPath();
      if (!hidden(f, root)) {
        found.add(f);
      }
    }
    Collections.sort(found);
    return found;
  }

  private static boolean hidden(Path f, Path root) {
    for (Path q = f; q != null && !q.equals(root); q = q.getParent()) {
      if (q.getName().startsWith("_") || q.getName().startsWith(".")) {
        return true;
      }
    }
    return false;
  }
}
