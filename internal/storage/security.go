package storage

import (
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"bulkload/internal/errcode"
	"bulkload/internal/kerberos"
	"bulkload/internal/sasl"
	"bulkload/internal/siteconf"
)

// Identity is a program's identity on HDFS.
type Identity struct {
	User   string          // on a cluster without Kerberos; "": HADOOP_USER_NAME, or else the system user
	Login  *kerberos.Login // on a cluster with Kerberos; nil: use only Tokens
	Tokens []Token         // delegation tokens, such as those of TokensOfEnvironment; unused if there is a Login
}

// security is the protection of one file system's connections, according to the site files and our identity.
type security struct {
	kerberos  bool              // hadoop.security.authentication; nothing else matters if it is false
	rpc       []sasl.Protection // hadoop.rpc.protection, the preferred one first
	transfer  []sasl.Protection // dfs.data.transfer.protection; nil: DataNodes use SASL only to encrypt
	encrypt   bool              // dfs.encrypt.data.transfer, which the NameNode must confirm
	aes       bool              // dfs.encrypt.data.transfer.cipher.suites
	principal string            // dfs.namenode.kerberos.principal
	pattern   *regexp.Regexp    // dfs.namenode.kerberos.principal.pattern
	fallback  bool              // ipc.client.fallback-to-simple-auth-allowed
	useIP     bool              // hadoop.security.token.service.use_ip

	login   *kerberos.Login
	tokens  []Token // only those for HDFS
	service string  // of tokens, with several NameNodes: ha-hdfs:NAME
}

// The properties that determine the security.
const (
	authenticationProperty = "hadoop.security.authentication"
	rpcProtectionProperty  = "hadoop.rpc.protection"
	transferProperty       = "dfs.data.transfer.protection"
	encryptProperty        = "dfs.encrypt.data.transfer"
	cipherSuitesProperty   = "dfs.encrypt.data.transfer.cipher.suites"
	principalProperty      = "dfs.namenode.kerberos.principal"
	patternProperty        = "dfs.namenode.kerberos.principal.pattern"
	fallbackProperty       = "ipc.client.fallback-to-simple-auth-allowed"
	useIPProperty          = "hadoop.security.token.service.use_ip"
)

// deciders are properties that name a Java class, which decides which connections are protected.
var deciders = []string{"hadoop.security.saslproperties.resolver.class",
	"dfs.data.transfer.saslproperties.resolver.class", "dfs.trustedchannel.resolver.class"}

const aesSuite = "AES/CTR/NoPadding"

// readSecurity reads the site files. It names and refuses settings that it does not support, so that nothing is done
// with less protection than they ask for.
func readSecurity(conf *siteconf.Conf) (*security, error) {
	s := &security{
		principal: conf.Get(principalProperty, ""),
		encrypt:   isTrue(conf, encryptProperty, false),
		fallback:  isTrue(conf, fallbackProperty, false),
		useIP:     isTrue(conf, useIPProperty, true),
	}
	switch how := strings.ToLower(conf.Get(authenticationProperty, "simple")); how {
	case "kerberos":
		s.kerberos = true
	case "simple", "":
	default:
		return nil, siteError(conf, authenticationProperty, "known are simple and kerberos")
	}
	for _, property := range deciders {
		if class := conf.Get(property, ""); class != "" && !slices.Contains(ownDeciders, class) {
			return nil, siteError(conf, property, "this program can't run a class that decides about protection; take it out "+
				"of the site files that this program reads")
		}
	}
	if err := s.readProtections(conf); err != nil {
		return nil, err
	}
	if err := s.readCiphers(conf); err != nil {
		return nil, err
	}
	return s, s.readPattern(conf)
}

// ownDeciders are Hadoop's defaults, which decide by the other properties.
var ownDeciders = []string{"org.apache.hadoop.security.SaslPropertiesResolver",
	"org.apache.hadoop.hdfs.protocol.datatransfer.TrustedChannelResolver"}

// siteError names a property, the file that sets it, and its value.
func siteError(conf *siteconf.Conf, property, what string) error {
	return errcode.SecurityUnsupported.Errorf("%s (%s) is %s: %s", property, conf.Source(property),
		conf.Get(property, ""), what)
}

// isTrue reads a boolean as Configuration.getBoolean does.
func isTrue(conf *siteconf.Conf, property string, def bool) bool {
	switch strings.ToLower(conf.Get(property, "")) {
	case "true":
		return true
	case "false":
		return false
	}
	return def
}

func (s *security) readProtections(conf *siteconf.Conf) (err error) {
	if s.rpc, err = sasl.ParseProtections(conf.Get(rpcProtectionProperty, "")); err != nil {
		return siteError(conf, rpcProtectionProperty, err.Error())
	}
	if conf.Get(transferProperty, "") != "" {
		if s.transfer, err = sasl.ParseProtections(conf.Get(transferProperty, "")); err != nil {
			return siteError(conf, transferProperty, err.Error())
		}
	}
	for property, list := range map[string][]sasl.Protection{rpcProtectionProperty: s.rpc, transferProperty: s.transfer} {
		if !s.kerberos && len(list) > 0 && !slices.Contains(list, sasl.Authentication) {
			return siteError(conf, property, "without Kerberos Hadoop protects no connection, and says nothing; "+
				"set hadoop.security.authentication to kerberos, or take this property out of the site files")
		}
	}
	return nil
}

func (s *security) readCiphers(conf *siteconf.Conf) error {
	switch suites := conf.Get(cipherSuitesProperty, ""); suites {
	case "":
	case aesSuite:
		s.aes = true
	default:
		return siteError(conf, cipherSuitesProperty, "this program has "+aesSuite+" only; set that here and on the DataNodes")
	}
	return nil
}

// readPattern compiles a glob of * and ? to a regular expression.
func (s *security) readPattern(conf *siteconf.Conf) error {
	glob := conf.Get(patternProperty, "")
	if glob == "" {
		return nil
	}
	if strings.ContainsAny(glob, `[]{}\`) {
		return siteError(conf, patternProperty, "this program knows * and ? only in a pattern")
	}
	text := strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(glob))
	s.pattern = regexp.MustCompile("^(?:" + text + ")$") // quoted: always valid
	return nil
}

// as adds our identity to the security, and returns the user name for connections.
func (s *security) as(who Identity, conf *siteconf.Conf, authority string,
	addresses []string) (user string, err error) {
	if conf.Get("dfs.ha.namenodes."+authority, "") != "" {
		s.service = haService + authority
	}
	if !s.kerberos {
		return hdfsUser(who.User)
	}
	if s.login = who.Login; s.login != nil {
		// A login with a token gets no delegation token from HDFS, which HBase needs. So the login takes precedence
		// over tokens.
		return s.login.Principal(), nil
	}
	for _, t := range who.Tokens {
		if t.Kind == hdfsTokenKind {
			s.tokens = append(s.tokens, t)
		}
	}
	if len(s.tokens) == 0 {
		return "", errcode.KerberosNoLogin.Errorf(
			"the cluster uses Kerberos (%s in %s), and there is neither a login nor a delegation token; "+
				"log in (kinit, or principal and keytab), or name a file of tokens in %s", authenticationProperty,
			conf.Source(authenticationProperty), tokenFileName)
	}
	mine, ok := s.ownToken(addresses)
	if !ok {
		return "", errcode.KerberosToken.Errorf("no delegation token for the NameNode (%s): the tokens are for %s",
			strings.Join(addresses, ", "), s.services())
	}
	s.tokens = []Token{mine}
	details, err := mine.Details()
	if err != nil {
		return "", err
	}
	return details.Owner, nil
}

// ownToken returns the token for the NameNodes at addresses.
func (s *security) ownToken(addresses []string) (Token, bool) {
	for _, address := range addresses {
		if t, ok := s.tokenFor(address, nil); ok {
			return t, true
		}
		host, port, _ := net.SplitHostPort(address)
		found, _ := net.LookupHost(host) // if there is none, connecting fails, too, and reports why
		for _, ip := range found {
			if t, ok := s.tokenFor(net.JoinHostPort(ip, port), nil); ok {
				return t, true
			}
		}
	}
	return Token{}, false
}

// haService is the start of a token's service for several NameNodes (HdfsConstants.HA_DT_SERVICE_PREFIX).
const haService = "ha-hdfs:"

// tokenFor returns the token for a NameNode, by its name service, or by its IP or name and its port.
func (s *security) tokenFor(address string, remote net.Addr) (Token, bool) {
	names := []string{strings.ToLower(address), javaAddress(address)}
	if remote != nil {
		names = append(names, javaAddress(remote.String()))
	}
	if s.service != "" {
		names = []string{s.service}
	}
	for _, t := range s.tokens {
		if slices.Contains(names, t.Service) {
			return t, true
		}
	}
	return Token{}, false
}

// services lists the services of the tokens.
func (s *security) services() string {
	var list []string
	for _, t := range s.tokens {
		list = append(list, t.Service)
	}
	return strings.Join(list, ", ")
}

// tokenService is the service that a token of a NameNode must have so that its users find it
// (SecurityUtil.buildTokenService, HAUtilClient.buildTokenServiceForLogicalUri).
func (s *security) tokenService(address string, remote net.Addr) string {
	if s.service != "" {
		return s.service
	}
	if !s.useIP {
		return strings.ToLower(address)
	}
	return javaAddress(remote.String())
}

// javaAddress is ip:port as Java writes it (InetAddress.getHostAddress): for IPv6 with all eight groups and without
// brackets. Other addresses are returned unchanged.
func javaAddress(address string) string {
	host, port, _ := net.SplitHostPort(address)
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return address
	}
	if ip = ip.Unmap(); ip.Is4() {
		return ip.String() + ":" + port
	}
	var groups []string
	for b := ip.As16(); len(groups) < 8; {
		i := 2 * len(groups)
		groups = append(groups, strconv.FormatUint(uint64(b[i])<<8|uint64(b[i+1]), 16))
	}
	text := strings.Join(groups, ":")
	if zone := ip.Zone(); zone != "" {
		text += "%" + zone
	}
	return text + ":" + port
}
