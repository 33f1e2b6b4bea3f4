// SPDX-License-Identifier: Apache-2.0

package sigv4

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // Signature Version 2 is HMAC-SHA1
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// version2Resources are the parameters that Signature Version 2 covers ("Signing and authenticating REST requests" in
// the Amazon S3 Developer Guide), without those that begin with response-.
var version2Resources = []string{
	"accelerate", "acl", "cors", "delete", "encryption", "inventory", "lifecycle", "location", "logging", "metrics", "notification", "object-lock", "partNumber",
	"policy", "publicAccessBlock", "replication", "requestPayment", "restore", "retention", "select", "tagging", "torrent", "uploadId", "uploads", "versionId",
	"versioning", "versions", "website", "legal-hold", "ownershipControls", "policyStatus", "analytics", "intelligent-tiering", "attributes",
}

// isVersion2 reports whether a URL is presigned with Signature Version 2.
func isVersion2(query []param) bool {
	return slices.ContainsFunc(query, func(p param) bool { return p.name == "AWSAccessKeyId" || p.name == "Signature" })
}

// verifyVersion2 verifies a presigned URL with Signature Version 2. AWS documents that new buckets do not accept it, but
// accepts it in us-east-1.
func (v Verifier) verifyVersion2(r *http.Request, query []param) (*Verified, error) {
	values := map[string]string{}
	for _, p := range query {
		values[p.name] = p.value
	}
	keyID, signature := values["AWSAccessKeyId"], values["Signature"]
	seconds, err := strconv.ParseInt(values["Expires"], 10, 64)
	switch {
	case keyID == "" || signature == "" || values["Expires"] == "":
		return nil, awserr.New(http.StatusForbidden, "AccessDenied", "Query-string authentication requires the Signature, Expires and AWSAccessKeyId parameters")
	case err != nil:
		return nil, awserr.New(http.StatusForbidden, "AccessDenied", "Invalid date (should be seconds since epoch): "+values["Expires"])
	}
	now, expires := v.Now(), time.Unix(seconds, 0)
	if now.After(expires) {
		return nil, awserr.New(http.StatusForbidden, "AccessDenied", "Request has expired").
			With("Expires", expires.UTC().Format(time.RFC3339)).With("ServerTime", now.UTC().Format(time.RFC3339))
	}
	signed := Verified{Mode: Query, AccessKeyID: keyID, SecurityToken: values["x-amz-security-token"], SignedAt: now, Expires: expires.Sub(now)}
	return v.compareVersion2(signed, v.version2ToSign(r, query, values), signature)
}

// compareVersion2 compares a signature with that of the text, and completes signed.
func (v Verifier) compareVersion2(signed Verified, toSign, signature string) (*Verified, error) {
	secret, err := v.Lookup(signed.AccessKeyID, signed.SecurityToken)
	if err != nil {
		return nil, err
	}
	h := hmac.New(sha1.New, []byte(secret))
	h.Write([]byte(toSign))
	if !equalSignature(base64.StdEncoding.EncodeToString(h.Sum(nil)), signature) {
		return nil, mismatch(signed.AccessKeyID, toSign, signature)
	}
	signed.PayloadHash, signed.Version2 = UnsignedPayload, true
	return &signed, nil
}

func (v Verifier) version2ToSign(r *http.Request, query []param, values map[string]string) string {
	var b strings.Builder
	for _, line := range []string{
		r.Method, cmp.Or(r.Header.Get("Content-Md5"), values["content-md5"]), cmp.Or(r.Header.Get("Content-Type"), values["content-type"]), values["Expires"],
	} {
		b.WriteString(line + "\n")
	}
	headers := map[string]string{}
	for name, value := range values {
		headers[strings.ToLower(name)] = value
	}
	for name := range r.Header {
		headers[strings.ToLower(name)] = strings.Join(r.Header.Values(name), ",")
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		if strings.HasPrefix(name, "x-amz-") {
			b.WriteString(name + ":" + strings.TrimSpace(headers[name]) + "\n")
		}
	}
	if v.HostBucket != "" {
		b.WriteString("/" + v.HostBucket)
	}
	b.WriteString(r.URL.EscapedPath())
	separator := "?"
	slices.SortFunc(query, func(a, b param) int { return strings.Compare(a.name, b.name) })
	for _, p := range query {
		if !slices.Contains(version2Resources, p.name) && !strings.HasPrefix(p.name, "response-") {
			continue
		}
		b.WriteString(separator + p.name)
		if p.value != "" {
			b.WriteString("=" + p.value)
		}
		separator = "&"
	}
	return b.String()
}

// verifyFormVersion2 verifies the policy of a browser upload with Signature Version 2.
func (v Verifier) verifyFormVersion2(fields map[string]string) (*Verified, error) {
	for _, name := range []string{"AWSAccessKeyId", "Signature"} {
		if fields[strings.ToLower(name)] == "" {
			return nil, missingField(name)
		}
	}
	signed := Verified{Mode: Form, AccessKeyID: fields["awsaccesskeyid"], SecurityToken: fields["x-amz-security-token"], SignedAt: v.Now()}
	return v.compareVersion2(signed, fields["policy"], fields["signature"])
}

// missingField is the error of a form without a field of its signature.
func missingField(name string) error {
	return awserr.New(http.StatusBadRequest, "InvalidArgument", "Bucket POST must contain a field named '"+name+"'.  If it is specified, please check the order of the fields.").
		With("ArgumentName", name).With("ArgumentValue", "")
}
