// SPDX-License-Identifier: Apache-2.0

package s3api

import (
	"maps"
	"net/http"
	"slices"
	"strings"
)

// operation is one operation of the S3 API.
type operation struct {
	name string
	// selector is the parameter that selects the operation, "" where none does.
	selector string
	// permissions returns the permissions that the caller needs; nil leaves the check to run.
	permissions func(*request) []permission
	// describe adds the condition keys that are in the body.
	describe func(*request) error
	run      func(*request) error
	// creates is set for CreateBucket: the bucket need not exist.
	creates bool
	// upload operations take framed bodies.
	upload bool
	// preflight operations need no authentication.
	preflight bool
	// form operations authenticate through form fields.
	form bool
	// showsRegion operations return the region of the bucket, also with errors.
	showsRegion bool
	// signedOnly operations are never open to anonymous callers.
	signedOnly bool
}

// subresources are the query parameters that select an operation of a bucket or an object, in the order of
// precedence. They include those without an implemented operation, so that these are never mistaken for something
// else.
var subresources = append([]string{
	"acl", "tagging", "policy", "policyStatus", "versioning", "versions", "uploads", "uploadId", "delete", "location", "cors",
	"lifecycle", "encryption", "publicAccessBlock", "ownershipControls", "object-lock", "retention", "legal-hold", "attributes",
	"notification", "abac", "publicAccessBlockAccount",
}, unserved...)

// route finds the operation by method, kind of resource and sub-resource.
func (q *request) route() *operation {
	if q.control {
		return q.routeControl()
	}
	scope := "service"
	switch {
	case q.key != "":
		scope = "object"
	case q.bucket != "":
		scope = "bucket"
	}
	sub := ""
	for _, name := range subresources {
		if _, ok := q.query[name]; ok {
			sub = name
			break
		}
	}
	if op := q.special(scope, sub); op != nil {
		return op
	}
	if op := q.operations[q.r.Method+" "+scope+" "+sub]; op != nil {
		return op
	}
	refusal := errMethodNotAllowed
	switch {
	case scope == "bucket" && metadataTables[sub] != "" && q.r.Method == http.MethodGet:
		refusal = refusal.With("Method", q.r.Method).With("ResourceType", metadataTables[sub]).WithHeader("Allow", http.MethodPut)
	case q.unserved(scope, sub):
		return unservedOperation(q.r.Method, scope, sub)
	case scope == "object" && sub == "versions":
		refusal = invalidRequest("There is no such thing as the ?versions sub-resource for a key")
	case scope == "object" && sub == "uploads":
		refusal = invalidRequest("Key is not expected for the " + q.r.Method + " method ?uploads subresource")
	}
	return &operation{name: q.r.Method + " " + scope + "?" + sub, run: refuse(refusal), signedOnly: true}
}

// unserved reports whether a request is for an S3 operation that the fake does not implement.
func (q *request) unserved(scope, sub string) bool {
	return slices.Contains(unserved, sub) || (sub == "encryption" && scope == "object" && q.r.Method == http.MethodPut)
}

// unservedOperation returns NotImplemented to authenticated callers, regardless of whether the bucket exists.
func unservedOperation(method, scope, sub string) *operation {
	name := unservedName(method, scope, sub)
	return &operation{name: name, creates: true, signedOnly: true, run: refuse(notImplemented(sub, name+" is not supported by this fake."))}
}

// minioParameter is a parameter with which MinIO's clients request the lifecycle from every server. Only MinIO evaluates
// it.
const minioParameter = "withUpdatedAt"

// parameters are the query parameters that may come with an operation and select nothing.
var parameters = []string{
	"prefix", "delimiter", "marker", "key-marker", "version-id-marker", "upload-id-marker", "start-after", "continuation-token", "max-keys", "max-uploads",
	"max-parts", "part-number-marker", "encoding-type", "fetch-owner", "list-type", "versionId", "partNumber", "x-id", minioParameter, "max-buckets", "bucket-region",
	"if-match", "if-none-match", "If-Match", "If-None-Match", "id", "AWSAccessKeyId", "Expires", "Signature", "content-md5", "content-type", // the last five are of Signature Version 2
}

// strange returns an unknown parameter: the name of a sub-resource, or a parameter of an operation, that is newer
// than this fake. Ignoring it could make a PUT overwrite the object itself. For reads of objects unknown parameters
// are accepted, because clients use them to bypass caches.
func (q *request) strange(scope string) string {
	if scope == "object" && (q.r.Method == http.MethodGet || q.r.Method == http.MethodHead) {
		return ""
	}
	for name := range q.query {
		if name != "" && !slices.Contains(parameters, name) && !slices.Contains(subresources, name) && !strings.HasPrefix(strings.ToLower(name), "x-amz-") && !strings.HasPrefix(name, "response-") {
			return name
		}
	}
	return ""
}

// special finds the operations that a header or a second parameter selects.
func (q *request) special(scope, sub string) *operation {
	if q.r.Method == http.MethodOptions {
		return &operation{name: "Preflight", preflight: true, run: (*request).preflight}
	}
	if op := q.elsewhere(scope, sub); op != nil {
		return op
	}
	_, copies := q.r.Header["X-Amz-Copy-Source"]
	switch m := q.r.Method; {
	case m == http.MethodPut && scope == "object" && copies && (sub == "uploadId" || sub == "" && !q.query.Has("partNumber")):
		return q.operations["COPY object "+sub]
	case m == http.MethodGet && scope == "bucket" && q.query.Has("id"):
		return q.operations["GETID bucket "+sub]
	case m == http.MethodGet && scope == "bucket" && sub == "" && q.param("list-type") == "2":
		return q.operations["GET bucket list-type"]
	}
	return nil
}

// elsewhere recognizes unimplemented requests without a known sub-resource: operations of S3's other endpoints
// (directory buckets, Object Lambda, S3 Control), and newer ones.
func (q *request) elsewhere(scope, sub string) *operation {
	m := q.r.Method
	switch {
	case m == http.MethodGet && scope == "service" && q.param("x-id") == "ListDirectoryBuckets":
		return unservedOperation(m, scope, "DirectoryBuckets")
	case m == http.MethodPost && scope == "bucket" && q.bucket == "WriteGetObjectResponse":
		return unservedOperation(m, scope, q.bucket)
	case q.bucket == "v20180820":
		return unservedOperation(m, "s3", "Control")
	case q.strange(scope) != "" && !q.unserved(scope, sub):
		return unservedOperation(m, scope, q.strange(scope))
	}
	return nil
}

func refuse(err error) func(*request) error { return func(*request) error { return err } }

// unserved are the sub-resources of Amazon S3 that this fake does not implement at all.
var unserved = []string{
	"accelerate", "analytics", "inventory", "logging", "metrics", "replication", "requestPayment", "website",
	"intelligent-tiering", "metadataTable", "metadataConfiguration", "metadataInventoryTable", "metadataJournalTable",
	"metadataAnnotationTable", "annotation", "session", "torrent", "restore", "select", "renameObject", "append",
}

func unservedName(method, scope, sub string) string {
	verb := map[string]string{http.MethodGet: "Get", http.MethodPut: "Put", http.MethodDelete: "Delete", http.MethodPost: "Post", http.MethodHead: "Head"}[method]
	return verb + strings.ToUpper(scope[:1]) + scope[1:] + strings.ToUpper(sub[:1]) + sub[1:]
}

// Operations returns the names of all implemented operations, in order.
func Operations() []string {
	var out []string
	for _, op := range operationTable() {
		out = append(out, op.name)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// operationTable returns the operations by "METHOD scope sub-resource". COPY means a PUT with x-amz-copy-source.
func operationTable() map[string]*operation {
	onBucket, onObject := bucketPermission, objectPermission
	table := map[string]*operation{
		"GET service ": {name: "ListBuckets", permissions: everyBucket("s3:ListAllMyBuckets"), run: (*request).listBuckets, signedOnly: true},
		"PUT bucket ": {
			name: "CreateBucket", permissions: (*request).createBucketPermissions, describe: (*request).describeBucket,
			run: (*request).createBucket, creates: true, signedOnly: true,
		},
		"HEAD bucket ":       {name: "HeadBucket", permissions: onBucket("s3:ListBucket"), run: (*request).headBucket, showsRegion: true},
		"DELETE bucket ":     {name: "DeleteBucket", permissions: onBucket("s3:DeleteBucket"), run: (*request).deleteBucket, signedOnly: true},
		"GET bucket ":        {name: "ListObjects", permissions: onBucket("s3:ListBucket"), run: (*request).listObjects, showsRegion: true},
		"POST bucket ":       {name: "PostObject", run: (*request).postObject, form: true},
		"POST bucket delete": {name: "DeleteObjects", run: (*request).deleteObjects},

		"GET bucket list-type": {name: "ListObjectsV2", permissions: onBucket("s3:ListBucket"), run: (*request).listObjectsV2, showsRegion: true},
		"GET bucket versions":  {name: "ListObjectVersions", permissions: onBucket("s3:ListBucketVersions"), run: (*request).listVersions},
		"GET bucket uploads":   {name: "ListMultipartUploads", permissions: onBucket("s3:ListBucketMultipartUploads"), run: (*request).listUploads},
		"GET bucket location":  {name: "GetBucketLocation", permissions: onBucket("s3:GetBucketLocation"), run: (*request).getLocation},

		"GET object ":    {name: "GetObject", permissions: tagged(versioned("s3:GetObject", "s3:GetObjectVersion")), run: (*request).getObject},
		"HEAD object ":   {name: "HeadObject", permissions: tagged(versioned("s3:GetObject", "s3:GetObjectVersion")), run: (*request).headObject},
		"PUT object ":    {name: "PutObject", permissions: (*request).writePermissions, run: (*request).putObject, upload: true},
		"COPY object ":   {name: "CopyObject", permissions: (*request).writePermissions, run: (*request).copyObject},
		"DELETE object ": {name: "DeleteObject", permissions: (*request).deletePermissions, run: (*request).deleteObject},

		"GET object attributes": {name: "GetObjectAttributes", permissions: tagged((*request).attributesPermissions), run: (*request).getAttributes},

		"POST object uploads":    {name: "CreateMultipartUpload", permissions: (*request).writePermissions, run: (*request).createUpload, signedOnly: true},
		"PUT object uploadId":    {name: "UploadPart", permissions: onObject("s3:PutObject"), run: (*request).uploadPart, upload: true},
		"COPY object uploadId":   {name: "UploadPartCopy", permissions: onObject("s3:PutObject"), run: (*request).uploadPartCopy},
		"POST object uploadId":   {name: "CompleteMultipartUpload", permissions: (*request).completePermissions, run: (*request).completeUpload},
		"DELETE object uploadId": {name: "AbortMultipartUpload", permissions: onObject("s3:AbortMultipartUpload"), run: (*request).abortUpload},
		"GET object uploadId":    {name: "ListParts", permissions: onObject("s3:ListMultipartUploadParts"), run: (*request).listParts},

		"GET object tagging": {name: "GetObjectTagging", permissions: tagged(versioned("s3:GetObjectTagging", "s3:GetObjectVersionTagging")), run: (*request).getObjectTagging},
		"PUT object tagging": {
			name: "PutObjectTagging", permissions: tagged(versioned("s3:PutObjectTagging", "s3:PutObjectVersionTagging")),
			describe: (*request).describeTags, run: (*request).putObjectTagging,
		},
		"DELETE object tagging": {name: "DeleteObjectTagging", permissions: tagged(versioned("s3:DeleteObjectTagging", "s3:DeleteObjectVersionTagging")), run: (*request).deleteObjectTagging},

		"GET object retention":  {name: "GetObjectRetention", permissions: onObject("s3:GetObjectRetention"), run: (*request).getRetention},
		"PUT object retention":  {name: "PutObjectRetention", permissions: onObject("s3:PutObjectRetention"), describe: (*request).describeRetention, run: (*request).putRetention},
		"GET object legal-hold": {name: "GetObjectLegalHold", permissions: onObject("s3:GetObjectLegalHold"), run: (*request).getLegalHold},
		"PUT object legal-hold": {name: "PutObjectLegalHold", permissions: onObject("s3:PutObjectLegalHold"), describe: (*request).describeLegalHold, run: (*request).putLegalHold},

		"GET object acl": {name: "GetObjectAcl", permissions: tagged(versioned("s3:GetObjectAcl", "s3:GetObjectVersionAcl")), run: (*request).getObjectACL},
		"PUT object acl": {name: "PutObjectAcl", permissions: tagged(versioned("s3:PutObjectAcl", "s3:PutObjectVersionAcl")), run: (*request).putObjectACL},
		"GET bucket acl": {name: "GetBucketAcl", permissions: onBucket("s3:GetBucketAcl"), run: (*request).getBucketACL},
		"PUT bucket acl": {name: "PutBucketAcl", permissions: onBucket("s3:PutBucketAcl"), run: (*request).putBucketACL},
	}
	for key, op := range configOperations() {
		op.signedOnly = true
		table[key] = op
	}
	maps.Copy(table, controlOperations())
	for key, op := range table {
		op.selector = key[strings.LastIndexByte(key, ' ')+1:]
	}
	return table
}
