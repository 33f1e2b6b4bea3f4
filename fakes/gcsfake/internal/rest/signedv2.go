// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"crypto"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
)

// verifyV2 verifies a URL that a key of a service account signed with the process before V4 ("V2 signing process"),
// the default of Google's Go client. URLs signed by HMAC keys are rejected, because they use SHA-1.
func (c *Call) verifyV2() error {
	email, expires := c.query.Get("GoogleAccessId"), c.query.Get("Expires")
	if !strings.Contains(email, "@") {
		return gcserr.Unimplemented.Say("This fake serves URLs of the V2 signing process for keys of service accounts only.")
	}
	seconds, err := strconv.ParseInt(expires, 10, 64)
	if err != nil {
		return gcserr.Invalid.Say("Invalid value for Expires: %s", expires)
	}
	if end := time.Unix(seconds, 0); c.api.now().After(end) {
		e := gcserr.New(http.StatusBadRequest, "invalid", "ExpiredToken", "The provided token has expired.")
		e.Details = "Request signature expired at: " + end.UTC().Format(time.RFC3339)
		return e
	}
	var who identity.Caller
	keys, err := c.signers(&who)(email)
	if err != nil {
		return err
	}
	toSign, err := c.stringToSignV2(expires)
	if err != nil {
		return err
	}
	signature, err := base64.StdEncoding.DecodeString(c.query.Get("Signature"))
	sum := sha256.Sum256([]byte(toSign))
	if err != nil || !slices.ContainsFunc(keys, func(k *rsa.PublicKey) bool { return rsa.VerifyPKCS1v15(k, crypto.SHA256, sum[:], signature) == nil }) {
		e := gcserr.New(http.StatusForbidden, "forbidden", "SignatureDoesNotMatch", "Access denied.")
		e.Details, e.StringToSign = "The request signature we calculated does not match the signature you provided. Check your Google secret key and signing method.", toSign
		return e
	}
	c.caller = who
	return nil
}

// stringToSignV2 has the path as it was sent, and of the query a sub-resource, which has no value. The x-amz-* headers
// are rejected, because this process does not sign them.
func (c *Call) stringToSignV2(expires string) (string, error) {
	lines := []string{c.r.Method, c.r.Header.Get("Content-Md5"), c.r.Header.Get("Content-Type"), expires}
	var extensions []string
	for name, values := range c.r.Header {
		switch name = strings.ToLower(name); {
		case name == "x-goog-encryption-key", name == "x-goog-encryption-key-sha256":
		case strings.HasPrefix(name, "x-goog-"):
			extensions = append(extensions, name+":"+strings.Join(strings.Fields(strings.Join(values, ",")), " "))
		case strings.HasPrefix(name, "x-amz-"):
			return "", gcserr.Forbidden.Say("There were headers present in the request which were not signed: %s", name)
		}
	}
	slices.Sort(extensions)
	resource := c.r.URL.EscapedPath()
	// The first one selects the operation (routeXML), so it is the one that must be signed.
	if i := slices.IndexFunc(subresources, c.query.Has); i >= 0 {
		if c.query.Get(subresources[i]) != "" {
			return "", gcserr.Unimplemented.Say("This fake does not support ?%s in URLs of the V2 signing process.", subresources[i])
		}
		resource += "?" + subresources[i]
	}
	return strings.Join(append(append(lines, extensions...), resource), "\n"), nil
}
