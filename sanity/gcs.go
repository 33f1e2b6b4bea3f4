// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	cosi "github.com/cooper-cosi/cooper/proto"
)

const defaultGCSEndpoint = "https://storage.googleapis.com"

// gcsProber uses the XML API of Google Cloud Storage with the HMAC pair of the grant or with a token signed by the
// service account key.
type gcsProber struct {
	transport *transport
	endpoint  string
}

// Try implements Prober.
func (p gcsProber) Try(ctx context.Context, attempt Attempt) (Outcome, error) {
	endpoint := p.endpoint
	if endpoint == "" {
		endpoint = defaultGCSEndpoint
	}
	base, err := url.Parse(endpoint)
	if err != nil || base.Host == "" {
		return Outcome{}, fmt.Errorf("endpoint %q is not a URL", endpoint)
	}
	c, err := gcsCall(*base, attempt)
	if err != nil {
		return Outcome{}, err
	}
	request, err := c.request(ctx)
	if err != nil {
		return Outcome{}, err
	}
	if err := authorizeGCS(request, c.body, attempt.Credentials.GetGcs()); err != nil {
		return Outcome{}, err
	}
	outcome, err := p.transport.send(request, attempt.Credentials.GetCertificateAuthority())
	return listed(attempt.Action, outcome, err)
}

// gcsCall creates a request for the XML API. The API has no object tags, so custom metadata is written with the
// object and read from its headers. Writing the bucket's ACL stands in for changing its policy.
func gcsCall(base url.URL, attempt Attempt) (call, error) {
	bucket := attempt.Info.GetGcs().GetBucketName()
	if bucket == "" {
		return call{}, errors.New("the driver's response has no GCS bucket name")
	}
	plain := attempt
	switch attempt.Action {
	case SetObjectTags:
		plain.Action = PutObject
	case GetObjectTags:
		plain.Action = GetObject
	case GetBucketTags, SetBucketPolicy:
		plain.Action = DeleteBucket
	case PutObject, GetObject, ListObjects, DeleteObject, DeleteBucket:
	}
	c, err := xmlAPI(base, bucket, false, plain)
	if err != nil {
		return call{}, err
	}
	switch attempt.Action {
	case SetObjectTags:
		c.header.Set("X-Goog-Meta-Cosi", "sanity")
	case GetObjectTags:
		c.method = http.MethodHead
	case GetBucketTags:
		c.method, c.url.RawQuery = http.MethodGet, "storageClass="
	case SetBucketPolicy:
		c.method, c.url.RawQuery, c.body = http.MethodPut, "acl=", nil
		c.header.Set("X-Goog-Acl", "private")
	case PutObject, GetObject, ListObjects, DeleteObject, DeleteBucket:
	}
	return c, nil
}

func authorizeGCS(request *http.Request, body []byte, credentials *cosi.GcsCredentialInfo) error {
	switch {
	case credentials == nil:
		return nil
	case credentials.GetAccessId() != "":
		signer := signature{accessKey: credentials.GetAccessId(), secretKey: credentials.GetAccessSecret(), region: "auto"}
		signer.sign(request, body, time.Now())
		return nil
	default:
		token, err := selfSignedToken(credentials, time.Now())
		if err != nil {
			return err
		}
		request.Header.Set("Authorization", "Bearer "+token)
		return nil
	}
}

// selfSignedToken returns a JWT with a scope, signed by the service account key. Google's APIs accept it instead of
// an access token.
func selfSignedToken(credentials *cosi.GcsCredentialInfo, now time.Time) (string, error) {
	key, err := rsaKey(credentials.GetPrivateKey())
	if err != nil {
		return "", err
	}
	header, err := json.Marshal(map[string]string{"alg": "RS256", "typ": "JWT", "kid": credentials.GetPrivateKeyName()})
	if err != nil {
		return "", fmt.Errorf("encode the header of a token: %w", err)
	}
	claims, err := json.Marshal(map[string]any{
		"iss": credentials.GetClientEmail(), "sub": credentials.GetClientEmail(),
		"scope": "https://www.googleapis.com/auth/devstorage.full_control",
		"iat":   now.Unix(), "exp": now.Add(time.Hour).Unix(),
	})
	if err != nil {
		return "", fmt.Errorf("encode the claims of a token: %w", err)
	}
	toSign := base64.RawURLEncoding.EncodeToString(header) + "." + base64.RawURLEncoding.EncodeToString(claims)
	hash := sha256.Sum256([]byte(toSign))
	signed, err := rsa.SignPKCS1v15(rand.Reader, key, crypto.SHA256, hash[:])
	if err != nil {
		return "", fmt.Errorf("sign a token with the private key: %w", err)
	}
	return toSign + "." + base64.RawURLEncoding.EncodeToString(signed), nil
}

func rsaKey(text string) (*rsa.PrivateKey, error) {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return nil, errors.New("the private key is not PEM")
	}
	if key, err := x509.ParsePKCS1PrivateKey(block.Bytes); err == nil {
		return key, nil
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, errors.New("the private key is neither PKCS #1 nor PKCS #8")
	}
	key, isRSA := parsed.(*rsa.PrivateKey)
	if !isRSA {
		return nil, fmt.Errorf("the private key is %T, not RSA", parsed)
	}
	return key, nil
}
