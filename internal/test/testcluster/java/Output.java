package oracle;

import java.util.ArrayList;
import java.util.List;
import org.apache.hadoop.fs.LocalFileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.io.ImmutableBytesWritable;
import org.apache.hadoop.hbase.mapreduce.HFileOutputFormat2;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.OutputCommitter;
import org.apache.hadoop.mapreduce.RecordWriter;
import org.apache.hadoop.mapreduce.TaskAttemptContext;
import org.apache.hadoop.mapreduce.TaskAttemptID;
import org.apache.hadoop.mapreduce.lib.output.FileOutputFormat;
import org.apache.hadoop.mapreduce.task.TaskAttemptContextImpl;

/** output: one task of HFileOutputFormat2. */
final class Output {
  private Output() {}

  static void run(String[] a) throws Exception {
    List<KeyValue> cells = new ArrayList<>();
    CellLine.read(a[1], cells::add);
    Settings settings = new Settings(a, 3);
    TableDescriptorBuilder table = TableDescriptorBuilder.newBuilder(TableName.valueOf("output"));
    cells.stream().map(c -> Bytes.toString(CellUtil.cloneFamily(c))).distinct().forEach(f -> table.setColumnFamily(settings.family(f)));
    settings.doneWithScopes();
    // It wants the local file system that Hadoop has by default (see Oracle.CONF).
    settings.conf.set("fs.file.impl", LocalFileSystem.class.getName());
    settings.conf.setBoolean("fs.file.impl.disable.cache", true);
    Job job = Job.getInstance(settings.conf);
    job.setMapOutputKeyClass(ImmutableBytesWritable.class);
    job.setMapOutputValueClass(KeyValue.class);
    HFileOutputFormat2.configureIncrementalLoadMap(job, table.build());
    FileOutputFormat.setOutputPath(job, new Path(a[2]));
    TaskAttemptContext task = new TaskAttemptContextImpl(job.getConfiguration(), new TaskAttemptID());
    HFileOutputFormat2 format = new HFileOutputFormat2();
    OutputCommitter committer = format.getOutputCommitter(task);
    committer.setupJob(task);
    committer.setupTask(task);
    RecordWriter<ImmutableBytesWritable, Cell> writer = format.getRecordWriter(task);
    for (KeyValue kv : cells) {
      writer.write(new ImmutableBytesWritable(CellUtil.cloneRow(kv)), kv);
    }
    writer.close(task);
    committer.commitTask(task);
    committer.commitJob(task);
  }
}
