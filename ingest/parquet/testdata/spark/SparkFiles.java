import java.io.IOException;
import java.math.BigDecimal;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.sql.Date;
import java.sql.Timestamp;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.avro.Schema;
import org.apache.avro.SchemaBuilder;
import org.apache.avro.generic.GenericData;
import org.apache.avro.generic.GenericRecord;
import org.apache.parquet.avro.AvroParquetWriter;
import org.apache.parquet.hadoop.ParquetWriter;
import org.apache.parquet.hadoop.metadata.CompressionCodecName;
import org.apache.spark.sql.Dataset;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;

/**
 * Writes small Parquet files by Spark, in the ways that its settings offer, and one by parquet-avro as Sqoop does. Beside each stands the text that its
 * values must give, by java.sql.Timestamp.toString and BigDecimal.
 *
 * <p>Usage: SparkFiles FOLDER WORK, in a JVM whose time zone is UTC. The files replace those in FOLDER.
 */
public final class SparkFiles {
  private static final String[] TIMES = {
    "2019-01-01 00:00:00", "9999-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999", "1900-01-02 00:00:00", "1970-01-01 00:00:00.1", null
  };
  private static final String[] OLD_TIMES = {"1582-10-04 12:00:00", "1500-02-28 01:02:03.5", "0001-01-01 00:00:00", "2000-02-29 00:00:00", null};

  private SparkFiles() {}

  public static void main(String[] a) throws Exception {
    Path to = Paths.get(a[0]), work = Paths.get(a[1]);
    SparkSession spark = SparkSession.builder().master("local[1]").config("spark.ui.enabled", "false")
        .config("spark.sql.session.timeZone", "UTC").getOrCreate();
    spark.sparkContext().setLogLevel("WARN");

    everything(spark, to, work, "spark-default", new String[][] {});
    everything(spark, to, work, "spark-micros", new String[][] {{"spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS"},
        {"spark.sql.parquet.compression.codec", "gzip"}});
    everything(spark, to, work, "spark-millis", new String[][] {{"spark.sql.parquet.outputTimestampType", "TIMESTAMP_MILLIS"},
        {"spark.sql.parquet.compression.codec", "uncompressed"}});
    everything(spark, to, work, "spark-legacy-format", new String[][] {{"spark.sql.parquet.writeLegacyFormat", "true"}});
    spark.sparkContext().hadoopConfiguration().set("parquet.writer.version", "v2");
    spark.sparkContext().hadoopConfiguration().set("parquet.enable.dictionary", "false");
    spark.sparkContext().hadoopConfiguration().set("parquet.page.row.count.limit", "50");
    everything(spark, to, work, "spark-v2-delta", new String[][] {{"spark.sql.parquet.compression.codec", "zstd"},
        {"spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS"}});
    spark.sparkContext().hadoopConfiguration().set("parquet.writer.version", "v1");
    spark.sparkContext().hadoopConfiguration().set("parquet.enable.dictionary", "true");

    old(spark, to, work, "spark-old-dates", "CORRECTED");
    old(spark, to, work, "spark-rebased-dates", "LEGACY");
    spark.stop();
    sqoop(to);
  }

  /** All types, 200 rows. */
  static void everything(SparkSession spark, Path to, Path work, String name, String[][] settings) throws IOException {
    StructType type = new StructType().add("id", DataTypes.LongType, false).add("tiny", DataTypes.ByteType).add("small", DataTypes.ShortType)
        .add("int", DataTypes.IntegerType).add("flag", DataTypes.BooleanType).add("float", DataTypes.FloatType).add("double", DataTypes.DoubleType)
        .add("d4", DataTypes.createDecimalType(4, 2)).add("d18", DataTypes.createDecimalType(18, 6)).add("d38", DataTypes.createDecimalType(38, 10))
        .add("text", DataTypes.StringType).add("binary", DataTypes.BinaryType).add("day", DataTypes.DateType)
        .add("instant", DataTypes.TimestampType).add("local", DataTypes.TimestampNTZType);
    boolean millis = settings.length > 0 && settings[0][1].equals("TIMESTAMP_MILLIS");
    List<Row> rows = new ArrayList<>();
    List<String[]> texts = new ArrayList<>();
    for (int i = 0; i < 200; i++) {
      String time = TIMES[i % TIMES.length];
      Timestamp stamp = time == null ? null : Timestamp.valueOf(time);
      Timestamp shown = stamp;
      if (millis && stamp != null) {
        shown = new Timestamp(stamp.getTime());
      }
      boolean gone = i % 7 == 3;
      BigDecimal d4 = BigDecimal.valueOf(i * 99 % 9999 - 5000, 2), d18 = BigDecimal.valueOf((i - 100) * 123456789L, 6);
      BigDecimal d38 = new BigDecimal("12345678901234567890123456.0000000000").multiply(BigDecimal.valueOf(i - 100)).setScale(10);
      String text = "value " + i % 20 + " \u00fc\u4e2d";
      byte[] bytes = {(byte) i, 0, (byte) 255};
      float f = i / 4f;
      double d = i * 1e6;
      Object[] values = {(long) i, (byte) (i - 100), (short) (i * 100), i * 1000000, i % 3 == 0, f, d, d4, d18, d38, text, bytes,
          stamp == null ? null : Date.valueOf(stamp.toLocalDateTime().toLocalDate()), stamp, stamp == null ? null : stamp.toLocalDateTime()};
      String[] show = {"" + i, "" + (i - 100), "" + i * 100, "" + i * 1000000, "" + (i % 3 == 0), Float.toString(f), Double.toString(d), plain(d4), plain(d18),
          plain(d38), text, new String(bytes, StandardCharsets.ISO_8859_1), stamp == null ? null : values[12].toString(), stamp == null ? null : shown.toString(),
          stamp == null ? null : stamp.toString()};
      for (int c = 1; gone && c < values.length; c++) {
        values[c] = null;
        show[c] = null;
      }
      rows.add(RowFactory.create(values));
      texts.add(show);
    }
    write(spark, to, work, name, rows, type, texts, settings);
  }

  /** Dates before the Gregorian calendar: as java.time counts them, or as java.sql does. Both are the same text. */
  static void old(SparkSession spark, Path to, Path work, String name, String mode) throws IOException {
    spark.conf().set("spark.sql.datetime.java8API.enabled", "true");
    StructType type = new StructType().add("day", DataTypes.DateType).add("instant", DataTypes.TimestampType);
    List<Row> rows = new ArrayList<>();
    List<String[]> texts = new ArrayList<>();
    for (String time : OLD_TIMES) {
      LocalDateTime t = time == null ? null : LocalDateTime.parse(time.replace(' ', 'T'));
      rows.add(RowFactory.create(t == null ? null : t.toLocalDate(), t == null ? null : t.toInstant(java.time.ZoneOffset.UTC)));
      texts.add(new String[] {time == null ? null : time.substring(0, 10), time == null ? null : time.contains(".") ? time : time + ".0"});
    }
    for (String output : new String[] {"INT96", "TIMESTAMP_MICROS"}) {
      write(spark, to, work, name + "-" + output.toLowerCase(), rows, type, texts, new String[][] {
          {"spark.sql.parquet.outputTimestampType", output}, {"spark.sql.parquet.datetimeRebaseModeInWrite", mode},
          {"spark.sql.parquet.int96RebaseModeInWrite", mode}});
    }
    spark.conf().unset("spark.sql.datetime.java8API.enabled");
  }

  static void write(SparkSession spark, Path to, Path work, String name, List<Row> rows, StructType type, List<String[]> texts, String[][] settings)
      throws IOException {
    for (String[] s : settings) {
      spark.conf().set(s[0], s[1]);
    }
    Dataset<Row> data = spark.createDataFrame(rows, type).coalesce(1);
    Path folder = work.resolve(name);
    data.write().mode("overwrite").parquet(folder.toString());
    for (String[] s : settings) {
      spark.conf().unset(s[0]);
    }
    try (var files = Files.list(folder)) {
      Path part = files.filter(f -> f.toString().endsWith(".parquet")).findFirst().get();
      Files.copy(part, to.resolve(name + ".parquet"), java.nio.file.StandardCopyOption.REPLACE_EXISTING);
    }
    describe(to.resolve(name + ".json"), Arrays.asList(type.fieldNames()), "{}", texts);
  }

  /**
   * As Sqoop's --as-parquetfile (org.apache.sqoop.avro.AvroUtil, ConnManager.toAvroType): every field a union with null, NUMBER as text, DATE and TIMESTAMP
   * as a long of milliseconds, no compression.
   */
  static void sqoop(Path to) throws IOException {
    Schema schema = SchemaBuilder.record("CHECK_TABLE").fields().optionalString("ID").optionalString("AMOUNT").optionalLong("CREATED")
        .optionalDouble("RATE").optionalBytes("RAW").optionalBoolean("FLAG").optionalInt("N").endRecord();
    Path file = to.resolve("sqoop-avro.parquet");
    Files.deleteIfExists(file);
    List<String[]> texts = new ArrayList<>();
    try (ParquetWriter<GenericRecord> w = AvroParquetWriter.<GenericRecord>builder(new org.apache.hadoop.fs.Path(file.toUri()))
        .withSchema(schema).withCompressionCodec(CompressionCodecName.UNCOMPRESSED).build()) {
      for (int i = 0; i < 50; i++) {
        GenericRecord r = new GenericData.Record(schema);
        String[] text = new String[7];
        long millis = 1546300800000L + i * 3600_123L;
        put(r, text, "ID", "" + i, "" + i);
        put(r, text, "AMOUNT", i + ".5", i + ".5");
        put(r, text, "CREATED", millis, Timestamp.from(java.time.Instant.ofEpochMilli(millis + 8 * 3600_000)).toString());
        if (i % 5 != 2) {
          put(r, text, "RATE", i / 8.0, Double.toString(i / 8.0));
          put(r, text, "RAW", java.nio.ByteBuffer.wrap(new byte[] {(byte) i, (byte) 0xbe}), String.format("%02x be", i));
          put(r, text, "FLAG", i % 2 == 0, "" + (i % 2 == 0));
          put(r, text, "N", -i, "" + -i);
        }
        w.write(r);
        texts.add(text);
      }
    }
    Files.deleteIfExists(to.resolve(".sqoop-avro.parquet.crc"));
    List<String> names = new ArrayList<>();
    schema.getFields().forEach(f -> names.add(f.name()));
    describe(to.resolve("sqoop-avro.json"), names, "{\"Millis\": [\"CREATED\"], \"Zone\": \"Asia/Shanghai\", \"Binary\": \"hex\"}", texts);
  }

  static void put(GenericRecord r, String[] text, String name, Object value, String shown) {
    r.put(name, value);
    text[r.getSchema().getField(name).pos()] = shown;
  }

  static String plain(BigDecimal d) {
    return d.signum() == 0 ? "0" : d.stripTrailingZeros().toPlainString();
  }

  static void describe(Path file, List<String> names, String form, List<String[]> rows) throws IOException {
    StringBuilder b = new StringBuilder("{\"columns\": " + list(names.toArray(new String[0])) + ", \"form\": " + form + ", \"rows\": [\n");
    for (int i = 0; i < rows.size(); i++) {
      b.append(list(rows.get(i))).append(i + 1 < rows.size() ? ",\n" : "\n");
    }
    Files.writeString(file, b + "]}\n");
  }

  static String list(String[] texts) {
    StringBuilder b = new StringBuilder("[");
    for (String t : texts) {
      b.append(b.length() > 1 ? ", " : "");
      if (t == null) {
        b.append("null");
        continue;
      }
      b.append('"');
      for (char c : t.toCharArray()) {
        b.append(c < 32 || c == '"' || c == '\\' || c > 126 ? String.format("\\u%04x", (int) c) : "" + c);
      }
      b.append('"');
    }
    return b.append("]").toString();
  }
}
