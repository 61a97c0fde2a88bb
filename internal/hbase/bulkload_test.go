package hbase

import (
	"fmt"
	"testing"
)

func TestDelegationTokensDoNotPrintTheirSecret(t *testing.T) {
	token := DelegationToken{Identifier: []byte("identifier"), Password: []byte("secret"), Kind: "HDFS_DELEGATION_TOKEN", Service: "127.0.0.1:8020"}
	for _, value := range []any{token, &token} {
		for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
			if text := fmt.Sprintf(verb, value); text != "HDFS_DELEGATION_TOKEN for 127.0.0.1:8020" {
				t.Errorf("%T prints with %s as %q", value, verb, text)
			}
		}
	}
}
