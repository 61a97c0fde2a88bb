package oracle;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.io.OutputStream;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.net.URI;
import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.FSDataOutputStream;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.fs.permission.FsPermission;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.io.hfile.HFileContext;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.StoreFileWriter;
import org.apache.hadoop.util.Progressable;

/**
 * bench: how fast HBase's StoreFileWriter takes cells that are in memory already. What it writes is thrown away (Discard), so no disk is measured.
 * A line a pass: wall seconds, CPU-seconds of the writing thread and of the whole process (with garbage collection and the compiler).
 */
final class Bench {
  private Bench() {}

  static void run(String[] a, PrintStream out) throws Exception {
    Settings s = new Settings(a, 3);
    HFileContext context = s.context();
    BloomType bloom = s.bloom();
    s.done();
    List<KeyValue> cells = new ArrayList<>();
    CellLine.read(a[1], cells::add);
    for (int i = 0; i < Integer.parseInt(a[2]); i++) {
      System.gc(); // what loading the cells left behind is not the writer's
      pass(i, s, context, bloom, cells, out);
    }
  }

  private static void pass(int i, Settings s, HFileContext context, BloomType bloom, List<KeyValue> cells, PrintStream out) throws Exception {
    Discard sink = new Discard(s);
    OperatingSystemMXBean os = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
    long wall = System.nanoTime(), process = os.getProcessCpuTime(), thread = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime();
    StoreFileWriter w = Writing.open(s, context, bloom, sink, new Path("file:///nowhere"));
    for (KeyValue kv : cells) {
      w.append(kv);
    }
    w.appendTrackedTimestampsToMetadata();
    w.close();
    thread = ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() - thread;
    process = os.getProcessCpuTime() - process;
    wall = System.nanoTime() - wall;
    out.printf("pass %d: cells=%d bytes=%d wall=%.3fs thread=%.3fs process=%.3fs Mcells/thread-s=%.2f Mcells/process-s=%.2f%n",
        i, cells.size(), sink.written, wall / 1e9, thread / 1e9, process / 1e9, cells.size() / (thread / 1e3), cells.size() / (process / 1e3));
  }

  /** A file system that takes files and keeps nothing but their length. */
  private static final class Discard extends RawLocalFileSystem {
    long written;

    Discard(Settings s) throws IOException {
      initialize(URI.create("file:///"), s.conf);
    }

    @Override
    public FSDataOutputStream create(Path f, FsPermission p, boolean overwrite, int buffer, short replication, long block, Progressable progress) throws IOException {
      return new FSDataOutputStream(new OutputStream() {
        @Override
        public void write(int b) {
          written++;
        }

        @Override
        public void write(byte[] b, int off, int len) {
          written += len;
        }
      }, null);
    }

    @Override
    public FileStatus getFileStatus(Path f) {
      return new FileStatus(0, true, 1, 1, 0, f); // the directory to write to; nothing is to be made
    }
  }
}
