package peer;

import java.io.Serializable;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import org.apache.commons.lang3.StringUtils;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.io.ImmutableBytesWritable;
import org.apache.hadoop.hbase.mapreduce.HFileOutputFormat2;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.MD5Hash;
import org.apache.hadoop.io.LongWritable;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.mapreduce.Job;
import org.apache.hadoop.mapreduce.lib.input.TextInputFormat;
import org.apache.spark.Partitioner;
import org.apache.spark.SparkConf;
import org.apache.spark.api.java.JavaPairRDD;
import org.apache.spark.api.java.JavaRDD;
import org.apache.spark.api.java.JavaSparkContext;
import scala.Tuple2;

/**
 * The Spark job that bulkload replaces: Sqoop's text to a table's HFiles by HFileOutputFormat2, without the load.
 *
 * <p>Usage: Peer MODE INPUT OUTPUT TABLE REGIONS COLUMNS FAMILY. The key is salt(column 1, REGIONS) + md5(column 1) + column 0, a region a salt.
 * MODE published shuffles one record a cell, as such jobs are published; MODE tuned one record a row. Compression, encoding and bloom filter are
 * the table's. Unlike the published job it keeps empty columns at the end of a row.
 */
public final class Peer {
  private static final String FIELD = "\u0001";
  private static final String RECORD = "\u0010";

  private Peer() {}

  /** The salt is the region. */
  static final class BySalt extends Partitioner {
    private final int regions;
    private final int digits;

    BySalt(int regions) {
      this.regions = regions;
      this.digits = Integer.toString(regions - 1).length();
    }

    @Override
    public int numPartitions() {
      return regions;
    }

    @Override
    public int getPartition(Object key) {
      String row = key instanceof Tuple2 ? (String) ((Tuple2<?, ?>) key)._1() : (String) key;
      return Integer.parseInt(row.substring(0, digits));
    }
  }

  /** Row, then qualifier. */
  static final class ByCell implements Comparator<Tuple2<String, String>>, Serializable {
    @Override
    public int compare(Tuple2<String, String> a, Tuple2<String, String> b) {
      int c = a._1().compareTo(b._1());
      return c != 0 ? c : a._2().compareTo(b._2());
    }
  }

  /** As bulkload builds it: the replaced job pads salts to one digit, which is the same for up to ten regions. */
  static String row(String[] fields, int regions) {
    String salt = Integer.toString(Math.abs(fields[1].hashCode() % regions));
    return StringUtils.leftPad(salt, Integer.toString(regions - 1).length(), "0") + MD5Hash.getMD5AsHex(Bytes.toBytes(fields[1])) + fields[0];
  }

  public static void main(String[] a) throws Exception {
    int regions = Integer.parseInt(a[4]);
    String[] columns = a[5].split(",");
    String family = a[6];
    Configuration conf = HBaseConfiguration.create();
    SparkConf spark = new SparkConf().setAppName("peer").setMaster("local[2]").set("spark.ui.enabled", "false")
        .set("spark.serializer", "org.apache.spark.serializer.KryoSerializer");
    try (JavaSparkContext context = new JavaSparkContext(spark); Connection connection = ConnectionFactory.createConnection(conf);
        Table table = connection.getTable(TableName.valueOf(a[3]))) {
      Configuration in = new Configuration(conf);
      in.set("textinputformat.record.delimiter", RECORD);
      JavaRDD<String> lines = context.newAPIHadoopFile(a[1], TextInputFormat.class, LongWritable.class, Text.class, in).map(x -> x._2.toString());
      Job job = Job.getInstance(conf);
      job.setMapOutputKeyClass(ImmutableBytesWritable.class);
      job.setMapOutputValueClass(KeyValue.class);
      HFileOutputFormat2.configureIncrementalLoadMap(job, table.getDescriptor());
      JavaPairRDD<ImmutableBytesWritable, KeyValue> cells =
          a[0].equals("published") ? byCell(lines, columns, family, regions) : byRow(lines, columns, family, regions);
      cells.saveAsNewAPIHadoopFile(a[2], ImmutableBytesWritable.class, KeyValue.class, HFileOutputFormat2.class, job.getConfiguration());
    }
  }

  static JavaPairRDD<ImmutableBytesWritable, KeyValue> byCell(JavaRDD<String> lines, String[] columns, String family, int regions) {
    return lines.flatMapToPair(line -> {
      String[] fields = line.split(FIELD, -1);
      String row = row(fields, regions);
      List<Tuple2<Tuple2<String, String>, String>> out = new ArrayList<>(columns.length);
      for (int i = 0; i < columns.length; i++) {
        out.add(new Tuple2<>(new Tuple2<>(row, columns[i]), fields[i]));
      }
      return out.iterator();
    }).repartitionAndSortWithinPartitions(new BySalt(regions), new ByCell()).mapToPair(x -> cell(x._1()._1(), family, x._1()._2(), x._2()));
  }

  static JavaPairRDD<ImmutableBytesWritable, KeyValue> byRow(JavaRDD<String> lines, String[] columns, String family, int regions) {
    Integer[] order = new Integer[columns.length];
    Arrays.setAll(order, i -> i);
    Arrays.sort(order, Comparator.comparing(i -> columns[i]));
    return lines.mapToPair(line -> new Tuple2<>(row(line.split(FIELD, -1), regions), line))
        .repartitionAndSortWithinPartitions(new BySalt(regions))
        .flatMapToPair(x -> {
          String[] fields = x._2().split(FIELD, -1);
          List<Tuple2<ImmutableBytesWritable, KeyValue>> out = new ArrayList<>(columns.length);
          for (int i : order) {
            out.add(cell(x._1(), family, columns[i], fields[i]));
          }
          return out.iterator();
        });
  }

  private static Tuple2<ImmutableBytesWritable, KeyValue> cell(String row, String family, String qualifier, String value) {
    byte[] key = Bytes.toBytes(row);
    return new Tuple2<>(new ImmutableBytesWritable(key), new KeyValue(key, Bytes.toBytes(family), Bytes.toBytes(qualifier), Bytes.toBytes(value)));
  }
}
