package oracle;

import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.security.MessageDigest;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.hfile.BlockType;
import org.apache.hadoop.hbase.io.hfile.FixedFileTrailer;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileBlocks;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * dump and diff: an HFile as lines, one a part.
 *
 * <p>diff compares the trailer, every block's type, kind of checksum, size and payload, and the file info. Index and bloom-meta payloads hold offsets and sizes on disk,
 * which another compressor moves: there each entry is compared with the block's place in the file (its ordinal) instead; where nothing is compressed
 * offsets and bytes must agree as well. Left out are the clock values and task names of the file info, hence its size and what stands behind it.
 */
final class Structure {
  private static final List<String> VOLATILE = List.of("BULKLOAD_TIMESTAMP", "BULKLOAD_TASK", "BULKLOAD_SOURCE_TASK", "hfile.CREATE_TIME_TS");
  private static final int SHOWN = 20;

  private final List<String> lines = new ArrayList<>();
  private final boolean comparing;
  private final boolean positions;
  private final Map<Long, Integer> ordinals = new HashMap<>();
  private final int[] rootEntries;
  private int roots;
  private long fileInfoBytes;

  private Structure(HFile.Reader r, boolean comparing) throws Exception {
    FixedFileTrailer t = r.getTrailer();
    this.comparing = comparing;
    positions = !comparing || t.getCompressionCodec() == Compression.Algorithm.NONE;
    rootEntries = new int[] {t.getDataIndexCount(), t.getMetaIndexCount()};
    HFileBlocks.each(r, this::block);
    lines.add(trailer(t));
    r.getHFileInfo().forEach((k, v) -> info(Bytes.toStringBinary(k), Bytes.toStringBinary(v)));
  }

  static void dump(String file, PrintStream out) throws Exception {
    lines(file, false).forEach(out::println);
  }

  static void diff(String x, String y, PrintStream out) throws Exception {
    List<String> a = lines(x, true), b = lines(y, true);
    int unlike = 0, parts = Math.max(a.size(), b.size());
    for (int i = 0; i < parts; i++) {
      String s = i < a.size() ? a.get(i) : "(none)", t = i < b.size() ? b.get(i) : "(none)";
      if (!s.equals(t) && unlike++ < SHOWN) {
        out.println("- " + s + "\n+ " + t);
      }
    }
    out.println(unlike + " differences, " + (parts - unlike) + " parts alike");
    if (unlike > 0) {
      throw new Oracle.Unlike(unlike + " differences between " + x + " and " + y);
    }
  }

  private static List<String> lines(String file, boolean comparing) throws Exception {
    try (HFile.Reader r = Reading.open(new Path(file))) {
      return new Structure(r, comparing).lines;
    }
  }

  private String trailer(FixedFileTrailer t) {
    String s = "trailer version=" + t.getMajorVersion() + "." + t.getMinorVersion() + " codec=" + t.getCompressionCodec() + " entries=" + t.getEntryCount()
        + " dataIndexCount=" + t.getDataIndexCount() + " levels=" + t.getNumDataIndexLevels() + " metaIndexCount=" + t.getMetaIndexCount()
        + " totalUncompressed=" + (t.getTotalUncompressedBytes() - (comparing ? fileInfoBytes : 0)) + " uncompressedIndex=" + t.getUncompressedDataIndexSize()
        + " comparator=" + t.getComparatorClassName();
    if (positions) {
      s += " loadOnOpen=" + t.getLoadOnOpenDataOffset() + " firstData=" + t.getFirstDataBlockOffset() + " lastData=" + t.getLastDataBlockOffset();
    }
    return s;
  }

  private void info(String key, String value) {
    if (!comparing || !VOLATILE.contains(key)) {
      lines.add("info " + key + " = " + value);
    }
  }

  private void block(HFileBlocks.Block b) throws Exception {
    int ordinal = ordinals.size();
    ordinals.put(b.offset, ordinal);
    if (b.type == BlockType.FILE_INFO) {
      fileInfoBytes = b.payload.length;
      if (comparing) {
        return; // entry by entry, in info
      }
    }
    boolean behindFileInfo = bloomMeta(b.type);
    String s = ordinal + " " + b.type + " checksum=" + b.checksum + " uncompressed=" + b.payload.length;
    if (positions && !(comparing && behindFileInfo)) {
      s += " @" + b.offset + " disk=" + b.onDisk + " prev=" + b.previous;
    }
    if (positions || !index(b.type)) {
      s += " sha=" + sha(b.payload);
    }
    if (index(b.type)) {
      s += " entries=" + sha(Bytes.toBytes(entries(b)));
    }
    lines.add(s);
  }

  private static boolean bloomMeta(BlockType t) {
    return t == BlockType.GENERAL_BLOOM_META || t == BlockType.DELETE_FAMILY_BLOOM_META;
  }

  private static boolean index(BlockType t) {
    return bloomMeta(t) || t == BlockType.ROOT_INDEX || t == BlockType.LEAF_INDEX || t == BlockType.INTERMEDIATE_INDEX;
  }

  /** An index's or bloom meta's entries as text, each block by its ordinal. Formats: HFileBlockIndex.BlockIndexWriter, CompoundBloomFilterWriter.MetaWriter. */
  private String entries(HFileBlocks.Block b) throws IOException {
    StringBuilder o = new StringBuilder();
    DataInputStream in = new DataInputStream(new ByteArrayInputStream(b.payload));
    if (b.type == BlockType.LEAF_INDEX || b.type == BlockType.INTERMEDIATE_INDEX) {
      inner(in, o);
    } else if (bloomMeta(b.type)) {
      o.append("version ").append(in.readInt()).append(" bytes ").append(in.readLong()).append(" hashes ").append(in.readInt()).append(" type ").append(in.readInt());
      o.append(" keys ").append(in.readLong()).append(" max ").append(in.readLong());
      int n = in.readInt();
      o.append(" comparator ").append(Bytes.toStringBinary(Bytes.readByteArray(in))).append('\n');
      root(in, n, o);
    } else {
      root(in, rootEntries[roots++], o);
    }
    return o.append("left over ").append(in.available()).toString();
  }

  private void inner(DataInputStream in, StringBuilder o) throws IOException {
    int n = in.readInt();
    int[] relative = new int[n + 1];
    for (int i = 0; i <= n; i++) {
      relative[i] = in.readInt();
    }
    for (int i = 0; i < n; i++) {
      block(in, o);
      byte[] key = new byte[relative[i + 1] - relative[i] - Long.BYTES - Integer.BYTES];
      in.readFully(key);
      o.append(Bytes.toStringBinary(key)).append('\n');
    }
  }

  private void root(DataInputStream in, int n, StringBuilder o) throws IOException {
    for (int i = 0; i < n; i++) {
      block(in, o);
      o.append(Bytes.toStringBinary(Bytes.readByteArray(in))).append('\n');
    }
    if (in.available() == Long.BYTES + 2 * Integer.BYTES) { // the middle key of a root over several levels
      o.append("middle ");
      block(in, o);
      o.append("entry ").append(in.readInt()).append('\n');
    }
  }

  private void block(DataInputStream in, StringBuilder o) throws IOException {
    o.append(ordinals.get(in.readLong())).append(' ');
    in.readInt(); // its size on disk
  }

  private static String sha(byte[] p) throws Exception {
    return CellLine.hex(MessageDigest.getInstance("SHA-256").digest(p), 0, 8);
  }
}
