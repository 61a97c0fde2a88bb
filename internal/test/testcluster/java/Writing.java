package oracle;

import java.io.IOException;
import java.io.PrintStream;
import java.util.Collections;
import java.util.Map;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.ArrayBackedTag;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.PrivateCellUtil;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFileContext;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.HStoreFile;
import org.apache.hadoop.hbase.regionserver.StoreFileWriter;
import org.apache.hadoop.hbase.util.Bytes;

/** write: HBase's writer, with the file info that HFileOutputFormat2 adds. */
final class Writing {
  private final Settings settings;
  private final HFileContext context;
  private final BloomType bloom;
  private final long time;
  private final String task;
  private final Path dir;
  private final String tag;
  private final long sequence;
  private final Map<String, String> info;
  private String family;
  private StoreFileWriter writer;

  private Writing(String[] a) throws Oracle.Usage {
    settings = new Settings(a, 3);
    context = settings.context();
    bloom = settings.bloom();
    time = settings.takeTime("TIME");
    task = settings.take("TASK", "oracle");
    family = settings.take("FAMILY", null);
    tag = settings.take("TAG", "");
    sequence = Long.parseLong(settings.take("SEQUENCE", "0"));
    info = settings.takeScope("INFO");
    settings.done();
    dir = new Path(a[2]);
  }

  static void write(String[] a, PrintStream out) throws Exception {
    Writing w = new Writing(a);
    CellLine.read(a[1], w::append);
    out.println(w.close());
  }

  private void append(KeyValue kv) throws Exception {
    if (family == null) {
      family = Bytes.toString(CellUtil.cloneFamily(kv));
    }
    if (!Bytes.toString(CellUtil.cloneFamily(kv)).equals(family)) {
      throw new IOException("a cell of another family than " + family + ": " + CellLine.of(kv));
    }
    open();
    writer.append(extra(kv));
  }

  /** The cell with a tag and a sequence ID, if they are wanted. */
  private Cell extra(KeyValue kv) throws IOException {
    Cell c = tag.isEmpty() ? kv : PrivateCellUtil.createCell(kv, Collections.singletonList(new ArrayBackedTag((byte) 64, Bytes.toBytes(tag))));
    PrivateCellUtil.setSequenceId(c, sequence);
    return c;
  }

  private void open() throws Exception {
    if (writer == null) {
      writer = open(settings, context, bloom, dir.getFileSystem(settings.conf), new Path(dir, family));
    }
  }

  static StoreFileWriter open(Settings s, HFileContext context, BloomType bloom, FileSystem fs, Path dir) throws Exception {
    return new StoreFileWriter.Builder(s.conf, new CacheConfig(s.conf), fs).withOutputDir(dir).withBloomType(bloom).withFileContext(context).build();
  }

  private Path close() throws Exception {
    if (family == null) {
      throw new Oracle.Usage("no cells: FAMILY=… names the family of an empty file");
    }
    open();
    writer.appendFileInfo(HStoreFile.BULKLOAD_TIME_KEY, Bytes.toBytes(time));
    writer.appendFileInfo(HStoreFile.BULKLOAD_TASK_KEY, Bytes.toBytes(task));
    writer.appendFileInfo(HStoreFile.MAJOR_COMPACTION_KEY, Bytes.toBytes(true));
    writer.appendFileInfo(HStoreFile.EXCLUDE_FROM_MINOR_COMPACTION_KEY, Bytes.toBytes(false));
    for (Map.Entry<String, String> e : info.entrySet()) {
      writer.appendFileInfo(Bytes.toBytes(e.getKey()), Bytes.toBytes(e.getValue()));
    }
    writer.appendTrackedTimestampsToMetadata();
    writer.close();
    return writer.getPath();
  }
}
