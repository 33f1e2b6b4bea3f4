// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
	"github.com/cooper-cosi/cooper/fakes/internal/accept"
)

// Inputs that several operations have.
var (
	conditionHeaders = accept.Names("if-match", "if-none-match", "if-modified-since", "if-unmodified-since")
	blobConditions   = conditionHeaders.With("x-ms-if-tags", "x-ms-lease-id")
	timeConditions   = accept.Names("if-modified-since", "if-unmodified-since")
	propertyHeaders  = accept.Names("x-ms-blob-cache-control", "x-ms-blob-content-disposition", "x-ms-blob-content-encoding", "x-ms-blob-content-language",
		"x-ms-blob-content-md5", "x-ms-blob-content-type")
	writeHeaders      = blobConditions.And(propertyHeaders).With("x-ms-access-tier", "x-ms-encryption-scope", "x-ms-tags").Prefix("x-ms-meta-")
	sumHeaders        = accept.Names("content-md5", "x-ms-content-crc64")
	sourceHeaders     = accept.Names("x-ms-copy-source", "x-ms-source-if-match", "x-ms-source-if-modified-since", "x-ms-source-if-none-match", "x-ms-source-if-unmodified-since")
	sourcePartHeaders = sourceHeaders.With("x-ms-copy-source-authorization", "x-ms-source-range", "x-ms-source-content-md5", "x-ms-source-content-crc64", "x-ms-file-request-intent")
	copyHeaders       = blobConditions.And(sourceHeaders).With("x-ms-access-tier", "x-ms-tags").Prefix("x-ms-meta-")
	fromURLHeaders    = sourceHeaders.With("x-ms-copy-source-authorization", "x-ms-copy-source-tag-option", "x-ms-source-content-md5", "x-ms-file-request-intent")
	pageHeaders       = blobConditions.With("range", "x-ms-range", "x-ms-page-write", "x-ms-encryption-scope", "x-ms-if-sequence-number-le", "x-ms-if-sequence-number-lt", "x-ms-if-sequence-number-eq")
	tagConditions     = accept.Names("x-ms-blob-if-match", "x-ms-blob-if-modified-since", "x-ms-blob-if-none-match", "x-ms-blob-if-unmodified-since", "x-ms-if-tags", "x-ms-lease-id")
	deleteHeaders     = blobConditions.With("x-ms-access-tier-if-modified-since", "x-ms-access-tier-if-unmodified-since", "x-ms-delete-snapshots")
	versionQuery      = accept.Names("snapshot", "versionid")
	pageQuery         = accept.Names("marker", "maxresults")

	// everyQuery and everyHeader are the inputs of all operations. Microsoft's browser client adds _ to bypass caches.
	everyQuery  = accept.Names("comp", "restype", "timeout", "_")
	everyHeader = accept.Names("x-ms-version", "x-ms-date", "x-ms-client-request-id", "x-ms-return-client-request-id")
	// signatureQuery are the fields of a shared access signature.
	signatureQuery = accept.Names("sv", "ss", "srt", "sr", "sp", "st", "se", "sip", "spr", "sig", "si", "ses", "sdd", "sks", "skt", "ske", "skv", "skoid",
		"sktid", "saoid", "suoid", "scid", "skdutid", "sduoid", "srh", "srq", "rscc", "rscd", "rsce", "rscl", "rsct")
	// standard are the headers without the prefix x-ms- that change what a call does.
	standard = conditionHeaders.With("if-range", "range", "content-md5")
)

// inputs are the inputs of each operation, or of each of its pages in the reference.
var inputs = map[string]accept.Inputs{
	"GetBlobServiceProperties":   {},
	"SetBlobServiceProperties":   {Headers: sumHeaders},
	"GetBlobServiceStats":        {},
	"BlobBatch":                  {Headers: sumHeaders},
	"ListContainers":             {Query: pageQuery.With("include", "prefix")},
	"FindBlobsByTags":            {Query: pageQuery.With("where")},
	"FindBlobsByTagsInContainer": {Query: pageQuery.With("where")},
	"GetAccountInformation":      {},
	"GetUserDelegationKey":       {Headers: sumHeaders},
	"CreateContainer":            {Headers: accept.Names("x-ms-blob-public-access", "x-ms-default-encryption-scope", "x-ms-deny-encryption-scope-override").Prefix("x-ms-meta-")},
	"GetContainerProperties":     {Headers: accept.Names("x-ms-lease-id")},
	"SetContainerMetadata":       {Headers: accept.Names("if-modified-since", "x-ms-lease-id").Prefix("x-ms-meta-")},
	"DeleteContainer":            {Headers: timeConditions.With("x-ms-lease-id")},
	"RestoreContainer":           {Headers: accept.Names("x-ms-deleted-container-name", "x-ms-deleted-container-version")},
	"LeaseContainer":             {Headers: timeConditions},
	"GetContainerACL":            {Headers: accept.Names("x-ms-lease-id")},
	"SetContainerACL":            {Headers: timeConditions.And(sumHeaders).With("x-ms-lease-id", "x-ms-blob-public-access")},
	"ListBlobs":                  {Query: pageQuery.With("delimiter", "include", "prefix", "startFrom", "endBefore")},
	"PutBlob":                    {Headers: writeHeaders.And(sumHeaders).With("x-ms-blob-type")},
	"PutPageBlob":                {Headers: writeHeaders.And(sumHeaders).With("x-ms-blob-type", "x-ms-blob-content-length", "x-ms-blob-sequence-number")},
	"PutBlobFromURL":             {Headers: writeHeaders.And(fromURLHeaders).With("x-ms-blob-type", "x-ms-copy-source-blob-properties", "x-ms-source-if-tags")},
	"CopyBlob":                   {Headers: copyHeaders.With("x-ms-rehydrate-priority", "x-ms-seal-blob", "x-ms-source-if-tags")},
	"CopyBlobFromURL":            {Headers: copyHeaders.And(fromURLHeaders).With("x-ms-encryption-scope", "x-ms-requires-sync")},
	"AbortCopyBlob":              {Query: accept.Names("copyid"), Headers: accept.Names("x-ms-copy-action", "x-ms-lease-id")},
	"PutBlock":                   {Query: accept.Names("blockid"), Headers: sumHeaders.With("x-ms-encryption-scope", "x-ms-lease-id")},
	"PutBlockFromURL":            {Query: accept.Names("blockid"), Headers: sourcePartHeaders.With("x-ms-encryption-scope", "x-ms-lease-id")},
	"PutBlockList":               {Headers: writeHeaders.And(sumHeaders)},
	"GetBlockList":               {Query: versionQuery.With("blocklisttype"), Headers: accept.Names("x-ms-if-tags", "x-ms-lease-id")},
	"AppendBlock":                {Headers: blobConditions.And(sumHeaders).With("x-ms-blob-condition-appendpos", "x-ms-blob-condition-maxsize", "x-ms-encryption-scope")},
	"AppendBlockFromURL":         {Headers: blobConditions.And(sourcePartHeaders).With("x-ms-blob-condition-appendpos", "x-ms-blob-condition-maxsize", "x-ms-encryption-scope")},
	"PutPage":                    {Headers: pageHeaders.And(sumHeaders)},
	"PutPageFromURL":             {Headers: pageHeaders.And(sourcePartHeaders)},
	"GetPageRanges":              {Query: pageQuery.With("snapshot", "prevsnapshot"), Headers: blobConditions.With("range", "x-ms-range")},
	"AppendBlobSeal":             {Headers: conditionHeaders.With("x-ms-blob-condition-appendpos", "x-ms-lease-id")},
	"GetBlob":                    {Query: versionQuery, Headers: blobConditions.With("range", "x-ms-range", "x-ms-range-get-content-crc64", "x-ms-range-get-content-md5")},
	// HTTP defines ranges for GET alone: "A server MUST ignore a Range header field received with a request method that is
	// unrecognized or for which range handling is not defined" (RFC 9110).
	"GetBlobProperties": {Query: versionQuery, Headers: blobConditions.With("range", "x-ms-range")},
	"GetBlobMetadata":   {Query: versionQuery, Headers: blobConditions},
	"SetBlobMetadata":   {Headers: blobConditions.With("x-ms-encryption-scope").Prefix("x-ms-meta-")},
	"SetBlobProperties": {Headers: blobConditions.And(propertyHeaders).With("x-ms-blob-content-length", "x-ms-blob-sequence-number", "x-ms-encryption-scope", "x-ms-sequence-number-action")},
	"SetBlobTier":       {Query: versionQuery, Headers: blobConditions.With("x-ms-access-tier", "x-ms-rehydrate-priority")},
	"SnapshotBlob":      {Headers: blobConditions.With("x-ms-encryption-scope").Prefix("x-ms-meta-")},
	"UndeleteBlob":      {},
	"LeaseBlob":         {Headers: conditionHeaders.With("x-ms-if-tags")},
	"GetBlobTags":       {Query: versionQuery, Headers: tagConditions},
	"SetBlobTags":       {Query: accept.Names("versionid"), Headers: sumHeaders.And(tagConditions)},
	"DeleteBlob":        {Query: versionQuery.With("deletetype"), Headers: deleteHeaders},
	"DeleteBlobVersion": {Query: versionQuery.With("deletetype"), Headers: deleteHeaders},
}

// leaseHeaders are the headers of each action on a lease, in addition to those of the operation.
var leaseHeaders = map[string]accept.List{
	"acquire": accept.Names("x-ms-lease-action", "x-ms-lease-duration", "x-ms-proposed-lease-id"),
	"renew":   accept.Names("x-ms-lease-action", "x-ms-lease-id"),
	"change":  accept.Names("x-ms-lease-action", "x-ms-lease-id", "x-ms-proposed-lease-id"),
	"release": accept.Names("x-ms-lease-action", "x-ms-lease-id"),
	"break":   accept.Names("x-ms-lease-action", "x-ms-lease-break-period"),
}

// features are what headers ask for that no operation serves, by the beginnings of their names.
var features = map[string]string{
	"x-ms-encryption-key":        "customer-provided keys",
	"x-ms-encryption-algorithm":  "customer-provided keys",
	"x-ms-source-encryption-":    "customer-provided keys",
	"x-ms-immutability-policy-":  "immutability policies",
	"x-ms-legal-hold":            "legal holds",
	"x-ms-structured-":           "bodies in the structured form",
	"x-ms-previous-snapshot-url": "managed disks",
	"x-ms-expiry-":               "hierarchical namespaces",
	"x-ms-source-container-name": "renaming containers",
	"x-ms-source-lease-id":       "renaming containers",
}

// forms are the formats of values that no operation parses in another way.
var forms = map[string]*regexp.Regexp{
	"timeout":                             regexp.MustCompile(`^\d+$`),
	"x-ms-rehydrate-priority":             regexp.MustCompile(`^(Standard|High)$`),
	"x-ms-requires-sync":                  regexp.MustCompile(`^(?i:true)$`), // Microsoft's client for Python sends True
	"x-ms-copy-source-blob-properties":    boolean,
	"x-ms-deny-encryption-scope-override": boolean,
	"x-ms-file-request-intent":            regexp.MustCompile(`^backup$`), // for sources in Azure Files; without effect for blobs
	"x-ms-range-get-content-crc64":        boolean,
	"x-ms-range-get-content-md5":          boolean,
	"x-ms-seal-blob":                      boolean,
}

var boolean = regexp.MustCompile(`^(true|false)$`)

// page of the reference that the request is described on, where its operation has several.
func (c *Call) page() string {
	h := c.r.Header
	switch {
	case c.Operation == access.PutBlob && !slices.Contains([]string{string(store.BlockBlob), string(store.AppendBlob)}, h.Get("X-Ms-Blob-Type")):
		return "PutPageBlob"
	case c.Operation == access.CopyBlob && c.fromURL():
		return "PutBlobFromURL"
	case c.Operation == access.CopyBlob && h.Get("X-Ms-Requires-Sync") != "",
		slices.Contains([]access.Operation{access.PutBlock, access.AppendBlock, access.PutPage}, c.Operation) && h.Get("X-Ms-Copy-Source") != "":
		return string(c.Operation) + "FromURL"
	}
	return string(c.Operation)
}

// checkParameters rejects inputs that the operation does not support.
func (c *Call) checkParameters() error {
	known := inputs[c.page()]
	for name, values := range c.query {
		if !everyQuery.Has(name) && !known.Query.Has(name) && (!signatureQuery.Has(name) || !c.query.Has("sig")) {
			return c.unsupported("UnsupportedQueryParameter", "query parameter", name)
		}
		if form := forms[name]; form != nil && !form.MatchString(values[0]) {
			return azerr.InvalidQueryValue
		}
	}
	for header, values := range c.r.Header {
		name := strings.ToLower(header)
		if !strings.HasPrefix(name, "x-ms-") && !standard.Has(name) || everyHeader.Has(name) {
			continue
		}
		if !known.Headers.Has(name) && !c.ofLease(name) {
			return c.unsupported("UnsupportedHeader", "header", name)
		}
		if form := forms[name]; form != nil && !form.MatchString(values[0]) {
			return azerr.InvalidHeaderValue
		}
	}
	return nil
}

// ofLease reports whether a header belongs to the action on a lease. The operation itself rejects unknown actions.
func (c *Call) ofLease(name string) bool {
	if c.Operation != access.LeaseBlob && c.Operation != access.LeaseContainer {
		return false
	}
	headers, known := leaseHeaders[c.r.Header.Get("X-Ms-Lease-Action")]
	return !known || headers.Has(name)
}

func (c *Call) unsupported(code, kind, name string) error {
	for known, feature := range features {
		if strings.HasPrefix(name, known) {
			return azerr.New(http.StatusBadRequest, code, "This fake does not support "+feature+": "+name+".")
		}
	}
	return azerr.New(http.StatusBadRequest, code, "This fake does not support the "+kind+" "+name+" of "+c.page()+".")
}
