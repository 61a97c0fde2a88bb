package kerberos

import (
	"testing"
	"time"

	"bulkload/internal/errcode"

	"github.com/jcmturner/gokrb5/v8/messages"
	"github.com/jcmturner/gokrb5/v8/types"
)

func principal(parts ...string) types.PrincipalName { return types.PrincipalName{NameString: parts} }

// answered returns a client, its request, and the answer of an honest KDC.
func answered(server types.PrincipalName) (*client, messages.KDCReqBody, messages.KDCRepFields, messages.EncKDCRepPart) {
	now := time.Now()
	c := &client{conf: &conf{}, name: principal("loader"), realm: "LAB.TEST", now: time.Now}
	asked := messages.KDCReqBody{Realm: "LAB.TEST", SName: server, Nonce: 7}
	reply := messages.KDCRepFields{CRealm: "LAB.TEST", CName: principal("loader"), Ticket: messages.Ticket{Realm: "LAB.TEST", SName: server}}
	part := messages.EncKDCRepPart{Nonce: 7, SRealm: "LAB.TEST", SName: server, AuthTime: now.Add(-time.Minute), EndTime: now.Add(time.Hour)}
	return c, asked, reply, part
}

func TestAnswersToWhatWasNotAskedAreRefused(t *testing.T) {
	other := principal("hbase", "evil.lab.test")
	for name, test := range map[string]struct {
		change func(*messages.KDCRepFields, *messages.EncKDCRepPart)
		parts  []string
	}{
		"nonce":        {func(_ *messages.KDCRepFields, p *messages.EncKDCRepPart) { p.Nonce++ }, []string{"nonce"}},
		"client realm": {func(r *messages.KDCRepFields, _ *messages.EncKDCRepPart) { r.CRealm = "X.TEST" }, []string{"crealm", "X.TEST", "LAB.TEST"}},
		"client":       {func(r *messages.KDCRepFields, _ *messages.EncKDCRepPart) { r.CName = principal("root") }, []string{"cname", "root", "loader"}},
		"server realm": {func(r *messages.KDCRepFields, p *messages.EncKDCRepPart) {
			r.Ticket.Realm, p.SRealm = "X.TEST", "X.TEST"
		},
			[]string{"(srealm)", "X.TEST", "LAB.TEST"}},
		"server": {func(r *messages.KDCRepFields, p *messages.EncKDCRepPart) { r.Ticket.SName, p.SName = other, other },
			[]string{"(sname)", "hbase/evil.lab.test"}},
		"ticket's realm":  {func(r *messages.KDCRepFields, _ *messages.EncKDCRepPart) { r.Ticket.Realm = "X.TEST" }, []string{"(ticket realm)", "X.TEST"}},
		"ticket's server": {func(r *messages.KDCRepFields, _ *messages.EncKDCRepPart) { r.Ticket.SName = other }, []string{"(ticket sname)", "evil"}},
		"sealed realm":    {func(_ *messages.KDCRepFields, p *messages.EncKDCRepPart) { p.SRealm = "X.TEST" }, []string{"(srealm)", "X.TEST"}},
		"sealed server":   {func(_ *messages.KDCRepFields, p *messages.EncKDCRepPart) { p.SName = other }, []string{"(sname)", "evil"}},
	} {
		for _, server := range []types.PrincipalName{granting("LAB.TEST"), principal("hbase", "rs1.lab.test")} {
			t.Run(name+" "+server.PrincipalNameString(), func(t *testing.T) {
				c, asked, reply, part := answered(server)
				if _, err := c.checked(asked, reply, part); err != nil {
					t.Fatalf("the honest answer: %v", err)
				}
				test.change(&reply, &part)
				_, err := c.checked(asked, reply, part)
				code := errcode.Code("")
				if name == "client realm" {
					code = errcode.KerberosPrincipal // the job file can have it right
				}
				wantError(t, err, code, test.parts...)
			})
		}
	}
}

// TestAnswersMayLeadToOtherRealms: a KDC may refer to another realm's KDC, but never after a login or a renewal.
func TestAnswersMayLeadToOtherRealms(t *testing.T) {
	service := principal("hbase", "rs1.lab.test")
	for _, test := range []struct {
		asked, got types.PrincipalName
		ok         bool
	}{
		{service, granting("FAR.TEST"), true},
		{granting("FAR.TEST"), granting("MID.TEST"), true},
		{granting("LAB.TEST"), granting("FAR.TEST"), false},
		{service, granting("LAB.TEST"), false},
		{service, granting(""), false},
		{service, principal("krbtgt"), false},
		{granting("FAR.TEST"), service, false},
	} {
		c, asked, reply, part := answered(test.asked)
		reply.Ticket.SName, part.SName = test.got, test.got
		if _, err := c.checked(asked, reply, part); (err == nil) != test.ok {
			t.Errorf("asked for %s, got %s: %v", test.asked.PrincipalNameString(), test.got.PrincipalNameString(), err)
		}
	}
}
