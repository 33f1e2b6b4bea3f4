// SPDX-License-Identifier: Apache-2.0

package sigv4

import (
	"crypto/rsa"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// Mode is the part of a request that contains the signature.
type Mode int

// The modes of a signature.
const (
	// Header is the Authorization header.
	Header Mode = iota + 1
	// Query is a presigned URL.
	Query
	// Form is a browser upload: the signature covers the policy document of the form.
	Form
)

// claim is the unverified signature data of a request.
type claim struct {
	dialect       Dialect
	mode          Mode
	accessKeyID   string
	scope         scope
	signedHeaders []string
	signature     string
	securityToken string
	amzDate       string
	signedAt      time.Time
	expires       time.Duration
	// keys verify an asymmetric signature.
	keys []*rsa.PublicKey
	// known caches derived keys.
	known *SigningKeys
}

// malformed returns an error about the credential with the text of the mode.
type malformed func(format string, args ...any) *awserr.Error

func headerMalformed(format string, args ...any) *awserr.Error {
	return awserr.New(http.StatusBadRequest, "AuthorizationHeaderMalformed",
		"The authorization header is malformed; "+fmt.Sprintf(format, args...))
}

func queryMalformed(format string, args ...any) *awserr.Error {
	return awserr.New(http.StatusBadRequest, "AuthorizationQueryParametersError",
		"Error parsing the X-Amz-Credential parameter; "+fmt.Sprintf(format, args...))
}

func formMalformed(credential string) malformed {
	return func(format string, args ...any) *awserr.Error {
		return InvalidArgument("x-amz-credential", credential, fmt.Sprintf(format, args...))
	}
}

// InvalidArgument returns S3's error InvalidArgument with the argument's name and value.
func InvalidArgument(name, value, message string) *awserr.Error {
	e := awserr.New(http.StatusBadRequest, "InvalidArgument", message).With("ArgumentName", name)
	if value != "" {
		e = e.With("ArgumentValue", value)
	}
	return e
}

// parseCredential splits "AKID/date/region/service/aws4_request" and compares it with the scope of this endpoint.
func parseCredential(credential string, want Expect, d Dialect, bad malformed) (string, scope, error) {
	parts := strings.Split(credential, "/")
	if len(parts) != 5 || parts[0] == "" {
		return "", scope{}, bad("the Credential is mal-formed; expecting \"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request\".")
	}
	s := scope{date: parts[1], region: parts[2], service: parts[3], terminator: d.terminator}
	if parts[4] != d.terminator {
		return "", s, bad("incorrect terminal %q. This endpoint uses %q.", parts[4], d.terminator)
	}
	if s.service != want.Service {
		return "", s, bad("incorrect service %q. This endpoint belongs to %q.", s.service, want.Service)
	}
	if want.Region != "" && s.region != want.Region && (want.Also == nil || !want.Also(s.region)) {
		return "", s, wrongRegion(bad, s.region, want.Region)
	}
	if _, err := time.Parse(dateFormat, s.date); err != nil || len(s.date) != len(dateFormat) {
		return "", s, bad("incorrect date format %q. This date in the credential must be in the format \"yyyyMMdd\".", s.date)
	}
	return parts[0], s, nil
}

func wrongRegion(bad malformed, got, want string) *awserr.Error {
	return bad("the region '%s' is wrong; expecting '%s'", got, want).With("Region", want)
}

// WrongRegion returns the error for a signature that is not for the bucket's region.
func (v *Verified) WrongRegion(want string) *awserr.Error {
	bad := malformed(headerMalformed)
	switch v.Mode {
	case Query:
		bad = queryMalformed
	case Form:
		bad = formMalformed("")
	}
	return wrongRegion(bad, v.Region, want)
}

// parseHeader reads an Authorization header. The date and its distance from now are judged later.
func parseHeader(r *http.Request, want Expect, d Dialect) (*claim, error) {
	auth := r.Header.Get("Authorization")
	kind, rest, ok := strings.Cut(auth, " ")
	if !ok {
		return nil, InvalidArgument("Authorization", auth, "Authorization header is invalid -- one and only one ' ' (space) required.")
	}
	if kind == "AWS" {
		return nil, ErrVersion2
	}
	if kind != d.algorithm {
		return nil, InvalidArgument("Authorization", kind, "Unsupported Authorization Type")
	}
	fields, err := headerFields(rest)
	if err != nil {
		return nil, err
	}
	c := &claim{dialect: d, mode: Header, securityToken: r.Header.Get(d.header + "Security-Token")}
	if c.accessKeyID, c.scope, err = parseCredential(fields["Credential"], want, d, headerMalformed); err != nil {
		return nil, err
	}
	c.signedHeaders = splitHeaders(fields["SignedHeaders"])
	c.signature = fields["Signature"]
	return c, c.setDate(requestDate(r, d))
}

// headerFields splits "Credential=..., SignedHeaders=..., Signature=...".
func headerFields(rest string) (map[string]string, error) {
	components := strings.Split(rest, ",")
	if len(components) != 3 {
		return nil, headerMalformed("the authorization header requires three components: Credential, SignedHeaders, and Signature.")
	}
	fields := make(map[string]string, 3)
	for _, component := range components {
		component = strings.TrimSpace(component)
		name, value, ok := strings.Cut(component, "=")
		if !ok {
			return nil, headerMalformed("the authorization component %q is malformed.", component)
		}
		fields[name] = value
	}
	for _, name := range []string{"Credential", "SignedHeaders", "Signature"} {
		if fields[name] == "" {
			return nil, headerMalformed("missing %s.", name)
		}
	}
	return fields, nil
}

func splitHeaders(list string) []string { return strings.Split(strings.ToLower(list), ";") }

// requestDate is X-Amz-Date or X-Goog-Date, or Date converted to its format, or "" when neither is usable.
func requestDate(r *http.Request, d Dialect) string {
	if v := r.Header.Get(d.header + "Date"); v != "" {
		return v
	}
	v := r.Header.Get("Date")
	if v == "" {
		return ""
	}
	if t, err := http.ParseTime(v); err == nil {
		return t.UTC().Format(isoFormat)
	}
	return v
}

func (c *claim) setDate(amzDate string) error {
	at, err := time.Parse(isoFormat, amzDate)
	if err != nil {
		return errMissingDate
	}
	c.amzDate, c.signedAt = amzDate, at
	return nil
}

// maxExpires is the longest life of a presigned URL: one week.
const maxExpires = 604800

// parseQueryClaim reads the X-Amz-* or X-Goog-* parameters of a presigned URL.
func parseQueryClaim(r *http.Request, want Expect, d Dialect) (*claim, error) {
	q := make(map[string]string, 8)
	for _, p := range parseQuery(r.URL.RawQuery) {
		name := strings.Replace(p.name, d.header, "X-", 1)
		if _, seen := q[name]; !seen && name != p.name {
			q[name] = p.value
		}
	}
	for _, name := range []string{"X-Algorithm", "X-Credential", "X-Signature", "X-Date", "X-SignedHeaders", "X-Expires"} {
		if q[name] == "" {
			return nil, queryError("Query-string authentication version 4 requires the %[1]sAlgorithm, %[1]sCredential, %[1]sSignature, %[1]sDate, %[1]sSignedHeaders, and %[1]sExpires parameters.", d.header)
		}
	}
	switch q["X-Algorithm"] {
	case d.algorithm:
	case "AWS4-ECDSA-P256-SHA256":
		return nil, queryError("X-Amz-Algorithm only supports \"AWS4-HMAC-SHA256\"")
	default:
		return nil, queryError("X-Amz-Algorithm only supports \"AWS4-HMAC-SHA256 and AWS4-ECDSA-P256-SHA256\"")
	}
	c := &claim{dialect: d, mode: Query, signature: q["X-Signature"], securityToken: q["X-Security-Token"]}
	var err error
	if c.accessKeyID, c.scope, err = parseCredential(q["X-Credential"], want, d, queryMalformed); err != nil {
		return nil, err
	}
	c.signedHeaders = splitHeaders(q["X-SignedHeaders"])
	if err := c.setDate(q["X-Date"]); err != nil {
		return nil, queryError("%sDate must be in the ISO8601 Long Format \"yyyyMMdd'T'HHmmss'Z'\"", d.header)
	}
	if day := c.amzDate[:8]; day != c.scope.date {
		return nil, queryError("Invalid credential date %q. This date is not the same as %sDate: %q.", c.scope.date, d.header, day)
	}
	return c, c.setExpires(q["X-Expires"])
}

func (c *claim) setExpires(v string) error {
	seconds, err := strconv.ParseInt(v, 10, 64)
	switch {
	case err != nil:
		return queryError("X-Amz-Expires should be a number")
	case seconds < 0:
		return queryError("X-Amz-Expires must be non-negative")
	case seconds > maxExpires:
		return queryError("X-Amz-Expires must be less than a week (in seconds); that is, the given X-Amz-Expires must be less than 604800 seconds")
	}
	c.expires = time.Duration(seconds) * time.Second
	return nil
}

func queryError(format string, args ...any) *awserr.Error {
	return awserr.Newf(http.StatusBadRequest, "AuthorizationQueryParametersError", format, args...)
}

// ServiceOf returns the service in the credential scope of r, or "" if r has no valid scope. It is for routing and
// does not verify the signature.
func ServiceOf(r *http.Request) string {
	credential := ""
	if auth := r.Header.Get("Authorization"); auth != "" {
		_, rest, _ := strings.Cut(auth, "Credential=")
		credential, _, _ = strings.Cut(rest, ",")
	} else if strings.Contains(r.URL.RawQuery, "X-Amz-Credential=") {
		_, rest, _ := strings.Cut(r.URL.RawQuery, "X-Amz-Credential=")
		rest, _, _ = strings.Cut(rest, "&")
		credential, _ = url.QueryUnescape(rest)
	}
	parts := strings.Split(credential, "/")
	if len(parts) < 4 {
		return ""
	}
	return parts[3]
}

// IsAnonymous reports whether r has no signature of any kind.
func IsAnonymous(r *http.Request) bool {
	if r.Header.Get("Authorization") != "" {
		return false
	}
	for _, p := range parseQuery(r.URL.RawQuery) {
		switch p.name {
		case "X-Amz-Algorithm", "X-Amz-Signature", "X-Amz-Credential", "AWSAccessKeyId", "Signature":
			return false
		}
	}
	return true
}
