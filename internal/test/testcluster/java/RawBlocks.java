package oracle;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashMap;
import java.util.Map;
import java.util.function.Consumer;
import java.util.zip.CRC32;
import java.util.zip.CRC32C;
import java.util.zip.Checksum;
import org.apache.hadoop.fs.FSDataInputStream;
import org.apache.hadoop.fs.Path;

/** Block headers and checksums from a file's bytes: HBase's reader only warns of a bad checksum and reads on. Format: HFileBlock. */
final class RawBlocks {
  private static final int HEADER = 33;

  private final FSDataInputStream in;
  private final long end;
  private final Consumer<String> fault;
  private final Map<String, Long> last = new HashMap<>();

  private RawBlocks(FSDataInputStream in, long end, Consumer<String> fault) {
    this.in = in;
    this.end = end;
    this.fault = fault;
  }

  static void check(Path f, long end, Consumer<String> fault) throws IOException {
    try (FSDataInputStream in = f.getFileSystem(Oracle.CONF).open(f)) {
      RawBlocks r = new RawBlocks(in, end, fault);
      for (long offset = 0; offset >= 0 && offset < end; ) {
        offset = r.block(offset);
      }
    }
  }

  /** The next block's offset; -1 where it can't be told. */
  private long block(long offset) throws IOException {
    byte[] header = new byte[HEADER];
    in.readFully(offset, header);
    ByteBuffer h = ByteBuffer.wrap(header);
    int disk = h.getInt(8), type = h.get(24), chunk = h.getInt(25), data = h.getInt(29);
    if (disk < 0 || offset + HEADER + disk > end || chunk <= 0 || data < HEADER) {
      fault.accept("the block at byte " + offset + " runs past the blocks or has no header");
      return -1;
    }
    chain(new String(header, 0, 8, StandardCharsets.ISO_8859_1), offset, h.getLong(16));
    int chunks = (data + chunk - 1) / chunk; // without checksums too: their room is there
    if (disk + HEADER != data + Integer.BYTES * chunks) {
      fault.accept("the sizes of the block at byte " + offset + " disagree");
    } else if (type != 0 && !sums(offset, type, chunk, data, chunks)) {
      fault.accept("bad checksum of the block at byte " + offset);
    }
    return offset + HEADER + disk;
  }

  /** Blocks of a kind name the one before; data blocks are one kind, encoded or not. */
  private void chain(String magic, long offset, long previous) {
    String kind = magic.startsWith("DATABLK") ? "DATABLK" : magic;
    long want = last.getOrDefault(kind, -1L);
    if (previous != want) {
      fault.accept("the block " + magic + " at byte " + offset + " names the previous one " + previous + ", it is " + want);
    }
    last.put(kind, offset);
  }

  private boolean sums(long offset, int type, int chunk, int data, int chunks) throws IOException {
    byte[] raw = new byte[data + Integer.BYTES * chunks];
    in.readFully(offset, raw);
    ByteBuffer b = ByteBuffer.wrap(raw);
    for (int i = 0; i < chunks; i++) {
      Checksum c = type == 2 ? new CRC32C() : new CRC32();
      c.update(raw, i * chunk, Math.min(chunk, data - i * chunk));
      if ((int) c.getValue() != b.getInt(data + Integer.BYTES * i)) {
        return false;
      }
    }
    return true;
  }
}
