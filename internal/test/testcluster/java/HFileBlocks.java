package org.apache.hadoop.hbase.io.hfile; // HBase shows its block reader to this package alone

import java.io.IOException;
import org.apache.hadoop.hbase.nio.ByteBuff;
import org.apache.hadoop.hbase.util.ChecksumType;

/** Every block of an HFile in the order of the file, unpacked. */
public final class HFileBlocks {
  private HFileBlocks() {}

  /** A block: what its header says, and its payload decompressed (a data block's is still encoded). Checksum is the kind and the bytes that each covers. */
  public static final class Block {
    public final BlockType type;
    public final long offset;
    public final long previous;
    public final int onDisk;
    public final String checksum;
    public final byte[] payload;

    private Block(HFileBlock raw, HFileBlock unpacked) {
      type = unpacked.getBlockType();
      offset = raw.getOffset();
      previous = raw.getPrevBlockOffset();
      onDisk = raw.getOnDiskSizeWithHeader();
      checksum = ChecksumType.codeToType(raw.getChecksumType()) + "/" + raw.getBytesPerChecksum();
      payload = new byte[unpacked.getUncompressedSizeWithoutHeader()];
      ByteBuff b = unpacked.getBufferReadOnly();
      b.position(unpacked.headerSize());
      b.get(payload, 0, payload.length);
    }
  }

  public interface Use {
    void use(Block b) throws Exception;
  }

  public static void each(HFile.Reader reader, Use use) throws Exception {
    HFileReaderImpl r = (HFileReaderImpl) reader;
    HFileBlock.FSReader in = r.getUncachedBlockReader();
    long end = r.length() - r.getTrailer().getTrailerSize();
    for (long offset = 0; offset < end; ) {
      HFileBlock raw = in.readBlockData(offset, -1, true, false, false);
      if (raw == null) {
        throw new IOException(r.getPath() + ": no block at byte " + offset);
      }
      use.use(new Block(raw, raw.unpack(r.getFileContext(), in)));
      offset += raw.getOnDiskSizeWithHeader();
    }
  }
}
