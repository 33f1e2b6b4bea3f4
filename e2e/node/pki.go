// SPDX-License-Identifier: Apache-2.0

package node

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"

	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// validity is the lifetime of certificates, longer than that of a node.
const validity = 7 * 24 * time.Hour

// An authority is the CA of API server and kubelet.
type authority struct {
	key         *ecdsa.PrivateKey
	certificate *x509.Certificate
}

func newAuthority() (*authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate a key: %w", err)
	}
	certificate, err := cert.NewSelfSignedCACert(cert.Config{CommonName: "cooper-node"}, key)
	if err != nil {
		return nil, fmt.Errorf("create the CA certificate: %w", err)
	}
	return &authority{key: key, certificate: certificate}, nil
}

// pem returns the CA certificate.
func (a *authority) pem() []byte { return encode(a.certificate.Raw) }

// sign creates a key and a certificate for a client, or for a server at the given names and addresses. Both
// are in PEM.
func (a *authority) sign(subject pkix.Name, names []string, addresses ...string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("generate a key: %w", err)
	}
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 64))
	if err != nil {
		return nil, nil, fmt.Errorf("generate a serial number: %w", err)
	}
	template := &x509.Certificate{
		Subject: subject, SerialNumber: serial, DNSNames: names,
		NotBefore: a.certificate.NotBefore, NotAfter: time.Now().Add(validity),
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	for _, address := range addresses {
		template.IPAddresses = append(template.IPAddresses, net.ParseIP(address))
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, a.certificate, private.Public(), a.key)
	if err != nil {
		return nil, nil, fmt.Errorf("create a certificate: %w", err)
	}
	key, err = keyutil.MarshalPrivateKeyToPEM(private)
	return encode(signed), key, err
}

func encode(certificate []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: cert.CertificateBlockType, Bytes: certificate})
}
