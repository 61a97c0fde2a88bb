package ingest;

import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.io.compress.CompressionCodec;
import org.apache.hadoop.util.ReflectionUtils;

/**
 * Compresses each file named on the command line with Hadoop's own codecs, into files beside it: NAME.HOW.EXTENSION,
 * where HOW is how the text was handed over: in one write, and to the codecs that write blocks by lines of 700 bytes and
 * with small buffers, too.
 */
public class Codecs {
  private static final String[] CODECS = {"GzipCodec", "BZip2Codec", "DeflateCodec", "SnappyCodec", "Lz4Codec"};

  public static void main(String[] names) throws Exception {
    for (String name : names) {
      byte[] text = Files.readAllBytes(Path.of(name));
      for (String codec : CODECS) {
        write(name, "whole", codec, new Configuration(), text, Math.max(1, text.length));
        if (!codec.equals("SnappyCodec") && !codec.equals("Lz4Codec")) {
          continue; // a stream does not depend on how it was handed over
        }
        write(name, "lines", codec, new Configuration(), text, 700);
        Configuration small = new Configuration();
        small.setInt("io.compression.codec.snappy.buffersize", 4096);
        small.setInt("io.compression.codec.lz4.buffersize", 4096);
        write(name, "small", codec, small, text, Math.max(1, text.length));
      }
    }
  }

  private static void write(String name, String how, String codecName, Configuration conf, byte[] text, int step) throws Exception {
    CompressionCodec codec =
        (CompressionCodec) ReflectionUtils.newInstance(conf.getClassByName("org.apache.hadoop.io.compress." + codecName), conf);
    Path file = Path.of(name + "." + how + codec.getDefaultExtension());
    try (OutputStream out = codec.createOutputStream(Files.newOutputStream(file))) {
      for (int at = 0; at < text.length; at += step) {
        out.write(text, at, Math.min(step, text.length - at));
      }
    }
    try (InputStream in = codec.createInputStream(Files.newInputStream(file))) {
      if (!Arrays.equals(in.readAllBytes(), text)) {
        throw new IllegalStateException(codecName + " does not read what it wrote: " + file);
      }
    }
  }
}
