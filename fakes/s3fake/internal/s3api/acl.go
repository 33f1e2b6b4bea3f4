// SPDX-License-Identifier: Apache-2.0

package s3api

import "net/http"

// grantOwner is the only grant there is: full control for the bucket's owner.
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

// putACL accepts what changes nothing. With the bucket owner enforced, S3 has no other ACLs either.
func (q *request) putACL() error {
	acl := q.header("X-Amz-Acl")
	if q.ownership() == ownerEnforced {
		if acl == "bucket-owner-full-control" && q.key != "" {
			return q.status(http.StatusOK)
		}
		return errNoACL
	}
	if acl == "private" || (acl == "bucket-owner-full-control" && q.key != "") {
		return q.status(http.StatusOK)
	}
	return notImplemented("acl", "Only the private ACL is served by this fake.")
}

// grantHeader is the first header that grants something to somebody, "" if none does.
func (q *request) grantHeader() string {
	for _, name := range []string{"x-amz-grant-read", "x-amz-grant-write", "x-amz-grant-full-control", "x-amz-grant-read-acp", "x-amz-grant-write-acp"} {
		if q.header(name) != "" {
			return name
		}
	}
	return ""
}

// checkACLHeaders refuses ACLs on new objects unless they give what the owner has anyway: writer and bucket owner are
// the same account here.
func (q *request) checkACLHeaders() error {
	if grant := q.grantHeader(); grant != "" {
		if q.ownership() == ownerEnforced {
			return errNoACL
		}
		return notImplemented(grant, "ACL grants are not served by this fake.")
	}
	acl := q.header("X-Amz-Acl")
	switch {
	case acl == "" || acl == "bucket-owner-full-control" || acl == "private":
		return nil
	case q.ownership() == ownerEnforced:
		return errNoACL
	}
	return notImplemented("x-amz-acl", "Only the private ACL is served by this fake.")
}
