package oracle;

import java.util.HashMap;
import java.util.Locale;
import java.util.Map;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.io.hfile.HFileContext;
import org.apache.hadoop.hbase.io.hfile.HFileContextBuilder;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.StoreUtils;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.EnvironmentEdgeManager;

/**
 * KEY=VALUE arguments, keys in any case.
 *
 * <p>Of the family: COMPRESSION, DATA_BLOCK_ENCODING, BLOOMFILTER (default ROW), BLOCKSIZE; for create every other attribute too, and NAME:KEY for one
 * of its families alone, TABLE:KEY for an attribute of the table.
 * Of the configuration: INDEX_MAX, INDEX_MIN, BLOOM_BLOCK, BLOOM_ERROR, BLOOM_MAX_KEYS, BLOOM_FOLD, CHECKSUM, BYTES_PER_CHECKSUM, PREFIX (see CONFIGURATION).
 * Of the file: CREATED, TIME (milliseconds since 1970), TASK, FAMILY (where there is no cell to tell it), TAGS (true: it may have tags), TAG (the text
 * of a tag of each cell), SEQUENCE (the sequence ID of each cell), INFO:KEY (a property of the file info).
 */
final class Settings {
  private static final Map<String, String> CONFIGURATION = Map.of(
      "INDEX_MAX", "hfile.index.block.max.size",
      "INDEX_MIN", "hfile.index.block.min.entries",
      "BLOOM_BLOCK", "io.storefile.bloom.block.size",
      "BLOOM_ERROR", "io.storefile.bloom.error.rate",
      "BLOOM_MAX_KEYS", "io.storefile.bloom.max.keys",
      "BLOOM_FOLD", "io.storefile.bloom.max.fold",
      "CHECKSUM", "hbase.hstore.checksum.algorithm",
      "BYTES_PER_CHECKSUM", "hbase.hstore.bytes.per.checksum",
      "PREFIX", "RowPrefixBloomFilter.prefix_length");

  /** A copy of the process's configuration with this command's changes. */
  final Configuration conf = new Configuration(Oracle.CONF);
  private final Map<String, String> left = new HashMap<>();

  Settings(String[] args, int from) throws Oracle.Usage {
    for (int i = from; i < args.length; i++) {
      String[] kv = args[i].split("=", 2);
      if (kv.length != 2) {
        throw new Oracle.Usage("expected KEY=VALUE, got " + args[i]);
      }
      int scope = kv[0].indexOf(':') + 1;
      String name = kv[0].substring(scope); // a property of HBase has dots, and counts as it is written
      String key = kv[0].substring(0, scope) + (name.contains(".") ? name : name.toUpperCase(Locale.ROOT));
      if (CONFIGURATION.containsKey(key)) {
        conf.set(CONFIGURATION.get(key), kv[1]);
      } else {
        left.put(key, kv[1]);
      }
    }
  }

  String take(String key, String otherwise) {
    String v = left.remove(key);
    return v == null ? otherwise : v;
  }

  long takeTime(String key) {
    return Long.parseLong(take(key, Long.toString(EnvironmentEdgeManager.currentTime())));
  }

  BloomType bloom() {
    return BloomType.valueOf(take("BLOOMFILTER", "ROW").toUpperCase(Locale.ROOT));
  }

  HFileContext context() {
    return new HFileContextBuilder()
        .withCompression(Compression.Algorithm.valueOf(take("COMPRESSION", "NONE").toUpperCase(Locale.ROOT)))
        .withDataBlockEncoding(DataBlockEncoding.valueOf(take("DATA_BLOCK_ENCODING", "NONE").toUpperCase(Locale.ROOT)))
        .withBlockSize(Integer.parseInt(take("BLOCKSIZE", "65536")))
        .withChecksumType(StoreUtils.getChecksumType(conf))
        .withBytesPerCheckSum(StoreUtils.getBytesPerChecksum(conf))
        .withCreateTime(takeTime("CREATED"))
        .withIncludesTags(Boolean.parseBoolean(take("TAGS", "false")))
        .build();
  }

  /** The family with every key of all families and its own ones as attributes. */
  ColumnFamilyDescriptor family(String name) {
    ColumnFamilyDescriptorBuilder b = ColumnFamilyDescriptorBuilder.newBuilder(Bytes.toBytes(name)).setBloomFilterType(BloomType.ROW);
    String prefix = conf.get(CONFIGURATION.get("PREFIX"));
    if (prefix != null) {
      b.setConfiguration(CONFIGURATION.get("PREFIX"), prefix);
    }
    left.forEach((k, v) -> {
      if (k.indexOf(':') < 0) {
        b.setValue(k, v);
      }
    });
    takeScope(name).forEach(b::setValue);
    return b.build();
  }

  /** The keys SCOPE:KEY, without SCOPE: and not left any more. */
  Map<String, String> takeScope(String scope) {
    Map<String, String> taken = new HashMap<>();
    left.forEach((k, v) -> {
      if (k.startsWith(scope + ":")) {
        taken.put(k.substring(scope.length() + 1), v);
      }
    });
    taken.keySet().forEach(k -> left.remove(scope + ":" + k));
    return taken;
  }

  /** Fails on a key of a family that there isn't. */
  void doneWithScopes() throws Oracle.Usage {
    for (String k : left.keySet()) {
      if (k.indexOf(':') >= 0) {
        throw new Oracle.Usage("no such family: " + k);
      }
    }
  }

  /** Fails on a key that nothing has taken: a mistyped one must not go unnoticed. */
  void done() throws Oracle.Usage {
    if (!left.isEmpty()) {
      throw new Oracle.Usage("unknown key " + left.keySet());
    }
  }
}
