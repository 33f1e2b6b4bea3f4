// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"maps"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

// permission is an action on a resource that a request needs.
type permission struct {
	action   string
	resource string
}

func (q *request) bucketARN() string { return "arn:" + q.Account.Partition + ":s3:::" + q.bucket }

func (q *request) objectARN() string { return q.bucketARN() + "/" + q.key }

// everyBucket returns a permission for all buckets. Policies grant it for the resource arn:aws:s3:::* or "*"
// ("Walkthrough: Controlling access to a bucket with user policies" in the Amazon S3 User Guide).
func everyBucket(action string) func(*request) []permission {
	return func(q *request) []permission {
		return []permission{{action, "arn:" + q.Account.Partition + ":s3:::*"}}
	}
}

func bucketPermission(action string) func(*request) []permission {
	return func(q *request) []permission { return []permission{{action, q.bucketARN()}} }
}

func objectPermission(action string) func(*request) []permission {
	return func(q *request) []permission { return []permission{{action, q.objectARN()}} }
}

// versioned returns permissions that use versionAction if the request specifies a version, and action otherwise.
func versioned(action, versionAction string) func(*request) []permission {
	return func(q *request) []permission {
		if q.query.Has("versionId") {
			return []permission{{versionAction, q.objectARN()}}
		}
		return []permission{{action, q.objectARN()}}
	}
}

// authorize rejects the request unless the caller has all permissions.
func (q *request) authorize(needs ...permission) error {
	for _, p := range needs {
		if d := q.decide(p); !d.Allowed {
			return q.denied(p, d)
		}
	}
	return nil
}

// may reports whether the caller has a permission.
func (q *request) may(action, resource string) bool {
	return q.decide(permission{action, resource}).Allowed
}

// rootKeeps are the actions that no bucket policy can deny to the root user, so that a policy that locks out everyone
// can be repaired ("Bucket policies" in the Amazon S3 User Guide).
var rootKeeps = map[string]bool{"s3:GetBucketPolicy": true, "s3:PutBucketPolicy": true, "s3:DeleteBucketPolicy": true}

func (q *request) decide(p permission) iampolicy.Decision {
	if q.principal != nil && q.principal.Root && q.policy == nil {
		return iampolicy.Decision{Allowed: true}
	}
	who := q.principal
	if who != nil && who.Root && rootKeeps[p.action] {
		return iampolicy.Decision{Allowed: true}
	}
	in := iampolicy.Inputs{}
	req := iampolicy.Request{Action: p.action, Resource: p.resource, Context: q.conditions(), Principal: iampolicy.Caller{Anonymous: true}}
	if who != nil {
		in, req.Principal = who.Inputs(), who.Caller()
	}
	in.Resource, in.ACL = q.policy, q.granted(p)
	if strings.HasPrefix(p.action, "kms:") {
		in.Resource, req.Context = nil, q.forwarded()
	}
	if in.Resource != nil && ((who == nil || who.Foreign) && q.blocksPublic() || q.ofOtherAccount(p)) && in.Resource.Evaluate(req) != iampolicy.Deny {
		in.Resource = nil
	}
	return iampolicy.Decide(in, req)
}

// forwarded returns the condition keys of the request that S3 makes on behalf of the caller ("Forward access
// sessions" in the IAM User Guide). AWS does not document whether the request has a token issue time, like other
// sessions. In the fake it has.
func (q *request) forwarded() iampolicy.Context {
	conditions := maps.Clone(q.conditions())
	conditions.Set("aws:ViaAWSService", "true")
	if conditions.Values("aws:TokenIssueTime") == nil {
		conditions.Set("aws:TokenIssueTime", conditions.Values("aws:CurrentTime")...)
	}
	return conditions
}

// blocksPublic reports whether RestrictPublicBuckets denies anonymous callers and other accounts what the policy allows.
func (q *request) blocksPublic() bool {
	return accessBlockOf(q.state).RestrictPublicBuckets && q.policy.Public()
}

// denied returns the error for a denied request. Only callers of the bucket's own account get the caller, action,
// resource and reason ("Troubleshoot access denied (403 Forbidden) errors in Amazon S3").
func (q *request) denied(p permission, d iampolicy.Decision) error {
	if q.principal == nil || q.principal.Foreign {
		return errAccessDenied
	}
	return awserr.Newf(http.StatusForbidden, "AccessDenied", "User: %s is not authorized to perform: %s on resource: %q %s",
		q.principal.ARN, p.action, p.resource, d.Reason(p.action))
}

// conditions are the condition keys of the request ("Condition keys for Amazon S3" and "AWS global condition
// context keys"). They are collected once.
func (q *request) conditions() iampolicy.Context {
	if q.context != nil {
		return q.context
	}
	ctx := RequestContext(q.r, q.Now())
	q.context = ctx
	q.globalConditions(ctx)
	for param, key := range map[string]string{"prefix": "s3:prefix", "delimiter": "s3:delimiter", "max-keys": "s3:max-keys", "versionId": "s3:VersionId"} {
		if q.query.Has(param) {
			ctx.Set(key, q.param(param))
		}
	}
	for _, name := range []string{
		"x-amz-acl", "x-amz-copy-source", "x-amz-metadata-directive", "x-amz-server-side-encryption",
		"x-amz-server-side-encryption-aws-kms-key-id", "x-amz-storage-class", "x-amz-content-sha256", "x-amz-website-redirect-location",
		"x-amz-grant-read", "x-amz-grant-write", "x-amz-grant-read-acp", "x-amz-grant-write-acp", "x-amz-grant-full-control",
		"x-amz-object-ownership", "x-amz-server-side-encryption-customer-algorithm", "x-amz-bucket-namespace", "if-match", "if-none-match",
	} {
		if v := q.header(name); v != "" {
			ctx.Set("s3:"+name, v)
		}
	}
	q.bucketTags(ctx)
	q.lockConditions(ctx, q.header("X-Amz-Object-Lock-Mode"), q.header("X-Amz-Object-Lock-Retain-Until-Date"), q.header("X-Amz-Object-Lock-Legal-Hold"))
	q.creationConditions(ctx)
	q.tagConditions(ctx)
	q.signatureConditions(ctx)
	return ctx
}

// RequestContext returns the condition keys of a request to any service at a time.
func RequestContext(r *http.Request, now time.Time) iampolicy.Context {
	ctx := iampolicy.Context{}
	ctx.Set("aws:CurrentTime", now.UTC().Format(time.RFC3339))
	ctx.Set("aws:EpochTime", strconv.FormatInt(now.Unix(), 10))
	ctx.Set("aws:SecureTransport", strconv.FormatBool(r.TLS != nil))
	if host, _, err := net.SplitHostPort(r.RemoteAddr); err == nil {
		ctx.Set("aws:SourceIp", host)
	}
	for header, key := range map[string]string{"User-Agent": "aws:UserAgent", "Referer": "aws:Referer"} {
		if v := r.Header.Get(header); v != "" {
			ctx.Set(key, v)
		}
	}
	return ctx
}

func (q *request) globalConditions(ctx iampolicy.Context) {
	ctx.Set("aws:RequestedRegion", q.endpointRegion())
	ctx.Set("aws:ResourceAccount", q.Account.Options.ID)
	ctx.Set("s3:ResourceAccount", q.Account.Options.ID)
	who := q.principal
	if who == nil {
		ctx.Set("aws:PrincipalType", "Anonymous")
		ctx.Set("aws:PrincipalIsAWSService", "false")
		return
	}
	who.Describe(ctx)
}
