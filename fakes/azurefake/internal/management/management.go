// SPDX-License-Identifier: Apache-2.0

// Package management serves the Azure Resource Manager calls that a driver of object storage needs. The calls manage
// user-assigned managed identities with their federated credentials, role assignments and definitions, and the keys
// of storage accounts.
//
// Paths, bodies and responses follow the specification from which Microsoft generates its SDK for Go and the SDK's
// fake servers. This package determines the operation of a call, authorizes the call, and applies it to the
// directory. Tests compare it with the types of the SDK, but not with Azure itself.
package management

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"maps"
	"net/http"
	"net/url"
	"path"
	"strings"
	"sync"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/authorization/armauthorization/v2"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/internal/calls"
)

// Options are the arguments of New. All fields are required.
type Options struct {
	Directory *access.Directory
	// Subscription and Group are the only subscription and resource group that exist.
	Subscription, Group string
}

// API is the management API of one subscription.
type API struct {
	options Options
	// mu serializes calls, because each call reads, decides and writes.
	mu sync.Mutex
}

// New returns an API.
func New(o Options) *API { return &API{options: o} }

// Call is one call. Operation and Resource are set by Prepare, Caller by Serve.
type Call struct {
	// Operation is the name of the call in the SDK without Client, for example RoleAssignments.Create.
	Operation string
	// Resource is the URL path of the call, which is the resource ID.
	Resource string
	// Caller is the client ID of the caller.
	Caller string

	api       *API
	r         *http.Request
	query     url.Values
	route     *route
	principal access.Principal
	// ambiguous is the reason why the request cannot be processed for any caller.
	ambiguous error
}

// Prepare determines the operation and resource of a request.
func (a *API) Prepare(r *http.Request) *Call {
	c := &Call{Operation: "Unknown", Resource: r.URL.Path, api: a, r: r}
	c.query, c.ambiguous = access.ReadQuery(r)
	if c.route = a.find(r); c.route != nil {
		c.Operation = operation(c.route.name)
	}
	return c
}

// Describe returns the fields of the call in the record of calls.
func (c *Call) Describe() calls.Description {
	return calls.Description{Operation: c.Operation, Resource: c.Resource, Principal: c.Caller}
}

// Serve handles the call and returns the error in the response, or nil if the call succeeded.
func (c *Call) Serve(w http.ResponseWriter) *azerr.Error {
	c.api.mu.Lock()
	defer c.api.mu.Unlock()
	if e := c.refused(); e != nil {
		c.Fail(w, e)
		return e
	}
	// The SDK's servers learn from the context which call it is. They must not see its end: they would write to a
	// channel that they have closed.
	ctx := context.WithValue(context.WithoutCancel(c.r.Context()), runtime.CtxAPINameKey{}, c.route.name)
	r := c.r.WithContext(ctx)
	r.URL = &url.URL{Path: c.r.URL.Path, RawPath: c.r.URL.RawPath} // the SDK unescapes parameters once too often: calls read c.query instead
	response, err := c.route.transport(c).Do(r)
	if err != nil {
		e := fromSDK(err)
		c.Fail(w, e)
		return e
	}
	defer func() { _ = response.Body.Close() }() // holds bytes that are in memory
	maps.Copy(w.Header(), response.Header)
	w.WriteHeader(response.StatusCode)
	_, _ = io.Copy(w, response.Body) // fails only if the client has disconnected
	return nil
}

// refused returns the error if the call must not be made: the caller is unknown or not authorized, or the call does
// not exist.
func (c *Call) refused() *azerr.Error {
	if c.ambiguous != nil {
		return azerr.From(c.ambiguous)
	}
	scheme, token, _ := strings.Cut(c.r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") || c.r.TLS == nil {
		return azerr.New(http.StatusUnauthorized, "AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing, or the request did not come by HTTPS.")
	}
	var err error
	if c.principal, err = c.api.options.Directory.Verify(token, access.ManagementAudience); err != nil {
		return azerr.New(http.StatusUnauthorized, "InvalidAuthenticationToken", "The access token is invalid: "+err.Error())
	}
	c.Caller = c.principal.ClientID
	if c.route == nil {
		return azerr.NotServed(c.r.Method + " " + c.r.URL.Path + " of Azure Resource Manager")
	}
	if c.query.Get("api-version") == "" {
		return azerr.New(http.StatusBadRequest, "MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	}
	if !c.api.options.Directory.Allowed(c.principal.ObjectID, c.route.action, c.route.scope, c.attributes()) {
		return azerr.New(http.StatusForbidden, "AuthorizationFailed", "The client '"+c.Caller+"' with object id '"+c.principal.ObjectID+
			"' does not have authorization to perform action '"+c.route.action+"' over scope '"+c.route.scope+"' or the scope is invalid.")
	}
	if !c.api.exists(c.r.URL.Path) {
		return azerr.New(http.StatusNotFound, "ResourceGroupNotFound", "The subscription or the resource group of '"+c.r.URL.Path+"' could not be found.")
	}
	return c.checkParameters()
}

// body returns the body of the request, which can still be read afterwards. It returns nothing for an unreadable
// body, which the SDK's server rejects.
func (c *Call) body() []byte {
	raw, err := io.ReadAll(c.r.Body)
	if err != nil {
		return nil
	}
	c.r.Body = io.NopCloser(bytes.NewReader(raw))
	return raw
}

// attributes returns the attributes of the requested or existing role assignment for conditions. Azure does not look
// up attributes: if the request has no principal type, the attribute is missing.
func (c *Call) attributes() access.Attributes {
	switch c.route.action {
	case roles + "roleAssignments/write":
		var asked armauthorization.RoleAssignmentCreateParameters
		if json.Unmarshal(c.body(), &asked) != nil || asked.Properties == nil {
			return nil
		}
		return attributes("@Request", asked.Properties.RoleDefinitionID, asked.Properties.PrincipalID, asked.Properties.PrincipalType)
	case roles + "roleAssignments/delete":
		if found, err := c.assignment(path.Base(c.r.URL.Path)); err == nil {
			return attributes("@Resource", &found.Role, &found.PrincipalID, kindOf(found.User))
		}
	}
	return nil
}

func attributes(source string, role, principal *string, kind *armauthorization.PrincipalType) access.Attributes {
	const of = "[Microsoft.Authorization/roleAssignments:"
	out := access.Attributes{source + of + "RoleDefinitionId]": path.Base(text(role)), source + of + "PrincipalId]": text(principal)}
	if kind != nil {
		out[source+of+"PrincipalType]"] = string(*kind)
	}
	return out
}

// Fail sends an error in the format of Azure Resource Manager.
func (*Call) Fail(w http.ResponseWriter, e *azerr.Error) {
	type detail struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	}
	raw, err := json.Marshal(map[string]detail{"error": {e.Code, e.Message}})
	if err != nil {
		raw = nil // cannot be: two strings
	}
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("X-Ms-Failure-Cause", "gateway")
	if e.Status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", `Bearer error="invalid_token"`)
	}
	w.WriteHeader(e.Status)
	_, _ = w.Write(raw) // fails only if the client has disconnected
}

// fromSDK returns the response for an error of the SDK's server: one of this package, or an error about an invalid
// body or path.
func fromSDK(err error) *azerr.Error {
	if e, ok := errors.AsType[*azerr.Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return azerr.New(e.StatusCode, e.ErrorCode, e.Error())
	}
	return azerr.New(http.StatusBadRequest, "InvalidRequestContent", "The request content was invalid and could not be deserialized: "+err.Error())
}

// respond returns the value, or the error if there is one, in the form of the SDK's fake server.
func respond[T any](status int, value T, err error) (ok fake.Responder[T], failed fake.ErrorResponder) {
	if err != nil {
		failed.SetError(err)
	}
	ok.SetResponse(status, value, nil)
	return ok, failed
}

func bad(code, message string) *azerr.Error { return azerr.New(http.StatusBadRequest, code, message) }

func conflict(code, message string) *azerr.Error {
	return azerr.New(http.StatusConflict, code, message)
}

func missing(code, id string) *azerr.Error {
	return azerr.New(http.StatusNotFound, code, "The resource '"+id+"' was not found.")
}

// text returns the value of a pointer in the SDK's types, or "" for nil.
func text(p *string) string {
	if p == nil {
		return ""
	}
	return *p
}

// texts returns the values of the pointers.
func texts(ps []*string) []string {
	var out []string
	for _, p := range ps {
		out = append(out, text(p))
	}
	return out
}
