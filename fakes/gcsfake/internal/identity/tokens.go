// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
)

// Caller is the caller of a request.
type Caller struct {
	policy.Caller

	// Name is the email of a service account or the name of a federated principal; "" for an anonymous caller.
	Name string
	// Scopes are the OAuth scopes of the token; nil means all, as with an HMAC signature.
	Scopes []string
}

// Anonymous returns the caller of a request without credentials.
func Anonymous() Caller { return Caller{Caller: policy.Caller{Members: []string{"allUsers"}}} }

// Lifetime is the default lifetime of access tokens.
const Lifetime = time.Hour

const (
	tokenPrefix   = "ya29."
	tokenSecret   = "token"
	secretBytes   = 32
	maxAssertions = time.Hour
	allowedSkew   = 5 * time.Minute
)

// openTokenSecret generates the key that signs access tokens if it does not exist. Tokens remain valid after a
// restart.
func (d *Directory) openTokenSecret() error {
	if len(d.secrets[tokenSecret]) == secretBytes {
		return nil
	}
	secret := make([]byte, secretBytes)
	_, _ = rand.Read(secret) // never fails: crypto/rand ends the process instead
	d.secrets[tokenSecret] = secret
	return d.keep(tableSecrets, tokenSecret, secret)
}

// Secret returns a secret of the fake, which is stored in the directory. If it does not exist, Secret calls invent to
// create it.
func (d *Directory) Secret(name string, invent func() ([]byte, error)) ([]byte, error) {
	d.inventing.Lock()
	defer d.inventing.Unlock()
	d.mu.RLock()
	known := d.secrets[name]
	d.mu.RUnlock()
	if known != nil {
		return known, nil
	}
	made, err := invent()
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.secrets[name] = made
	return made, d.keep(tableSecrets, name, made)
}

// grant is the contents of an access token.
type grant struct {
	// Account is the email of a service account, Principal the name of a federated one.
	Account   string   `json:"a,omitempty"`
	UID       string   `json:"u,omitempty"`
	Principal string   `json:"p,omitempty"`
	Sets      []string `json:"s,omitempty"`
	Scopes    []string `json:"c,omitempty"`
	Expires   int64    `json:"e"`
}

func (d *Directory) mac(payload string) []byte {
	h := hmac.New(sha256.New, d.secrets[tokenSecret])
	h.Write([]byte(payload))
	return h.Sum(nil)
}

func (d *Directory) issue(g grant) (string, error) {
	raw, err := json.Marshal(g)
	if err != nil {
		return "", fmt.Errorf("encode a token: %w", err)
	}
	payload := base64.RawURLEncoding.EncodeToString(raw)
	return tokenPrefix + payload + "." + base64.RawURLEncoding.EncodeToString(d.mac(payload)), nil
}

// IssueToken issues an access token for a service account, like the metadata server of a virtual machine.
func (d *Directory) IssueToken(email string, life time.Duration, scopes ...string) (string, error) {
	a, err := d.Account("-", email)
	if err != nil {
		return "", err
	}
	return d.issue(grant{Account: a.Email, UID: a.UniqueID, Scopes: scopes, Expires: d.now().Add(life).Unix()})
}

// Authenticate returns the caller that a bearer token identifies. The token's service account must still exist and be
// enabled. audience reports whether the aud claim of a JWT refers to the called service.
func (d *Directory) Authenticate(token string, audience func(string) bool) (Caller, error) {
	rest, ok := strings.CutPrefix(token, tokenPrefix)
	if !ok {
		if strings.Count(token, ".") == 2 {
			return d.authenticateJWT(token, audience)
		}
		return Caller{}, gcserr.Unauthorized
	}
	g, ok := d.verified.get(token)
	if !ok {
		if g, ok = d.verifyToken(rest); !ok {
			return Caller{}, gcserr.Unauthorized
		}
		d.verified.put(token, g)
	}
	if d.now().Unix() >= g.Expires {
		return Caller{}, gcserr.Unauthorized
	}
	if g.Account == "" {
		members := slices.Concat([]string{g.Principal}, g.Sets, []string{"allAuthenticatedUsers", "allUsers"})
		return Caller{Caller: policy.Caller{Members: members}, Name: g.Principal, Scopes: g.Scopes}, nil
	}
	c, err := d.AccountCaller(g.Account, g.UID)
	c.Scopes = g.Scopes
	return c, err
}

// verifyToken reads the contents of a token that this server issued.
func (d *Directory) verifyToken(text string) (g grant, ok bool) {
	payload, sum, _ := strings.Cut(text, ".")
	mac, err := base64.RawURLEncoding.DecodeString(sum)
	if err != nil || !hmac.Equal(mac, d.mac(payload)) {
		return g, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	return g, err == nil && json.Unmarshal(raw, &g) == nil
}

// verifiedTokens caches verified tokens, because clients send the same token many times. Each request still checks
// the expiry and whether the account exists.
type verifiedTokens struct {
	mu    sync.RWMutex
	known map[string]grant
}

// maxVerified bounds the tokens that are remembered.
const maxVerified = 1000

func (v *verifiedTokens) get(token string) (grant, bool) {
	v.mu.RLock()
	defer v.mu.RUnlock()
	g, ok := v.known[token]
	return g, ok
}

func (v *verifiedTokens) put(token string, g grant) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil || len(v.known) >= maxVerified {
		v.known = map[string]grant{}
	}
	v.known[token] = g
}

// AccountCaller returns the caller for a service account. If uid is not "", it must be the account's unique ID.
func (d *Directory) AccountCaller(email, uid string) (Caller, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	a := d.accounts[email]
	if a == nil || a.Disabled || (uid != "" && uid != a.UniqueID) {
		return Caller{}, gcserr.Unauthorized
	}
	members := []string{"serviceAccount:" + email, "allAuthenticatedUsers", "allUsers"}
	return Caller{Caller: policy.Caller{Members: members, UID: a.UniqueID}, Name: email}, nil
}

// HMACSecret returns the secret of an HMAC key. The key must be active, and its service account must exist and be
// enabled.
func (d *Directory) HMACSecret(accessID string) (secret string, c Caller, err error) {
	d.mu.RLock()
	k := d.hmac[accessID]
	d.mu.RUnlock()
	if k == nil || k.State != Active {
		return "", Caller{}, invalidAccessID
	}
	if c, err = d.AccountCaller(k.Email, k.UID); err != nil {
		return "", Caller{}, invalidAccessID
	}
	return k.Secret, c, nil
}

var invalidAccessID = gcserr.New(403, "forbidden", "InvalidAccessKeyId", "The User Id you provided does not exist in our records.")

// assertion is the contents of a JWT signed by a service account.
type assertion struct {
	jwt.RegisteredClaims

	Scope string `json:"scope"`
}

// verifySigned checks a JWT that a service account signed with one of its keys, and its times: it lives an hour at most,
// and was not issued in the future ("Using OAuth 2.0 for Server to Server Applications", "Service account authorization
// without OAuth", AIP-4111). The documents name no leeway; that for clocks which are ahead is this fake's.
func (d *Directory) verifySigned(token string) (*assertion, Account, error) {
	var a Account
	claims := &assertion{}
	parser := jwt.NewParser(jwt.WithValidMethods([]string{"RS256"}), jwt.WithTimeFunc(d.now), jwt.WithExpirationRequired())
	_, err := parser.ParseWithClaims(token, claims, func(t *jwt.Token) (any, error) {
		var err error
		if a, err = d.Account("-", claims.Issuer); err != nil {
			return nil, errNoAccount
		}
		kid, _ := t.Header["kid"].(string)
		keys, err := d.PublicKeys(a.Email, kid)
		set := jwt.VerificationKeySet{} // the parser rejects an empty set
		for _, k := range keys {
			set.Keys = append(set.Keys, k)
		}
		return set, err
	})
	if err == nil && (claims.IssuedAt == nil || claims.ExpiresAt.Sub(claims.IssuedAt.Time) > maxAssertions || claims.IssuedAt.After(d.now().Add(allowedSkew))) {
		err = errTimes
	}
	// Clients that have none write an empty audience.
	claims.Audience = slices.DeleteFunc(claims.Audience, func(aud string) bool { return aud == "" })
	return claims, a, err
}

var (
	errNoAccount = errors.New("account not found")
	errTimes     = errors.New("not short-lived, or issued in the future")
)

// PublicKeys returns the keys that verify signatures of a service account: the one with the ID, or all of them if it is "".
func (d *Directory) PublicKeys(email, id string) ([]*rsa.PublicKey, error) {
	var out []*rsa.PublicKey
	for _, k := range d.SigningKeys(email) {
		if k.Disabled || (id != "" && k.ID != id) {
			continue
		}
		pub, err := k.PublicKey()
		if err != nil {
			return nil, err
		}
		out = append(out, pub)
	}
	return out, nil
}

// authenticateJWT accepts a JWT signed by a service account instead of an access token ("Service account
// authorization without OAuth"). It is valid for the service named by its audience, or for the services of its scopes
// (AIP-4111). The AIP forbids a JWT with both; here the audience then applies too, because an assertion for the token
// endpoint is not a token.
func (d *Directory) authenticateJWT(token string, audience func(string) bool) (Caller, error) {
	claims, a, err := d.verifySigned(token)
	intended := slices.ContainsFunc(claims.Audience, audience) || (len(claims.Audience) == 0 && claims.Scope != "")
	if err != nil || !intended || a.Disabled || (claims.Subject != "" && claims.Subject != a.Email) {
		return Caller{}, gcserr.Unauthorized
	}
	c, err := d.AccountCaller(a.Email, a.UniqueID)
	c.Scopes = strings.Fields(claims.Scope)
	if len(c.Scopes) == 0 {
		c.Scopes = nil // the audience, a service, replaces the scopes
	}
	return c, err
}

// ExchangeAssertion implements the JWT bearer grant of the token endpoint. It returns an access token for the service
// account that signed the assertion ("Using OAuth 2.0 for Server to Server Applications"). audience reports whether
// an aud claim refers to this endpoint.
func (d *Directory) ExchangeAssertion(token string, audience func(string) bool) (string, error) {
	claims, a, err := d.verifySigned(token)
	switch {
	case errors.Is(err, errNoAccount):
		return "", gcserr.InvalidGrant.Say("Invalid grant: account not found")
	case errors.Is(err, jwt.ErrTokenExpired), errors.Is(err, errTimes):
		return "", gcserr.InvalidGrant.Say("Invalid JWT: Token must be a short-lived token (60 minutes) and in a reasonable timeframe. Check your iat and exp values in the JWT claim.")
	case err != nil:
		return "", gcserr.InvalidGrant.Say("Invalid JWT Signature.")
	case a.Disabled:
		return "", gcserr.InvalidGrant.Say("Invalid grant: account disabled")
	case !slices.ContainsFunc(claims.Audience, audience):
		return "", gcserr.InvalidGrant.Say("Invalid JWT: Failed audience check.")
	case claims.Subject != "" && claims.Subject != a.Email:
		return "", &gcserr.Error{Status: 401, Reason: "unauthorized_client", Message: "Client is unauthorized to retrieve access tokens using this method, or client not authorized for any of the scopes requested."}
	case claims.Scope == "":
		return "", &gcserr.Error{Status: 400, Reason: "invalid_scope", Message: "Invalid OAuth scope or ID token audience provided."}
	}
	return d.issue(grant{Account: a.Email, UID: a.UniqueID, Scopes: strings.Fields(claims.Scope), Expires: d.now().Add(Lifetime).Unix()})
}
