// SPDX-License-Identifier: Apache-2.0

// Package rest implements the fake's HTTP interface. It serves Cloud Storage's JSON and XML APIs, the IAM API, the
// related parts of Resource Manager and IAM Credentials, the OAuth token endpoint and the Security Token Service. It
// parses a request, authenticates and authorizes the caller, and calls the store and the directory.
package rest

import (
	"cmp"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
)

// Options are the arguments of New.
type Options struct {
	Store     *store.Store
	Directory *identity.Directory
	// Issuers fetches the keys of issuers of federated tokens.
	Issuers *http.Client
	Now     func() time.Time
	// Anonymous is the email of the service account as which requests without credentials act; "" means none.
	Anonymous string
	// Project is the project of requests from clients without one, and OpenProject creates an unknown project if the
	// caller may do so.
	Project     string
	OpenProject func(caller, id string) error
	// OneProject means that every project ID refers to Project.
	OneProject bool
}

// API is the HTTP interface of all services of the fake.
type API struct {
	store   *store.Store
	dir     *identity.Directory
	issuers *http.Client
	now     func() time.Time
	routes  map[int][]splitRoute

	anonymous, project string
	oneProject         bool
	openProject        func(caller, id string) error
}

// New returns an API.
func New(o Options) *API {
	return &API{
		store: o.Store, dir: o.Directory, issuers: o.Issuers, now: o.Now, routes: routes(),
		anonymous: o.Anonymous, project: o.Project, oneProject: o.OneProject, openProject: o.OpenProject,
	}
}

// flavour is how errors are written.
type flavour int

const (
	inJSON flavour = iota
	inRPC
	inOAuth
	inXML
)

// Call is a request whose operation has been determined.
type Call struct {
	// Operation is the name of the operation: the name in the discovery document for JSON, and xml.NAME for XML.
	Operation string

	api      *API
	r        *http.Request
	flavour  flavour
	level    identity.Level
	handler  handler
	vars     map[string]string
	query    url.Values
	caller   identity.Caller
	verified *sigv4.Verified
	// ambiguity is the reason why the request cannot be processed for any caller, or "".
	ambiguity string
	// full means that the response has access control lists by default.
	full bool
	// early is the result of verifying the bearer token, once it is needed.
	early *verdict
}

// verdict is the caller identified by a bearer token.
type verdict struct {
	caller identity.Caller
	err    error
}

// bearer verifies a bearer token, once.
func (c *Call) bearer(token string) (identity.Caller, error) {
	if c.early == nil {
		who, err := c.api.dir.Authenticate(token, c.isAudience)
		c.early = &verdict{who, err}
	}
	return c.early.caller, c.early.err
}

// isAudience reports whether the audience of a self-signed JWT of a service account refers to the service of this
// call. It is the service's URL at Google ("Service account authorization without OAuth"), or the URL of this server,
// which stands for all services.
func (c *Call) isAudience(aud string) bool {
	service, _, _ := strings.Cut(c.Operation, ".")
	if c.flavour == inJSON || c.flavour == inXML {
		service = "storage"
	}
	return slices.Contains([]string{"https://" + service + ".googleapis.com", c.base()}, strings.TrimSuffix(aud, "/"))
}

// Prepare determines the operation of a request.
func (a *API) Prepare(r *http.Request) *Call {
	// Google's client for Java sends a PATCH so, which its transport has not.
	if r.Method == http.MethodPost && r.Header.Get("X-Http-Method-Override") == http.MethodPatch && flavourOf(r.URL.EscapedPath()) != inXML {
		r = r.Clone(r.Context())
		r.Method = http.MethodPatch
		r.Header.Del("X-Http-Method-Override")
	}
	r = withEmulatorPath(r)
	query, err := url.ParseQuery(r.URL.RawQuery)
	c := &Call{api: a, r: r, query: query, ambiguity: ambiguity(r.Header, query, err)}
	c.route()
	if id := c.vars["project"]; a.oneProject && id != "" && id != "-" {
		c.vars["project"] = a.project
	}
	return c
}

// Resource returns the resource of the call: the bucket, bucket/object, or the path of another resource.
func (c *Call) Resource() string {
	if b := c.vars["bucket"]; b != "" {
		if o := c.vars["object"]; o != "" {
			return b + "/" + o
		}
		return b
	}
	for _, name := range []string{"account", "accessId", "role", "project"} {
		if v := c.vars[name]; v != "" {
			return v
		}
	}
	return ""
}

// Principal returns the authenticated caller. Before authentication, it returns the caller that the request claims.
func (c *Call) Principal() string {
	if c.caller.Name != "" {
		return c.caller.Name
	}
	return c.claimed()
}

// claimed returns the claimed caller without verifying anything, because fault rules match before the call.
func (c *Call) claimed() string {
	if token, ok := bearer(c.r.Header.Get("Authorization")); ok {
		who, _ := c.bearer(token) // empty if the token is not valid
		return who.Name
	}
	credential := cmp.Or(c.query.Get("X-Goog-Credential"), c.query.Get("X-Amz-Credential"), c.query.Get("GoogleAccessId"))
	if _, rest, ok := strings.Cut(c.r.Header.Get("Authorization"), "Credential="); ok {
		credential = rest
	}
	id, _, _ := strings.Cut(credential, "/")
	if id == "" && c.flavour != inOAuth && c.r.Header.Get("Authorization") == "" {
		return c.api.anonymous
	}
	return id
}

// Claimed returns the access ID in the request's signature, even if the signature is not verified.
func (c *Call) Claimed() string {
	if c.verified != nil {
		return c.verified.AccessKeyID
	}
	return c.claimed()
}

// Serve handles the call and returns the error in the response, or nil if the call succeeded.
func (c *Call) Serve(w http.ResponseWriter) *gcserr.Error {
	c.cacheHeaders(w.Header(), false)
	handle := func() error { return c.handle(w) }
	for _, step := range []func() error{c.refuseAmbiguity, c.authenticate, c.checkScope, c.checkParameters, c.checkProjection, c.inflate, handle} {
		if err := step(); err != nil {
			e := gcserr.From(err)
			c.Fail(w, e)
			return e
		}
	}
	return nil
}

// checkScope rejects a token whose scopes do not include the operation.
func (c *Call) checkScope() error {
	if c.flavour != inOAuth && !c.caller.InScope(c.level) {
		return gcserr.Scope
	}
	return nil
}

// handle handles the call, partially where it asks for some fields only.
func (c *Call) handle(w http.ResponseWriter) error {
	if (c.flavour == inJSON || c.flavour == inRPC) && c.query.Get("fields") != "" && c.query.Get("alt") != "media" {
		return c.partially(w)
	}
	return c.handler(c, w)
}

// authenticate verifies whatever credentials the request has.
func (c *Call) authenticate() error {
	c.caller = identity.Anonymous()
	if c.flavour == inOAuth {
		return nil
	}
	auth := c.r.Header.Get("Authorization")
	if token, ok := bearer(auth); ok {
		who, err := c.bearer(token)
		if err == nil {
			c.caller = who
		}
		return err
	}
	if d, ok := sigv4.DialectOf(c.r); ok && c.flavour == inXML {
		return c.verify(d)
	}
	switch {
	case auth != "":
		return gcserr.Unauthorized
	case c.flavour == inXML && c.query.Has("Signature") && (c.query.Has("GoogleAccessId") || c.query.Has("AWSAccessKeyId")):
		return c.verifyV2()
	}
	return c.standIn()
}

// bearer returns the token in an Authorization header.
func bearer(auth string) (string, bool) {
	kind, token, _ := strings.Cut(auth, " ")
	return strings.TrimSpace(token), strings.EqualFold(kind, "Bearer") || strings.EqualFold(kind, "OAuth")
}

// verify checks a signature of the XML API ("V4 signing process"; AWS's dialect as in "Simple migration from Amazon
// S3"). The location in the scope is not checked: the service accepts any.
func (c *Call) verify(d sigv4.Dialect) error {
	verified, err := c.verifier(d).Verify(c.r)
	if err != nil {
		c.caller = identity.Anonymous()
		return err
	}
	c.verified = verified
	return nil
}

// verifier verifies a signature in a dialect. It makes the signer the caller before it compares.
func (c *Call) verifier(d sigv4.Dialect) sigv4.Verifier {
	v := sigv4.Verifier{
		Dialect: d, Expect: sigv4.Expect{Service: "storage"}, Now: c.api.now, GoogleHeaders: true,
		Lookup: func(accessID, _ string) (secret string, err error) {
			secret, c.caller, err = c.api.dir.HMACSecret(accessID)
			return secret, err
		},
	}
	if d == sigv4.AWS {
		v.Expect.Service = "s3"
	}
	v.Keys = c.signers(&c.caller)
	return v
}

// need asks for a permission on a bucket, and on an object of it unless name is "".
func (c *Call) need(permission string, b *store.Bucket, name string) error {
	if c.may(permission, b, name) {
		return nil
	}
	what := "bucket"
	if name != "" {
		what = "object"
	}
	return c.refused(permission, "the Google Cloud Storage "+what)
}

func (c *Call) may(permission string, b *store.Bucket, name string) bool {
	r := policy.Resource{Name: "projects/_/buckets/" + b.Name, Type: "storage.googleapis.com/Bucket", Service: "storage.googleapis.com", ListPrefix: c.query.Get("prefix")}
	if name != "" {
		r.Name, r.Type = r.Name+"/objects/"+name, "storage.googleapis.com/Object"
	}
	return c.api.dir.Allowed(c.caller, permission, identity.Target{Project: b.Project, Policy: public(b), Resource: r})
}

// public returns a bucket's effective policy: public access prevention removes public members.
func public(b *store.Bucket) *policy.Policy {
	if b.Settings.IAM.PublicAccessPrevention != "enforced" {
		return &b.Policy
	}
	out := b.Policy
	out.Bindings = slices.Clone(b.Policy.Bindings)
	for i := range out.Bindings {
		members := &out.Bindings[i].Members
		*members = slices.DeleteFunc(slices.Clone(*members), isEveryone)
	}
	return &out
}

func isEveryone(member string) bool { return member == "allUsers" || member == "allAuthenticatedUsers" }

func isPublic(members []string) bool { return slices.ContainsFunc(members, isEveryone) }

// refused is the response to a caller without a permission: 401 if the caller is anonymous.
func (c *Call) refused(permission, on string) error {
	if c.caller.Name == "" {
		e := gcserr.New(http.StatusUnauthorized, "required", "AccessDenied", gcserr.Forbidden.Message).
			Say("Anonymous caller does not have %[1]s access to %[2]s. Permission '%[1]s' denied on resource (or it may not exist).%[3]s", permission, on, emulatorHint)
		if c.flavour == inXML {
			e.Status = http.StatusForbidden
		}
		return e
	}
	return gcserr.Forbidden.Say("%s does not have %s access to %s. Permission '%s' denied on resource (or it may not exist).", c.caller.Name, permission, on, permission)
}

// needProject asks for a permission on a project, which must exist.
func (c *Call) needProject(permission, project string) (identity.Project, error) {
	p, err := c.knownProject(project)
	return p, c.allowedIn(permission, p, err)
}

// allowedIn asks for a permission on a project that was looked up with the result err.
func (c *Call) allowedIn(permission string, p identity.Project, err error) error {
	switch {
	case err != nil && c.caller.Name == "": // do not reveal which projects exist
		return c.refused(permission, "the Google Cloud project")
	case err != nil:
		return err
	}
	if !c.api.dir.Allowed(c.caller, permission, projectTarget(p)) {
		return c.refused(permission, "the Google Cloud project")
	}
	return nil
}

func projectTarget(p identity.Project) identity.Target {
	r := policy.Resource{Name: "projects/" + p.Number, Type: "cloudresourcemanager.googleapis.com/Project", Service: "cloudresourcemanager.googleapis.com"}
	return identity.Target{Project: p.ID, Resource: r}
}

// maxJSON bounds the documents that are read.
const maxJSON = 4 << 20

// readJSON reads the body into v; an empty body does not change v.
func (c *Call) readJSON(v any) error {
	raw, err := io.ReadAll(io.LimitReader(c.r.Body, maxJSON+1))
	switch {
	case err != nil:
		return gcserr.Parse.Say("The request body could not be read.")
	case len(raw) > maxJSON:
		return gcserr.TooLarge
	case len(raw) == 0:
		return nil
	}
	return errors.Join(c.checkFields(raw), parseJSON(raw, v))
}

func parseJSON(raw []byte, v any) error {
	if err := json.Unmarshal(raw, v); err != nil {
		if t, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return gcserr.Invalid.Say("Invalid value at '%s' (%s).", t.Field, t.Value)
		}
		return gcserr.Parse.Say("Parse Error: %v", err)
	}
	return nil
}

// response writes a JSON document.
func respond(w http.ResponseWriter, v any) error {
	raw, err := json.Marshal(v)
	if err != nil {
		return err
	}
	etagHeader(w.Header(), v)
	writeJSON(w, http.StatusOK, raw)
	return nil
}

func writeJSON(w http.ResponseWriter, status int, raw []byte) {
	write(w, status, "application/json; charset=UTF-8", raw)
}

func write(w http.ResponseWriter, status int, contentType string, raw []byte) {
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Content-Length", strconv.Itoa(len(raw)))
	w.WriteHeader(status)
	_, _ = w.Write(raw) // fails only if the client has disconnected
}

// respondEmpty responds without a body.
func respondEmpty(w http.ResponseWriter, status int) error {
	w.Header().Set("Content-Length", "0")
	w.WriteHeader(status)
	return nil
}

// base is the scheme and host under which the client reaches this server.
func (c *Call) base() string {
	scheme := "http"
	if c.r.TLS != nil {
		scheme = "https"
	}
	return scheme + "://" + c.r.Host
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// preciseStamp is stamp for a time that the client chose. It keeps microseconds.
func preciseStamp(t time.Time) string {
	if t = t.Truncate(time.Microsecond); t.Equal(t.Truncate(time.Millisecond)) {
		return stamp(t)
	}
	return t.UTC().Format("2006-01-02T15:04:05.000000Z")
}
