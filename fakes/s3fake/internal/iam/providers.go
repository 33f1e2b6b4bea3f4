// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// NewProvider describes an OpenID Connect provider to create.
type NewProvider struct {
	// URL is the URL of the issuer, which begins with https.
	URL         string
	ClientIDs   []string
	Thumbprints []string
	Tags        []Tag
}

// CreateProvider adds an identity provider.
func (a *Account) CreateProvider(in NewProvider) (Provider, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	name := strings.TrimPrefix(in.URL, "https://")
	arn := a.ARN("oidc-provider", "/", name)
	if a.providers[arn] != nil {
		return Provider{}, exists("Provider with url %s already exists.", in.URL)
	}
	if len(a.providers) >= MaxProviders {
		return Provider{}, limitExceeded("Cannot exceed quota for OpenIDConnectProvidersPerAccount: %d", MaxProviders)
	}
	p := &Provider{ARN: arn, URL: name, ClientIDs: slices.Clone(in.ClientIDs), Thumbprints: slices.Clone(in.Thumbprints), Tags: slices.Clone(in.Tags), Created: a.Now().UTC()}
	if err := a.save(tableProviders, arn, p); err != nil {
		return Provider{}, err
	}
	a.providers[arn] = p
	return p.clone(), nil
}

func (p *Provider) clone() Provider {
	c := *p
	c.ClientIDs, c.Thumbprints, c.Tags = slices.Clone(p.ClientIDs), slices.Clone(p.Thumbprints), slices.Clone(p.Tags)
	return c
}

// Provider returns a provider by ARN.
func (a *Account) Provider(arn string) (Provider, error) {
	a.mu.RLock()
	defer a.mu.RUnlock()
	p := a.providers[arn]
	if p == nil {
		return Provider{}, noSuchProvider(arn)
	}
	return p.clone(), nil
}

// ProviderByIssuer returns the provider for a token's issuer; ok is false if there is none. Issuers are compared
// exactly, so a slash at the end makes a difference.
func (a *Account) ProviderByIssuer(issuer string) (Provider, bool) {
	name := strings.TrimPrefix(issuer, "https://")
	p, err := a.Provider(a.ARN("oidc-provider", "/", name))
	return p, err == nil
}

// Providers returns all providers, ordered by ARN.
func (a *Account) Providers() []Provider {
	a.mu.RLock()
	defer a.mu.RUnlock()
	var out []Provider
	for _, arn := range slices.Sorted(maps.Keys(a.providers)) {
		out = append(out, a.providers[arn].clone())
	}
	return out
}

// DeleteProvider deletes a provider. As in IAM, it succeeds if the provider does not exist.
func (a *Account) DeleteProvider(arn string) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.providers[arn] == nil {
		return missingProvider(arn)
	}
	return remove(a, tableProviders, a.providers, arn)
}

// noSuchProvider and missingProvider are IAM's two different errors for a missing provider.
func noSuchProvider(arn string) error {
	return noSuchEntity("OpenIDConnect Provider not found for arn %s", arn)
}

func missingProvider(arn string) error {
	return noSuchEntity("OpenId connect Provider %s cannot be found.", arn)
}

// ProviderTags returns the tags of a provider.
func (a *Account) ProviderTags(arn string) ([]Tag, error) {
	p, err := a.Provider(arn)
	if err != nil {
		return nil, missingProvider(arn)
	}
	return p.Tags, nil
}

func (a *Account) changeProvider(arn string, missing func(string) error, do func(*Provider) error) error {
	return change(a, tableProviders, a.providers, arn, missing(arn), do)
}

// AddClientID adds an audience. It does nothing if the provider already has the audience.
func (a *Account) AddClientID(arn, id string) error {
	return a.changeProvider(arn, noSuchProvider, func(p *Provider) error {
		if slices.Contains(p.ClientIDs, id) {
			return nil
		}
		if len(p.ClientIDs) >= MaxClientIDs {
			return limitExceeded("Cannot exceed quota for ClientIdsPerOpenIdConnectProvider: %d", MaxClientIDs)
		}
		p.ClientIDs = append(p.ClientIDs, id)
		return nil
	})
}

// RemoveClientID removes an audience. It succeeds if the provider does not have the audience.
func (a *Account) RemoveClientID(arn, id string) error {
	return a.changeProvider(arn, noSuchProvider, func(p *Provider) error {
		p.ClientIDs = slices.DeleteFunc(p.ClientIDs, func(s string) bool { return s == id })
		return nil
	})
}

// SetThumbprints replaces the thumbprints of a provider.
func (a *Account) SetThumbprints(arn string, thumbprints []string) error {
	return a.changeProvider(arn, noSuchProvider, func(p *Provider) error {
		p.Thumbprints = slices.Clone(thumbprints)
		return nil
	})
}

// TagProvider adds or replaces tags of a provider.
func (a *Account) TagProvider(arn string, tags []Tag) error {
	return a.changeProvider(arn, missingProvider, func(p *Provider) (err error) {
		p.Tags, err = mergeTags(p.Tags, tags, exactKeys)
		return err
	})
}

// UntagProvider removes tags of a provider.
func (a *Account) UntagProvider(arn string, keys []string) error {
	return a.changeProvider(arn, missingProvider, func(p *Provider) error {
		p.Tags = withoutTags(p.Tags, keys, exactKeys)
		return nil
	})
}

// ErrInvalidClientToken is the response of IAM and STS to an unknown access key.
var ErrInvalidClientToken = awserr.New(http.StatusForbidden, "InvalidClientTokenId", "The security token included in the request is invalid.")
