// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/access"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
)

// parameters are the names that an operation reads of the query and of the headers, as its page of the reference has them. One
// that ends in - is a beginning.
type parameters struct{ query, headers []string }

// Names that several operations read.
const (
	conditional = " if-match if-none-match if-modified-since if-unmodified-since "
	onTags      = conditional + " x-ms-if-tags x-ms-lease-id "
	onTime      = " if-modified-since if-unmodified-since "
	content     = " x-ms-blob-cache-control x-ms-blob-content-disposition x-ms-blob-content-encoding x-ms-blob-content-language x-ms-blob-content-md5 x-ms-blob-content-type "
	written     = onTags + content + " x-ms-access-tier x-ms-encryption-scope x-ms-meta- x-ms-tags "
	checksums   = " content-md5 x-ms-content-crc64 "
	source      = " x-ms-copy-source x-ms-source-if-match x-ms-source-if-modified-since x-ms-source-if-none-match x-ms-source-if-unmodified-since "
	sourcePart  = source + " x-ms-copy-source-authorization x-ms-source-range x-ms-source-content-md5 x-ms-source-content-crc64 "
	copied      = onTags + source + " x-ms-access-tier x-ms-meta- x-ms-tags "
	fromURL     = source + " x-ms-copy-source-authorization x-ms-copy-source-tag-option x-ms-source-content-md5 "
	ofTags      = " x-ms-blob-if-match x-ms-blob-if-modified-since x-ms-blob-if-none-match x-ms-blob-if-unmodified-since x-ms-if-tags x-ms-lease-id "
	removal     = onTags + " x-ms-access-tier-if-modified-since x-ms-access-tier-if-unmodified-since x-ms-delete-snapshots "
	past        = " snapshot versionid "
	page        = " marker maxresults "
)

// served are the parameters of all operations, by their names and, where one of these has several pages, that of the page.
func served() map[string]parameters {
	type names struct{ query, headers string }
	out := map[string]parameters{}
	for operation, n := range map[string]names{
		"GetBlobServiceProperties":   {},
		"SetBlobServiceProperties":   {"", checksums},
		"GetBlobServiceStats":        {},
		"ListContainers":             {page + "include prefix", ""},
		"FindBlobsByTags":            {page + "where", ""},
		"FindBlobsByTagsInContainer": {page + "where", ""},
		"GetAccountInformation":      {},
		"GetUserDelegationKey":       {"", checksums},
		"CreateContainer":            {"", "x-ms-blob-public-access x-ms-default-encryption-scope x-ms-deny-encryption-scope-override x-ms-meta-"},
		"GetContainerProperties":     {"", "x-ms-lease-id"},
		"SetContainerMetadata":       {"", "if-modified-since x-ms-lease-id x-ms-meta-"},
		"DeleteContainer":            {"", onTime + "x-ms-lease-id"},
		"LeaseContainer":             {"", onTime},
		"GetContainerACL":            {"", "x-ms-lease-id"},
		"SetContainerACL":            {"", onTime + checksums + "x-ms-lease-id x-ms-blob-public-access"},
		"ListBlobs":                  {page + "delimiter include prefix startFrom endBefore", ""},
		"PutBlob":                    {"", written + checksums + "x-ms-blob-type"},
		"PutBlobFromURL":             {"", written + fromURL + "x-ms-blob-type x-ms-copy-source-blob-properties x-ms-source-if-tags"},
		"CopyBlob":                   {"", copied + "x-ms-rehydrate-priority x-ms-seal-blob x-ms-source-if-tags"},
		"CopyBlobFromURL":            {"", copied + fromURL + "x-ms-encryption-scope x-ms-requires-sync"},
		"AbortCopyBlob":              {"copyid", "x-ms-copy-action x-ms-lease-id"},
		"PutBlock":                   {"blockid", checksums + "x-ms-encryption-scope x-ms-lease-id"},
		"PutBlockFromURL":            {"blockid", sourcePart + "x-ms-encryption-scope x-ms-lease-id"},
		"PutBlockList":               {"", written + checksums},
		"GetBlockList":               {"blocklisttype" + past, "x-ms-if-tags x-ms-lease-id"},
		"AppendBlock":                {"", onTags + checksums + "x-ms-blob-condition-appendpos x-ms-blob-condition-maxsize x-ms-encryption-scope"},
		"AppendBlockFromURL":         {"", onTags + sourcePart + "x-ms-blob-condition-appendpos x-ms-blob-condition-maxsize x-ms-encryption-scope"},
		"AppendBlobSeal":             {"", conditional + "x-ms-blob-condition-appendpos x-ms-lease-id"},
		"GetBlob":                    {past, onTags + "range x-ms-range x-ms-range-get-content-crc64 x-ms-range-get-content-md5"},
		// HTTP defines ranges for GET alone: "A server MUST ignore a Range header field received with a request method that is
		// unrecognized or for which range handling is not defined" (RFC 9110).
		"GetBlobProperties": {past, onTags + "range x-ms-range"},
		"GetBlobMetadata":   {past, onTags},
		"SetBlobMetadata":   {"", onTags + "x-ms-encryption-scope x-ms-meta-"},
		"SetBlobProperties": {"", onTags + content},
		"SetBlobTier":       {past, onTags + "x-ms-access-tier x-ms-rehydrate-priority"},
		"SnapshotBlob":      {"", onTags + "x-ms-encryption-scope x-ms-meta-"},
		"LeaseBlob":         {"", conditional + "x-ms-if-tags"},
		"GetBlobTags":       {past, ofTags},
		"SetBlobTags":       {"versionid", checksums + ofTags},
		"DeleteBlob":        {past + "deletetype", removal},
		"DeleteBlobVersion": {past + "deletetype", removal},
	} {
		out[operation] = parameters{strings.Fields(n.query), strings.Fields(n.headers)}
	}
	return out
}

// leased are the headers of each action on a lease beside those of all.
var leased = map[string][]string{
	"acquire": {"x-ms-lease-action", "x-ms-lease-duration", "x-ms-proposed-lease-id"},
	"renew":   {"x-ms-lease-action", "x-ms-lease-id"},
	"change":  {"x-ms-lease-action", "x-ms-lease-id", "x-ms-proposed-lease-id"},
	"release": {"x-ms-lease-action", "x-ms-lease-id"},
	"break":   {"x-ms-lease-action", "x-ms-lease-break-period"},
}

// Parameters that every operation reads. Microsoft's client for browsers adds _ to get past caches, and others ask for what
// comes anyway, the ID of the request.
var (
	everyQuery  = strings.Fields("comp restype timeout _")
	everyHeader = strings.Fields("x-ms-version x-ms-date x-ms-client-request-id x-ms-return-client-request-id")
	// signatureQuery are the fields of a shared access signature.
	signatureQuery = strings.Fields("sv ss srt sr sp st se sip spr sig si ses sdd sks skt ske skv skoid sktid saoid suoid scid skdutid sduoid srh srq rscc rscd rsce rscl rsct")
	// standard are the headers without x-ms- that would change what a call does.
	standard = strings.Fields(conditional + " if-range range content-md5 ")
)

// features are what headers ask for that no operation serves, by the beginnings of their names.
var features = map[string]string{
	"x-ms-encryption-key":         "customer-provided keys",
	"x-ms-encryption-algorithm":   "customer-provided keys",
	"x-ms-source-encryption-":     "customer-provided keys",
	"x-ms-immutability-policy-":   "immutability policies",
	"x-ms-legal-hold":             "legal holds",
	"x-ms-structured-":            "bodies in the structured form",
	"x-ms-blob-content-length":    "page blobs",
	"x-ms-blob-sequence-number":   "page blobs",
	"x-ms-sequence-number-action": "page blobs",
	"x-ms-if-sequence-number-":    "page blobs",
	"x-ms-page-write":             "page blobs",
	"x-ms-previous-snapshot-url":  "page blobs",
	"x-ms-file-request-intent":    "sources in Azure Files",
	"x-ms-expiry-":                "hierarchical namespaces",
	"x-ms-deleted-container-":     "restoring what was deleted",
	"x-ms-source-container-name":  "renaming containers",
	"x-ms-source-lease-id":        "renaming containers",
}

// forms are those of values that no operation reads in another way.
var forms = map[string]*regexp.Regexp{
	"timeout":                             regexp.MustCompile(`^\d+$`),
	"x-ms-rehydrate-priority":             regexp.MustCompile(`^(Standard|High)$`),
	"x-ms-requires-sync":                  regexp.MustCompile(`^(?i:true)$`), // Microsoft's client for Python sends True
	"x-ms-copy-source-blob-properties":    boolean,
	"x-ms-deny-encryption-scope-override": boolean,
	"x-ms-range-get-content-crc64":        boolean,
	"x-ms-range-get-content-md5":          boolean,
	"x-ms-seal-blob":                      boolean,
}

var boolean = regexp.MustCompile(`^(true|false)$`)

// page of the reference that the request is described on, where its operation has several.
func (c *Call) page() string {
	h := c.r.Header
	switch {
	case c.Operation == access.CopyBlob && c.fromURL():
		return "PutBlobFromURL"
	case c.Operation == access.CopyBlob && h.Get("X-Ms-Requires-Sync") != "",
		(c.Operation == access.PutBlock || c.Operation == access.AppendBlock) && h.Get("X-Ms-Copy-Source") != "":
		return string(c.Operation) + "FromURL"
	}
	return string(c.Operation)
}

// checkParameters refuses what the operation does not read: to ignore it would be to do something else than what was asked.
func (c *Call) checkParameters() error {
	known := c.api.parameters[c.page()]
	for name, values := range c.query {
		if !slices.Contains(everyQuery, name) && !slices.Contains(known.query, name) && (!slices.Contains(signatureQuery, name) || !c.query.Has("sig")) {
			return c.unsupported("UnsupportedQueryParameter", "query parameter", name)
		}
		if form := forms[name]; form != nil && !form.MatchString(values[0]) {
			return azerr.InvalidQueryValue
		}
	}
	for header, values := range c.r.Header {
		name := strings.ToLower(header)
		if !strings.HasPrefix(name, "x-ms-") && !slices.Contains(standard, name) || slices.Contains(everyHeader, name) {
			continue
		}
		if !c.reads(known.headers, name) {
			return c.unsupported("UnsupportedHeader", "header", name)
		}
		if form := forms[name]; form != nil && !form.MatchString(values[0]) {
			return azerr.InvalidHeaderValue
		}
	}
	return nil
}

// reads reports whether a header is one of those.
func (c *Call) reads(headers []string, name string) bool {
	if c.Operation == access.LeaseBlob || c.Operation == access.LeaseContainer {
		action, known := leased[c.r.Header.Get("X-Ms-Lease-Action")]
		if !known || slices.Contains(action, name) {
			return true // an unknown action is refused for what it is
		}
	}
	return slices.ContainsFunc(headers, func(s string) bool { return begins(name, s) })
}

// begins reports whether a name is known, or has a beginning that is.
func begins(name, known string) bool {
	return name == known || strings.HasSuffix(known, "-") && strings.HasPrefix(name, known)
}

func (c *Call) unsupported(code, kind, name string) error {
	for known, feature := range features {
		if strings.HasPrefix(name, known) {
			return azerr.New(http.StatusBadRequest, code, "This fake of the service does not serve "+feature+": "+name+".")
		}
	}
	return azerr.New(http.StatusBadRequest, code, "This fake of the service knows no "+kind+" "+name+" of "+c.page()+".")
}
