// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"encoding/xml"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

const (
	fullControl   = "FULL_CONTROL"
	ownersControl = "bucket-owner-full-control"
	logDelivery   = "http://acs.amazonaws.com/groups/s3/LogDelivery"

	// anonymousID is the canonical ID of callers without a signature, and servicesID that of Amazon EC2.
	anonymousID = "65a011a29cdf8ec533ec3d1ccaae921c"
	servicesID  = "6aa5a366c34c1cbe25dc49211496e913e0351eb0e8c37aa3477e40942ec6b97c"
)

var (
	permissions = []string{fullControl, "WRITE", "WRITE_ACP", "READ", "READ_ACP"}
	groups      = []string{store.AllUsers, store.AuthenticatedUsers, logDelivery}
	canonicalID = regexp.MustCompile(`^[0-9a-f]{64}$`)

	errMalformedACL = awserr.New(http.StatusBadRequest, "MalformedACLError", errMalformedXML.Message)
)

// bucketOwner stands for the owner of the bucket in cannedACLs.
const bucketOwner = "bucket owner"

// cannedACLs are the grants of "Canned ACL" in the Amazon S3 User Guide, without that of the owner.
var cannedACLs = map[string][]store.Grant{
	"private":            nil,
	"public-read":        {{URI: store.AllUsers, Permission: "READ"}},
	"public-read-write":  {{URI: store.AllUsers, Permission: "READ"}, {URI: store.AllUsers, Permission: "WRITE"}},
	"authenticated-read": {{URI: store.AuthenticatedUsers, Permission: "READ"}},
	"aws-exec-read":      {{ID: servicesID, Permission: "READ"}},
	"bucket-owner-read":  {{ID: bucketOwner, Permission: "READ"}},
	ownersControl:        {{ID: bucketOwner, Permission: fullControl}},
	"log-delivery-write": {{URI: logDelivery, Permission: "WRITE"}, {URI: logDelivery, Permission: "READ_ACP"}},
}

// cannedGrants returns the grants of a canned ACL. The bucket's owner needs none for its own object.
func cannedGrants(name, owner, bucketOwnerID string) []store.Grant {
	grants := []store.Grant{{ID: owner, Permission: fullControl}}
	for _, g := range cannedACLs[name] {
		if g.ID == bucketOwner {
			g.ID = bucketOwnerID
		}
		if g.ID != owner {
			grants = append(grants, g)
		}
	}
	return grants
}

// grantHeader is a header with grants of a permission.
type grantHeader struct{ header, permission string }

// grantPermissions map the headers with grants to permissions.
var grantPermissions = []grantHeader{
	{"X-Amz-Grant-Full-Control", fullControl},
	{"X-Amz-Grant-Read", "READ"},
	{"X-Amz-Grant-Write", "WRITE"},
	{"X-Amz-Grant-Read-Acp", "READ_ACP"},
	{"X-Amz-Grant-Write-Acp", "WRITE_ACP"},
}

// hasGrants reports whether a header contains grants.
func (q *request) hasGrants() bool {
	return slices.ContainsFunc(grantPermissions, func(h grantHeader) bool { return q.header(h.header) != "" })
}

// hasACL reports whether a header contains an ACL or grants.
func (q *request) hasACL() bool { return q.header("X-Amz-Acl") != "" || q.hasGrants() }

func (q *request) headerGrants() ([]store.Grant, error) {
	var out []store.Grant
	for _, h := range grantPermissions {
		value := q.header(h.header)
		if value == "" {
			continue
		}
		grants, err := parseGrants(h.header, value, h.permission)
		if err != nil {
			return nil, err
		}
		out = append(out, grants...)
	}
	return out, nil
}

// parseGrants reads a header with grants: id="...", uri="...".
func parseGrants(header, value, permission string) ([]store.Grant, error) {
	var out []store.Grant
	for part := range strings.SplitSeq(value, ",") {
		kind, grantee, ok := strings.Cut(strings.TrimSpace(part), "=")
		grantee = strings.Trim(grantee, `"`)
		switch kind = strings.TrimSpace(kind); {
		case ok && strings.EqualFold(kind, "emailAddress"):
			return nil, errMethodNotAllowed // since October 2025 S3 rejects such grants
		case ok && strings.EqualFold(kind, "id"):
			if !canonicalID.MatchString(grantee) {
				return nil, invalidArgument("id", grantee, "Invalid id")
			}
			out = append(out, store.Grant{ID: grantee, Permission: permission})
		case ok && strings.EqualFold(kind, "uri"):
			if !slices.Contains(groups, grantee) {
				return nil, invalidArgument("uri", grantee, "Invalid group uri")
			}
			out = append(out, store.Grant{URI: grantee, Permission: permission})
		default:
			return nil, invalidArgument(strings.ToLower(header), value, "Argument format not recognized")
		}
	}
	return out, nil
}

// aclBody is AccessControlPolicy.
type aclBody struct {
	XMLName xml.Name `xml:"AccessControlPolicy"`
	Owner   *struct {
		ID          string `xml:"ID"`
		DisplayName string `xml:"DisplayName"`
	} `xml:"Owner"`
	List *struct {
		Grant []xmlGrant `xml:"Grant"`
	} `xml:"AccessControlList"`
}

type xmlGrant struct {
	Grantee struct {
		Type        string `xml:"type,attr"`
		ID          string `xml:"ID"`
		DisplayName string `xml:"DisplayName"`
		URI         string `xml:"URI"`
		Email       string `xml:"EmailAddress"`
	} `xml:"Grantee"`
	Permission string `xml:"Permission"`
}

// maxGrants is the largest number of grants in an ACL.
const maxGrants = 100

// parseACL reads a document with an ACL. It cannot change the owner.
func (q *request) parseACL(raw []byte, owner string) (*store.ACL, error) {
	var body aclBody
	err := parseXML(raw, &body)
	switch {
	case is(err, errMalformedXML):
		return nil, errMalformedACL
	case err != nil:
		return nil, err
	case body.Owner == nil || body.List == nil || len(body.List.Grant) > maxGrants:
		return nil, errMalformedACL
	}
	acl := &store.ACL{Owner: owner}
	for _, g := range body.List.Grant {
		one, err := g.grant()
		if err != nil {
			return nil, err
		}
		acl.Grants = append(acl.Grants, one)
	}
	switch {
	case !canonicalID.MatchString(body.Owner.ID):
		return nil, invalidArgument("CanonicalUser/ID", body.Owner.ID, "Invalid id")
	case body.Owner.ID != owner:
		return nil, errAccessDenied
	}
	return acl, nil
}

func (g xmlGrant) grant() (store.Grant, error) {
	to := g.Grantee
	switch {
	case !slices.Contains(permissions, g.Permission):
		return store.Grant{}, errMalformedACL
	case to.Type == "AmazonCustomerByEmail":
		return store.Grant{}, errMethodNotAllowed
	case to.Type == "CanonicalUser" && !canonicalID.MatchString(to.ID):
		return store.Grant{}, invalidArgument("CanonicalUser/ID", to.ID, "Invalid id")
	case to.Type == "CanonicalUser":
		return store.Grant{ID: to.ID, Permission: g.Permission}, nil
	case to.Type == "Group" && !slices.Contains(groups, to.URI):
		return store.Grant{}, invalidArgument("Group/URI", to.URI, "Invalid group uri")
	case to.Type == "Group":
		return store.Grant{URI: to.URI, Permission: g.Permission}, nil
	}
	return store.Grant{}, errMalformedACL
}

// aclsEnabled reports whether the bucket has ACLs: its owner is not enforced.
func aclsEnabled(b store.Bucket) bool { return ownershipOf(b) != ownerEnforced }

// ownerOf returns the canonical ID of the owner of a bucket or an object with an ACL.
func (q *request) ownerOf(acl *store.ACL) string { return ownerOf(acl, q.Account.CanonicalID()) }

func ownerOf(acl *store.ACL, bucketOwner string) string {
	if acl == nil || acl.Owner == "" {
		return bucketOwner
	}
	return acl.Owner
}

// callerID is the canonical ID of the caller's account.
func (q *request) callerID() string {
	switch {
	case q.principal == nil:
		return anonymousID
	case q.principal.Foreign:
		return strings.Repeat("0", 64-len(q.principal.AccountID)) + q.principal.AccountID
	}
	return q.Account.CanonicalID()
}

// aclActions map actions to the permission in the ACL of the bucket or the object ("Mapping of ACL permissions and
// access policy permissions" in the Amazon S3 User Guide).
var aclActions = map[string]string{
	"s3:ListBucket": "READ", "s3:ListBucketVersions": "READ", "s3:ListBucketMultipartUploads": "READ",
	"s3:GetBucketAcl": "READ_ACP", "s3:PutBucketAcl": "WRITE_ACP",
	"s3:GetObject": "READ", "s3:GetObjectVersion": "READ",
	"s3:GetObjectAcl": "READ_ACP", "s3:GetObjectVersionAcl": "READ_ACP",
	"s3:PutObjectAcl": "WRITE_ACP", "s3:PutObjectVersionAcl": "WRITE_ACP",
	"s3:PutObject": "WRITE", "s3:DeleteObject": "WRITE",
}

// granted returns what the ACL of the bucket or the object grants to the caller.
func (q *request) granted(p permission) iampolicy.Grant {
	needed := aclActions[p.action]
	if needed == "" || !aclsEnabled(q.state) {
		return iampolicy.NoGrant
	}
	key, onObject := strings.CutPrefix(p.resource, q.bucketARN()+"/")
	if !onObject {
		return q.grantedBy(q.state.ACL, needed)
	}
	if needed == "WRITE" || p.action == "s3:PutObjectAcl" && q.creates() {
		if !q.continues() {
			return iampolicy.NoGrant
		}
		// Only owners can replace and delete objects.
		if v, err := q.Store.Get(q.bucket, key, ""); err == nil && q.ownerOf(v.ACL) != q.callerID() {
			return iampolicy.NoGrant
		}
		return q.grantedBy(q.state.ACL, "WRITE")
	}
	v, err := q.version()
	if err != nil {
		return iampolicy.NoGrant
	}
	return q.grantedBy(v.ACL, needed)
}

// creates reports whether the request creates an object.
func (q *request) creates() bool {
	return q.op.form || slices.Contains([]string{"PutObject", "CopyObject", "CreateMultipartUpload"}, q.op.name)
}

// objectAction matches actions on existing objects, but not the deletion, which is up to the bucket's owner.
var objectAction = regexp.MustCompile(`^s3:(Get|Put|Delete)Object(Version)?(Acl|Tagging)$|^s3:GetObject(Version)?(Attributes)?$`)

// ofOtherAccount reports whether a permission is about an existing object of another account. The bucket's policy can only
// deny access to it ("How Amazon S3 authorizes a request for an object operation" in the Amazon S3 User Guide).
func (q *request) ofOtherAccount(p permission) bool {
	if !aclsEnabled(q.state) || p.resource != q.objectARN() || !objectAction.MatchString(p.action) || q.creates() && strings.HasPrefix(p.action, "s3:Put") {
		return false
	}
	v, err := q.version()
	return err == nil && q.ownerOf(v.ACL) != q.Account.CanonicalID()
}

// continues reports whether the request is not for a multipart upload of another account.
func (q *request) continues() bool {
	if !slices.Contains([]string{"UploadPart", "UploadPartCopy", "CompleteMultipartUpload"}, q.op.name) {
		return true
	}
	u, err := q.Store.Upload(q.bucket, q.key, q.param("uploadId"))
	if err != nil {
		return true // the operation returns the error
	}
	initiator := strings.Split(u.Initiator, ":")
	return q.principal != nil && len(initiator) > 4 && initiator[4] == q.principal.AccountID
}

// grantedBy returns what an ACL grants to the caller. The public access block can disable public grants.
func (q *request) grantedBy(acl *store.ACL, needed string) iampolicy.Grant {
	if acl == nil {
		return iampolicy.NoGrant
	}
	ignored := accessBlockOf(q.state).IgnorePublicAcls
	result := iampolicy.NoGrant
	for _, g := range acl.Grants {
		switch {
		case g.Permission != needed && g.Permission != fullControl:
		case g.Public() && !ignored && (g.URI == store.AllUsers || q.principal != nil):
			return iampolicy.GrantToAll
		case g.ID != "" && g.ID == q.callerID():
			result = iampolicy.GrantToAccount
		}
	}
	switch {
	case result == iampolicy.NoGrant || q.principal != nil:
		return result
	case ignored:
		return iampolicy.NoGrant
	}
	return iampolicy.GrantToAll // to an object of an anonymous caller
}
