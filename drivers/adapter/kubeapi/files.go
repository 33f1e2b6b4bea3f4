// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	tokenFile = "token"
	// serverFile contains the certificate and its private key. The certificate is self-signed and therefore also the CA.
	serverFile = "server.pem"

	validity = 10 * 365 * 24 * time.Hour
)

// writeFiles writes the files of the service account mount and returns the server's certificate and token. It keeps
// those of an earlier server. The token is the last file, so a driver that finds it also finds the others. The group
// may read it, because a driver may run as another user with the group of the Pod's fsGroup.
func (s *Server) writeFiles() (tls.Certificate, string, error) {
	dir := s.options.Dir
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return tls.Certificate{}, "", err
	}
	file := filepath.Join(dir, serverFile)
	certificate, err := tls.LoadX509KeyPair(file, file)
	if err != nil || certificate.Leaf.VerifyHostname(s.ip.String()) != nil || time.Now().After(certificate.Leaf.NotAfter) {
		pair, err := newPair(s.ip)
		if err == nil {
			err = write(file, pair, 0o600)
		}
		if err == nil {
			certificate, err = tls.X509KeyPair(pair, pair)
		}
		if err != nil {
			return tls.Certificate{}, "", fmt.Errorf("create a certificate: %w", err)
		}
	}
	token, err := os.ReadFile(filepath.Join(dir, tokenFile))
	if errors.Is(err, fs.ErrNotExist) || err == nil && len(bytes.TrimSpace(token)) == 0 {
		token, err = []byte(rand.Text()), nil
	}
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate.Certificate[0]})
	for _, f := range []struct {
		name    string
		content []byte
		mode    fs.FileMode
	}{{"ca.crt", ca, 0o644}, {"namespace", []byte(s.options.Namespace), 0o644}, {tokenFile, token, 0o640}} {
		if err == nil {
			err = write(filepath.Join(dir, f.name), f.content, f.mode)
		}
	}
	return certificate, string(bytes.TrimSpace(token)), err
}

// newPair returns a self-signed certificate and its private key, PEM-encoded.
func newPair(ip net.IP) ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller adds the context
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "Kubernetes API for a COSI driver"},
		IPAddresses: []net.IP{ip}, DNSNames: []string{"localhost"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(validity),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller adds the context
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	return append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: certificate}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private})...), err
}

// write replaces a file, so that a reader finds either the old or the new content.
func write(path string, content []byte, mode fs.FileMode) error {
	next := path + ".new"
	if err := os.WriteFile(next, content, 0o600); err != nil {
		return err
	}
	if err := os.Chmod(next, mode); err != nil {
		return err
	}
	return os.Rename(next, path)
}
