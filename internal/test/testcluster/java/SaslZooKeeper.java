package oracle;

import java.io.File;
import java.io.PrintStream;
import java.net.InetSocketAddress;
import org.apache.zookeeper.server.NIOServerCnxnFactory;
import org.apache.zookeeper.server.ZooKeeperServer;

/** An empty ZooKeeper whose clients must authenticate by SASL. It ends with this process. */
final class SaslZooKeeper {
  private SaslZooKeeper() {}

  /** Starts one with its data in an empty folder, and prints its port. */
  static void start(String dir, PrintStream out) throws Exception {
    System.setProperty("zookeeper.sessionRequireClientSASLAuth", "true");
    System.setProperty("zookeeper.authProvider.sasl", "org.apache.zookeeper.server.auth.SASLAuthenticationProvider");
    File data = new File(dir);
    NIOServerCnxnFactory factory = new NIOServerCnxnFactory();
    factory.configure(new InetSocketAddress("127.0.0.1", 0), 10);
    factory.startup(new ZooKeeperServer(data, data, 2000));
    out.println(factory.getLocalPort());
  }
}
