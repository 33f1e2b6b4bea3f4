// SPDX-License-Identifier: Apache-2.0

// Package oidc verifies tokens of OpenID Connect issuers, such as the service account tokens of a Kubernetes API
// server. It fetches the keys from the issuer. Callers decide which issuers to trust.
package oidc

import (
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// ErrIssuer means that the issuer did not return keys.
var ErrIssuer = errors.New("the issuer does not respond with keys")

// Claims are the claims of a token that identify its subject.
type Claims struct {
	Issuer, Subject string
	Audiences       []string
	// IssuedAt and Expires are zero if the token does not have the claims.
	IssuedAt, Expires time.Time
}

// Peek reads the claims of a token without verifying the token.
func Peek(token string) (Claims, error) {
	unverified, _, err := jwt.NewParser().ParseUnverified(token, jwt.MapClaims{})
	if err != nil {
		return Claims{}, fmt.Errorf("read the token: %w", err)
	}
	var c Claims
	var errs [5]error
	c.Issuer, errs[0] = unverified.Claims.GetIssuer()
	c.Subject, errs[1] = unverified.Claims.GetSubject()
	c.Audiences, errs[2] = unverified.Claims.GetAudience()
	c.IssuedAt, errs[3] = date(unverified.Claims.GetIssuedAt())
	c.Expires, errs[4] = date(unverified.Claims.GetExpirationTime())
	if err := errors.Join(errs[:]...); err != nil {
		return Claims{}, fmt.Errorf("read the token: %w", err)
	}
	return c, nil
}

func date(d *jwt.NumericDate, err error) (time.Time, error) {
	if d == nil {
		return time.Time{}, err
	}
	return d.Time, err
}

// Verifier verifies the signatures and validity periods of tokens.
type Verifier struct {
	// Client fetches discovery documents and keys; it must trust the issuer's certificate.
	Client *http.Client
	// Now returns the current time.
	Now func() time.Time
	// Leeway is the tolerated difference between the clocks. A token is accepted for this time before its nbf and
	// after its exp.
	Leeway time.Duration
}

// Verify checks the signature of a token with the issuer's keys, and that the token is valid now. The error wraps
// ErrIssuer if the keys are not available, and jwt.ErrTokenExpired if the token has expired.
func (v Verifier) Verify(ctx context.Context, token, issuer string) error {
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"RS256", "RS384", "RS512", "ES256", "ES384", "ES512"}), jwt.WithTimeFunc(v.Now), jwt.WithLeeway(v.Leeway),
		jwt.WithExpirationRequired(), jwt.WithIssuer(issuer))
	if _, err := parser.Parse(token, func(t *jwt.Token) (any, error) { return v.key(ctx, issuer, t) }); err != nil {
		return fmt.Errorf("verify the token: %w", err)
	}
	return nil
}

// key finds the token's key in the issuer's key set.
func (v Verifier) key(ctx context.Context, issuer string, t *jwt.Token) (any, error) {
	var discovery struct {
		Issuer  string `json:"issuer"`
		JWKSURI string `json:"jwks_uri"`
	}
	if err := v.fetch(ctx, strings.TrimSuffix(issuer, "/")+"/.well-known/openid-configuration", &discovery); err != nil {
		return nil, err
	}
	if discovery.Issuer != issuer {
		return nil, fmt.Errorf("%w: the discovery document has another issuer, %q", ErrIssuer, discovery.Issuer)
	}
	var set struct {
		Keys []key `json:"keys"`
	}
	if err := v.fetch(ctx, discovery.JWKSURI, &set); err != nil {
		return nil, err
	}
	kid, _ := t.Header["kid"].(string)
	for _, k := range set.Keys {
		if k.ID == kid || kid == "" {
			return k.public()
		}
	}
	return nil, fmt.Errorf("the issuer has no key %q", kid)
}

// maxResponse limits the size of an issuer's response, and fetchTimeout its duration.
const (
	maxResponse  = 1 << 20
	fetchTimeout = 10 * time.Second
)

func (v Verifier) fetch(ctx context.Context, url string, into any) error {
	ctx, cancel := context.WithTimeout(ctx, fetchTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrIssuer, err)
	}
	resp, err := v.Client.Do(req)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrIssuer, err)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxResponse))
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return fmt.Errorf("%w: %w", ErrIssuer, err)
	}
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("%w: %s returns %s", ErrIssuer, url, resp.Status)
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%w: %w", ErrIssuer, err)
	}
	return nil
}

// key is one key of a key set (RFC 7517).
type key struct {
	ID    string `json:"kid"`
	Type  string `json:"kty"`
	Curve string `json:"crv"`
	N     string `json:"n"`
	E     string `json:"e"`
	X     string `json:"x"`
	Y     string `json:"y"`
}

func (k key) public() (crypto.PublicKey, error) {
	switch k.Type {
	case "RSA":
		n, err1 := number(k.N)
		e, err2 := number(k.E)
		if err := errors.Join(err1, err2); err != nil {
			return nil, err
		}
		return &rsa.PublicKey{N: n, E: int(e.Int64())}, nil
	case "EC":
		return k.elliptic()
	}
	return nil, fmt.Errorf("key type %q is not supported", k.Type)
}

// elliptic is the key of a curve. The coordinates have the curve's full length
// (RFC 7518, section 6.2.1.2).
func (k key) elliptic() (crypto.PublicKey, error) {
	curve, ok := map[string]elliptic.Curve{"P-256": elliptic.P256(), "P-384": elliptic.P384(), "P-521": elliptic.P521()}[k.Curve]
	x, err1 := base64.RawURLEncoding.DecodeString(strings.TrimRight(k.X, "="))
	y, err2 := base64.RawURLEncoding.DecodeString(strings.TrimRight(k.Y, "="))
	if err := errors.Join(err1, err2); err != nil || !ok {
		return nil, errors.Join(fmt.Errorf("key %q is not usable", k.ID), err)
	}
	const uncompressed = 4 // SEC 1, section 2.3.3
	public, err := ecdsa.ParseUncompressedPublicKey(curve, slices.Concat([]byte{uncompressed}, x, y))
	if err != nil {
		return nil, fmt.Errorf("key %q is not usable: %w", k.ID, err)
	}
	return public, nil
}

func number(s string) (*big.Int, error) {
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return nil, fmt.Errorf("decode a key: %w", err)
	}
	return new(big.Int).SetBytes(raw), nil
}
