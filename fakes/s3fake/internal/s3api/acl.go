// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"net/http"
	"slices"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/notify"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

var (
	errBucketACL = awserr.New(http.StatusBadRequest, "InvalidBucketAclWithObjectOwnership", "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting")
	errPublicACL = awserr.New(http.StatusBadRequest, "InvalidBucketAclWithBlockPublicAccessError", "Bucket cannot have public ACLs set with BlockPublicAccess enabled")
)

// aclDocument is the ACL of a bucket or an object. Without one, and with the bucket owner enforced, the bucket's owner
// has full control.
func (q *request) aclDocument(acl *store.ACL) *document {
	if !aclsEnabled(q.state) {
		acl = nil
	}
	d := newDocument("AccessControlPolicy")
	d.start("Owner").text("ID", q.ownerOf(acl)).end()
	d.start("AccessControlList")
	for _, g := range q.grantsOf(acl) {
		kind, name, value := "CanonicalUser", "ID", g.ID
		if g.URI != "" {
			kind, name, value = "Group", "URI", g.URI
		}
		d.start("Grant")
		d.buf.WriteString(`<Grantee xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance" xsi:type="` + kind + `">`)
		d.text(name, value)
		d.buf.WriteString("</Grantee>")
		d.text("Permission", g.Permission).end()
	}
	return d.end()
}

// grantsOf returns the grants of an ACL; nil is the private ACL of the bucket's owner.
func (q *request) grantsOf(acl *store.ACL) []store.Grant {
	if acl == nil {
		return []store.Grant{{ID: q.Account.CanonicalID(), Permission: fullControl}}
	}
	return acl.Grants
}

func (q *request) getBucketACL() error { return q.send(q.aclDocument(q.state.ACL)) }

func (q *request) getObjectACL() error {
	v, err := q.get()
	if err != nil {
		return err
	}
	if err := q.marked(v); err != nil {
		return err
	}
	q.versionHeader(v)
	return q.send(q.aclDocument(v.ACL))
}

func (q *request) putBucketACL() error {
	acl, err := q.requestedACL(q.Account.CanonicalID())
	switch {
	case err != nil:
		return err
	case !aclsEnabled(q.state):
		return errNoACL
	}
	if err := q.blockACL(acl, "s3:PutBucketAcl", q.bucketARN()); err != nil {
		return err
	}
	return q.statusUnless(q.changeBucket(func(b *store.Bucket) { b.ACL = acl }), http.StatusOK)
}

func (q *request) putObjectACL() error {
	before, err := q.get()
	owner := q.Account.CanonicalID()
	if err == nil {
		owner = q.ownerOf(before.ACL)
	}
	acl, err := q.requestedACL(owner)
	switch {
	case err != nil:
		return err
	case !aclsEnabled(q.state) && q.header("X-Amz-Acl") == ownersControl:
		return q.status(http.StatusOK)
	case !aclsEnabled(q.state):
		return errNoACL
	}
	if err := q.blockACL(acl, "s3:PutObjectAcl", q.objectARN()); err != nil {
		return err
	}
	return q.statusUnless(q.revise(notify.ACLPut, func(v *store.Version) bool {
		changed := !slices.Equal(q.grantsOf(v.ACL), q.grantsOf(acl))
		v.ACL = acl
		return changed
	}), http.StatusOK)
}

// requestedACL reads the new ACL of PutBucketAcl or PutObjectAcl, which is given in one of three ways: a canned ACL,
// headers with grants, or a document ("You cannot do both" in the API Reference).
func (q *request) requestedACL(owner string) (*store.ACL, error) {
	raw, err := q.readBody()
	switch {
	case err != nil:
		return nil, err
	case len(raw) == 0 && !q.hasACL():
		return nil, awserr.New(http.StatusBadRequest, "MissingSecurityHeader", "Your request was missing a required header").With("MissingHeaderName", "x-amz-acl")
	case len(raw) > 0 && q.hasACL():
		return nil, awserr.New(http.StatusBadRequest, "UnexpectedContent", "This request does not support content")
	case len(raw) > 0:
		return q.parseACL(raw, owner)
	}
	return q.headerACL(owner)
}

// headerACL is the ACL in the headers of a request; nil without any, and for the private ACL of the bucket's owner.
func (q *request) headerACL(owner string) (*store.ACL, error) {
	canned := q.header("X-Amz-Acl")
	_, known := cannedACLs[canned]
	switch {
	case canned != "" && q.hasGrants():
		return nil, invalidRequest("Specifying both Canned ACLs and Header Grants is not allowed")
	case canned != "" && !known:
		return nil, invalidArgument("x-amz-acl", canned, "")
	case q.hasGrants():
		grants, err := q.headerGrants()
		return &store.ACL{Owner: owner, Grants: grants}, err
	}
	bucketOwner := q.Account.CanonicalID()
	grants := cannedGrants(canned, owner, bucketOwner)
	if owner == bucketOwner && len(grants) == 1 {
		return nil, nil
	}
	return &store.ACL{Owner: owner, Grants: grants}, nil
}

// newObjectACL is the ACL of an object that the request creates. With the bucket owner enforced, ACLs are rejected
// unless they grant only what the owner already has.
func (q *request) newObjectACL() (*store.ACL, error) {
	canned := q.header("X-Amz-Acl")
	owner := q.callerID()
	if canned == ownersControl && ownershipOf(q.state) == "BucketOwnerPreferred" {
		owner = q.Account.CanonicalID()
	}
	if !q.hasACL() && (owner == q.Account.CanonicalID() || !aclsEnabled(q.state)) {
		return nil, nil
	}
	acl, err := q.headerACL(owner)
	switch {
	case err != nil:
		return nil, err
	case aclsEnabled(q.state):
		return acl, q.blockACL(acl, "s3:PutObject", q.objectARN())
	case !q.hasGrants() && slices.Contains([]string{"", "private", ownersControl}, canned):
		return nil, nil
	}
	return nil, errNoACL
}

// newBucketACL sets the ACL of a new bucket with an ownership; "" is the default, which allows none.
func (q *request) newBucketACL(b *store.Bucket, ownership string) error {
	acl, err := q.headerACL(q.Account.CanonicalID())
	canned := q.header("X-Amz-Acl")
	switch {
	case err != nil:
		return err
	case !q.hasGrants() && (canned == "" || canned == "private"):
		return nil
	case ownership == "" || ownership == ownerEnforced:
		return errBucketACL
	case acl.Public() && accessBlockOf(*b).BlockPublicAcls:
		return errPublicACL
	}
	b.ACL = acl
	return nil
}

// blockACL rejects a public ACL if the bucket blocks those.
func (q *request) blockACL(acl *store.ACL, action, resource string) error {
	if !acl.Public() || !accessBlockOf(q.state).BlockPublicAcls {
		return nil
	}
	if q.principal == nil || q.principal.Foreign {
		return errAccessDenied
	}
	return awserr.Newf(http.StatusForbidden, "AccessDenied",
		"User: %s is not authorized to perform: %s on resource: %q because public ACLs are prevented by the BlockPublicAcls setting in S3 Block Public Access.", q.principal.ARN, action, resource)
}
