package oracle;

import java.io.DataInput;
import java.io.PrintStream;
import java.util.ArrayDeque;
import java.util.Iterator;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.Cell;
import org.apache.hadoop.hbase.CellComparator;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.KeyValueUtil;
import org.apache.hadoop.hbase.PrivateCellUtil;
import org.apache.hadoop.hbase.io.hfile.HFile;
import org.apache.hadoop.hbase.io.hfile.HFileBlocks;
import org.apache.hadoop.hbase.io.hfile.HFileScanner;
import org.apache.hadoop.hbase.regionserver.BloomType;
import org.apache.hadoop.hbase.regionserver.HStoreFile;
import org.apache.hadoop.hbase.util.BloomFilter;
import org.apache.hadoop.hbase.util.BloomFilterFactory;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * check: is an HFile sound to HBase's reader? Prints a line a fault and a line of counts; fails where there is a fault or no file.
 *
 * <p>From the raw bytes: block sizes, chains of previous blocks, checksums (RawBlocks). By HBase's reader: every cell in order and as many as the
 * trailer says, first and last key; seekTo a cell, seekBefore it, seekTo the start of a row, for about 500 each a file; reading rows backwards,
 * the last 2,000; the bloom filter denies no row (or row and column, or prefix) that is there, for the first 20,000 and then every tenth. With -all: for every cell and row.
 */
final class Check {
  private static final int SEEKS = 500;
  private static final int REVERSED = 2_000;
  private static final int BLOOMED = 20_000;

  private final PrintStream out;
  private final boolean all;
  private long files, blocks, cells, rows, seeks, reversed, blooms, falsePositives, faults;

  private Check(PrintStream out, boolean all) {
    this.out = out;
    this.all = all;
  }

  static void run(String path, boolean all, PrintStream out) throws Exception {
    Check c = new Check(out, all);
    for (Path p : Reading.files(path)) {
      c.files++;
      c.file(p);
    }
    out.println("files=" + c.files + " blocks=" + c.blocks + " cells=" + c.cells + " rows=" + c.rows + " seeks=" + c.seeks + " reversed=" + c.reversed
        + " blooms=" + c.blooms + " bloomFalsePositives=" + c.falsePositives + " faults=" + c.faults);
    if (c.files == 0) {
      throw new Oracle.Unlike("no HFile in " + path);
    }
    if (c.faults > 0) {
      throw new Oracle.Unlike(c.faults + " faults in " + path);
    }
  }

  private void file(Path p) throws Exception {
    try (HFile.Reader r = Reading.open(p)) {
      RawBlocks.check(p, r.length() - r.getTrailer().getTrailerSize(), s -> fault(p, s));
      HFileBlocks.each(r, b -> blocks++);
      new OneFile(p, r).read();
    }
  }

  private void fault(Path p, String what) {
    faults++;
    out.println(p + ": " + what);
  }

  /** One file read through once, with a second scanner that seeks. */
  private final class OneFile {
    private final CellComparator order = CellComparator.getInstance();
    private final Path path;
    private final HFile.Reader reader;
    private final HFileScanner seeker;
    private final Bloom bloom;
    private final long seekStep;
    private final ArrayDeque<Cell> lastOfRows = new ArrayDeque<>();
    private Cell previous;
    private long count, rowCount, nextRowSeek;

    OneFile(Path path, HFile.Reader reader) throws Exception {
      this.path = path;
      this.reader = reader;
      seeker = Scanners.seeking(reader);
      bloom = new Bloom(reader);
      seekStep = all ? 1 : Math.max(1, reader.getEntries() / SEEKS);
    }

    void read() throws Exception {
      bloom.present();
      try (HFileScanner s = Scanners.reading(reader)) {
        for (boolean more = s.seekTo(); more; more = s.next()) {
          cell(KeyValueUtil.copyToNewKeyValue(s.getCell()));
        }
      }
      if (previous != null) {
        lastOfRows.addLast(previous);
        backwards();
        ends();
      }
      if (count != reader.getEntries()) {
        fault(path, "the trailer says " + reader.getEntries() + " entries, read " + count);
      }
      cells += count;
      rows += rowCount;
      seeker.close();
    }

    private void cell(Cell c) throws Exception {
      if (previous != null && order.compare(previous, c) > 0) {
        fault(path, "out of order at " + c);
      }
      boolean newRow = previous == null || !CellUtil.matchingRows(previous, c);
      if (newRow) {
        row();
      }
      boolean columns = bloom.type == BloomType.ROWCOL;
      if ((columns || newRow) && bloomed(columns ? count : rowCount)) {
        bloom.check(path, c);
      }
      if (count % seekStep == 0) {
        seek(c);
      }
      if (newRow && count >= nextRowSeek) {
        seekRow(c);
        nextRowSeek = count + seekStep;
      }
      count++;
      previous = c;
    }

    private boolean bloomed(long n) {
      return all || n <= BLOOMED || n % 10 == 0;
    }

    private void row() {
      rowCount++;
      if (previous != null) {
        lastOfRows.addLast(previous);
        if (!all && lastOfRows.size() > REVERSED) {
          lastOfRows.removeFirst();
        }
      }
    }

    private void seek(Cell c) throws Exception {
      seeks++;
      if (seeker.seekTo(c) != 0 || !same(seeker.getCell(), c)) {
        fault(path, "seekTo misses " + c);
      }
      boolean found = seeker.seekBefore(c);
      if (found != (previous != null) || found && !same(seeker.getCell(), previous)) {
        fault(path, "seekBefore " + c + " gives " + (found ? seeker.getCell() : "nothing") + ", not " + previous);
      }
    }

    /** The start of a row stands between the cell before it and its first cell; HBase answers with either, and says which. */
    private void seekRow(Cell c) throws Exception {
      seeks++;
      int answer = seeker.seekTo(PrivateCellUtil.createFirstOnRow(c));
      boolean right;
      switch (answer) {
        case -1: right = previous == null; break;
        case 1: right = previous != null && same(seeker.getCell(), previous); break;
        default: right = same(seeker.getCell(), c); // 0, or HConstants.INDEX_KEY_MAGIC: at a block's start
      }
      if (!right) {
        fault(path, "seekTo the row of " + c + " answers " + answer);
      }
    }

    private void backwards() throws Exception {
      Cell from = lastOfRows.removeLast();
      for (Iterator<Cell> it = lastOfRows.descendingIterator(); it.hasNext(); reversed++) {
        Cell want = it.next();
        if (!seeker.seekBefore(PrivateCellUtil.createFirstOnRow(from)) || !same(seeker.getCell(), want)) {
          fault(path, "reading backwards from " + from + " misses " + want);
        }
        from = want;
      }
      reversed++;
      if (lastOfRows.size() == rowCount - 1 && seeker.seekBefore(PrivateCellUtil.createFirstOnRow(from))) {
        fault(path, "reading backwards finds " + seeker.getCell() + " before the first row");
      }
    }

    private void ends() throws Exception {
      if (order.compare(previous, reader.getLastKey().get()) != 0) {
        fault(path, "the last key is " + reader.getLastKey().get() + ", the last cell " + previous);
      }
      seeker.seekTo();
      if (order.compare(seeker.getCell(), reader.getFirstKey().get()) != 0) {
        fault(path, "the first key is " + reader.getFirstKey().get() + ", the first cell " + seeker.getCell());
      }
      if (!reader.midKey().isPresent()) {
        fault(path, "no middle key");
      }
    }

    /** Key and value. */
    private boolean same(Cell a, Cell b) {
      return order.compare(a, b) == 0 && CellUtil.matchingValue(a, b);
    }
  }

  private final class Bloom {
    final BloomType type;
    private final BloomFilter filter;
    private final int prefix;
    private final String file;

    Bloom(HFile.Reader r) throws Exception {
      byte[] t = r.getHFileInfo().get(HStoreFile.BLOOM_FILTER_TYPE_KEY), param = r.getHFileInfo().get(HStoreFile.BLOOM_FILTER_PARAM_KEY);
      DataInput meta = r.getGeneralBloomFilterMetadata();
      file = r.getPath().toString();
      type = t == null ? BloomType.NONE : BloomType.valueOf(Bytes.toString(t));
      filter = meta == null ? null : BloomFilterFactory.createFromMeta(meta, r);
      prefix = type == BloomType.ROWPREFIX_FIXED_LENGTH ? Bytes.toInt(param) : Integer.MAX_VALUE;
    }

    void present() {
      if ((filter != null) != (type != BloomType.NONE)) {
        fault(new Path(file), "file info says bloom " + type + ", the file has " + (filter == null ? "none" : "one"));
      }
    }

    void check(Path path, Cell c) {
      if (filter == null) {
        return;
      }
      blooms++;
      if (!contains(c)) {
        fault(path, "the bloom filter denies " + c);
      }
      if (type == BloomType.ROW && contains(Bytes.add(CellUtil.cloneRow(c), Bytes.toBytes("~absent")))) {
        falsePositives++;
      }
    }

    private boolean contains(Cell c) {
      if (type == BloomType.ROWCOL) {
        return filter.contains(c, null, type);
      }
      return contains(CellUtil.cloneRow(c));
    }

    private boolean contains(byte[] row) {
      return filter.contains(row, 0, Math.min(prefix, row.length), null);
    }
  }
}
