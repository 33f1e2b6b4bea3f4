// SPDX-License-Identifier: Apache-2.0

package sigv4

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// The errors of services with the Query protocol (IAM, STS), which differ from those of S3 ("Common errors" in the
// IAM API Reference).

func incomplete(format string, args ...any) *awserr.Error {
	return awserr.Newf(http.StatusBadRequest, "IncompleteSignature", format, args...)
}

func badScope(status int, format string, args ...any) *awserr.Error {
	return awserr.Newf(status, "SignatureDoesNotMatch", format, args...)
}

var (
	errNoToken     = awserr.New(http.StatusForbidden, "MissingAuthenticationToken", "Request is missing Authentication Token")
	errQueryNoAuth = awserr.New(http.StatusForbidden, "MissingAuthenticationToken", "Missing Authentication Token")
	errScopeDate   = badScope(http.StatusBadRequest, "Date in Credential scope does not match YYYYMMDD from ISO-8601 version of date from HTTP.")
	errQueryMatch  = badScope(http.StatusForbidden, "The request signature we calculated does not match the signature you provided. Check your AWS Secret Access Key and signing method. Consult the service documentation for details.")
)

// VerifyService verifies a request to a service other than S3. It rejects anonymous requests.
func (v Verifier) VerifyService(r *http.Request) (*Verified, error) {
	c, err := v.serviceClaim(r)
	if err != nil {
		return nil, err
	}
	if c.amzDate[:8] != c.scope.date {
		return nil, errScopeDate
	}
	secret, err := v.Lookup(c.accessKeyID, c.securityToken)
	if err != nil {
		return nil, err
	}
	if err := v.checkServiceTime(c); err != nil {
		return nil, err
	}
	if !slices.Contains(c.signedHeaders, "host") {
		return nil, badScope(http.StatusForbidden, "'Host' or ':authority' must be a 'SignedHeader' in the AWS Authorization.")
	}
	omit := ""
	if c.mode == Query {
		omit = "X-Amz-Signature"
	}
	verified, err := c.compare(r, secret, v.BodyHash, omit)
	if err != nil {
		return nil, errQueryMatch
	}
	return verified, nil
}

func (v Verifier) serviceClaim(r *http.Request) (*claim, error) {
	if auth := r.Header.Get("Authorization"); auth != "" {
		return v.serviceHeader(r, auth)
	}
	return v.serviceQuery(r)
}

func (v Verifier) serviceHeader(r *http.Request, auth string) (*claim, error) {
	kind, rest, _ := strings.Cut(auth, " ")
	switch kind {
	case "AWS":
		return nil, incomplete("AWS Signature Version 2 is not supported.")
	case algorithm:
	default:
		return nil, errNoToken
	}
	sum := sha256.Sum256([]byte(auth))
	hashed := "(Hashed with SHA-256 and encoded with Base64) Authorization=" + base64.StdEncoding.EncodeToString(sum[:])
	fields := map[string]string{}
	for component := range strings.SplitSeq(rest, ",") {
		component = strings.TrimSpace(component)
		name, value, ok := strings.Cut(component, "=")
		if !ok {
			return nil, incomplete("Authorization component %q is malformed.", component)
		}
		fields[name] = value
	}
	for _, name := range []string{"Credential", "Signature", "SignedHeaders"} {
		if fields[name] == "" {
			return nil, incomplete("Authorization header requires '%s' parameter. %s", name, hashed)
		}
	}
	c := &claim{dialect: AWS, mode: Header, signature: fields["Signature"], signedHeaders: splitHeaders(fields["SignedHeaders"]), securityToken: r.Header.Get("X-Amz-Security-Token")}
	if err := v.serviceCredential(c, fields["Credential"]); err != nil {
		return nil, err
	}
	date := requestDate(r, AWS)
	if date == "" {
		return nil, incomplete("Authorization header requires existence of either a 'X-Amz-Date' or a 'Date' header. %s", hashed)
	}
	return c, serviceDate(c, date)
}

func (v Verifier) serviceQuery(r *http.Request) (*claim, error) {
	q := map[string]string{}
	for _, p := range parseQuery(r.URL.RawQuery) {
		q[p.name] = p.value
	}
	if q["X-Amz-Algorithm"] == "" && q["X-Amz-Credential"] == "" {
		return nil, errNoToken
	}
	switch q["X-Amz-Algorithm"] {
	case algorithm:
	case "":
		return nil, errNoToken
	default:
		return nil, errQueryNoAuth
	}
	for _, name := range []string{"X-Amz-Credential", "X-Amz-Date", "X-Amz-Signature", "X-Amz-SignedHeaders"} {
		if q[name] == "" {
			return nil, incomplete("AWS query-string parameters must include '%s'. Re-examine the query-string parameters.", name)
		}
	}
	c := &claim{dialect: AWS, mode: Query, signature: q["X-Amz-Signature"], signedHeaders: splitHeaders(q["X-Amz-SignedHeaders"]), securityToken: q["X-Amz-Security-Token"]}
	if err := v.serviceCredential(c, q["X-Amz-Credential"]); err != nil {
		return nil, err
	}
	return c, serviceDate(c, q["X-Amz-Date"])
}

func (v Verifier) serviceCredential(c *claim, credential string) error {
	parts := strings.Split(credential, "/")
	if len(parts) != 5 {
		return incomplete("Credential must have exactly 5 slash-delimited elements, e.g. keyid/date/region/service/term, got '%s'", credential)
	}
	c.accessKeyID, c.scope = parts[0], scope{date: parts[1], region: parts[2], service: parts[3], terminator: terminator}
	switch {
	case parts[4] != terminator:
		return badScope(http.StatusForbidden, "Credential should be scoped with a valid terminator: 'aws4_request'.")
	case c.scope.service != v.Expect.Service:
		return badScope(http.StatusBadRequest, "Credential should be scoped to correct service: '%s'.", v.Expect.Service)
	case v.Expect.Region != "" && c.scope.region != v.Expect.Region:
		return badScope(http.StatusForbidden, "Credential should be scoped to a valid region. ")
	}
	return nil
}

func serviceDate(c *claim, date string) error {
	if err := c.setDate(date); err != nil {
		return incomplete("Date must be in ISO-8601 'basic format'. Got '%s'. See http://en.wikipedia.org/wiki/ISO_8601", date)
	}
	return nil
}

func (v Verifier) checkServiceTime(c *claim) error {
	now := v.Now().UTC()
	limit, word, sign := now.Add(maxSkew), "Signature not yet current: %s is still later than %s (%s %s 15 min.)", "+"
	if c.signedAt.Before(now) {
		limit, word, sign = now.Add(-maxSkew), "Signature expired: %s is now earlier than %s (%s %s 15 min.)", "-"
	}
	if d := now.Sub(c.signedAt); d <= maxSkew && d >= -maxSkew {
		return nil
	}
	stamp := func(t time.Time) string { return t.UTC().Format(isoFormat) }
	return badScope(http.StatusForbidden, "%s", fmt.Sprintf(word, stamp(c.signedAt), stamp(limit), stamp(now), sign))
}
