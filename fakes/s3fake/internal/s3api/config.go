// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"maps"
	"net/http"
	"slices"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// Names under which a bucket's configuration documents are stored.
const (
	configPolicy      = "policy"
	configTagging     = "tagging"
	configAccessBlock = "publicAccessBlock"
	configOwnership   = "ownershipControls"
	configEncryption  = "encryption"
	configLifecycle   = "lifecycle"
	configMinimum     = "lifecycleMinimumSize"
	configCORS        = "cors"
	configLock        = "object-lock"
	configABAC        = "abac"
)

const ownerEnforced = "BucketOwnerEnforced"

var ownerships = []string{ownerEnforced, "BucketOwnerPreferred", "ObjectWriter"}

// configOperations are the operations that put, get and delete a document of a bucket.
func configOperations() map[string]*operation {
	removed := func(config string) func(*request) error {
		return func(q *request) error { return q.deleteConfig(config) }
	}
	op, stored := bucketOperation, storedConfig
	operations := map[string]*operation{
		"GET bucket policy":       op("GetBucketPolicy", "s3:GetBucketPolicy", (*request).getPolicy),
		"PUT bucket policy":       op("PutBucketPolicy", "s3:PutBucketPolicy", (*request).putPolicy),
		"DELETE bucket policy":    op("DeleteBucketPolicy", "s3:DeleteBucketPolicy", removed(configPolicy)),
		"GET bucket policyStatus": op("GetBucketPolicyStatus", "s3:GetBucketPolicyStatus", (*request).getPolicyStatus),

		"GET bucket tagging":    op("GetBucketTagging", "s3:GetBucketTagging", taggable(stored(configTagging, errNoTags))),
		"PUT bucket tagging":    op("PutBucketTagging", "s3:PutBucketTagging", taggable(writable((*request).putBucketTagging))),
		"DELETE bucket tagging": op("DeleteBucketTagging", "s3:PutBucketTagging", taggable(writable(removed(configTagging)))),

		"GET bucket abac": op("GetBucketAbac", "s3:GetBucketAbac", (*request).getABAC),
		"PUT bucket abac": op("PutBucketAbac", "s3:PutBucketAbac", (*request).putABAC),

		"GET bucket versioning": op("GetBucketVersioning", "s3:GetBucketVersioning", (*request).getVersioning),
		"PUT bucket versioning": op("PutBucketVersioning", "s3:PutBucketVersioning", (*request).putVersioning),

		"GET bucket publicAccessBlock": op("GetPublicAccessBlock", "s3:GetBucketPublicAccessBlock", stored(configAccessBlock,
			notFound("NoSuchPublicAccessBlockConfiguration", "The public access block configuration was not found"))),
		"PUT bucket publicAccessBlock":    op("PutPublicAccessBlock", "s3:PutBucketPublicAccessBlock", (*request).putAccessBlock),
		"DELETE bucket publicAccessBlock": op("DeletePublicAccessBlock", "s3:PutBucketPublicAccessBlock", removed(configAccessBlock)),

		"GET bucket ownershipControls":    op("GetBucketOwnershipControls", "s3:GetBucketOwnershipControls", (*request).getOwnership),
		"PUT bucket ownershipControls":    op("PutBucketOwnershipControls", "s3:PutBucketOwnershipControls", (*request).putOwnership),
		"DELETE bucket ownershipControls": op("DeleteBucketOwnershipControls", "s3:PutBucketOwnershipControls", (*request).deleteOwnership),

		"GET bucket encryption":    op("GetBucketEncryption", "s3:GetEncryptionConfiguration", (*request).getEncryption),
		"PUT bucket encryption":    op("PutBucketEncryption", "s3:PutEncryptionConfiguration", (*request).putEncryption),
		"DELETE bucket encryption": op("DeleteBucketEncryption", "s3:PutEncryptionConfiguration", removed(configEncryption)),

		"GET bucket lifecycle":    op("GetBucketLifecycleConfiguration", "s3:GetLifecycleConfiguration", (*request).getLifecycle),
		"PUT bucket lifecycle":    op("PutBucketLifecycleConfiguration", "s3:PutLifecycleConfiguration", (*request).putLifecycle),
		"DELETE bucket lifecycle": op("DeleteBucketLifecycle", "s3:PutLifecycleConfiguration", (*request).deleteLifecycle),

		"GET bucket cors": op("GetBucketCors", "s3:GetBucketCORS", stored(configCORS,
			notFound("NoSuchCORSConfiguration", "The CORS configuration does not exist"))),
		"PUT bucket cors":    op("PutBucketCors", "s3:PutBucketCORS", (*request).putCORS),
		"DELETE bucket cors": op("DeleteBucketCors", "s3:PutBucketCORS", removed(configCORS)),

		"GET bucket notification": op("GetBucketNotificationConfiguration", "s3:GetBucketNotification", (*request).getNotification),
		"PUT bucket notification": op("PutBucketNotificationConfiguration", "s3:PutBucketNotification", (*request).putNotification),

		"GET bucket object-lock": op("GetObjectLockConfiguration", "s3:GetBucketObjectLockConfiguration", (*request).getLockConfig),
		"PUT bucket object-lock": op("PutObjectLockConfiguration", "s3:PutBucketObjectLockConfiguration", (*request).putLockConfig),
	}
	maps.Copy(operations, unconfigured())
	return operations
}

func bucketOperation(name, action string, run func(*request) error) *operation {
	return &operation{name: name, permissions: bucketPermission(action), run: run}
}

func storedConfig(config string, missing *awserr.Error) func(*request) error {
	return func(q *request) error { return q.getConfig(config, missing) }
}

func notFound(code, message string) *awserr.Error {
	return awserr.New(http.StatusNotFound, code, message)
}

// getConfig responds with the stored document.
func (q *request) getConfig(name string, missing *awserr.Error) error {
	raw := q.state.Config[name]
	if raw == nil {
		return missing.With("BucketName", q.bucket)
	}
	return q.raw(contentXML, raw)
}

func (q *request) deleteConfig(name string) error {
	return q.statusUnless(q.setConfig(name, nil), http.StatusNoContent)
}

// setConfig stores or, with nil, removes a document.
func (q *request) setConfig(name string, raw []byte) error {
	return q.changeBucket(func(b *store.Bucket) {
		if raw == nil {
			delete(b.Config, name)
		} else {
			b.Config[name] = raw
		}
	})
}

func (q *request) changeBucket(do func(*store.Bucket)) error {
	return q.Store.UpdateBucket(q.bucket, func(b *store.Bucket) error {
		do(b)
		return nil
	})
}

// encodeXML writes v as a stored document with S3's namespace.
func encodeXML(root string, v any) []byte {
	b := bytes.NewBufferString(xml.Header)
	start := xml.StartElement{Name: xml.Name{Local: root}, Attr: []xml.Attr{{Name: xml.Name{Local: "xmlns"}, Value: namespace}}}
	_ = xml.NewEncoder(b).EncodeElement(v, start) // v is one of the fixed document types of this package
	return b.Bytes()
}

// configOf reads a stored document of a bucket. Without one, the result is the zero value.
func configOf[T any](b store.Bucket, name string) T {
	var doc T
	if raw := b.Config[name]; raw != nil {
		_ = xml.Unmarshal(raw, &doc) // a document of this package
	}
	return doc
}

func (q *request) getPolicy() error {
	raw := q.state.Config[configPolicy]
	if raw == nil {
		return notFound("NoSuchBucketPolicy", "The bucket policy does not exist").With("BucketName", q.bucket)
	}
	return q.raw("application/json", []byte(q.Account.Shown(string(raw), q.state.Principals)))
}

func (q *request) putPolicy() error {
	raw, err := q.readBody()
	if err != nil {
		return err
	}
	if len(raw) == 0 {
		return awserr.New(http.StatusBadRequest, "MalformedPolicy", "Policies must be valid JSON and the first byte must be '{'")
	}
	policy, err := iampolicy.ParseBucket(raw, q.bucket, q.Account)
	if err != nil {
		return err
	}
	if policy.Public() && accessBlockOf(q.state).BlockPublicPolicy {
		return awserr.Newf(http.StatusForbidden, "AccessDenied",
			"User: %s is not authorized to perform: s3:PutBucketPolicy on resource: %q because public policies are prevented by the BlockPublicPolicy setting in S3 Block Public Access.", q.principal.ARN, q.bucketARN())
	}
	if q.header("X-Amz-Confirm-Remove-Self-Bucket-Access") != "true" && q.locksOut(policy) {
		return awserr.New(http.StatusBadRequest, "MalformedPolicy", "Policy would lock the caller out; confirm with x-amz-confirm-remove-self-bucket-access: true")
	}
	if !json.Valid(raw) {
		return errMalformedXML
	}
	return q.statusUnless(q.changeBucket(func(b *store.Bucket) {
		b.Config[configPolicy], b.Principals = raw, q.Account.Pins(policy)
	}), http.StatusNoContent)
}

// locksOut reports whether a policy would deny its author the next PutBucketPolicy. The root user is never locked
// out of that.
func (q *request) locksOut(policy *iampolicy.Document) bool {
	if q.principal.Root {
		return false
	}
	return policy.Evaluate(iampolicy.Request{
		Action: "s3:PutBucketPolicy", Resource: q.bucketARN(), Context: q.conditions(),
		Principal: q.principal.Caller(),
	}) == iampolicy.Deny
}

func (q *request) getPolicyStatus() error {
	if q.policy == nil {
		return notFound("NoSuchBucketPolicy", "The bucket policy does not exist").With("BucketName", q.bucket)
	}
	return q.send(newDocument("PolicyStatus").bool("IsPublic", q.policy.Public()))
}

// versioningBody is VersioningConfiguration.
type versioningBody struct {
	XMLName   xml.Name `xml:"VersioningConfiguration"`
	Status    string   `xml:"Status"`
	MfaDelete string   `xml:"MfaDelete"`
}

func (q *request) getVersioning() error {
	return q.send(newDocument("VersioningConfiguration").optional("Status", q.state.Versioning))
}

func (q *request) putVersioning() error {
	var body versioningBody
	if err := q.readXML(&body); err != nil {
		return err
	}
	switch {
	case body.Status != "" && body.Status != store.VersioningEnabled && body.Status != store.VersioningSuspended:
		return errMalformedXML
	case body.Status == "":
		return awserr.New(http.StatusBadRequest, "IllegalVersioningConfigurationException", "The Versioning element must be specified")
	case body.MfaDelete == "Enabled":
		return notImplemented("MfaDelete", "MFA delete is not supported by this fake.")
	case q.state.ObjectLock && body.Status == store.VersioningSuspended:
		return awserr.New(http.StatusConflict, "InvalidBucketState", "An Object Lock configuration is present on this bucket, so the versioning state cannot be changed.")
	}
	return q.statusUnless(q.changeBucket(func(b *store.Bucket) { b.Versioning = body.Status }), http.StatusOK)
}

// accessBlock is PublicAccessBlockConfiguration.
type accessBlock struct {
	XMLName               xml.Name `xml:"PublicAccessBlockConfiguration"`
	BlockPublicAcls       bool     `xml:"BlockPublicAcls"`
	IgnorePublicAcls      bool     `xml:"IgnorePublicAcls"`
	BlockPublicPolicy     bool     `xml:"BlockPublicPolicy"`
	RestrictPublicBuckets bool     `xml:"RestrictPublicBuckets"`
}

func (b accessBlock) document() []byte {
	return encodeXML("PublicAccessBlockConfiguration", b)
}

// accessBlockOf returns a bucket's public access block; none blocks nothing. A document that cannot be read blocks
// everything.
func accessBlockOf(b store.Bucket) accessBlock {
	var block accessBlock
	if raw := b.Config[configAccessBlock]; raw != nil && xml.Unmarshal(raw, &block) != nil {
		return accessBlock{BlockPublicAcls: true, IgnorePublicAcls: true, BlockPublicPolicy: true, RestrictPublicBuckets: true}
	}
	return block
}

func (q *request) putAccessBlock() error {
	var body accessBlock
	if err := q.readXML(&body); err != nil {
		return err
	}
	return q.statusUnless(q.setConfig(configAccessBlock, body.document()), http.StatusOK)
}

// ownershipBody is OwnershipControls.
type ownershipBody struct {
	XMLName xml.Name `xml:"OwnershipControls"`
	Rule    []struct {
		ObjectOwnership string `xml:"ObjectOwnership"`
	} `xml:"Rule"`
}

func ownershipDocument(ownership string) []byte {
	return []byte(xml.Header + `<OwnershipControls xmlns="` + namespace + `"><Rule><ObjectOwnership>` + ownership + `</ObjectOwnership></Rule></OwnershipControls>`)
}

// ownerNone is stored when the ownership controls were deleted.
const ownerNone = "none"

func ownershipOf(b store.Bucket) string {
	body := configOf[ownershipBody](b, configOwnership)
	switch {
	case b.Config[configOwnership] == nil:
		return ownerEnforced
	case len(body.Rule) == 0:
		return ownerNone
	}
	return body.Rule[0].ObjectOwnership
}

func (q *request) getOwnership() error {
	ownership := ownershipOf(q.state)
	if ownership == ownerNone {
		return notFound("OwnershipControlsNotFoundError", "The bucket ownership controls were not found").With("BucketName", q.bucket)
	}
	return q.raw(contentXML, ownershipDocument(ownership))
}

func (q *request) deleteOwnership() error {
	return q.statusUnless(q.setConfig(configOwnership, []byte(ownerNone)), http.StatusNoContent)
}

func (q *request) putOwnership() error {
	var body ownershipBody
	if err := q.readXML(&body); err != nil {
		return err
	}
	if len(body.Rule) != 1 || !slices.Contains(ownerships, body.Rule[0].ObjectOwnership) {
		return errMalformedXML
	}
	owner := store.Grant{ID: q.Account.CanonicalID(), Permission: fullControl}
	if acl := q.state.ACL; body.Rule[0].ObjectOwnership == ownerEnforced && acl != nil && slices.ContainsFunc(acl.Grants, func(g store.Grant) bool { return g != owner }) {
		return errBucketACL
	}
	return q.statusUnless(q.setConfig(configOwnership, ownershipDocument(body.Rule[0].ObjectOwnership)), http.StatusOK)
}
