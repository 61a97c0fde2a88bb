package oracle;

import java.io.File;
import java.io.IOException;
import java.security.PrivilegedExceptionAction;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.ipc.CoprocessorRpcChannel;
import org.apache.hadoop.hbase.protobuf.generated.AccessControlProtos.AccessControlService;
import org.apache.hadoop.hbase.protobuf.generated.AccessControlProtos.CheckPermissionsRequest;
import org.apache.hadoop.hbase.security.AccessDeniedException;
import org.apache.hadoop.hbase.security.access.AccessControlUtil;
import org.apache.hadoop.hbase.security.access.GetUserPermissionsRequest;
import org.apache.hadoop.hbase.security.access.NamespacePermission;
import org.apache.hadoop.hbase.security.access.Permission;
import org.apache.hadoop.hbase.security.access.TablePermission;
import org.apache.hadoop.hbase.security.access.UserPermission;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.security.UserGroupInformation;

/** What users may do, by HBase's AccessController. */
final class Rights {
  private static final int SECONDS = 60;

  private Rights() {}

  private static final Map<Character, Permission.Action> ACTIONS =
      Map.of(
          'R', Permission.Action.READ,
          'W', Permission.Action.WRITE,
          'X', Permission.Action.EXEC,
          'C', Permission.Action.CREATE,
          'A', Permission.Action.ADMIN);

  /**
   * grant USER TABLE PERMISSIONS [FAMILY[:QUALIFIER]]: some of R, W, X, C, A, or - for none; in a table or a part of it, or in a
   * namespace where TABLE is @NAMESPACE. Each server learns of it by itself, some time after HBase has answered. So this returns
   * once the servers answer the user accordingly.
   */
  static void grant(String user, String table, String permissions, String column) throws Exception {
    boolean none = permissions.equals("-");
    Permission permission =
        scope(table, column, (none ? "" : permissions).chars().mapToObj(c -> ACTIONS.get((char) c)).toArray(Permission.Action[]::new));
    try (Admin admin = Tables.connection().getAdmin()) {
      UserPermission granted = new UserPermission(user, permission);
      if (none) {
        admin.revoke(granted);
      } else {
        admin.grant(granted, false);
      }
    }
    await(user, table, column);
  }

  /** The permission to do something in a namespace, a table, a family or a column. */
  private static Permission scope(String table, String column, Permission.Action... actions) {
    if (table.startsWith("@")) {
      return Permission.newBuilder(table.substring(1)).withActions(actions).build();
    }
    Permission.Builder builder = Permission.newBuilder(TableName.valueOf(table));
    if (column != null) {
      String[] parts = column.split(":", 2);
      builder.withFamily(Bytes.toBytes(parts[0]));
      if (parts.length > 1) {
        builder.withQualifier(Bytes.toBytes(parts[1]));
      }
    }
    return builder.withActions(actions).build();
  }

  /** Asks the servers as the user, who has a keytab beside krb5.conf, until they answer by what hbase:acl says. */
  private static void await(String user, String table, String column) throws Exception {
    File keytab = new File(new File(System.getProperty("java.security.krb5.conf")).getParentFile(), user + ".keytab");
    UserGroupInformation who = UserGroupInformation.loginUserFromKeytabAndReturnUGI(user, keytab.getPath());
    long end = System.nanoTime() + SECONDS * 1_000_000_000L;
    who.doAs(
        (PrivilegedExceptionAction<Void>)
            () -> {
              try (Connection theirs = ConnectionFactory.createConnection(Oracle.CONF)) {
                for (String wrong; (wrong = differs(theirs, user, table, column)) != null; Thread.sleep(50)) {
                  if (System.nanoTime() > end) {
                    throw new IOException("after " + SECONDS + " s " + wrong);
                  }
                }
              }
              return null;
            });
  }

  /** Which server answers the user otherwise than hbase:acl says; null: none. */
  private static String differs(Connection theirs, String user, String table, String column) throws Exception {
    List<Permission> stored = stored(user, table);
    for (Permission.Action action : ACTIONS.values()) {
      boolean wanted = false;
      for (Permission p : stored) {
        wanted |= implies(p, table, column, action);
      }
      Permission one = scope(table, column, action);
      try (Admin admin = theirs.getAdmin()) {
        if (admin.hasUserPermissions(Collections.singletonList(one)).get(0) != wanted) {
          return "the master does not know that " + user + "'s right to " + one + " is " + wanted;
        }
      }
      if (table.startsWith("@")) {
        continue;
      }
      Set<String> asked = new HashSet<>();
      for (HRegionLocation l : Tables.locations(table)) {
        if (asked.add(String.valueOf(l.getServerName())) && allows(theirs, table, l.getRegion().getStartKey(), one) != wanted) {
          return l.getServerName() + " does not know that " + user + "'s right to " + one + " is " + wanted;
        }
      }
    }
    return null;
  }

  /** A user's rights in hbase:acl that concern a table, or a namespace. */
  private static List<Permission> stored(String user, String table) throws IOException {
    boolean space = table.startsWith("@");
    String namespace = space ? table.substring(1) : TableName.valueOf(table).getNamespaceAsString();
    List<UserPermission> all = new ArrayList<>();
    try (Admin admin = Tables.connection().getAdmin()) {
      all.addAll(admin.getUserPermissions(GetUserPermissionsRequest.newBuilder().withUserName(user).build()));
      all.addAll(admin.getUserPermissions(GetUserPermissionsRequest.newBuilder(namespace).withUserName(user).build()));
      if (!space) {
        all.addAll(admin.getUserPermissions(GetUserPermissionsRequest.newBuilder(TableName.valueOf(table)).withUserName(user).build()));
      }
    }
    List<Permission> permissions = new ArrayList<>();
    for (UserPermission p : all) {
      permissions.add(p.getPermission());
    }
    return permissions;
  }

  private static boolean implies(Permission p, String table, String column, Permission.Action action) {
    if (p instanceof TablePermission) {
      TablePermission asked = (TablePermission) scope(table, column, action);
      return ((TablePermission) p).implies(asked.getTableName(), asked.getFamily(), asked.getQualifier(), action);
    }
    if (p instanceof NamespacePermission) {
      String namespace = table.startsWith("@") ? table.substring(1) : TableName.valueOf(table).getNamespaceAsString();
      return ((NamespacePermission) p).implies(namespace, action);
    }
    return p.implies(action);
  }

  /** Asks the server of a row's region. */
  private static boolean allows(Connection theirs, String table, byte[] row, Permission one) throws Exception {
    try (Table t = theirs.getTable(TableName.valueOf(table))) {
      CoprocessorRpcChannel channel = t.coprocessorService(row);
      AccessControlService.newBlockingStub(channel)
          .checkPermissions(null, CheckPermissionsRequest.newBuilder().addPermission(AccessControlUtil.toPermission(one)).build());
      return true;
    } catch (com.google.protobuf.ServiceException e) {
      for (Throwable cause = e; cause != null; cause = cause.getCause()) {
        if (cause instanceof AccessDeniedException) {
          return false;
        }
      }
      throw e;
    }
  }
}
