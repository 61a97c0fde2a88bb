package oracle;

import java.io.PrintStream;
import java.util.List;

/** The messages of HBase's protocol, as this version of it has them. */
final class Protos {
  private static final int DEEPEST = 6;

  private Protos() {}

  /**
   * A line for each field of some messages, and of the messages in them: the message, the numbers of the fields, {} if it is itself a message, and its name. A
   * message that this version does not have has no lines.
   */
  static void print(String[] classes, PrintStream out) throws Exception {
    for (int i = 1; i < classes.length; i++) {
      fields(descriptor(classes[i]), classes[i].substring(classes[i].indexOf('$') + 1), "", out, 0);
    }
  }

  /** A message's descriptor, of HBase 2's shaded classes or of HBase 1's. A message that the version does not have has none. */
  private static Object descriptor(String name) throws Exception {
    for (String where : new String[] {"shaded.protobuf.generated.", "protobuf.generated."}) {
      try {
        return Class.forName("org.apache.hadoop.hbase." + where + name).getMethod("getDescriptor").invoke(null);
      } catch (ClassNotFoundException e) {
        // perhaps in the other place
      }
    }
    return null;
  }

  private static void fields(Object descriptor, String message, String path, PrintStream out, int depth) throws Exception {
    if (descriptor == null || depth > DEEPEST) {
      return;
    }
    for (Object field : (List<?>) descriptor.getClass().getMethod("getFields").invoke(descriptor)) {
      String at = path + field.getClass().getMethod("getNumber").invoke(field);
      boolean nested = field.getClass().getMethod("getJavaType").invoke(field).toString().equals("MESSAGE");
      out.println(message + " " + at + (nested ? " {}" : "") + " " + field.getClass().getMethod("getName").invoke(field));
      if (nested) {
        fields(field.getClass().getMethod("getMessageType").invoke(field), message, at + ".", out, depth + 1);
      }
    }
  }
}
