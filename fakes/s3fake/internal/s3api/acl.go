// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"net/http"
	"slices"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// grantOwner is the only grant that the fake supports: full control for the bucket's owner.
func (q *request) grantOwner() *document {
	owner := q.Account.CanonicalID()
	d := newDocument("AccessControlPolicy")
	d.start("Owner").text("ID", owner).end()
	d.start("AccessControlList").start("Grant")
	d.buf.WriteString(`<Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="CanonicalUser"><ID>` + owner + `</ID></Grantee>`)
	d.text("Permission", "FULL_CONTROL").end().end()
	return d
}

func (q *request) getBucketACL() error { return q.send(q.grantOwner()) }

func (q *request) getObjectACL() error {
	v, err := q.get()
	if err != nil {
		return err
	}
	if err := q.marked(v); err != nil {
		return err
	}
	q.versionHeader(v)
	return q.send(q.grantOwner())
}

// putACL accepts ACLs that change nothing. With the bucket owner enforced, S3 does not allow any others either.
func (q *request) putACL() error {
	acl := q.header("X-Amz-Acl")
	if err := q.checkACLShape(); err != nil {
		return err
	}
	if q.ownership() == ownerEnforced {
		if acl == "bucket-owner-full-control" && q.key != "" {
			return q.status(http.StatusOK)
		}
		return errNoACL
	}
	if acl == "private" || (acl == "bucket-owner-full-control" && q.key != "") {
		return q.status(http.StatusOK)
	}
	return notImplemented("acl", "This fake supports only the private ACL.")
}

// checkACLShape rejects an ACL that is given in several ways, in none, or by an unknown name (PutObjectAcl and
// PutBucketAcl in the API Reference: "You cannot do both").
func (q *request) checkACLShape() error {
	raw, err := q.readBody()
	canned, grant := q.header("X-Amz-Acl"), q.grantHeader()
	switch {
	case err != nil:
		return err
	case canned == "" && grant == "" && len(raw) == 0:
		return awserr.New(http.StatusBadRequest, "MissingSecurityHeader", "Your request was missing a required header").With("MissingHeaderName", "x-amz-acl")
	case len(raw) > 0 && (canned != "" || grant != ""):
		return awserr.New(http.StatusBadRequest, "UnexpectedContent", "This request does not support content")
	}
	return q.oneACL()
}

// oneACL rejects a canned ACL together with grants, also on new objects and buckets, and an unknown canned ACL.
func (q *request) oneACL() error {
	canned := q.header("X-Amz-Acl")
	switch {
	case canned != "" && q.grantHeader() != "":
		return invalidRequest("Specifying both Canned ACLs and Header Grants is not allowed")
	case canned != "" && !slices.Contains(cannedACLs, canned):
		return invalidArgument("x-amz-acl", canned, "")
	}
	return nil
}

// cannedACLs are the names of "Canned ACL" in the Amazon S3 User Guide.
var cannedACLs = []string{
	"private", "public-read", "public-read-write", "authenticated-read", "aws-exec-read", "bucket-owner-read",
	"bucket-owner-full-control", "log-delivery-write",
}

// grantHeader returns the first header with a grant, or "" if there is none.
func (q *request) grantHeader() string {
	for _, name := range []string{"x-amz-grant-read", "x-amz-grant-write", "x-amz-grant-full-control", "x-amz-grant-read-acp", "x-amz-grant-write-acp"} {
		if q.header(name) != "" {
			return name
		}
	}
	return ""
}

// checkACLHeaders rejects ACLs on new objects unless they grant only what the owner already has: writer and bucket
// owner are the same account here.
func (q *request) checkACLHeaders() error {
	if err := q.oneACL(); err != nil {
		return err
	}
	if grant := q.grantHeader(); grant != "" {
		if q.ownership() == ownerEnforced {
			return errNoACL
		}
		return notImplemented(grant, "ACL grants are not supported by this fake.")
	}
	acl := q.header("X-Amz-Acl")
	switch {
	case acl == "" || acl == "bucket-owner-full-control" || acl == "private":
		return nil
	case q.ownership() == ownerEnforced:
		return errNoACL
	}
	return notImplemented("x-amz-acl", "This fake supports only the private ACL.")
}
