// SPDX-License-Identifier: Apache-2.0

package management

import (
	"context"
	"maps"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/to"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi"
	msifake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/msi/armmsi/fake"
	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
)

// maxFederated is how many federated credentials an identity may have, maxTags how many tags a resource, maxTag how long
// a tag's value may be.
const (
	maxFederated = 20
	maxTags      = 50
	maxTag       = 256
)

var identityName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9_-]{2,127}$`)

// identityID is the resource ID of an identity.
func (a *API) identityID(name string) string {
	return "/subscriptions/" + a.options.Subscription + "/resourceGroups/" + a.options.Group + "/providers/Microsoft.ManagedIdentity/userAssignedIdentities/" + name
}

// identity finds an identity by its name, in any case.
func (a *API) identity(name string) (access.Principal, bool) {
	id := a.identityID(name)
	for _, p := range a.options.Directory.Principals() {
		if p.Identity != nil && strings.EqualFold(p.Identity.ID, id) {
			return p, true
		}
	}
	return access.Principal{}, false
}

func (c *Call) identityServer() *msifake.UserAssignedIdentitiesServer {
	type (
		put = armmsi.UserAssignedIdentitiesClientCreateOrUpdateResponse
		get = armmsi.UserAssignedIdentitiesClientGetResponse
		del = armmsi.UserAssignedIdentitiesClientDeleteResponse
		all = armmsi.UserAssignedIdentitiesClientListByResourceGroupResponse
	)
	return &msifake.UserAssignedIdentitiesServer{
		CreateOrUpdate: func(_ context.Context, _, name string, asked armmsi.Identity, _ *armmsi.UserAssignedIdentitiesClientCreateOrUpdateOptions) (fake.Responder[put], fake.ErrorResponder) {
			p, status, err := c.api.putIdentity(name, asked)
			return respond(status, put{Identity: c.api.identityResponse(p)}, err)
		},
		Get: func(_ context.Context, _, name string, _ *armmsi.UserAssignedIdentitiesClientGetOptions) (fake.Responder[get], fake.ErrorResponder) {
			p, found := c.api.identity(name)
			if !found {
				return respond(0, get{}, missing("ResourceNotFound", c.Resource))
			}
			return respond(http.StatusOK, get{Identity: c.api.identityResponse(p)}, nil)
		},
		Delete: func(_ context.Context, _, name string, _ *armmsi.UserAssignedIdentitiesClientDeleteOptions) (fake.Responder[del], fake.ErrorResponder) {
			p, found := c.api.identity(name)
			if !found {
				return respond(http.StatusNoContent, del{}, nil)
			}
			return respond(http.StatusOK, del{}, c.api.options.Directory.RemovePrincipal(p.ObjectID))
		},
		NewListByResourceGroupPager: func(string, *armmsi.UserAssignedIdentitiesClientListByResourceGroupOptions) (pages fake.PagerResponder[all]) {
			page := all{UserAssignedIdentitiesListResult: armmsi.UserAssignedIdentitiesListResult{Value: []*armmsi.Identity{}}}
			for _, p := range c.api.options.Directory.Principals() {
				if p.Identity != nil {
					page.Value = append(page.Value, to.Ptr(c.api.identityResponse(p)))
				}
			}
			pages.AddPage(http.StatusOK, page, nil)
			return pages
		},
	}
}

func (a *API) putIdentity(name string, asked armmsi.Identity) (access.Principal, int, error) {
	tags := map[string]string{}
	for key, value := range asked.Tags {
		tags[key] = text(value)
		if len(key) > 2*maxTag || len(tags[key]) > maxTag {
			return access.Principal{}, 0, bad("InvalidTagNameOrValue", "The name or the value of tag "+key+" is too long.")
		}
	}
	switch {
	case !identityName.MatchString(name):
		return access.Principal{}, 0, bad("InvalidResourceName", "The name of an identity must have 3 to 128 letters, digits, '-' or '_'.")
	case text(asked.Location) == "":
		return access.Principal{}, 0, bad("LocationRequired", "The location property is required for this definition.")
	case len(tags) > maxTags:
		return access.Principal{}, 0, bad("TooManyTags", "A resource can have at most 50 tags.")
	}
	p, found := a.identity(name)
	if found && p.Identity.Location != text(asked.Location) {
		return p, 0, conflict("InvalidResourceLocation", "The resource '"+name+"' already exists in location '"+p.Identity.Location+"'.")
	}
	status := http.StatusOK
	if !found {
		status = http.StatusCreated
		p = access.Principal{ObjectID: uuid.NewString(), ClientID: uuid.NewString(), Name: name}
	}
	p.Identity = &access.Identity{ID: a.identityID(name), Location: text(asked.Location), Tags: tags}
	return p, status, a.options.Directory.PutPrincipal(p)
}

func (a *API) identityResponse(p access.Principal) armmsi.Identity {
	if p.Identity == nil {
		return armmsi.Identity{}
	}
	response := armmsi.Identity{
		ID: to.Ptr(p.Identity.ID), Name: to.Ptr(path.Base(p.Identity.ID)), Type: to.Ptr("Microsoft.ManagedIdentity/userAssignedIdentities"),
		Location: to.Ptr(p.Identity.Location), Tags: map[string]*string{},
		Properties: &armmsi.UserAssignedIdentityProperties{PrincipalID: to.Ptr(p.ObjectID), ClientID: to.Ptr(p.ClientID), TenantID: to.Ptr(a.options.Directory.TenantID())},
	}
	for key, value := range p.Identity.Tags {
		response.Tags[key] = to.Ptr(value)
	}
	return response
}

func (c *Call) federationServer() *msifake.FederatedIdentityCredentialsServer {
	type (
		put = armmsi.FederatedIdentityCredentialsClientCreateOrUpdateResponse
		get = armmsi.FederatedIdentityCredentialsClientGetResponse
		del = armmsi.FederatedIdentityCredentialsClientDeleteResponse
		all = armmsi.FederatedIdentityCredentialsClientListResponse
	)
	return &msifake.FederatedIdentityCredentialsServer{
		CreateOrUpdate: func(_ context.Context, _, identity, name string, asked armmsi.FederatedIdentityCredential, _ *armmsi.FederatedIdentityCredentialsClientCreateOrUpdateOptions) (
			fake.Responder[put], fake.ErrorResponder,
		) {
			made, status, err := c.api.putFederation(identity, name, asked)
			return respond(status, put{FederatedIdentityCredential: made}, err)
		},
		Get: func(_ context.Context, _, identity, name string, _ *armmsi.FederatedIdentityCredentialsClientGetOptions) (fake.Responder[get], fake.ErrorResponder) {
			p, _ := c.api.identity(identity)
			f, found := p.Federated[name]
			if !found {
				return respond(0, get{}, missing("ResourceNotFound", c.Resource))
			}
			return respond(http.StatusOK, get{FederatedIdentityCredential: c.api.federationResponse(identity, name, f)}, nil)
		},
		Delete: func(_ context.Context, _, identity, name string, _ *armmsi.FederatedIdentityCredentialsClientDeleteOptions) (fake.Responder[del], fake.ErrorResponder) {
			p, _ := c.api.identity(identity)
			if _, found := p.Federated[name]; !found {
				return respond(http.StatusNoContent, del{}, nil)
			}
			p.Federated = maps.Clone(p.Federated)
			delete(p.Federated, name)
			return respond(http.StatusOK, del{}, c.api.options.Directory.PutPrincipal(p))
		},
		NewListPager: func(_, identity string, _ *armmsi.FederatedIdentityCredentialsClientListOptions) (pages fake.PagerResponder[all]) {
			p, found := c.api.identity(identity)
			if !found {
				pages.AddError(missing("ParentResourceNotFound", c.api.identityID(identity)))
				return pages
			}
			page := all{FederatedIdentityCredentialsListResult: armmsi.FederatedIdentityCredentialsListResult{Value: []*armmsi.FederatedIdentityCredential{}}}
			for _, name := range slices.Sorted(maps.Keys(p.Federated)) {
				page.Value = append(page.Value, to.Ptr(c.api.federationResponse(identity, name, p.Federated[name])))
			}
			pages.AddPage(http.StatusOK, page, nil)
			return pages
		},
	}
}

func (a *API) putFederation(identity, name string, asked armmsi.FederatedIdentityCredential) (armmsi.FederatedIdentityCredential, int, error) {
	p, found := a.identity(identity)
	if !found {
		return asked, 0, missing("ParentResourceNotFound", a.identityID(identity))
	}
	f, err := federationOf(name, asked)
	if err != nil {
		return asked, 0, err
	}
	for other, known := range p.Federated {
		if other != name && known.Issuer == f.Issuer && known.Subject == f.Subject {
			return asked, 0, conflict("FederatedIdentityCredentialConflict", "Issuer and subject combination already exists for this Managed Identity.")
		}
	}
	_, known := p.Federated[name]
	if !known && len(p.Federated) >= maxFederated {
		return asked, 0, conflict("FederatedIdentityCredentialLimitExceeded", "An identity can have at most 20 federated identity credentials.")
	}
	status := http.StatusOK
	if !known {
		status = http.StatusCreated
	}
	next := map[string]access.Federation{}
	maps.Copy(next, p.Federated)
	next[name] = f
	p.Federated = next
	return a.federationResponse(identity, name, f), status, a.options.Directory.PutPrincipal(p)
}

// federationOf checks a federated credential. The service requires an HTTPS issuer and exactly one audience.
func federationOf(name string, asked armmsi.FederatedIdentityCredential) (access.Federation, *azerr.Error) {
	if asked.Properties == nil {
		return access.Federation{}, bad("InvalidRequestContent", "The properties of the federated identity credential are missing.")
	}
	f := access.Federation{Issuer: text(asked.Properties.Issuer), Subject: text(asked.Properties.Subject), Audiences: texts(asked.Properties.Audiences)}
	switch {
	case !identityName.MatchString(name):
		return f, bad("InvalidResourceName", "The name of a federated identity credential must have 3 to 120 letters, digits, '-' or '_'.")
	case !strings.HasPrefix(f.Issuer, "https://") || len(f.Issuer) > 600:
		return f, bad("InvalidFederatedIdentityCredential", "The issuer must be a URL that begins with https and has at most 600 characters.")
	case f.Subject == "" || len(f.Subject) > 600:
		return f, bad("InvalidFederatedIdentityCredential", "The subject must have 1 to 600 characters.")
	case len(f.Audiences) != 1 || f.Audiences[0] == "" || len(f.Audiences[0]) > 600:
		return f, bad("InvalidFederatedIdentityCredential", "The credential must have exactly one audience, of 1 to 600 characters.")
	}
	return f, nil
}

func (a *API) federationResponse(identity, name string, f access.Federation) armmsi.FederatedIdentityCredential {
	return armmsi.FederatedIdentityCredential{
		ID: to.Ptr(a.identityID(identity) + "/federatedIdentityCredentials/" + name), Name: to.Ptr(name),
		Type:       to.Ptr("Microsoft.ManagedIdentity/userAssignedIdentities/federatedIdentityCredentials"),
		Properties: &armmsi.FederatedIdentityCredentialProperties{Issuer: to.Ptr(f.Issuer), Subject: to.Ptr(f.Subject), Audiences: to.SliceOfPtrs(f.Audiences...)},
	}
}
