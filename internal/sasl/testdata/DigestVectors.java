// Prints exchanges and tokens of the JDK's own DIGEST-MD5, both sides: java DigestVectors.java >digest-md5.json
import javax.security.sasl.*; import javax.security.auth.callback.*; import java.util.*;
public class DigestVectors {
  static String b(byte[] x){return x==null?"":Base64.getEncoder().encodeToString(x);}
  public static void main(String[] a) throws Exception {
    System.out.println("[");
    String[][] cases={{"auth","rc4"},{"auth-int","rc4"},{"auth-conf","rc4"},{"auth-conf","3des"},{"auth,auth-int,auth-conf",""}};
    for(int i=0;i<cases.length;i++){
      String[] c=cases[i];
      Map<String,String> sp=new HashMap<>(); sp.put(Sasl.QOP,c[0]); sp.put(Sasl.SERVER_AUTH,"true"); if(!c[1].isEmpty()) sp.put("com.sun.security.sasl.digest.cipher",c[1]);
      Map<String,String> cp=new HashMap<>(sp); if(c[1].isEmpty()){cp.put(Sasl.QOP,"auth-conf");cp.put("com.sun.security.sasl.digest.cipher","rc4");}
      CallbackHandler h=cbs->{for(Callback x:cbs){ if(x instanceof NameCallback)((NameCallback)x).setName("dXNlcg=="); else if(x instanceof PasswordCallback)((PasswordCallback)x).setPassword("c2VjcmV0".toCharArray()); else if(x instanceof RealmCallback){RealmCallback r=(RealmCallback)x; r.setText(r.getDefaultText());} else if(x instanceof AuthorizeCallback){((AuthorizeCallback)x).setAuthorized(true);((AuthorizeCallback)x).setAuthorizedID("u");}}};
      SaslServer s=Sasl.createSaslServer("DIGEST-MD5","hdfs","0",sp,h);
      SaslClient cl=Sasl.createSaslClient(new String[]{"DIGEST-MD5"},null,"hdfs","0",cp,h);
      byte[] ch=s.evaluateResponse(new byte[0]); byte[] r=cl.evaluateChallenge(ch); byte[] p=s.evaluateResponse(r); cl.evaluateChallenge(p);
      System.out.printf("{\"case\":\"%s %s\",\"challenge\":\"%s\",\"response\":\"%s\",\"proof\":\"%s\"",c[0],c[1],b(ch),b(r),b(p));
      if(!"auth".equals(c[0])){
        byte[][] m={"".getBytes(),"x".getBytes(),"sixteen bytes...".getBytes(),"a longer message, in several blocks".getBytes()};
        System.out.print(",\"plain\":["); for(int j=0;j<m.length;j++)System.out.print((j>0?",":"")+"\""+b(m[j])+"\"");
        System.out.print("],\"client\":["); for(int j=0;j<m.length;j++)System.out.print((j>0?",":"")+"\""+b(cl.wrap(m[j],0,m[j].length))+"\"");
        System.out.print("],\"server\":["); for(int j=0;j<m.length;j++)System.out.print((j>0?",":"")+"\""+b(s.wrap(m[j],0,m[j].length))+"\"");
        System.out.print("]");
      }
      System.out.println("}"+(i<cases.length-1?",":""));
    }
    System.out.println("]");
  }
}
