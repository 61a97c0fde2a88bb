package oracle;

import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.io.hfile.HFilePrettyPrinter;

/** pretty: HBase's own tool that prints HFiles. */
final class Pretty {
  private Pretty() {}

  static void print(String[] a, PrintStream out) throws Exception {
    Path file = new Path(a[1]);
    Configuration conf = new Configuration(Oracle.CONF);
    conf.set(HConstants.HBASE_DIR, file.getParent().toString()); // it prints no file from elsewhere
    HFilePrettyPrinter printer = new HFilePrettyPrinter(conf);
    printer.setPrintStreams(out, out);
    List<String> options = new ArrayList<>(Arrays.asList(a).subList(2, a.length));
    options.addAll(List.of("-f", file.toString()));
    int status = printer.run(options.toArray(new String[0]));
    if (status != 0) {
      throw new Oracle.Unlike("HFilePrettyPrinter ends with " + status);
    }
  }
}
