package serve

import (
	"bytes"
	"crypto/sha256"
	"crypto/subtle"
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"sync/atomic"

	"bulkload/internal/errcode"
)

// protocols are those of HTTP that clients may choose.
var protocols = []string{"h2", "http/1.1"}

// secure has the certificates and tokens that are valid now.
type secure struct {
	tls    atomic.Pointer[tls.Config] // nil: no TLS
	tokens atomic.Pointer[[][32]byte] // sums of the tokens; nil: none is needed
}

// load reads the files. After an error those from before stay valid.
func (s *secure) load(from *Settings) error {
	var config *tls.Config
	if from.Cert != "" {
		pair, err := tls.LoadX509KeyPair(from.Cert, from.Key)
		if err != nil {
			return errcode.Command.Errorf("--tls-cert and --tls-key: %w", err)
		}
		config = &tls.Config{MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{pair}, NextProtos: protocols}
	}
	if from.ClientCA != "" {
		text, err := os.ReadFile(from.ClientCA)
		if err != nil {
			return errcode.Command.Errorf("--client-ca: %w", err)
		}
		config.ClientCAs, config.ClientAuth = x509.NewCertPool(), tls.RequireAndVerifyClientCert
		if !config.ClientCAs.AppendCertsFromPEM(text) {
			return errcode.Command.Errorf("--client-ca %s has no certificate in PEM", from.ClientCA)
		}
	}
	var tokens *[][32]byte
	if from.TokenFile != "" {
		text, err := os.ReadFile(from.TokenFile)
		if err != nil {
			return errcode.Command.Errorf("--token-file: %w", err)
		}
		tokens = new([][32]byte)
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); len(line) > 0 {
				*tokens = append(*tokens, sha256.Sum256(line))
			}
		}
		if len(*tokens) == 0 {
			return errcode.Command.Errorf("--token-file %s is empty", from.TokenFile)
		}
	}
	s.tls.Store(config)
	s.tokens.Store(tokens)
	return nil
}

// config asks for the certificates of each new connection; nil without TLS.
func (s *secure) config() *tls.Config {
	if s.tls.Load() == nil {
		return nil
	}
	return &tls.Config{MinVersion: tls.VersionTLS12, NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) { return s.tls.Load(), nil }}
}

// allows reports whether a request has a token, if one is needed. How long that takes says nothing about the tokens.
func (s *secure) allows(r *http.Request) bool {
	tokens := s.tokens.Load()
	if tokens == nil {
		return true
	}
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return false
	}
	given, same := sha256.Sum256([]byte(strings.TrimSpace(token))), 0
	for i := range *tokens {
		same |= subtle.ConstantTimeCompare(given[:], (*tokens)[i][:])
	}
	return same == 1
}
