package kerberos

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"bulkload/internal/errcode"

	"github.com/jcmturner/gofork/encoding/asn1"
	"github.com/jcmturner/gokrb5/v8/crypto"
	"github.com/jcmturner/gokrb5/v8/iana"
	"github.com/jcmturner/gokrb5/v8/iana/errorcode"
	"github.com/jcmturner/gokrb5/v8/iana/flags"
	"github.com/jcmturner/gokrb5/v8/iana/keyusage"
	"github.com/jcmturner/gokrb5/v8/iana/msgtype"
	"github.com/jcmturner/gokrb5/v8/iana/nametype"
	"github.com/jcmturner/gokrb5/v8/iana/patype"
	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

// client sends requests to KDCs in a principal's name.
type client struct {
	conf  *conf
	name  types.PrincipalName
	realm string
	now   func() time.Time // the clock; tests shift it
}

func granting(realm string) types.PrincipalName {
	return types.PrincipalName{NameType: nametype.KRB_NT_SRV_INST, NameString: []string{"krbtgt", realm}}
}

// body is the common part of requests for tickets.
func (c *client) body(realm string, server types.PrincipalName, etypes []int32) messages.KDCReqBody {
	var nonce [4]byte
	rand.Read(nonce[:])
	b := messages.KDCReqBody{
		KDCOptions: types.NewKrbFlags(),
		CName:      c.name,
		Realm:      realm,
		SName:      server,
		Till:       c.now().Add(c.conf.lifetime).UTC(),
		Nonce:      int(binary.BigEndian.Uint32(nonce[:]) >> 1),
		EType:      etypes,
	}
	types.SetFlag(&b.KDCOptions, flags.RenewableOK)
	return b
}

// logIn gets a ticket-granting ticket with a key of the keytab (RFC 4120, 3.1).
func (c *client) logIn(ctx context.Context, k *keys) (credential, string, error) {
	request := messages.ASReq{KDCReqFields: messages.KDCReqFields{PVNO: iana.PVNO, MsgType: msgtype.KRB_AS_REQ,
		ReqBody: c.body(c.realm, granting(c.realm), c.loginTypes(k))}}
	if len(request.ReqBody.EType) == 0 {
		return credential{}, "",
			errcode.KerberosKeytab.Errorf("%s has keys of no type that is supported and permitted (AES, RC4)", k.file)
	}
	reply, kdc, err := c.send(ctx, &request)
	var refused messages.KRBError
	if errors.As(err, &refused) && refused.ErrorCode == errorcode.KDC_ERR_PREAUTH_REQUIRED {
		if request.PAData, err = c.proof(k, refused); err != nil {
			return credential{}, kdc, err
		}
		reply, kdc, err = c.send(ctx, &request)
	}
	if err != nil {
		return credential{}, kdc, err
	}
	cred, err := c.granted(k, request.ReqBody, reply)
	return cred, kdc, err
}

// loginTypes are the types of the keytab's keys, followed by those for the session.
func (c *client) loginTypes(k *keys) []int32 {
	var own, rest []int32
	for _, t := range c.conf.etypes {
		if _, ok := k.forType(t); ok {
			own = append(own, t)
		} else if slices.Contains(sessionTypes, t) {
			rest = append(rest, t)
		}
	}
	if own == nil {
		return nil
	}
	return append(own, rest...)
}

func (c *client) send(ctx context.Context, request *messages.ASReq) ([]byte, string, error) {
	b, err := request.Marshal()
	if err != nil {
		return nil, "", errors.New("can't encode the request")
	}
	return c.conf.ask(ctx, c.realm, b)
}

// proof is the current time, encrypted with the key of the type that the KDC names first.
func (c *client) proof(k *keys, asked messages.KRBError) (types.PADataSequence, error) {
	key, ok := k.forType(c.wanted(k, asked.EData))
	if !ok {
		return nil, errcode.KerberosKeytab.Errorf(
			"the KDC has no key of the principal with an encryption type that is in %s: %s", k.file, k.versions())
	}
	now := c.now().UTC()
	stamp, err := asn1.Marshal(types.PAEncTSEnc{PATimestamp: now, PAUSec: now.Nanosecond() / 1000})
	if err != nil {
		return nil, errors.New("can't encode the time")
	}
	sealed, err := crypto.GetEncryptedData(stamp, key.key, keyusage.AS_REQ_PA_ENC_TIMESTAMP, int(key.version))
	if err != nil {
		return nil, errors.New("can't encrypt by the keytab's key")
	}
	value, err := sealed.Marshal()
	return types.PADataSequence{{PADataType: patype.PA_ENC_TIMESTAMP, PADataValue: value}}, err
}

// wanted is the first type named by the KDC (ETYPE-INFO2) for which there is a key. If the KDC names none, it is the
// first key's.
func (c *client) wanted(k *keys, data []byte) int32 {
	var list types.PADataSequence
	if parse(func() error { return list.Unmarshal(data) }) != nil {
		return k.list[0].key.KeyType
	}
	named := false
	for _, pa := range list {
		if pa.PADataType != patype.PA_ETYPE_INFO2 {
			continue
		}
		var info types.ETypeInfo2
		if parse(func() (err error) { info, err = pa.GetETypeInfo2(); return err }) != nil {
			continue
		}
		for _, entry := range info {
			named = true
			if _, ok := k.forType(entry.EType); ok {
				return entry.EType
			}
		}
	}
	if named {
		return 0
	}
	return k.list[0].key.KeyType
}

// granted reads and checks the answer to a login.
func (c *client) granted(k *keys, asked messages.KDCReqBody, reply []byte) (credential, error) {
	var r messages.ASRep
	if err := parse(func() error { return r.Unmarshal(reply) }); err != nil {
		return credential{}, err
	}
	key, ok := k.forType(r.EncPart.EType)
	if !ok {
		return credential{}, errcode.KerberosKeytab.Errorf("the KDC answers with a key of type %s; %s has %s",
			etypeName(r.EncPart.EType), k.file, k.versions())
	}
	part, err := decrypt(r.EncPart, key.key, keyusage.AS_REP_ENCPART)
	if err != nil {
		theirs := "" // some KDCs don't say it
		if r.EncPart.KVNO > 0 {
			theirs = fmt.Sprintf("the KDC has number %d, ", r.EncPart.KVNO)
		}
		return credential{}, fmt.Errorf("%w: %s%s has number %s", errKey, theirs, k.file, k.versions())
	}
	return c.checked(asked, r.KDCRepFields, part)
}

// errKey marks a key that differs from the KDC's.
var errKey = errcode.KerberosKeytab.New("the keytab's key is not the KDC's")

func decrypt(sealed types.EncryptedData, key types.EncryptionKey,
	usage uint32) (part messages.EncKDCRepPart, err error) {
	return part, parse(func() error {
		b, err := crypto.DecryptEncPart(sealed, key, usage)
		if err != nil {
			return err
		}
		return part.Unmarshal(b)
	})
}

// checked checks that an answer matches the request (RFC 4120, 3.1.5 and 3.3.4).
func (c *client) checked(asked messages.KDCReqBody, r messages.KDCRepFields,
	part messages.EncKDCRepPart) (credential, error) {
	if part.Nonce != asked.Nonce {
		return credential{}, errors.New("the answer is to another request: its nonce is another one")
	}
	if err := c.isOurs(r); err != nil {
		return credential{}, err
	}
	if err := isAsked(asked, r, part); err != nil {
		return credential{}, err
	}
	cred := credential{ticket: r.Ticket, key: part.Key, start: part.StartTime,
		end: part.EndTime, renewTill: part.RenewTill}
	if cred.start.IsZero() {
		cred.start = part.AuthTime
	}
	if early := cred.start.Sub(c.now()); early > c.conf.skew {
		return cred, errcode.KerberosClock.Errorf("the ticket begins in %v: the clock of this machine is behind the KDC's "+
			"by at least as much", early.Round(time.Second))
	}
	return cred, nil
}

// isOurs checks that a ticket is for the client who asks.
func (c *client) isOurs(r messages.KDCRepFields) error {
	switch {
	case r.CRealm != c.realm:
		return errcode.KerberosPrincipal.Errorf("the ticket is for a client of realm %q (crealm), not of %s: write the "+
			"realm as the KDC does", r.CRealm, c.realm)
	case !slices.Equal(r.CName.NameString, c.name.NameString):
		return fmt.Errorf("the ticket is for client %q (cname), not for %s", r.CName.PrincipalNameString(),
			c.name.PrincipalNameString())
	}
	return nil
}

// isAsked checks that a ticket is for the requested server, and that the server's name, which is sent in clear with the
// ticket, is the one that the KDC has encrypted.
func isAsked(asked messages.KDCReqBody, r messages.KDCRepFields, part messages.EncKDCRepPart) error {
	switch {
	case part.SRealm != asked.Realm:
		return fmt.Errorf("the ticket is for a server of realm %q (srealm); one of %s was requested",
			part.SRealm, asked.Realm)
	case !slices.Equal(part.SName.NameString, asked.SName.NameString) && !leadsOn(asked, part.SName):
		return fmt.Errorf("the ticket is for server %q (sname); %s was requested",
			part.SName.PrincipalNameString(), asked.SName.PrincipalNameString())
	case r.Ticket.Realm != part.SRealm:
		return fmt.Errorf("the ticket says realm %q (ticket realm), the KDC's encrypted part %s", r.Ticket.Realm, part.SRealm)
	case !slices.Equal(r.Ticket.SName.NameString, part.SName.NameString):
		return fmt.Errorf("the ticket says server %q (ticket sname), the KDC's encrypted part %s",
			r.Ticket.SName.PrincipalNameString(), part.SName.PrincipalNameString())
	}
	return nil
}

// leadsOn reports whether an answer is a ticket for the KDC of another realm, on the way to the requested server (RFC
// 4120, 3.3.3). A request for the ticket-granting ticket of the KDC's own realm accepts no other.
func leadsOn(asked messages.KDCReqBody, got types.PrincipalName) bool {
	name := got.NameString
	return len(name) == 2 && name[0] == "krbtgt" && name[1] != "" && name[1] != asked.Realm &&
		!slices.Equal(asked.SName.NameString, granting(asked.Realm).NameString)
}

// ticket gets a ticket for a server with a ticket-granting one (RFC 4120, 3.3). With renew it renews the latter
// instead.
func (c *client) ticket(ctx context.Context, by credential, realm string, server types.PrincipalName,
	renew bool) (credential, string, error) {
	request := messages.TGSReq{KDCReqFields: messages.KDCReqFields{PVNO: iana.PVNO, MsgType: msgtype.KRB_TGS_REQ,
		ReqBody: c.body(realm, server, c.sessionTypes())}}
	if renew {
		types.SetFlag(&request.ReqBody.KDCOptions, flags.Renew)
	}
	if err := c.sign(&request, by); err != nil {
		return credential{}, "", err
	}
	b, err := request.Marshal()
	if err != nil {
		return credential{}, "", errors.New("can't encode the request")
	}
	reply, kdc, err := c.conf.ask(ctx, realm, b)
	if err != nil {
		return credential{}, kdc, err
	}
	var r messages.TGSRep
	if err := parse(func() error { return r.Unmarshal(reply) }); err != nil {
		return credential{}, kdc, err
	}
	part, err := decrypt(r.EncPart, by.key, keyusage.TGS_REP_ENCPART_SESSION_KEY)
	if err != nil {
		return credential{}, kdc, err
	}
	cred, err := c.checked(request.ReqBody, r.KDCRepFields, part)
	return cred, kdc, err
}

func (c *client) sessionTypes() []int32 {
	var list []int32
	for _, t := range c.conf.etypes {
		if slices.Contains(sessionTypes, t) {
			list = append(list, t)
		}
	}
	if list == nil {
		return sessionTypes
	}
	return list
}

// sign puts the ticket-granting ticket into a request, with a checksum of its body.
func (c *client) sign(request *messages.TGSReq, by credential) error {
	failed := errors.New("can't sign the request by the session's key")
	body, err := request.ReqBody.Marshal()
	if err != nil {
		return failed
	}
	etype, err := crypto.GetEtype(by.key.KeyType)
	if err != nil {
		return failed
	}
	sum, err := etype.GetChecksumHash(by.key.KeyValue, body, keyusage.TGS_REQ_PA_TGS_REQ_AP_REQ_AUTHENTICATOR_CHKSUM)
	if err != nil {
		return failed
	}
	ap, err := c.request(by, types.Checksum{CksumType: etype.GetHashID(), Checksum: sum}, types.EncryptionKey{})
	request.PAData = types.PADataSequence{{PADataType: patype.PA_TGS_REQ, PADataValue: ap}}
	return err
}

// request makes an AP-REQ (RFC 4120, 5.5.1). The authenticator has no sequence number: those of messages begin with 0.
// An empty subkey means none.
func (c *client) request(by credential, sum types.Checksum, subkey types.EncryptionKey) ([]byte, error) {
	now := c.now().UTC()
	auth := types.Authenticator{AVNO: iana.PVNO, CRealm: c.realm, CName: c.name, Cksum: sum,
		CTime: now, Cusec: now.Nanosecond() / 1000, SubKey: subkey}
	ap, err := messages.NewAPReq(by.ticket, by.key, auth)
	if err != nil {
		return nil, errors.New("can't encrypt by the session's key")
	}
	b, err := ap.Marshal()
	if err != nil {
		return nil, errors.New("can't encode the request")
	}
	return b, nil
}
