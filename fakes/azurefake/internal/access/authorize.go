// SPDX-License-Identifier: Apache-2.0

package access

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

// Target is the resource of a request. Blob and Container may be empty.
type Target struct {
	Account, Container, Blob string
	// SignedPath is an alternative path that a client may sign instead of the request's path, or "" if there is none. In
	// path style, the secondary location's path differs from the account's.
	SignedPath string
	// Stored returns the stored container, for its access policies and public access level.
	Stored func() (store.Container, error)
	// Resource is the resource ID of the account, for the scopes of role assignments.
	Resource string
}

func (t Target) policy(id string) (store.Policy, error) {
	c, err := t.Stored()
	at := slices.IndexFunc(c.Policies, func(p store.Policy) bool { return p.ID == id })
	if err != nil || at < 0 {
		return store.Policy{}, azerr.AuthenticationFailed("SAS identifier cannot be found for specified signed identifier")
	}
	return c.Policies[at], nil
}

// resource is the resource ID that roles are compared with.
func (t Target) resource() string {
	if t.Container == "" {
		return t.Resource
	}
	return t.Resource + "/blobServices/default/containers/" + t.Container
}

// Kind is the method with which a caller authenticated.
type Kind string

// The kinds of callers.
const (
	Anonymous     Kind = "Anonymous"
	SharedKey     Kind = "SharedKey"
	AccountSAS    Kind = "AccountSAS"
	ServiceSAS    Kind = "ServiceSAS"
	DelegationSAS Kind = "UserDelegationSAS"
	Bearer        Kind = "Bearer"
)

// Caller is the authenticated caller of a request. Authorize checks the caller's permission for an operation.
type Caller struct {
	Kind Kind
	// Name identifies the caller, for example by the account of an account key, the stored policy of a signature, or
	// the client ID of a principal.
	Name string
	// ObjectID is the object ID of the token's principal, or of the principal that created the user delegation key.
	ObjectID string

	directory *Directory
	target    Target
	sas       signature
	version   string
}

// Authenticate identifies the caller of a request for t and verifies the caller's credentials.
func (d *Directory) Authenticate(r *http.Request, t Target) (*Caller, error) {
	c := &Caller{Kind: Anonymous, directory: d, target: t, version: r.Header.Get("X-Ms-Version")}
	account, known := d.Account(t.Account)
	c.version = cmp.Or(c.version, account.Version)
	if !known {
		return c, azerr.New(http.StatusNotFound, "ResourceNotFound", "The specified resource does not exist: there is no such storage account.")
	}
	scheme, value, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	switch {
	case scheme == "SharedKey":
		c.Kind, c.Name = SharedKey, account.Name
		return c, d.sharedKey(r, account, t.SignedPath, value)
	case scheme == "Bearer":
		c.Kind = Bearer
		p, err := d.bearer(r, account.Name, value)
		c.Name, c.ObjectID = p.ClientID, p.ObjectID
		return c, err
	case scheme != "":
		return c, azerr.New(http.StatusBadRequest, "InvalidAuthenticationInfo", "Authentication information is not given in the correct format. Check the value of Authorization header.")
	case r.URL.Query().Has("sig"):
		c.Kind, c.Name = kindOf(r.URL.Query())
		s, err := d.signed(r, account, t)
		c.sas, c.ObjectID = s, s.delegate
		return c, err
	}
	return c, nil
}

func kindOf(q url.Values) (Kind, string) {
	switch {
	case q.Has("ss") || q.Has("srt"):
		return AccountSAS, "account SAS"
	case q.Has("skoid"):
		return DelegationSAS, q.Get("skoid")
	case q.Get("si") != "":
		return ServiceSAS, q.Get("si")
	}
	return ServiceSAS, "service SAS"
}

// Override returns the value that the caller's shared access signature sets for a response header, or "" if it sets
// none.
func (c *Caller) Override(header string) string {
	param := map[string]string{"Cache-Control": "rscc", "Content-Disposition": "rscd", "Content-Encoding": "rsce", "Content-Language": "rscl", "Content-Type": "rsct"}[header]
	return c.sas.values.Get(param)
}

// Scope returns the encryption scope for blobs written with the signature, or "" if the signature sets none.
func (c *Caller) Scope() string { return c.sas.values.Get("ses") }

// Authorize returns an error if the caller may not perform the operation.
func (c *Caller) Authorize(op Operation) error { return c.authorize(op, "") }

// AuthorizeWrite is Authorize for an operation that may overwrite a blob. If the blob exists, a shared access
// signature needs the permission w.
func (c *Caller) AuthorizeWrite(op Operation, exists bool) error {
	if exists {
		return c.authorize(op, "w")
	}
	return c.Authorize(op)
}

// authorize decides; anyOf replaces the permissions of a signature that would do.
func (c *Caller) authorize(op Operation, anyOf string) error {
	if op == GetUserDelegationKey && c.Kind != Bearer && c.Kind != Anonymous {
		return azerr.AuthenticationFailed("Only authentication scheme Bearer is supported")
	}
	switch c.Kind {
	case SharedKey:
		return nil
	case AccountSAS, ServiceSAS:
		return c.sas.covers(op, anyOf)
	case DelegationSAS:
		if err := c.sas.covers(op, anyOf); err != nil {
			return err
		}
		return c.byRole(op, anyOf)
	case Bearer:
		return c.byRole(op, anyOf)
	case Anonymous:
	}
	return c.anonymous(op)
}

// AuthorizeBreak is Authorize for breaking a lease. The permission w or d in a shared access signature is sufficient.
func (c *Caller) AuthorizeBreak(op Operation) error { return c.authorize(op, "wd") }

func (c *Caller) byRole(op Operation, anyOf string) error {
	action, resource := needed[op].action, c.target.resource()
	switch {
	case action == "":
	case c.directory.Allowed(c.ObjectID, action, resource, nil):
		return nil
	case anyOf == "" && adds(op) && c.directory.Allowed(c.ObjectID, actionAdd, resource, nil):
		return nil
	}
	return azerr.PermissionMismatch
}

// anonymous allows access according to the container's public access level.
func (c *Caller) anonymous(op Operation) error {
	public := map[string][]Operation{
		"blob":      {GetBlob, GetBlobProperties, GetBlobMetadata, GetBlockList, GetPageRanges},
		"container": {GetBlob, GetBlobProperties, GetBlobMetadata, GetBlockList, GetPageRanges, ListBlobs, GetContainerProperties},
	}
	if stored, err := c.target.Stored(); err == nil && slices.Contains(public[stored.PublicAccess], op) {
		return nil
	}
	if c.version >= "2019-12-12" {
		return azerr.New(http.StatusUnauthorized, "NoAuthenticationInformation", "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.")
	}
	return azerr.New(http.StatusNotFound, "ResourceNotFound", "The specified resource does not exist.")
}

// delegationSAS checks a SAS that a user delegation key signed.
func (d *Directory) delegationSAS(q url.Values, account Account, t Target) (signature, error) {
	for _, field := range []string{"skdutid", "sduoid", "srh", "srq"} {
		if q.Get(field) != "" {
			// These fields restrict the callers and requests that may use the signature. The fake does not implement
			// these checks.
			return signature{}, azerr.NotServed("signatures with " + field)
		}
	}
	resource, err := signedResource(q, t)
	if err != nil {
		return signature{}, err
	}
	key := d.delegationKey(account.Name, q)
	ok := false
	for _, text := range delegationTexts(q, resource) {
		ok = ok || signedBy([]string{key}, q.Get("sig"), text)
	}
	if !ok || !strings.EqualFold(q.Get("sktid"), d.tenant.ID) {
		return signature{}, azerr.AuthenticationFailed("Signature did not match. String to sign used was %s", delegationTexts(q, resource)[0])
	}
	if q.Get("sks") != "b" {
		return signature{}, azerr.AuthenticationFailed("Signature fields not well formed.")
	}
	if err := d.window(q.Get("skt"), q.Get("ske")); err != nil {
		return signature{}, err
	}
	if _, known := d.Principal(q.Get("skoid")); !known {
		return signature{}, azerr.AuthenticationFailed("The principal of the user delegation key does not exist.")
	}
	s, err := d.scoped(q, q.Get("sp"), q.Get("st"), q.Get("se"))
	s.delegate = q.Get("skoid")
	return s, err
}

// For returns the same caller for another target in the same account.
func (c *Caller) For(t Target) *Caller {
	other := *c
	other.target = t
	return &other
}
