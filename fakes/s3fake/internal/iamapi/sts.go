// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

func stsOperations() map[string]operation {
	return map[string]operation{
		"GetCallerIdentity": {service: "sts", allowed: true, run: getCallerIdentity},
		"GetSessionToken":   {service: "sts", allowed: true, run: getSessionToken, parameters: accept.Names("DurationSeconds", "MinimumSessionTokenSize")},
		"AssumeRole": {
			service: "sts", allowed: true, run: assumeRole,
			parameters: tagParameters.With("DurationSeconds", "ExternalId", "MinimumSessionTokenSize", "Policy", "PolicyArns.member.arn", "RoleArn", "RoleSessionName", "TransitiveTagKeys.member"),
		},
		"AssumeRoleWithWebIdentity": {
			service: "sts", open: true, run: assumeRoleWithWebIdentity,
			parameters: accept.Names("DurationSeconds", "MinimumSessionTokenSize", "Policy", "PolicyArns.member.arn", "RoleArn", "RoleSessionName", "WebIdentityToken"),
		},
	}
}

func getCallerIdentity(c *call) (any, error) {
	return struct {
		ARN     string `xml:"Arn"`
		UserID  string `xml:"UserId"`
		Account string `xml:"Account"`
	}{c.Principal.ARN, c.Principal.ID, c.Principal.AccountID}, nil
}

type xmlCredentials struct {
	AccessKeyID     string `xml:"AccessKeyId"`
	SecretAccessKey string
	SessionToken    string
	Expiration      string
}

type xmlAssumed struct {
	AssumedRoleID string `xml:"AssumedRoleId"`
	ARN           string `xml:"Arn"`
}

func credentialsOf(s iam.Session) xmlCredentials {
	return xmlCredentials{s.KeyID, string(s.Secret), string(s.Token), stamp(s.Expires)}
}

func (c *call) issued(s iam.Session, r iam.Role) (xmlCredentials, xmlAssumed) {
	arn := "arn:" + c.account.Partition + ":sts::" + c.account.Options.ID + ":assumed-role/" + r.Name + "/" + s.Name
	return credentialsOf(s), xmlAssumed{r.ID + ":" + s.Name, arn}
}

var sessionName = regexp.MustCompile(`^[\w+=,.@-]{2,64}$`)

// maxChained is how long a session lasts at most that a session asked for.
const maxChained = time.Hour

// newSession reads the parameters that all ways of assuming a role share.
func (c *call) newSession() (iam.NewSession, error) {
	in := iam.NewSession{}
	arn, err := c.roleARN()
	if err != nil {
		return in, err
	}
	if in.Name, err = c.required("RoleSessionName", 64); err != nil {
		return in, err
	}
	if !sessionName.MatchString(in.Name) {
		return in, invalid(`1 validation error detected: Value '%s' at 'roleSessionName' failed to satisfy constraint: Member must satisfy regular expression pattern: [\w+=,.@-]*`, in.Name)
	}
	if in.Duration, err = c.duration(3600, 43200); err != nil {
		return in, err
	}
	if in.TokenSize, err = c.tokenSize(); err != nil {
		return in, err
	}
	if err := c.sessionPolicies(&in); err != nil {
		return in, err
	}
	role, ok := c.account.RoleByARN(arn)
	if !ok {
		return in, errNotAuthorized(c, arn)
	}
	in.Role = role
	if c.Principal != nil && c.Principal.Session != nil && in.Duration > maxChained {
		return in, invalid("The requested DurationSeconds exceeds the 1 hour session limit for roles assumed by role chaining")
	}
	if in.Duration > time.Duration(role.MaxSession)*time.Second {
		return in, invalid("The requested DurationSeconds exceeds the MaxSessionDuration set for this role.")
	}
	return in, nil
}

// duration reads the duration of a session. The default (otherwise) and the maximum (most) are in seconds.
func (c *call) duration(otherwise, most int) (time.Duration, error) {
	seconds, err := c.number("DurationSeconds", otherwise, 900, most)
	return time.Duration(seconds) * time.Second, err
}

// tokenSize reads how many bytes the session token must have ("MinimumSessionTokenSize" in the STS API Reference).
func (c *call) tokenSize() (int, error) { return c.number("MinimumSessionTokenSize", 0, 0, 4096) }

// A session of a user lasts 12 hours unless it asks for up to 36; one of root at most one (GetSessionToken in the STS
// API Reference).
const (
	ownSession    = 43200
	maxOwnSession = 129600
)

// getSessionToken implements GetSessionToken. Every user may call it: it needs no permission, and policies cannot
// deny it ("Permissions for GetSessionToken" in the IAM User Guide).
func getSessionToken(c *call) (any, error) {
	if c.Principal.Session != nil {
		return nil, awserr.New(http.StatusForbidden, "AccessDenied", "Cannot call GetSessionToken with session credentials")
	}
	if c.Principal.Foreign {
		return nil, awserr.New(http.StatusNotImplemented, "NotImplemented", "Sessions of users of other accounts are not supported by this fake.")
	}
	lasts, err := c.duration(ownSession, maxOwnSession)
	if err != nil {
		return nil, err
	}
	if c.Principal.Root {
		lasts = min(lasts, time.Hour)
	}
	size, err := c.tokenSize()
	if err != nil {
		return nil, err
	}
	s, err := c.account.CreateSession(iam.NewSession{UserID: c.Principal.ID, Duration: lasts, TokenSize: size})
	if err != nil {
		return nil, err
	}
	return struct{ Credentials xmlCredentials }{credentialsOf(s)}, nil
}

// maxSessionPolicies is the number of managed policies that a session can be limited by.
const maxSessionPolicies = 10

func (c *call) sessionPolicies(in *iam.NewSession) error {
	if p := c.Form.Get("Policy"); p != "" {
		if len(p) > 2048 {
			return constraint("policy", "Member must have length less than or equal to 2048")
		}
		if _, err := iampolicy.ParseIdentity(p); err != nil {
			return err
		}
		in.Policies = append(in.Policies, p)
	}
	for i := 1; ; i++ {
		key := fmt.Sprintf("PolicyArns.member.%d.arn", i)
		if !c.Form.Has(key) {
			return nil
		}
		if i > maxSessionPolicies {
			return constraint("policyArns", "Member must have length less than or equal to %d", maxSessionPolicies)
		}
		p, _, err := c.account.ManagedPolicy(c.Form.Get(key))
		if err != nil {
			return err
		}
		v, err := p.Version(p.Default)
		if err != nil {
			return err
		}
		in.Policies = append(in.Policies, v.Document)
	}
}

// errNotAuthorized is STS's response both to a missing role and to a refusing trust policy.
func errNotAuthorized(c *call, arn string) *awserr.Error {
	if c.Principal == nil {
		return awserr.New(http.StatusForbidden, "AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity")
	}
	return errMayNot(c, "sts:AssumeRole", arn)
}

func errMayNot(c *call, action, arn string) *awserr.Error {
	return awserr.Newf(http.StatusForbidden, "AccessDenied", "User: %s is not authorized to perform: %s on resource: %s", c.Principal.ARN, action, arn)
}

func assumeRole(c *call) (any, error) {
	if c.Principal.Root {
		return nil, awserr.New(http.StatusForbidden, "AccessDenied", "Roles may not be assumed by root accounts.")
	}
	in, err := c.newSession()
	if err != nil {
		return nil, err
	}
	if err := c.sessionTags(&in); err != nil {
		return nil, err
	}
	if err := c.mayAssume(in); err != nil {
		return nil, err
	}
	s, err := c.account.CreateSession(in)
	if err != nil {
		return nil, err
	}
	out := struct {
		Credentials     xmlCredentials
		AssumedRoleUser xmlAssumed
	}{}
	out.Credentials, out.AssumedRoleUser = c.issued(s, in.Role)
	return out, nil
}

// sessionTags reads the tags of a session and adds those that it inherits: a transitive tag is also a tag of sessions that
// the session requests ("Chaining roles with session tags" in the IAM User Guide).
func (c *call) sessionTags(in *iam.NewSession) (err error) {
	if in.Tags, err = c.tags(); err != nil {
		e := awserr.From(err)
		if e.Code == "InvalidInput" { // recordings show that STS uses another code than IAM
			e = badParameter(e.Message)
		}
		return e
	}
	at := func(key string) int {
		return slices.IndexFunc(in.Tags, func(t iam.Tag) bool { return strings.EqualFold(t.Key, key) })
	}
	for _, key := range c.members("TransitiveTagKeys") {
		i := at(key)
		if i < 0 {
			return badParameter("The specified transitive tag key must be included in the requested tags.")
		}
		in.Transitive = append(in.Transitive, in.Tags[i].Key)
	}
	if c.Principal.Session == nil {
		return nil
	}
	for _, t := range c.Principal.Session.Tags {
		switch {
		case !slices.Contains(c.Principal.Session.Transitive, t.Key):
		case at(t.Key) >= 0:
			return badParameter("One of the specified transitive tag keys can't be set because it conflicts with a transitive tag key from the calling session.")
		default:
			in.Tags, in.Transitive = append(in.Tags, t), append(in.Transitive, t.Key)
		}
	}
	return nil
}

func badParameter(message string) *awserr.Error {
	return awserr.New(http.StatusBadRequest, "InvalidParameterValue", message)
}

// mayAssume evaluates the role's trust policy and the caller's own policies. Both must also allow the session tags,
// which require a separate permission ("Pass session tags in AWS STS" in the IAM User Guide).
func (c *call) mayAssume(in iam.NewSession) error {
	ctx := c.Context
	if id := c.Form.Get("ExternalId"); id != "" {
		ctx.Set("sts:ExternalId", id)
	}
	ctx.Set("sts:RoleSessionName", in.Name)
	ctx.Set("sts:TransitiveTagKeys", in.Transitive...)
	trust, err := c.account.TrustOf(&in.Role)
	if err != nil {
		return err
	}
	actions := []string{"sts:AssumeRole"}
	if len(in.Tags) > 0 {
		actions = append(actions, "sts:TagSession")
	}
	inputs := c.Principal.Inputs()
	inputs.Resource = trust
	for _, action := range actions {
		req := iampolicy.Request{Action: action, Resource: c.account.RoleARN(&in.Role), Context: ctx, Principal: c.Principal.Caller()}
		if trust.Evaluate(req) != iampolicy.Allow || !iampolicy.Decide(inputs, req).Allowed {
			return errMayNot(c, action, req.Resource)
		}
	}
	return nil
}

func assumeRoleWithWebIdentity(c *call) (any, error) {
	in, err := c.newSession()
	if err != nil {
		return nil, err
	}
	token, err := c.required("WebIdentityToken", 20000)
	if err != nil {
		return nil, err
	}
	c.Context.Set("sts:RoleSessionName", in.Name)
	claims, err := c.admitted(token, &in.Role)
	if err != nil {
		return nil, err
	}
	in.Provider, in.Subject = claims.provider.ARN, claims.subject
	s, err := c.account.CreateSession(in)
	if err != nil {
		return nil, err
	}
	out := struct {
		Credentials     xmlCredentials
		Subject         string `xml:"SubjectFromWebIdentityToken"`
		AssumedRoleUser xmlAssumed
		Provider        string
		Audience        string
	}{Subject: claims.subject, Provider: claims.provider.ARN, Audience: claims.audience}
	out.Credentials, out.AssumedRoleUser = c.issued(s, in.Role)
	return out, nil
}

// admitted checks whether the bearer of a token may assume the role. If the token cannot be verified, the error does
// not reveal which condition of the trust policy it does not meet.
func (c *call) admitted(token string, role *iam.Role) (claims, error) {
	trust, err := c.account.TrustOf(role)
	if err != nil {
		return claims{}, err
	}
	claimed, err := peek(token)
	if err != nil {
		return claims{}, err
	}
	known := func(arn string) bool { _, err := c.account.Provider(arn); return err == nil }
	if !slices.ContainsFunc(trust.Federated(), known) {
		return claims{}, errNotAuthorized(c, "")
	}
	provider, ok := c.account.ProviderByIssuer(claimed.issuer)
	if !ok {
		return claims{}, errUnvalidated
	}
	claimed.provider = provider
	claimed.audience = claimed.audiences[0]
	at := slices.IndexFunc(claimed.audiences, func(a string) bool { return slices.Contains(claimed.provider.ClientIDs, a) })
	if at >= 0 {
		claimed.audience = claimed.audiences[at]
	}
	decision := trust.Evaluate(iampolicy.Request{
		Action: "sts:AssumeRoleWithWebIdentity", Resource: c.account.RoleARN(role), Context: claimed.context(c.Context),
		Principal: iampolicy.Caller{Federated: []string{claimed.provider.ARN}},
	})
	if decision == iampolicy.Deny {
		return claims{}, errNotAuthorized(c, "")
	}
	err = c.tokens.verify(token, claimed.issuer)
	switch {
	case err != nil && (at < 0 || decision != iampolicy.Allow):
		return claims{}, errUnvalidated
	case err != nil:
		return claims{}, err
	case at < 0:
		return claims{}, badToken("Incorrect token audience")
	case decision != iampolicy.Allow:
		return claims{}, errNotAuthorized(c, "")
	}
	return claimed, nil
}

// context adds the token's claims under the provider's name, as in "issuer.example.com/id:sub".
func (t claims) context(base iampolicy.Context) iampolicy.Context {
	ctx := iampolicy.Context{}
	for k, v := range base {
		ctx[k] = slices.Clone(v)
	}
	ctx.Set(t.provider.URL+":aud", t.audience)
	ctx.Set(t.provider.URL+":sub", t.subject)
	for name, v := range t.others {
		ctx.Set(t.provider.URL+":"+name, v...)
	}
	ctx.Set("aws:FederatedProvider", t.provider.ARN)
	return ctx
}
