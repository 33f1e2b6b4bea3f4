// SPDX-License-Identifier: Apache-2.0

package iampolicy

import (
	"bytes"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// Limits of a document's length in characters without white space ("IAM and AWS STS quotas").
const (
	MaxUserInline  = 2048
	MaxRoleInline  = 10240
	MaxGroupInline = 5120
	MaxManaged     = 6144
	MaxTrust       = 2048
	MaxBucket      = 20 * 1024
)

func malformed(format string, args ...any) *awserr.Error {
	return awserr.Newf(http.StatusBadRequest, "MalformedPolicyDocument", format, args...)
}

// CompactLength returns the number of characters that count toward quotas: all except white space.
func CompactLength(raw string) int {
	n := 0
	for _, r := range raw {
		if r != ' ' && r != '\t' && r != '\n' && r != '\r' {
			n++
		}
	}
	return n
}

// ParseIdentity parses an identity policy or a permissions boundary. It returns an error for documents that IAM
// rejects with MalformedPolicyDocument.
func ParseIdentity(raw string) (*Document, error) {
	syntax := malformed("Syntax errors in policy.")
	d, err := parse([]byte(raw))
	if err != nil {
		return nil, syntax
	}
	if (d.Version != version2008 && d.Version != version2012) || len(d.Statements) == 0 {
		return nil, syntax
	}
	for i := range d.Statements {
		if err := checkIdentity(&d.Statements[i], syntax); err != nil {
			return nil, err
		}
	}
	if duplicateSID(d) {
		return nil, malformed("Statement IDs (SID) in a single policy must be unique.")
	}
	return d, nil
}

func checkIdentity(s *Statement, syntax error) error {
	if s.Effect != "Allow" && s.Effect != "Deny" {
		return syntax
	}
	if s.Principal != nil || s.NotPrincip != nil {
		return malformed("Policy document should not specify a principal.")
	}
	if !conditionsValid(s.Condition) || (s.has["Action"] && s.has["NotAction"]) || (s.has["Resource"] && s.has["NotResource"]) {
		return syntax
	}
	actions := slices.Concat(s.Action, s.NotAction)
	if len(actions) == 0 {
		return malformed("Policy statement must contain actions.")
	}
	for _, a := range actions {
		if err := checkVendor(a); err != nil {
			return err
		}
	}
	resources := slices.Concat(s.Resource, s.NotResource)
	if len(resources) == 0 {
		return malformed("Policy statement must contain resources.")
	}
	for _, r := range resources {
		if err := checkARN(r); err != nil {
			return err
		}
	}
	return nil
}

var vendor = regexp.MustCompile(`^[A-Za-z0-9-]+$`)

func checkVendor(action string) error {
	if action == "*" {
		return nil
	}
	name, _, ok := strings.Cut(action, ":")
	if !ok {
		return malformed("Actions/Conditions must be prefaced by a vendor, e.g., iam, sdb, ec2, etc.")
	}
	if !vendor.MatchString(name) {
		return malformed("Vendor %s is not valid", name)
	}
	return nil
}

func checkARN(resource string) error {
	if resource == "*" {
		return nil
	}
	if !strings.Contains(resource, ":") {
		return malformed("Resource %s must be in ARN format or \"*\".", resource)
	}
	fields := strings.SplitN(resource, ":", 6)
	if fields[0] == "arn" && len(fields) < 6 {
		return malformed("The policy failed legacy parsing")
	}
	for len(fields) < 6 {
		fields = append(fields, "*")
	}
	if fields[0] == "arn" && slices.Contains(partitions(), fields[1]) {
		return nil
	}
	fields[0] = "arn"
	return malformed("Partition %q is not valid for resource %q.", fields[1], strings.Join(fields, ":"))
}

func partitions() []string { return []string{"aws", "aws-cn", "aws-eusc", "aws-us-gov"} }

// conditionsValid accepts only known operators. IAM does not check keys and values at this point.
func conditionsValid(conditions []Condition) bool {
	return !slices.ContainsFunc(conditions, func(c Condition) bool { return !validOperator(c.Operator) })
}

func duplicateSID(d *Document) bool {
	seen := map[string]bool{}
	for _, s := range d.Statements {
		if s.SID != "" && seen[s.SID] {
			return true
		}
		seen[s.SID] = true
	}
	return false
}

// ParseTrust parses the trust policy of a role.
func ParseTrust(raw string) (*Document, error) {
	d, err := parse([]byte(raw))
	switch {
	case err != nil:
		return nil, malformed("This policy contains invalid Json")
	case d.Version != version2008 && d.Version != version2012:
		return nil, malformed("The policy must contain a valid version string")
	case len(d.Statements) == 0:
		return nil, malformed("Could not parse the policy: Statement is empty!")
	case duplicateSID(d):
		return nil, malformed("The Statement Ids in the policy are not unique")
	}
	for i := range d.Statements {
		if err := checkTrust(&d.Statements[i]); err != nil {
			return nil, err
		}
	}
	return d, nil
}

func checkTrust(s *Statement) error {
	switch {
	case !s.has["Effect"]:
		return malformed("Missing required field Effect")
	case s.Effect != "Allow" && s.Effect != "Deny":
		return malformed("Invalid effect: %s", s.Effect)
	case s.NotPrincip != nil && s.Effect == "Allow":
		return malformed("Allow with NotPrincipal is not allowed.")
	case s.NotPrincip != nil:
		return malformed("AssumeRole policy must not contain NotPrincipal field.")
	case s.Principal == nil:
		return malformed("Missing required field Principal")
	case len(s.Action)+len(s.NotAction) == 0:
		return malformed("Missing required field Action")
	case s.has["Resource"]:
		return malformed("Has prohibited field Resource")
	case s.has["NotResource"]:
		return malformed("AssumeRole policy must not contain resources.")
	case !conditionsValid(s.Condition):
		return malformed("Syntax error in policy.")
	}
	if err := checkTrustPrincipal(s.Principal); err != nil {
		return err
	}
	for _, a := range slices.Concat(s.Action, s.NotAction) {
		if a != "*" && !strings.HasPrefix(strings.ToLower(a), "sts:") {
			return malformed("AssumeRole policy may only specify STS AssumeRole actions.")
		}
	}
	return nil
}

func checkTrustPrincipal(p *Principals) error {
	if _, plain := p.By[""]; plain {
		if p.List {
			return malformed("Syntax error in policy.")
		}
		return malformed("Principal must be a JSON object.")
	}
	if len(p.By) == 0 {
		return malformed("Missing required field Principal cannot be empty!")
	}
	for kind, values := range p.By {
		switch kind {
		case "AWS", "Federated", "Service":
		default:
			return malformed("Invalid principal in policy: %q", kind)
		}
		if len(values) == 0 {
			return malformed("Missing required field Principal cannot be empty!")
		}
		for _, v := range values {
			if v == "" {
				return malformed("Invalid principal in policy: %q:%q", strings.ToUpper(kind), v)
			}
		}
	}
	return nil
}

// Accounts reports whether principals exist. PutBucketPolicy and UpdateAssumeRolePolicy reject policies with
// principals that do not exist.
type Accounts interface {
	// PrincipalExists reports whether an ARN, an account number or a unique ID exists.
	PrincipalExists(value string) bool
}

func bucketError(format string, args ...any) *awserr.Error {
	return awserr.New(http.StatusBadRequest, "MalformedPolicy", fmt.Sprintf(format, args...))
}

// ParseBucket parses a bucket policy. It returns an error for documents that PutBucketPolicy rejects with
// MalformedPolicy.
func ParseBucket(raw []byte, bucket string, accounts Accounts) (*Document, error) {
	if trimmed := bytes.TrimSpace(raw); len(trimmed) == 0 || trimmed[0] != '{' {
		return nil, bucketError("Policies must be valid JSON and the first byte must be '{'")
	}
	if len(raw) > MaxBucket {
		return nil, awserr.New(http.StatusBadRequest, "PolicyTooLarge", "Policy exceeds the maximum allowed document size.")
	}
	d, err := parse(raw)
	switch {
	case err != nil:
		return nil, bucketError("This policy contains invalid Json")
	case d.Version != version2008 && d.Version != version2012:
		return nil, bucketError("The policy must contain a valid version string")
	case d.Statements == nil && !bytes.Contains(raw, []byte(`"Statement"`)):
		return nil, bucketError("Missing required field Statement")
	case len(d.Statements) == 0:
		return nil, bucketError("Could not parse the policy: Statement is empty!")
	}
	for i := range d.Statements {
		if err := checkBucketStatement(&d.Statements[i], bucket, accounts); err != nil {
			return nil, err
		}
	}
	if duplicateSID(d) {
		return nil, bucketError("Statement IDs (SID) in a single policy must be unique.")
	}
	return d, nil
}

func checkBucketStatement(s *Statement, bucket string, accounts Accounts) error {
	switch {
	case !s.has["Effect"]:
		return bucketError("Missing required field Effect")
	case s.Effect != "Allow" && s.Effect != "Deny":
		return bucketError("Invalid effect: %s", s.Effect)
	case s.Principal == nil && s.NotPrincip == nil:
		return bucketError("Missing required field Principal")
	case !s.has["Action"] && !s.has["NotAction"]:
		return bucketError("Missing required field Action")
	case !s.has["Resource"] && !s.has["NotResource"]:
		return bucketError("Missing required field Resource")
	}
	if err := checkBucketTargets(s, bucket); err != nil {
		return err
	}
	for _, p := range []*Principals{s.Principal, s.NotPrincip} {
		if p != nil && !p.validIn(accounts) {
			return bucketError("Invalid principal in policy")
		}
	}
	return nil
}

func checkBucketTargets(s *Statement, bucket string) error {
	actions := slices.Concat(s.Action, s.NotAction)
	scopes := 0
	for _, a := range actions {
		scope := s3Scopes(a)
		if scope == 0 {
			return bucketError("Policy has invalid action")
		}
		scopes |= scope
	}
	if len(actions) == 0 {
		return bucketError("Policy has invalid action")
	}
	resources := slices.Concat(s.Resource, s.NotResource)
	targets := 0
	for _, r := range resources {
		target := resourceScope(r, bucket)
		if target == 0 {
			return bucketError("Policy has invalid resource")
		}
		targets |= target
	}
	if len(resources) == 0 {
		return bucketError("Policy has invalid resource")
	}
	if err := checkBucketConditions(s); err != nil {
		return err
	}
	if s.has["Action"] && s.has["Resource"] {
		for _, a := range actions {
			if s3Scopes(a)&targets == 0 {
				return bucketError("Action does not apply to any resource(s) in statement")
			}
		}
	}
	return nil
}

func checkBucketConditions(s *Statement) error {
	for _, c := range s.Condition {
		if !validOperator(c.Operator) {
			return bucketError("Invalid Condition type : %s", c.Operator)
		}
		if !validKey(c.Key) {
			return bucketError("Policy has an invalid condition key")
		}
		if slices.ContainsFunc(s.Action, func(a string) bool { return !keyApplies(c.Key, a) }) {
			return bucketError("Conditions do not apply to combination of actions and resources in statement")
		}
		if strings.EqualFold(c.Key, "aws:SourceIp") && slices.ContainsFunc(c.Values, func(v string) bool { return !isNetwork(v) && !strings.Contains(v, "${") }) {
			return bucketError("Invalid IP address in Conditions")
		}
		_, base, _ := splitOperator(c.Operator)
		if op := operatorTable[base]; op.valid != nil {
			for _, v := range c.Values {
				if op.valid(v) || strings.Contains(v, "${") {
					continue
				}
				if strings.HasSuffix(base, "IpAddress") {
					return bucketError("Invalid IP address in Conditions")
				}
				return bucketError("Invalid value in Conditions")
			}
		}
	}
	return nil
}

// resourceScope reports whether an ARN names the bucket, its objects or both; 0 is an ARN of something else.
func resourceScope(arn, bucket string) int {
	if arn == "*" {
		return onBucket | onObject
	}
	fields := strings.SplitN(arn, ":", 6)
	if len(fields) != 6 || fields[0] != "arn" || !slices.Contains(partitions(), fields[1]) || fields[2] != "s3" || fields[3] != "" || fields[4] != "" {
		return 0
	}
	name, _, isObject := strings.Cut(fields[5], "/")
	if name == "" || !Match(name, bucket) {
		return 0
	}
	switch {
	case isObject:
		return onObject
	case strings.HasSuffix(name, "*"):
		return onBucket | onObject
	}
	return onBucket
}

func (p *Principals) validIn(accounts Accounts) bool {
	if p.Any {
		return true
	}
	count := 0
	for kind, values := range p.By {
		for _, v := range values {
			count++
			switch {
			case v == "":
				return false
			case v == "*":
				if len(values) > 1 {
					return false
				}
			case kind == "AWS":
				if !accounts.PrincipalExists(v) {
					return false
				}
			case kind == "Service", kind == "Federated", kind == "CanonicalUser":
			default:
				return false
			}
		}
	}
	return count > 0
}

// Public reports whether the document gives everyone a permission without a restricting condition ("The meaning of
// public" in the Amazon S3 User Guide).
func (d *Document) Public() bool {
	for _, s := range d.Statements {
		if s.Effect != "Allow" {
			continue
		}
		open := s.NotPrincip != nil
		if s.Principal != nil {
			open = open || s.Principal.Any || slices.Contains(s.Principal.By["AWS"], "*")
		}
		if open && !slices.ContainsFunc(s.Condition, narrows) {
			return true
		}
	}
	return false
}

// narrows reports whether the condition restricts the caller by one of the keys that S3 considers non-public.
func narrows(c Condition) bool {
	_, base, ifExists := splitOperator(c.Operator)
	if ifExists || operatorTable[base].negated || base == "Null" {
		return false
	}
	if slices.ContainsFunc(c.Values, func(v string) bool { return strings.ContainsAny(v, "*?$") }) {
		return false
	}
	switch strings.ToLower(c.Key) {
	case "aws:sourceip":
		return !slices.ContainsFunc(c.Values, func(v string) bool { return strings.HasSuffix(v, "/0") })
	case "aws:sourcearn", "aws:sourcevpc", "aws:sourcevpce", "aws:sourceowner", "aws:sourceaccount", "aws:userid",
		"aws:principalarn", "aws:principalaccount", "aws:principalorgid", "s3:dataaccesspointaccount", "s3:dataaccesspointarn",
		"s3:x-amz-server-side-encryption-aws-kms-key-id":
		return true
	}
	return false
}
