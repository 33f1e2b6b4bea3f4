// SPDX-License-Identifier: Apache-2.0

// Package blobapi implements the REST interface of the Blob service. It parses requests, authorizes them with package
// access, and reads or changes the containers and blobs in package store. It does not listen on a port or inject
// faults.
package blobapi

import (
	"bytes"
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/calls"
)

// Version is the service version for requests that do not specify one.
const Version = "2021-12-02"

// newest is the service version that the newest SDK requests, and the newest that the fake accepts.
const newest = "2026-12-06"

// Options are the arguments of New.
type Options struct {
	Store     *store.Store
	Directory *access.Directory
	// Domains are suffixes of host names that follow the account's name, such as blob.localhost.
	Domains []string
	// Resource returns the resource ID of an account.
	Resource func(account string) string
	// Versioning keeps earlier versions of blobs that are overwritten or deleted.
	Versioning bool
	Now        func() time.Time
}

// API is the REST interface of the Blob service.
type API struct {
	Options

	// The operations by resource type. The maps are created once, because every call uses them.
	accounts, containers, blobs map[string]route
}

// New returns an API.
func New(o Options) *API {
	return &API{Options: o, accounts: accountRoutes(), containers: containerRoutes(), blobs: blobRoutes()}
}

// Call is one request whose target and operation have been determined.
type Call struct {
	Operation access.Operation
	Target    access.Target
	// Caller is set by Serve.
	Caller *access.Caller

	api       *API
	r         *http.Request
	query     url.Values
	requestID string
	handler   func(*Call, http.ResponseWriter) error
	// ambiguous is the reason why the request cannot be processed for any caller.
	ambiguous error
	// secondary means that the request is for the secondary location.
	secondary bool
}

// Prepare determines the target and operation of a request. It does not authenticate the caller.
func (a *API) Prepare(r *http.Request, requestID string) *Call {
	c := &Call{api: a, r: r, requestID: requestID, Operation: access.Unknown}
	c.query, c.ambiguous = access.ReadQuery(r)
	c.Target, c.secondary = a.target(r, c.query)
	if c.ambiguous == nil && c.emptyName() {
		c.ambiguous = azerr.InvalidURI("https://" + r.Host + r.URL.EscapedPath())
	}
	if c.ambiguous == nil {
		c.Operation, c.handler = c.route()
	}
	return c
}

// secondarySuffix is the suffix that a secondary location's name adds to the account name. Account names cannot end
// in it.
const secondarySuffix = "-secondary"

// target splits a path-style or host-style address, and reports whether it is of a secondary location.
func (a *API) target(r *http.Request, q url.Values) (t access.Target, secondary bool) {
	path := strings.TrimPrefix(r.URL.Path, "/")
	location := a.hostAccount(r.Host)
	pathStyle := location == ""
	if pathStyle {
		location, path, _ = strings.Cut(path, "/")
	}
	account, secondary := strings.CutSuffix(location, secondarySuffix)
	container, name, _ := strings.Cut(path, "/")
	name = strings.ReplaceAll(name, `\`, "/") // the service stores a backslash as a slash
	t = access.Target{Account: account, Container: container, Blob: name}
	if rest, ok := strings.CutPrefix(r.URL.EscapedPath(), "/"+location); ok && pathStyle && secondary {
		t.SignedPath = "/" + account + rest
	}
	if name == "" && container != "" && q.Get("restype") == "" && q.Get("comp") != "list" {
		t.Container, t.Blob = "$root", container
	}
	t.Resource = a.Resource(account)
	t.Stored = func() (store.Container, error) { return a.Store.Container(account, t.Container) }
	return t, secondary
}

// emptyName reports whether the path is that of a blob without a name: a container's, with a slash at the end.
func (c *Call) emptyName() bool {
	return c.Target.Container == "$root" && strings.HasSuffix(c.r.URL.Path, "/"+c.Target.Blob+"/")
}

func (a *API) hostAccount(host string) string {
	if at := strings.LastIndex(host, ":"); at > 0 && !strings.HasSuffix(host, "]") {
		host = host[:at]
	}
	for _, domain := range a.Domains {
		if account, ok := strings.CutSuffix(host, "."+domain); ok {
			return account
		}
	}
	return ""
}

type route struct {
	op      access.Operation
	handler func(*Call, http.ResponseWriter) error
}

// route finds the operation of a request.
func (c *Call) route() (access.Operation, func(*Call, http.ResponseWriter) error) {
	if c.r.Method == http.MethodOptions {
		return access.PreflightBlobRequest, (*Call).preflight
	}
	key := c.r.Method + " " + c.query.Get("restype") + " " + c.query.Get("comp")
	table := c.api.accounts
	switch {
	case c.Target.Blob != "":
		table = c.api.blobs
		if key == "PUT  " || key == "DELETE  " {
			key += c.variant()
		}
	case c.Target.Container != "":
		table = c.api.containers
	}
	found, ok := table[key]
	if !ok {
		return access.Unknown, nil
	}
	return found.op, found.handler
}

// variant distinguishes operations with the same method and query.
func (c *Call) variant() string {
	switch {
	case c.r.Method == http.MethodDelete && c.query.Has("versionid"):
		return "by version"
	case c.r.Method == http.MethodPut && c.r.Header.Get("X-Ms-Copy-Source") != "":
		return "from source"
	}
	return ""
}

func accountRoutes() map[string]route {
	return map[string]route{
		"GET service properties":  {access.GetServiceProperties, (*Call).serviceProperties},
		"PUT service properties":  {access.SetServiceProperties, (*Call).setServiceProperties},
		"GET service stats":       {access.GetServiceStats, (*Call).serviceStats},
		"GET  list":               {access.ListContainers, (*Call).listContainers},
		"GET  blobs":              {access.FindBlobs, (*Call).findBlobs},
		"GET account properties":  {access.GetAccountInformation, (*Call).accountInformation},
		"HEAD account properties": {access.GetAccountInformation, (*Call).accountInformation},
		"POST  batch":             {access.BlobBatch, (*Call).batch},
		// Microsoft's client for JavaScript takes the account in a path-style address for a container.
		"POST container batch": {access.BlobBatch, (*Call).batch},
		// A call without a container in the path also lacks the required headers, so the handler rejects it.
		"PUT container undelete":         {access.RestoreContainer, (*Call).restoreContainer},
		"POST service userdelegationkey": {access.GetUserDelegationKey, (*Call).userDelegationKey},
	}
}

func containerRoutes() map[string]route {
	return map[string]route{
		"PUT container ":          {access.CreateContainer, (*Call).createContainer},
		"GET container ":          {access.GetContainerProperties, (*Call).containerProperties},
		"HEAD container ":         {access.GetContainerProperties, (*Call).containerProperties},
		"GET container metadata":  {access.GetContainerProperties, (*Call).containerProperties},
		"HEAD container metadata": {access.GetContainerProperties, (*Call).containerProperties},
		"PUT container metadata":  {access.SetContainerMetadata, (*Call).setContainerMetadata},
		"DELETE container ":       {access.DeleteContainer, (*Call).deleteContainer},
		"PUT container undelete":  {access.RestoreContainer, (*Call).restoreContainer},
		"PUT container acl":       {access.SetContainerACL, (*Call).setContainerACL},
		"GET container acl":       {access.GetContainerACL, (*Call).containerACL},
		"HEAD container acl":      {access.GetContainerACL, (*Call).containerACL},
		"PUT container lease":     {access.LeaseContainer, (*Call).leaseContainer},
		"GET container blobs":     {access.FindBlobsInContainer, (*Call).findBlobs},
		"GET container list":      {access.ListBlobs, (*Call).listBlobs},
		"GET  list":               {access.ListBlobs, (*Call).listBlobs},
		"POST container batch":    {access.BlobBatch, (*Call).batch},
		"GET account properties":  {access.GetAccountInformation, (*Call).accountInformation},
		"HEAD account properties": {access.GetAccountInformation, (*Call).accountInformation},
	}
}

func blobRoutes() map[string]route {
	return map[string]route{
		"PUT  ":                   {access.PutBlob, (*Call).putBlob},
		"PUT  from source":        {access.CopyBlob, (*Call).copyBlob},
		"PUT  copy":               {access.AbortCopyBlob, (*Call).abortCopy},
		"PUT  block":              {access.PutBlock, (*Call).putBlock},
		"PUT  blocklist":          {access.PutBlockList, (*Call).putBlockList},
		"GET  blocklist":          {access.GetBlockList, (*Call).getBlockList},
		"PUT  appendblock":        {access.AppendBlock, (*Call).appendBlock},
		"PUT  page":               {access.PutPage, (*Call).putPage},
		"GET  pagelist":           {access.GetPageRanges, (*Call).getPageRanges},
		"PUT  seal":               {access.AppendBlobSeal, (*Call).seal},
		"GET  ":                   {access.GetBlob, (*Call).getBlob},
		"HEAD  ":                  {access.GetBlobProperties, (*Call).getBlob},
		"GET  metadata":           {access.GetBlobMetadata, (*Call).getMetadata},
		"HEAD  metadata":          {access.GetBlobMetadata, (*Call).getMetadata},
		"PUT  metadata":           {access.SetBlobMetadata, (*Call).setMetadata},
		"PUT  properties":         {access.SetBlobProperties, (*Call).setProperties},
		"PUT  tier":               {access.SetBlobTier, (*Call).setTier},
		"PUT  snapshot":           {access.SnapshotBlob, (*Call).snapshot},
		"PUT  undelete":           {access.UndeleteBlob, (*Call).undelete},
		"PUT  lease":              {access.LeaseBlob, (*Call).leaseBlob},
		"GET  tags":               {access.GetBlobTags, (*Call).getTags},
		"PUT  tags":               {access.SetBlobTags, (*Call).setTags},
		"DELETE  ":                {access.DeleteBlob, (*Call).deleteBlob},
		"DELETE  by version":      {access.DeleteBlobVersion, (*Call).deleteBlob},
		"GET account properties":  {access.GetAccountInformation, (*Call).accountInformation},
		"HEAD account properties": {access.GetAccountInformation, (*Call).accountInformation},
	}
}

// Describe returns the fields of the call in the record of calls. Until Serve has verified the caller, the principal is
// the name that the request claims.
func (c *Call) Describe() calls.Description {
	d := calls.Description{Operation: string(c.Operation), Resource: c.Target.Container, Principal: c.query.Get("si")}
	if c.Target.Blob != "" {
		d.Resource += "/" + c.Target.Blob
	}
	if _, credential, ok := strings.Cut(c.r.Header.Get("Authorization"), "SharedKey "); ok {
		d.Principal, _, _ = strings.Cut(credential, ":")
	}
	if c.Caller != nil && c.Caller.Name != "" {
		d.Principal = c.Caller.Name
	}
	return d
}

// Serve performs the call and returns the error in the response, or nil if the call succeeded.
func (c *Call) Serve(w http.ResponseWriter) *azerr.Error {
	c.common(w)
	w = c.withCORS(w)
	err := c.perform(w)
	if err == nil {
		return nil
	}
	if errors.Is(err, http.ErrAbortHandler) {
		panic(http.ErrAbortHandler)
	}
	e := azerr.From(err)
	c.Fail(w, e)
	return e
}

func (c *Call) common(w http.ResponseWriter) {
	h := w.Header()
	version := c.r.Header.Get("X-Ms-Version")
	if version == "" {
		account, _ := c.api.Directory.Account(c.Target.Account)
		version = cmp.Or(account.Version, Version)
	}
	h.Set("X-Ms-Version", version)
	if id := c.r.Header.Get("X-Ms-Client-Request-Id"); id != "" && len(id) <= 1024 {
		h.Set("X-Ms-Client-Request-Id", id)
	}
}

// versionForm matches versions of the service.
var versionForm = regexp.MustCompile(`^20\d{2}-\d{2}-\d{2}$`)

// isVersion reports whether the fake accepts the service version.
func isVersion(text string) bool { return versionForm.MatchString(text) && text <= newest }

func (c *Call) perform(w http.ResponseWriter) error {
	if c.ambiguous != nil {
		return c.ambiguous
	}
	if version := c.r.Header.Get("X-Ms-Version"); version != "" && !isVersion(version) {
		return azerr.InvalidHeaderValue
	}
	if c.Operation == access.PreflightBlobRequest {
		return c.preflight(w)
	}
	if c.Caller == nil { // a request of a batch may have its caller
		var err error
		if c.Caller, err = c.api.Directory.Authenticate(c.r, c.Target); err != nil {
			return err
		}
	}
	if c.query.Has("resource") || c.query.Has("action") {
		return azerr.NotServed("Data Lake Storage Gen2")
	}
	if c.secondary && c.r.Method != http.MethodGet && c.r.Method != http.MethodHead {
		return azerr.New(http.StatusForbidden, "InsufficientAccountPermissions", "Write operations to the secondary location are not allowed.")
	}
	if c.handler == nil {
		if c.Caller.Kind == access.Anonymous {
			return c.Caller.Authorize(access.Unknown)
		}
		return c.unknown()
	}
	if err := c.authorize(); err != nil {
		return err
	}
	if err := c.checkParameters(); err != nil {
		return err
	}
	if !c.namesState() {
		return azerr.InvalidQueryValue
	}
	return c.handler(c, w)
}

// authorize checks the permission for the operation. Breaking a lease needs less than the other actions on it.
func (c *Call) authorize() error {
	if c.r.Header.Get("X-Ms-Lease-Action") == "break" && (c.Operation == access.LeaseBlob || c.Operation == access.LeaseContainer) {
		return c.Caller.AuthorizeBreak(c.Operation)
	}
	return c.Caller.Authorize(c.Operation)
}

// namesPast reports whether the query names a snapshot or a version.
func (c *Call) namesPast() bool {
	return c.query.Has("snapshot") || c.query.Has("versionid")
}

// namesState reports whether the snapshot or version that the query names can be one at all.
func (c *Call) namesState() bool {
	for _, name := range []string{"snapshot", "versionid", "prevsnapshot"} {
		if !c.query.Has(name) {
			continue
		}
		if _, err := access.ParseTime(c.query.Get(name)); err != nil {
			return false
		}
	}
	return true
}

// unknown returns the error for a request that is not an implemented operation.
func (c *Call) unknown() error {
	comp := c.query.Get("comp")
	later := map[string]string{
		"incrementalcopy": "incremental copies of page blobs",
		"query":           "queries of contents", "immutabilityPolicies": "immutability policies", "legalhold": "legal holds", "rename": "renaming containers",
	}
	switch {
	case comp == "expiry":
		// "Set Blob Expiry" is for accounts with a hierarchical namespace. Which code the Blob service has for others is not
		// documented: this one is of the Data Lake Storage API.
		return azerr.New(http.StatusBadRequest, "HierarchicalNamespaceNotEnabled", "Hierarchical namespace is not enabled for this account.")
	case later[comp] != "":
		return azerr.NotServed(later[comp] + ": comp=" + comp)
	case c.query.Get("restype") == "container" && c.Target.Container == "":
		return azerr.InvalidQueryValue
	}
	switch c.r.Method {
	case http.MethodGet, http.MethodHead, http.MethodPut, http.MethodDelete, http.MethodPost:
		if comp != "" {
			return azerr.InvalidQueryValue
		}
		return azerr.InvalidURI("")
	}
	return azerr.New(http.StatusMethodNotAllowed, "UnsupportedHttpVerb", "The resource doesn't support specified Http Verb.")
}

// Fail responds to the call with an error.
func (c *Call) Fail(w http.ResponseWriter, e *azerr.Error) {
	c.common(w)
	if e.URIPath != "" { // the service rejects such a path before it reads the version
		w.Header().Del("X-Ms-Version")
	}
	if e.Status == http.StatusUnauthorized {
		// Clients read from this header where and for what to request a token.
		w.Header().Set("WWW-Authenticate", "Bearer authorization_uri=https://"+c.r.Host+"/"+c.api.Directory.TenantID()+"/oauth2/authorize resource_id="+access.StorageAudience)
	}
	e.Write(w, c.requestID, c.api.Now(), c.r.Method == http.MethodHead)
}

// maxXML bounds the body of requests that are XML: a list of 50000 blocks fits.
const maxXML = 8 << 20

// readXML reads an XML body.
func (c *Call) readXML(into any) error {
	raw, err := c.readText()
	if err != nil {
		return err
	}
	if err := xml.Unmarshal(raw, into); err != nil {
		return azerr.InvalidXML
	}
	if name := accept.UnknownElement(raw, into); name != "" {
		return azerr.NotServed("the element " + name)
	}
	return nil
}

// readText reads a body that is no blob's and compares it with the checksum that the request has.
func (c *Call) readText() ([]byte, error) {
	if err := c.checksums(); err != nil {
		return nil, err
	}
	c.r.Body = io.NopCloser(io.LimitReader(c.r.Body, maxXML+1))
	var text bytes.Buffer
	_, _, err := c.copyBody(&text)
	if text.Len() > maxXML {
		return nil, errSize
	}
	return text.Bytes(), err
}

// writeXML responds with an XML document.
func writeXML(w http.ResponseWriter, status int, value any) error {
	raw, err := xml.Marshal(value)
	if err != nil {
		return fmt.Errorf("encode the response: %w", err)
	}
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(status)
	_, _ = w.Write(append([]byte(xml.Header), raw...)) // fails only if the client has disconnected
	return nil
}

// respond sends a response without a body, unless there is an error.
func respond(w http.ResponseWriter, status int, err error) error {
	if err == nil {
		w.WriteHeader(status)
	}
	return err
}

// setUnlessEmpty sets a header unless the value is empty.
func setUnlessEmpty(w http.ResponseWriter, name, value string) {
	if value != "" {
		w.Header().Set(name, value)
	}
}

// setState sets the headers that every change and every look has.
func setState(w http.ResponseWriter, etag string, modified time.Time) {
	w.Header().Set("ETag", quoted(etag))
	w.Header().Set("Last-Modified", httpTime(modified))
}

func quoted(etag string) string { return `"` + etag + `"` }

func httpTime(t time.Time) string { return t.UTC().Format(http.TimeFormat) }
