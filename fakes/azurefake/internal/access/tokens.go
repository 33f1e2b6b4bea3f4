// SPDX-License-Identifier: Apache-2.0

package access

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
)

// tokenLife is how long an access token is accepted.
const tokenLife = time.Hour

// StorageAudience is the audience of tokens for the Blob service. ManagementAudience is the audience for the
// management calls.
const (
	StorageAudience    = "https://storage.azure.com"
	ManagementAudience = "https://management.azure.com"
)

// Errors of logins, with the texts of Microsoft Entra.
var (
	ErrUnknownClient = errors.New("AADSTS700016: Application was not found in the directory")
	ErrSecret        = errors.New("AADSTS7000215: Invalid client secret provided")
	ErrIssuer        = errors.New("AADSTS700211: No matching federated identity record found for presented assertion issuer")
	ErrAudience      = errors.New("AADSTS700212: No matching federated identity record found for presented assertion audience")
	ErrSubject       = errors.New("AADSTS700213: No matching federated identity record found for presented assertion subject")
)

// Login contains the credentials with which a client logs in.
type Login struct {
	ClientID string
	Secret   string
	// Assertion contains the verified claims of another issuer's token, or is nil if the client sent none.
	Assertion *Federation
}

// Token issues an access token for an audience, and returns the token with its lifetime.
func (d *Directory) Token(login Login, audience string) (string, time.Duration, error) {
	p, ok := d.principalOf(login.ClientID)
	if !ok {
		return "", 0, ErrUnknownClient
	}
	switch {
	case login.Assertion != nil:
		if err := p.trusts(*login.Assertion); err != nil {
			return "", 0, err
		}
	case p.Secret == "" || subtle.ConstantTimeCompare([]byte(p.Secret), []byte(login.Secret)) != 1:
		return "", 0, ErrSecret
	}
	now := d.now()
	token, err := jwt.NewWithClaims(jwt.SigningMethodHS256, jwt.MapClaims{
		"iss": "https://sts.windows.net/" + d.tenant.ID + "/", "aud": audience, "oid": p.ObjectID, "sub": p.ObjectID, "appid": p.ClientID,
		"tid": d.tenant.ID, "iat": now.Unix(), "nbf": now.Add(-time.Minute).Unix(), "exp": now.Add(tokenLife).Unix(),
	}).SignedString(d.tenant.Key)
	if err != nil {
		return "", 0, fmt.Errorf("sign an access token: %w", err)
	}
	return token, tokenLife, nil
}

// Trusts returns an error unless the client has a federated credential that matches the claims of another issuer's
// token. It does not check the signature.
func (d *Directory) Trusts(clientID string, shown Federation) error {
	p, ok := d.principalOf(clientID)
	if !ok {
		return ErrUnknownClient
	}
	return p.trusts(shown)
}

// trusts compares the claims of another issuer's token with the federated credentials. One of them must match
// exactly, including case.
func (p Principal) trusts(shown Federation) error {
	err := ErrIssuer
	for _, f := range p.Federated {
		if f.Issuer != shown.Issuer {
			continue
		}
		if f.Subject != shown.Subject {
			err = ErrSubject
			continue
		}
		for _, a := range f.Audiences {
			if slices.Contains(shown.Audiences, a) {
				return nil
			}
		}
		return fmt.Errorf("%w %q", ErrAudience, strings.Join(shown.Audiences, " "))
	}
	if errors.Is(err, ErrSubject) {
		return fmt.Errorf("%w %q", err, shown.Subject)
	}
	return fmt.Errorf("%w %q", err, shown.Issuer)
}

// AccountAudience returns the audience of tokens for the Blob service of one account ("Authorize with Microsoft Entra
// ID").
func AccountAudience(account string) string { return "https://" + account + ".blob.core.windows.net" }

// Verify checks that an access token of the directory is valid for one of the audiences and returns its principal.
// The principal must still exist.
func (d *Directory) Verify(token string, audiences ...string) (Principal, error) {
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"HS256"}), jwt.WithTimeFunc(d.now), jwt.WithExpirationRequired())
	claims := jwt.MapClaims{}
	if _, err := parser.ParseWithClaims(token, claims, func(*jwt.Token) (any, error) { return d.tenant.Key, nil }); err != nil {
		return Principal{}, fmt.Errorf("the token is not valid: %w", err)
	}
	aud, err := claims.GetAudience()
	if err != nil || len(aud) != 1 || !slices.Contains(audiences, strings.TrimSuffix(aud[0], "/")) {
		return Principal{}, errors.New("the token is for another audience")
	}
	oid, _ := claims["oid"].(string)
	p, ok := d.Principal(oid)
	if !ok {
		return Principal{}, errors.New("the token's principal does not exist")
	}
	return p, nil
}

// bearer checks the token of a request for blobs.
func (d *Directory) bearer(r *http.Request, account, token string) (Principal, error) {
	if r.TLS == nil {
		return Principal{}, azerr.AuthenticationFailed("Bearer tokens are accepted over HTTPS only.")
	}
	p, err := d.Verify(token, StorageAudience, AccountAudience(account))
	if err != nil {
		return p, azerr.New(http.StatusUnauthorized, "InvalidAuthenticationInfo", "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.")
	}
	return p, nil
}

// DelegationKey returns the user delegation key with which a principal signs for an account in a time window. The key
// is derived from the arguments and not stored.
func (d *Directory) DelegationKey(account, objectID, start, expiry, version, delegated string) string {
	return d.delegationKey(account, url.Values{"skoid": {objectID}, "sktid": {d.tenant.ID}, "skt": {start}, "ske": {expiry}, "sks": {"b"}, "skv": {version}, "skdutid": {delegated}})
}

func (d *Directory) delegationKey(account string, q url.Values) string {
	mac := hmac.New(sha256.New, d.tenant.Key)
	known, _ := d.Account(account)
	for _, part := range []string{"delegation", account, strconv.Itoa(known.DelegationEpoch), q.Get("skoid"), q.Get("sktid"), q.Get("skt"), q.Get("ske"), q.Get("sks"), q.Get("skv")} {
		_, _ = mac.Write([]byte(part + "\n")) // never fails
	}
	_, _ = mac.Write([]byte(q.Get("skdutid"))) // as above
	return base64.StdEncoding.EncodeToString(mac.Sum(nil))
}
