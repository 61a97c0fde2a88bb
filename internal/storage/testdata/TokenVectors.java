// Prints token files of Hadoop's own classes, in both forms: java -cp HADOOP TokenVectors.java >tokens.json
import java.io.*;
import java.util.*;
import org.apache.hadoop.hdfs.security.token.delegation.DelegationTokenIdentifier;
import org.apache.hadoop.io.Text;
import org.apache.hadoop.security.Credentials;
import org.apache.hadoop.security.token.Token;

public class TokenVectors {
  static String b(byte[] x) { return Base64.getEncoder().encodeToString(x); }

  public static void main(String[] args) throws Exception {
    DelegationTokenIdentifier id = new DelegationTokenIdentifier(new Text("loader@LAB.TEST"), new Text("hbase"), new Text(""));
    id.setIssueDate(1600000000000L);
    id.setMaxDate(1600604800000L);
    id.setSequenceNumber(300);
    id.setMasterKeyId(2);
    byte[] long_ = new byte[300];
    new Random(1).nextBytes(long_);
    Credentials c = new Credentials();
    c.addToken(new Text("127.0.0.1:8020"), new Token<>(id.getBytes(), "twenty bytes of pass".getBytes(), id.getKind(), new Text("127.0.0.1:8020")));
    c.addToken(new Text("other"), new Token<>(long_, new byte[0], new Text("HBASE_AUTH_TOKEN"), new Text("")));
    c.addSecretKey(new Text("secret"), "not used".getBytes());
    StringBuilder tokens = new StringBuilder();
    for (Token<?> t : c.getAllTokens()) {
      tokens.append(tokens.length() > 0 ? ",\n" : "").append(String.format("{\"Identifier\":\"%s\",\"Password\":\"%s\",\"Kind\":\"%s\",\"Service\":\"%s\"}",
          b(t.getIdentifier()), b(t.getPassword()), t.getKind(), t.getService()));
    }
    String[] forms = new String[2];
    for (Credentials.SerializedFormat f : Credentials.SerializedFormat.values()) {
      ByteArrayOutputStream out = new ByteArrayOutputStream();
      c.writeTokenStorageToStream(new DataOutputStream(out), f);
      forms[f.ordinal()] = b(out.toByteArray());
    }
    System.out.printf("{\"Writable\":\"%s\",%n\"Protobuf\":\"%s\",%n\"Tokens\":[%s]}%n", forms[0], forms[1], tokens);
  }
}
