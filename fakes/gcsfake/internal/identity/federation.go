// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/internal/oidc"
)

// gkePool ends the name of the workload identity pool that a project's GKE clusters have.
const gkePool = ".svc.id.goog"

// Pool is a workload identity pool with one OpenID Connect provider.
type Pool struct {
	// Project is the ID of the pool's project. ID and Provider are the IDs of the pool and of its provider.
	Project, ID, Provider string
	// Issuer is the iss claim of accepted tokens. The keys are fetched from this URL.
	Issuer string
	// Audiences are the accepted aud claims. The default is the provider's own name, and for a GKE pool
	// (PROJECT.svc.id.goog) the pool's ID.
	Audiences []string
}

// AddPool adds a pool.
func (d *Directory) AddPool(p Pool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	project := d.project(p.Project)
	if project == nil {
		return noProject(p.Project)
	}
	p.Provider = cmp.Or(p.Provider, "kubernetes")
	p.Project = project.Number
	d.pools[p.audience()] = p
	return nil
}

// resource returns the pool's name as it appears in principals.
func (p Pool) resource() string {
	return "//iam.googleapis.com/projects/" + p.Project + "/locations/global/workloadIdentityPools/" + p.ID
}

// audience is the provider's name, which is the audience of an exchange.
func (p Pool) audience() string { return p.resource() + "/providers/" + p.Provider }

func (p Pool) accepts(audiences []string) bool {
	want := p.Audiences
	if len(want) == 0 {
		want = []string{p.audience(), "https:" + p.audience()}
		if strings.HasSuffix(p.ID, gkePool) {
			want = append(want, p.ID)
		}
	}
	return slices.ContainsFunc(audiences, func(a string) bool { return slices.Contains(want, a) })
}

// principals returns the names of a subject: its own, and those of the sets that contain it.
func (p Pool) principals(subject string) (principal string, sets []string) {
	sets = []string{"principalSet:" + p.resource() + "/*"}
	if name, ok := strings.CutPrefix(subject, "system:serviceaccount:"); ok && strings.HasSuffix(p.ID, gkePool) {
		ns, sa, _ := strings.Cut(name, ":")
		// The second is the older name of the principal.
		sets = append(sets, "principalSet:"+p.resource()+"/namespace/"+ns, "serviceAccount:"+p.ID+"["+ns+"/"+sa+"]")
		return "principal:" + p.resource() + "/subject/ns/" + ns + "/sa/" + sa, sets
	}
	return "principal:" + p.resource() + "/subject/" + subject, sets
}

// pool finds the pool of an exchange's audience, in either of its documented forms.
func (d *Directory) pool(audience string) (Pool, bool) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	if p, ok := d.pools[audience]; ok {
		return p, true
	}
	if rest, ok := strings.CutPrefix(audience, "identitynamespace:"); ok {
		id, provider, _ := strings.Cut(rest, ":")
		for _, p := range d.pools {
			if p.ID == id && (provider == p.Provider || provider == p.Issuer) {
				return p, true
			}
		}
	}
	return Pool{}, false
}

// maxFederated is how long a token of another issuer may live.
const maxFederated = 48 * time.Hour

// ExchangeFederated implements the token exchange of the Security Token Service. It exchanges a token of another
// issuer for an access token for the same subject. According to the STS reference ("Method: token"), the iat of the
// token must be in the past and its exp less than 48 hours later. The reference does not mention clock skew, so there
// is no leeway.
func (d *Directory) ExchangeFederated(ctx context.Context, client *http.Client, audience, token, scope string) (string, error) {
	p, ok := d.pool(audience)
	if !ok {
		return "", &gcserr.Error{Status: 400, Reason: "invalid_target", Message: `The target service indicated by the "audience" parameters is invalid. This might either be because the pool or provider is disabled or deleted or because it doesn't exist.`}
	}
	claims, err := oidc.Peek(token)
	switch {
	case err != nil:
		return "", gcserr.InvalidTokenRequest.Say("Invalid value for \"subject_token\": not a JWT.")
	case claims.Issuer != p.Issuer:
		return "", gcserr.InvalidGrant.Say("The issuer in ID Token %s does not match the expected ones.", claims.Issuer)
	case !p.accepts(claims.Audiences):
		return "", gcserr.InvalidGrant.Say("The audience in ID Token %v does not match the expected audience.", claims.Audiences)
	case claims.Subject == "":
		return "", gcserr.InvalidGrant.Say("The mapped google.subject is empty.")
	case claims.IssuedAt.IsZero() || claims.IssuedAt.After(d.now()) || !claims.Expires.Before(claims.IssuedAt.Add(maxFederated)):
		return "", gcserr.InvalidGrant.Say("The ID Token must have an iat in the past and an exp less than 48 hours after the iat.")
	}
	err = oidc.Verifier{Client: client, Now: d.now}.Verify(ctx, token, p.Issuer)
	switch {
	case errors.Is(err, jwt.ErrTokenExpired):
		return "", gcserr.InvalidGrant.Say("ID Token is stale to sign-in.")
	case errors.Is(err, oidc.ErrIssuer):
		return "", gcserr.InvalidGrant.Say("Error connecting to the given credential's issuer: %v", err)
	case err != nil:
		return "", gcserr.InvalidGrant.Say("Unable to verify the ID Token signature.")
	}
	principal, sets := p.principals(claims.Subject)
	return d.issue(grant{Principal: principal, Sets: sets, Scopes: strings.Fields(scope), Expires: d.now().Add(Lifetime).Unix()})
}
