// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/oidc"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
)

// TokenVerifier verifies web identity tokens with keys that it fetches from the token's issuer. The issuer must be
// registered as an identity provider of the account.
type TokenVerifier struct {
	// Client fetches discovery documents and keys; it must trust the issuer's certificate.
	Client *http.Client
	// Now returns the service's time.
	Now func() time.Time
}

// claims are the claims of a token.
type claims struct {
	// provider is the account's identity provider for the issuer.
	provider iam.Provider
	issuer   string
	subject  string
	// audiences are the audiences of the token, and audience the one that the provider accepts.
	audiences []string
	audience  string
	others    map[string][]string
}

var errUnvalidated = badToken("The web identity token provided could not be validated. See the AssumeRoleWithWebIdentity documentation for requirements.")

func badToken(message string) *awserr.Error {
	return awserr.New(http.StatusBadRequest, "InvalidIdentityToken", message)
}

// peek parses the claims of a token without verifying it.
func peek(token string) (claims, error) {
	unverified, _, err := jwt.NewParser().ParseUnverified(token, jwt.MapClaims{})
	if err != nil {
		return claims{}, badToken("The ID Token provided is not a valid JWT. (You may see this error if you sent an Access Token)")
	}
	issuer, err := unverified.Claims.GetIssuer()
	if err != nil || issuer == "" {
		return claims{}, badToken("Missing a required claim: iss")
	}
	return readClaims(unverified, issuer)
}

// leeway is what STS allows after the expiry of a token ("OIDC federation" in the IAM User Guide:
// https://docs.aws.amazon.com/IAM/latest/UserGuide/id_roles_providers_oidc.html). The same leeway before its start is
// not documented; RFC 7519, section 4.1.5, treats both alike.
const leeway = 5 * time.Minute

// verify checks signature and validity of a token that peek has read. The verifier bounds how long that takes.
func (v *TokenVerifier) verify(token, issuer string) error {
	err := oidc.Verifier{Client: v.Client, Now: v.Now, Leeway: leeway}.Verify(context.Background(), token, issuer)
	switch {
	case errors.Is(err, oidc.ErrIssuer):
		return awserr.New(http.StatusBadRequest, "InvalidIdentityToken", "Couldn't retrieve verification key from your identity provider,  please reference AssumeRoleWithWebIdentity documentation for requirements")
	case errors.Is(err, jwt.ErrTokenExpired):
		return awserr.New(http.StatusBadRequest, "ExpiredTokenException", "Token expired: the current time is past the token's expiration")
	case err != nil:
		return errUnvalidated
	}
	return nil
}

func readClaims(t *jwt.Token, issuer string) (claims, error) {
	c := claims{issuer: issuer, others: map[string][]string{}}
	subject, err := t.Claims.GetSubject()
	if err != nil || subject == "" {
		return c, badToken("Missing a required claim: sub")
	}
	c.subject = subject
	audiences, err := t.Claims.GetAudience()
	if err != nil || len(audiences) == 0 {
		return c, badToken("Missing a required claim: aud")
	}
	c.audiences = audiences
	// If the token names an authorized party, that is its audience ("Available keys for AWS OIDC federation").
	all, _ := t.Claims.(jwt.MapClaims)
	if party, ok := all["azp"].(string); ok {
		c.audiences, c.others["oaud"] = []string{party}, audiences
	}
	for name, v := range all {
		if name != "sub" && name != "aud" {
			c.others[name] = claimValues(v)
		}
	}
	return c, nil
}

// claimValues are the values of a claim as conditions compare them.
func claimValues(v any) []string {
	switch v := v.(type) {
	case string:
		return []string{v}
	case bool:
		return []string{strconv.FormatBool(v)}
	case float64:
		return []string{strconv.FormatFloat(v, 'f', -1, 64)}
	case []any:
		var out []string
		for _, one := range v {
			out = append(out, claimValues(one)...)
		}
		return out
	}
	return nil
}

// Subject verifies that a token is from the issuer and for the audience, and returns the token's subject.
func (v *TokenVerifier) Subject(token, issuer, audience string) (string, error) {
	unverified, _, err := jwt.NewParser().ParseUnverified(token, jwt.MapClaims{})
	if err != nil {
		return "", badToken("The token is not a valid JWT.")
	}
	if got, err := unverified.Claims.GetIssuer(); err != nil || got != issuer {
		return "", badToken("The token's issuer is not the cluster's.")
	}
	if got, err := unverified.Claims.GetAudience(); err != nil || !slices.Contains(got, audience) {
		return "", badToken("The token's audience is not " + audience + ".")
	}
	if err := v.verify(token, issuer); err != nil {
		return "", err
	}
	subject, err := unverified.Claims.GetSubject()
	if err != nil {
		return "", badToken("The token has no subject.")
	}
	return subject, nil
}
