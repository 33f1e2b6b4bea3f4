// SPDX-License-Identifier: Apache-2.0

// Package sigv4 verifies AWS Signature Version 4 as AWS services do. It supports the Authorization header, presigned
// URLs, the policy of a browser upload, and bodies sent in signed or unsigned chunks with or without trailers. The
// caller provides the secret for the verification. The package does not store credentials or authorize requests.
//
// The rules are those of "Signature Version 4 for API requests" in the IAM User Guide and "Authenticating Requests
// (AWS Signature Version 4)" in the Amazon S3 API Reference.
package sigv4

import (
	"crypto/rsa"
	"encoding/hex"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// Values of x-amz-content-sha256 that are not a hash.
const (
	UnsignedPayload          = "UNSIGNED-PAYLOAD"
	StreamingUnsignedTrailer = "STREAMING-UNSIGNED-PAYLOAD-TRAILER"
	StreamingSigned          = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD"
	StreamingSignedTrailer   = "STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER"
)

// maxSkew is how far a request's time may be from the service's.
const maxSkew = 15 * time.Minute

var (
	// ErrVersion2 is the error for Signature Version 2 where it is not accepted.
	ErrVersion2 = awserr.New(http.StatusBadRequest, "InvalidRequest",
		"The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.")
	errMissingDate = awserr.New(http.StatusForbidden, "AccessDenied",
		"AWS authentication requires a valid Date or x-amz-date header.")
	errMissingSHA256 = awserr.New(http.StatusBadRequest, "InvalidRequest",
		"Missing required header for this request: x-amz-content-sha256")
)

// Expect is the expected credential scope. Credential scopes with another service or region are rejected.
type Expect struct {
	// Service is the service in the scope, for example s3 or iam.
	Service string
	// Region is the region that is expected; "" accepts any region.
	Region string
	// Also reports whether another region is accepted, too. nil accepts none.
	Also func(region string) bool
}

// Lookup returns the secret of an access key. token is the request's security token, or "" if there is none. Lookup's
// error is an *awserr.Error for the response, such as InvalidAccessKeyId.
type Lookup func(accessKeyID, token string) (secret string, err error)

// Verifier verifies requests to one endpoint.
type Verifier struct {
	Expect Expect
	Lookup Lookup
	// Dialect is the dialect to verify. Default: AWS.
	Dialect Dialect
	// GoogleHeaders is set for a service that accepts headers of Google. They must also be signed.
	GoogleHeaders bool
	// Keys returns the public keys of a service account, which is the credential in the dialect GoogleRSA.
	Keys func(credential string) ([]*rsa.PublicKey, error)
	// Now returns the service's time.
	Now func() time.Time
	// BodyHash is the SHA-256 of the body in hexadecimal, for VerifyService. Clients of services other than S3 sign
	// the hash without sending it. If they send a hash, it is ignored.
	BodyHash string
	// Version2 accepts Signature Version 2.
	Version2 bool
	// HostBucket is the bucket in the host name, which Signature Version 2 covers; "" for a path-style URL.
	HostBucket string
	// Known caches signing keys. If it is nil, the key is derived for each request.
	Known *SigningKeys
}

// Verified describes a verified signature of a request.
type Verified struct {
	Mode          Mode
	AccessKeyID   string
	SecurityToken string
	// SignedAt is the time in the signature. Expires is the validity period of a presigned URL, which starts at
	// SignedAt.
	SignedAt time.Time
	Expires  time.Duration
	// Version2 is set for Signature Version 2.
	Version2 bool
	// Region is the region in the scope of the signature, or "" with Signature Version 2.
	Region string
	// PayloadHash is the value of x-amz-content-sha256, or UNSIGNED-PAYLOAD.
	PayloadHash string

	scope     scope
	amzDate   string
	key       []byte
	signature string
}

// Verify verifies r's signature. It returns nil and no error for an anonymous request. It does not read the body;
// NewBody verifies the body while it is read.
func (v Verifier) Verify(r *http.Request) (*Verified, error) {
	switch {
	case v.Version2 && isVersion2Header(r):
		return v.verifyVersion2Header(r)
	case r.Header.Get("Authorization") != "":
		return v.verifyHeader(r)
	case strings.Contains(r.URL.RawQuery, "AWSAccessKeyId=") || strings.Contains(r.URL.RawQuery, "Signature="):
		if query := parseQuery(r.URL.RawQuery); isVersion2(query) {
			if !v.Version2 {
				return nil, ErrVersion2
			}
			return v.verifyVersion2(r, query)
		}
	case v.Dialect.orAWS() == AWS && IsAnonymous(r):
		return nil, nil
	}
	return v.verifyQuery(r)
}

func (v Verifier) verifyHeader(r *http.Request) (*Verified, error) {
	c, err := parseHeader(r, v.Expect, v.Dialect.orAWS())
	if err != nil {
		return nil, err
	}
	secret, err := v.lookup(c)
	if err != nil {
		return nil, err
	}
	if err := v.checkSkew(c); err != nil {
		return nil, err
	}
	if c.amzDate[:8] != c.scope.date {
		return nil, headerMalformed("The authorization header is malformed; Invalid credential date. Date is not the same as X-Amz-Date.")
	}
	payload, err := v.payloadHash(r)
	if err != nil {
		return nil, err
	}
	if err := v.checkSignedHeaders(r, c); err != nil {
		return nil, err
	}
	if payload != EmptySHA256 && len(payload) == 64 && r.ContentLength == 0 {
		if _, err := c.compare(r, secret, payload, ""); err != nil {
			return nil, err
		}
		return nil, hashMismatch(payload, EmptySHA256)
	}
	return c.compare(r, secret, payload, "")
}

func (v Verifier) verifyQuery(r *http.Request) (*Verified, error) {
	c, err := parseQueryClaim(r, v.Expect, v.Dialect.orAWS())
	if err != nil {
		return nil, err
	}
	now := v.Now()
	switch {
	case now.After(c.signedAt.Add(c.expires)):
		return nil, awserr.New(http.StatusForbidden, "AccessDenied", "Request has expired").
			With("X-Amz-Expires", formatSeconds(c.expires)).
			With("Expires", c.signedAt.Add(c.expires).Format(time.RFC3339)).
			With("ServerTime", now.UTC().Format(time.RFC3339))
	case c.signedAt.After(now.Add(maxSkew)):
		return nil, awserr.New(http.StatusForbidden, "AccessDenied", "Request is not valid yet.")
	}
	secret, err := v.lookup(c)
	if err != nil {
		return nil, err
	}
	if err := v.checkSignedHeaders(r, c); err != nil {
		return nil, err
	}
	return c.compare(r, secret, presignedPayload(r, c.dialect), c.dialect.header+"Signature")
}

// lookup returns the secret with which the claim is verified.
func (v Verifier) lookup(c *claim) (secret string, err error) {
	c.known = v.Known
	if !c.dialect.asymmetric {
		return v.Lookup(c.accessKeyID, c.securityToken)
	}
	c.keys, err = v.Keys(c.accessKeyID)
	return "", err
}

func (v Verifier) checkSkew(c *claim) error {
	now := v.Now()
	if d := now.Sub(c.signedAt); d <= maxSkew && d >= -maxSkew {
		return nil
	}
	return awserr.New(http.StatusForbidden, "RequestTimeTooSkewed",
		"The difference between the request time and the current time is too large.").
		With("RequestTime", c.amzDate).
		With("ServerTime", now.UTC().Format(time.RFC3339)).
		With("MaxAllowedSkewMilliseconds", "900000")
}

// payloadHash reads x-amz-content-sha256, which S3 demands.
func (v Verifier) payloadHash(r *http.Request) (string, error) {
	d := v.Dialect.orAWS()
	h := r.Header.Get(d.header + "Content-Sha256")
	if h == "" && d != AWS {
		return UnsignedPayload, nil
	}
	if h == "" {
		return "", errMissingSHA256
	}
	if !validPayloadHash(h) {
		return "", InvalidArgument("x-amz-content-sha256", h, "x-amz-content-sha256 must be UNSIGNED-PAYLOAD, STREAMING-UNSIGNED-PAYLOAD-TRAILER, STREAMING-AWS4-HMAC-SHA256-PAYLOAD, STREAMING-AWS4-HMAC-SHA256-PAYLOAD-TRAILER, STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD, STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER or a valid sha256 value.")
	}
	return h, nil
}

func validPayloadHash(h string) bool {
	switch h {
	case UnsignedPayload, StreamingUnsignedTrailer, StreamingSigned, StreamingSignedTrailer,
		"STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD", "STREAMING-AWS4-ECDSA-P256-SHA256-PAYLOAD-TRAILER":
		return true
	}
	_, err := hex.DecodeString(h)
	return err == nil && len(h) == 64
}

// presignedPayload is the payload hash a presigned URL was signed with.
func presignedPayload(r *http.Request, d Dialect) string {
	if h := r.Header.Get(d.header + "Content-Sha256"); h != "" {
		return h
	}
	for _, p := range parseQuery(r.URL.RawQuery) {
		if p.name == d.header+"Content-Sha256" {
			return p.value
		}
	}
	return UnsignedPayload
}

// checkSignedHeaders rejects a request whose Host or x-amz-* headers are not signed, because anyone on the network path
// could have added them. Cloud Storage accepts the headers of both dialects in each request; S3 ignores x-goog-*.
func (v Verifier) checkSignedHeaders(r *http.Request, c *claim) error {
	signed, prefix := c.signedHeaders, strings.ToLower(c.dialect.header)
	var missing []string
	if !slices.Contains(signed, "host") {
		missing = append(missing, "host")
	}
	for name := range r.Header {
		if !hasPrefixFold(name, AWS.header) && (!v.GoogleHeaders || !hasPrefixFold(name, Google.header)) {
			continue
		}
		if lower := strings.ToLower(name); !slices.Contains(signed, lower) && (c.mode != Query || lower != prefix+"content-sha256") {
			missing = append(missing, lower)
		}
	}
	if len(missing) == 0 {
		return nil
	}
	slices.Sort(missing)
	return awserr.New(http.StatusForbidden, "AccessDenied", "There were headers present in the request which were not signed").
		With("HeadersNotSigned", strings.Join(missing, ", "))
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// compare computes the signature and compares it with the request's. Google's clients sign the host without a port,
// because the real service has none; others sign the host that they send.
func (c *claim) compare(r *http.Request, secret, payload, omitQuery string) (*Verified, error) {
	verified, err := c.compareAs(r, secret, payload, omitQuery)
	host, _, splitErr := net.SplitHostPort(r.Host)
	if err == nil || c.dialect == AWS || splitErr != nil {
		return verified, err
	}
	bare := *r
	bare.Host = host
	if verified, bareErr := c.compareAs(&bare, secret, payload, omitQuery); bareErr == nil {
		return verified, nil
	}
	return nil, err
}

func (c *claim) compareAs(r *http.Request, secret, payload, omitQuery string) (*Verified, error) {
	canonical := canonicalRequest(r, c.scope.service, c.signedHeaders, omitQuery, payload)
	toSign := stringToSign(c.dialect.algorithm, c.amzDate, c.scope, canonical)
	key, good := c.matches(secret, toSign)
	if !good {
		return nil, mismatch(c.accessKeyID, toSign, c.signature).With("CanonicalRequest", canonical).With("CanonicalRequestBytes", hexBytes(canonical))
	}
	return c.verified(key, payload), nil
}

// matches compares the signature with that of the text. key is the signing key of a symmetric signature.
func (c *claim) matches(secret, toSign string) (key []byte, ok bool) {
	if c.dialect.asymmetric {
		return nil, signedBy(c.keys, toSign, c.signature)
	}
	key = c.known.get(c.dialect.keyPrefix, secret, c.scope)
	return key, equalSignature(sign(key, toSign), c.signature)
}

func (c *claim) verified(key []byte, payload string) *Verified {
	return &Verified{
		Mode: c.mode, AccessKeyID: c.accessKeyID, SecurityToken: c.securityToken, Region: c.scope.region,
		SignedAt: c.signedAt, Expires: c.expires, PayloadHash: payload,
		scope: c.scope, amzDate: c.amzDate, key: key, signature: c.signature,
	}
}

// mismatch is S3's response to a wrong signature; its fields let a client author compare step by step.
func mismatch(keyID, toSign, signature string) *awserr.Error {
	return awserr.New(http.StatusForbidden, "SignatureDoesNotMatch",
		"The request signature we calculated does not match the signature you provided. Check your key and signing method.").
		With("AWSAccessKeyId", keyID).
		With("StringToSign", toSign).
		With("SignatureProvided", signature).
		With("StringToSignBytes", hexBytes(toSign))
}

// hexBytes prints s as space-separated hex bytes.
func hexBytes(s string) string { return fmt.Sprintf("% x", s) }
