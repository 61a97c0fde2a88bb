package oracle;

import java.io.BufferedReader;
import java.io.BufferedOutputStream;
import java.io.ByteArrayOutputStream;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.RawLocalFileSystem;
import org.apache.hadoop.hbase.HBaseConfiguration;

/**
 * A second opinion on HFiles and tables, by HBase's own classes. It shares no code with the Go program.
 *
 * <p>Files and directories of HFiles are Hadoop paths (file:///…, hdfs://…, or of the default file system); CELLS, SQOOPTEXT and OUT are local
 * files. Rows, split points and boundaries are written as HBase's shell does (\xNN for what is not printable).
 *
 * <pre>
 * HFiles
 *   write CELLS OUTDIR KEY=VALUE…   the cells (one family, in order) by HBase's StoreFileWriter into OUTDIR/FAMILY/; prints the file's path.
 *                                   No tags; the file info of a bulk load. Keys: see Settings.
 *   output CELLS OUTDIR KEY=VALUE…  the same by HFileOutputFormat2, as MapReduce, Spark and ImportTsv use it: OUTDIR/FAMILY/, of all families of the
 *                                   cells; KEY=VALUE of the families
 *   cells PATH [-o OUT]             every cell of a file or directory, a line each: see CellLine
 *   dump FILE                       trailer, blocks with the hash of their payload, file info
 *   diff FILE FILE                  fails unless all those are alike, save what holds a clock or a task name: see Structure
 *   check PATH [-all]               checksums, block chains, order, counts, seeks, seekBefore, reverse reading, blooms: see Check
 *   pretty FILE OPTION…             what HFilePrettyPrinter prints of a file with its options (without -f), its errors and warnings too
 *   bench CELLS TIMES KEY=VALUE…    speed of HBase's writer on cells in memory: see Bench
 * The rule
 *   expect SQOOPTEXT COLUMNS QUERYCOLUMNS ID REGIONS FAMILY TIMESTAMP [-digest | -o OUT]
 *                                   the cells that the key salt(q, REGIONS) + md5(q) + ID gives: see Rule
 *   keys STRATEGY TEXT              the row keys of an example of jobs/examples/keys, in hex: see Strategies
 *   payments TEXT DATE [-o OUT]     the cells of jobs/examples/payments.yaml: see Payments
 * Tables (with a cluster's conf on the class path)
 *   create TABLE FAMILY[,FAMILY…] SPLIT,…|'' KEY=VALUE…
 *   drop TABLE [-if-exists]
 *   load DIR TABLE                  HBase's own BulkLoadHFiles
 *   scan TABLE [-raw] [-reversed] [-digest | -o OUT]
 *                                   every version of every cell, lines as of cells; -raw: deletes and what they hide, too; -reversed: the last row first
 *   get TABLE ASKED [-o OUT]        every version of what is asked for: a local file of lines ROW or ROW TAB FAMILY TAB QUALIFIER, row and qualifier in
 *                                   hex. Lines as of cells, and "absent" for a line that finds none
 *   regions TABLE                   start, end, server, encoded name; TAB between
 *   files TABLE                     its store files, as REGION/FAMILY/NAME; after a compaction the old ones stay for some minutes. A half of another
 *                                   region's file after a split has a '.' in its name
 *   split TABLE [ROW]               splits a region there, or its regions where HBase chooses, and waits until the halves serve
 *   compact TABLE                   major compaction, switched on where the table has it off; waits until every file is new
 *   put TABLE CELL…                 cells, ROW,FAMILY,QUALIFIER,TIMESTAMP,VALUE each, or ROW,FAMILY,,TIMESTAMP for a delete marker of the family; then a flush
 *   delete TABLE ROW                a delete marker for the row, of now
 *   truncate TABLE [-preserve]      -preserve: keeps the splits
 *   truncate-region TABLE ROW       the region that holds the row
 *   disable TABLE, enable TABLE
 *   snapshot NAME TABLE             then restore NAME TABLE (puts the table back), or reclone NAME TABLE (drops it and makes it from the snapshot), which delete the
 *                                   snapshot, or delete-snapshot NAME
 *   grant USER TABLE PERMISSIONS [FAMILY[:QUALIFIER]]   some of R, W, X, C, A, or - for none; replaces what the user had there.
 *                                   TABLE may be @NAMESPACE
 *   alter TABLE FAMILY KEY=VALUE…   settings of a family, by HBase's names
 *   move TABLE ROW                  the region that holds the row, to another server
 *   merge TABLE ROW ROW             the regions that hold the rows
 *   clients TABLE FAMILY COUNT READY STOP
 *                                   so many clients that read and write until the file STOP exists; makes the file READY when all have begun. A line
 *                                   for each operation: see Clients
 *   fs ARGUMENTS…                   what hdfs dfs does with them, of those that print nothing
 *   quota PATH NAMES SPACE          of names and of bytes; - for none
 *   zone PATH KEY                   makes an empty directory an encryption zone
 *   erasure PATH POLICY             erasure coding of a directory
 *   protos CLASS…                   the fields of messages, such as ClientProtos$GetRequest, and of those in them
 *   sasl-zookeeper PATH             starts a ZooKeeper that wants SASL, with its data in an empty local directory, and prints its port
 * Many commands in one JVM
 *   serve                           reads a command a line, arguments separated by TAB, until its input ends. Answers with the command's output,
 *                                   each line that begins with '.' with a further '.' before it, then a line ".ok" or ".err MESSAGE".
 * </pre>
 *
 * Exit status: 0 done and alike, 1 failed or not alike, 2 usage.
 */
public final class Oracle {
  static final Configuration CONF = HBaseConfiguration.create();

  static {
    // Without Hadoop's .crc file beside each local file: tests copy, change and count files.
    CONF.set("fs.file.impl", RawLocalFileSystem.class.getName());
  }

  private Oracle() {}

  /** What was asked was done, and the answer is no: a difference, a fault. */
  static final class Unlike extends Exception {
    Unlike(String message) {
      super(message);
    }
  }

  static final class Usage extends Exception {
    Usage(String message) {
      super(message);
    }
  }

  public static void main(String[] args) throws IOException {
    PrintStream out = print(new FileOutputStream(FileDescriptor.out));
    // HBase's and Hadoop's classes print here and there; stdout is the answer's alone.
    System.setOut(System.err);
    if (args.length == 1 && args[0].equals("serve")) {
      serve(new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8)), out);
      System.exit(0);
    }
    int status = 0;
    try {
      run(args, out);
    } catch (Usage | Unlike e) {
      out.flush();
      System.err.println("oracle: " + e.getMessage());
      status = e instanceof Usage ? 2 : 1;
    } catch (Exception e) {
      out.flush();
      e.printStackTrace();
      status = 1;
    }
    out.flush();
    System.exit(status); // HBase's client leaves threads behind
  }

  static void serve(BufferedReader in, PrintStream out) throws IOException {
    for (String line; (line = in.readLine()) != null; ) {
      String end = ".ok";
      ByteArrayOutputStream answer = new ByteArrayOutputStream();
      PrintStream p = print(answer);
      try {
        run(line.split("\t", -1), p);
      } catch (Usage | Unlike e) {
        end = ".err " + oneLine(e.getMessage());
      } catch (Throwable e) { // the next command may well succeed, after an OutOfMemoryError too
        end = ".err " + oneLine(e.toString());
        e.printStackTrace();
      }
      p.flush();
      stuffed(answer.toByteArray(), out);
      out.println(end);
      out.flush();
    }
  }

  static void run(String[] a, PrintStream out) throws Exception {
    switch (a[0]) {
      case "write": Writing.write(need(a, 3, -1), out); break;
      case "output": Output.run(need(a, 3, -1)); break;
      case "bench": Bench.run(need(a, 3, -1), out); break;
      case "cells": Reading.cells(need(a, 2, 4), out); break;
      case "dump": Structure.dump(need(a, 2, 2)[1], out); break;
      case "diff": Structure.diff(need(a, 3, 3)[1], a[2], out); break;
      case "pretty": Pretty.print(need(a, 2, -1), out); break;
      case "check": Check.run(need(a, 2, 3)[1], flag(a, "-all"), out); break;
      case "expect": Rule.expect(need(a, 8, 10), out); break;
      case "keys": Strategies.keys(need(a, 3, 3)[1], a[2], out); break;
      case "payments": Payments.expect(need(a, 3, 5), out); break;
      case "create": Tables.create(need(a, 4, -1)); break;
      case "drop": Tables.drop(need(a, 2, 3)[1], flag(a, "-if-exists")); break;
      case "load": Tables.load(need(a, 3, 3)[1], a[2], out); break;
      case "scan": Tables.scan(need(a, 2, 6), out); break;
      case "get": Tables.get(need(a, 3, 5), out); break;
      case "regions": Tables.regions(need(a, 2, 2)[1], out); break;
      case "files": Tables.files(need(a, 2, 2)[1], out); break;
      case "split": Tables.split(need(a, 2, 3)[1], a.length > 2 ? a[2] : null, out); break;
      case "delete": Changes.deleteRow(need(a, 3, 3)[1], a[2]); break;
      case "truncate": Changes.truncate(need(a, 2, 3)[1], flag(a, "-preserve")); break;
      case "truncate-region": Changes.truncateRegion(need(a, 3, 3)[1], a[2]); break;
      case "disable": Changes.enabled(need(a, 2, 2)[1], false); break;
      case "enable": Changes.enabled(need(a, 2, 2)[1], true); break;
      case "snapshot": Changes.snapshot(need(a, 3, 3)[1], a[2]); break;
      case "delete-snapshot": Changes.deleteSnapshot(need(a, 2, 2)[1]); break;
      case "put": Changes.put(need(a, 3, -1)); break;
      case "restore": Changes.restore(need(a, 3, 3)[1], a[2]); break;
      case "reclone": Changes.reclone(need(a, 3, 3)[1], a[2]); break;
      case "grant": Rights.grant(need(a, 4, 5)[1], a[2], a[3], a.length > 4 ? a[4] : null); break;
      case "alter": Changes.alter(need(a, 4, -1)); break;
      case "add-family": Changes.addFamily(need(a, 3, -1)); break;
      case "delete-family": Changes.deleteFamily(need(a, 3, 3)[1], a[2]); break;
      case "move": Changes.move(need(a, 3, 3)[1], a[2]); break;
      case "merge": Changes.merge(need(a, 4, 4)[1], a[2], a[3]); break;
      case "clients": Clients.run(need(a, 6, 6), out); break;
      case "fs": Tables.fs(need(a, 2, -1)); break;
      case "quota": Directories.quota(need(a, 4, 4)[1], a[2], a[3]); break;
      case "zone": Directories.zone(need(a, 3, 3)[1], a[2]); break;
      case "protos": Protos.print(need(a, 2, -1), out); break;
      case "sasl-zookeeper": SaslZooKeeper.start(need(a, 2, 2)[1], out); break;
      case "erasure": Directories.erasure(need(a, 3, 3)[1], a[2]); break;
      case "compact": Compaction.major(need(a, 2, 2)[1]); break;
      default: throw new Usage("unknown command " + a[0] + "; the head of Oracle.java lists them");
    }
  }

  private static String[] need(String[] a, int least, int most) throws Usage {
    if (a.length < least || (most >= 0 && a.length > most)) {
      throw new Usage(a[0] + " got " + (a.length - 1) + " arguments; the head of Oracle.java tells which it takes");
    }
    return a;
  }

  static boolean flag(String[] a, String name) {
    return Arrays.asList(a).contains(name);
  }

  /** The argument behind -o as a stream to print to, else the command's own output. */
  static PrintStream outputOf(String[] a, PrintStream out) throws IOException, Usage {
    int i = Arrays.asList(a).indexOf("-o");
    if (i < 0) {
      return out;
    }
    if (i + 1 == a.length) {
      throw new Usage("-o wants a file");
    }
    return print(new FileOutputStream(a[i + 1]));
  }

  private static PrintStream print(OutputStream out) throws IOException {
    return new PrintStream(new BufferedOutputStream(out, 1 << 16), false, "UTF-8");
  }

  private static String oneLine(String s) {
    return String.valueOf(s).replaceAll("\\s+", " ").trim();
  }

  private static void stuffed(byte[] answer, PrintStream out) {
    boolean lineStart = true;
    for (byte b : answer) {
      if (lineStart && b == '.') {
        out.write('.');
      }
      out.write(b);
      lineStart = b == '\n';
    }
    if (!lineStart) {
      out.println();
    }
  }
}
