// SPDX-License-Identifier: Apache-2.0

// Package s3api implements the REST API of Amazon S3 for a store.Store, with one file per resource. Callers must pass
// only S3 requests. The package determines the operation, verifies the signature and evaluates all policies before it
// accesses the store. It responds with NotImplemented to operations that it does not implement.
package s3api

import (
	"bytes"
	"cmp"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/calls"
	"github.com/cooper-cosi/cooper/fakes/internal/sigv4"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/notify"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// Options are the arguments of New.
type Options struct {
	Store   *store.Store
	Account *iam.Account
	// Events delivers event notifications.
	Events *notify.Hub
	// Region is the region of requests that are not signed for another.
	Region string
	// Domains are the host names that can be prefixed with a bucket name. Requests to other hosts are path-style.
	Domains []string
	// OpenBuckets disables the public access block of new buckets, as AWS did before April 2023.
	OpenBuckets bool
	// LocationOnly rejects a CreateBucketConfiguration without a LocationConstraint and ignores its tags; NoBucketTags
	// disables bucket tags.
	LocationOnly, NoBucketTags bool
	// RefuseVersion2 rejects Signature Version 2, which S3 accepts in us-east-1.
	RefuseVersion2 bool
	// KMSKeys are the IDs of the keys that exist; nil accepts every key ID.
	KMSKeys []string
	Now     func() time.Time
}

// API is the REST API of S3.
type API struct {
	Options
	operations map[string]*operation
	// alsoRegion is serves.
	alsoRegion func(region string) bool
	policies   parsedPolicies
	known      sigv4.SigningKeys
}

// New returns the API.
func New(o Options) *API {
	a := &API{Options: o, operations: operationTable()}
	a.alsoRegion = a.serves
	return a
}

// request is one request on its way through the API.
type request struct {
	*API
	w  http.ResponseWriter
	r  *http.Request
	id string

	op     *operation
	bucket string
	key    string
	query  url.Values
	// control is set for requests to S3 Control.
	control bool

	signed    *sigv4.Verified
	principal *iam.Principal
	state     store.Bucket
	body      sigv4.Body
	// document is the body of an operation that was read for its conditions.
	document []byte
	context  iampolicy.Context
	policy   *iampolicy.Document
	// customer is the MD5 of the customer's key in the request.
	customer string
	// form holds the fields of a browser upload.
	form map[string]string
	// pinned is the version that version returned. source is the request for the source of a copy.
	pinned *pinned
	source *request
	// events are those for the callback, until the end of the turn.
	events []notify.Event
	// done means that the response's status has been written, so an error can only close the connection.
	done bool
}

// Prepare determines the operation of r. It does not verify anything.
func (a *API) Prepare(r *http.Request) *Prepared {
	q := &request{API: a, r: r}
	var err error
	q.bucket, q.key = a.address(r)
	q.enterControl()
	if q.query, err = parseQuery(r.URL.RawQuery); err == nil {
		err = q.single()
	}
	q.op = q.route()
	return &Prepared{q: q, err: err}
}

// Prepared is a request whose operation has been determined.
type Prepared struct {
	q   *request
	err error
}

// Describe describes the request as far as it is known. The principal is the ARN or the access key ID of the caller, or ""
// if the caller is anonymous or not verified.
func (p *Prepared) Describe() calls.Description {
	d := calls.Description{Operation: p.q.op.name, Resource: p.q.bucket}
	if p.q.key != "" {
		d.Resource += "/" + p.q.key
	}
	switch {
	case p.q.principal != nil:
		d.Principal = p.q.principal.ARN
	case p.q.signed != nil:
		d.Principal = p.q.signed.AccessKeyID
	}
	return d
}

// Serve handles the request and returns the error in the response, or nil if the request succeeded.
func (p *Prepared) Serve(w http.ResponseWriter, requestID string) *awserr.Error {
	q := p.q
	q.w, q.id = w, requestID
	err := p.err
	if err == nil {
		defer q.unpin()
		err = q.serve()
	}
	if err == nil {
		return nil
	}
	e := q.wireError(err)
	q.writeError(e)
	return e
}

// Fail responds with the given error instead of handling the request.
func (p *Prepared) Fail(w http.ResponseWriter, requestID string, e *awserr.Error) {
	p.q.w, p.q.id, p.q.done = w, requestID, false
	p.q.writeError(e)
}

// versionID matches valid version IDs.
var versionID = regexp.MustCompile(`^[A-Za-z0-9]{20,64}$`)

func checkVersionID(v string) error {
	if v == store.NullVersion || versionID.MatchString(v) {
		return nil
	}
	if v == "" {
		return invalidArgument("versionId", "", "Version id cannot be the empty string")
	}
	return invalidArgument("versionId", v, "Invalid version id specified")
}

// issued reports whether a version ID is one of the bucket's. A version ID that S3 never generated is invalid, also if
// it has the right form.
func (q *request) issued(version string) bool {
	if store.Issued(version) {
		return version == store.NullVersion || q.state.Versioning != ""
	}
	_, err := q.Store.Get(q.bucket, q.key, version)
	return err == nil
}

func (q *request) serve() error {
	if !utf8.ValidString(q.key) { // "a sequence of Unicode characters" in UTF-8 ("Naming Amazon S3 objects")
		return errInvalidURI
	}
	if len(q.key) > 1024 {
		return awserr.New(http.StatusBadRequest, "KeyTooLongError", "Your key is too long").With("Size", itoa(len(q.key))).With("MaxSizeAllowed", "1024")
	}
	if q.op.preflight {
		return q.op.run(q)
	}
	if err := q.authenticate(); err != nil {
		return err
	}
	if err := q.unhoist(); err != nil {
		return err
	}
	if err := q.enterBucket(); err != nil {
		return err
	}
	q.allowOrigin()
	wrong := q.describe()
	if q.op.permissions != nil {
		if err := q.authorize(q.op.permissions(q)...); err != nil {
			return err
		}
	}
	if err := q.checkHeaders(); err != nil {
		return err
	}
	if q.query.Has("versionId") && q.key != "" {
		if err := checkVersionID(q.param("versionId")); err != nil {
			return err
		}
		if !q.issued(q.param("versionId")) {
			return invalidArgument("versionId", q.param("versionId"), "Invalid version id specified")
		}
	}
	if q.op.describe != nil {
		if wrong != nil {
			return wrong
		}
		return q.op.run(q)
	}
	if err := q.openBody(); err != nil {
		return err
	}
	return q.op.run(q)
}

// describe parses the conditions in the body, and returns an error if the body is invalid.
func (q *request) describe() error {
	if q.op.describe == nil {
		return nil
	}
	if err := q.openBody(); err != nil {
		return err
	}
	return q.op.describe(q)
}

// authenticate verifies the signature and resolves the principal.
func (q *request) authenticate() error {
	v := q.verifier()
	signed, err := v.Verify(q.r)
	if err != nil {
		return err
	}
	q.signed = signed
	if signed == nil {
		return q.checkAnonymous()
	}
	return q.identify()
}

func (q *request) verifier() sigv4.Verifier {
	return sigv4.Verifier{
		Expect: sigv4.Expect{Service: "s3", Region: q.Region, Also: q.alsoRegion}, Now: q.Now, Lookup: q.lookup, Known: &q.known,
		Version2: q.Region == classicRegion && !q.RefuseVersion2, HostBucket: q.hostBucket(q.r.Host),
	}
}

func (q *request) lookup(keyID, token string) (string, error) {
	return q.Account.Secret(keyID, token, errNoAccessKey.With("AWSAccessKeyId", keyID))
}

func (q *request) identify() error {
	p, err := q.Account.Principal(q.signed.AccessKeyID)
	if err != nil {
		return errNoAccessKey.With("AWSAccessKeyId", q.signed.AccessKeyID)
	}
	q.principal = &p
	q.Account.Used(q.signed.AccessKeyID, "s3", q.endpointRegion())
	return nil
}

// checkAnonymous rejects operations that always require a signature.
func (q *request) checkAnonymous() error {
	if q.op.form {
		return nil
	}
	if q.bucket == "" || q.op.signedOnly {
		return errAccessDenied
	}
	return nil
}

// findBucket loads the bucket that the request is about.
func (q *request) findBucket() error {
	if q.bucket == "" || q.op.creates {
		return nil
	}
	if !validBucketName(q.bucket) {
		return errInvalidBucket.With("BucketName", q.bucket)
	}
	b, err := q.Store.Bucket(q.bucket)
	if err != nil {
		return err
	}
	q.state = b
	if q.op.showsRegion {
		q.w.Header().Set(bucketRegion, q.region())
	}
	if raw := b.Config[configPolicy]; raw != nil {
		q.policy, err = q.policies.get(b.Name, raw, b.Principals)
	}
	return err
}

var accountID = regexp.MustCompile(`^\d{12}$`)

// checkOwner compares the account that a client expects to own a bucket.
func (q *request) checkOwner(want string) error {
	switch {
	case want == "" || want == q.Account.Options.ID:
		return nil
	case !accountID.MatchString(want):
		return awserr.New(http.StatusBadRequest, "InvalidBucketOwnerAWSAccountID", "The value of the expected bucket owner parameter must be an AWS Account ID... ["+want+"]")
	}
	return errAccessDenied
}

// parsedPolicies spares parsing a bucket policy on every request. A stored document is never changed, but replaced.
type parsedPolicies struct {
	mu   sync.RWMutex
	docs map[string]parsedPolicy
}

type parsedPolicy struct {
	raw  []byte
	pins iampolicy.Pins
	doc  *iampolicy.Document
}

// get parses the policy of a bucket unless it is the one that was parsed last.
func (c *parsedPolicies) get(bucket string, raw []byte, pins iampolicy.Pins) (*iampolicy.Document, error) {
	c.mu.RLock()
	known := c.docs[bucket]
	c.mu.RUnlock()
	if known.doc != nil && bytes.Equal(known.raw, raw) && maps.Equal(known.pins, pins) {
		return known.doc, nil
	}
	doc, err := iampolicy.ParseBucket(raw, bucket, everybody{})
	if err != nil {
		return nil, err
	}
	doc.Pin(pins)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.docs == nil || len(c.docs) >= maxParsed {
		c.docs = map[string]parsedPolicy{}
	}
	c.docs[bucket] = parsedPolicy{raw, pins, doc}
	return doc, nil
}

// maxParsed bounds the parsed policies; past it they start over.
const maxParsed = 4096

// everybody accepts any principal, because a stored policy was validated when it was put.
type everybody struct{}

func (everybody) PrincipalExists(string) bool { return true }

// openBody prepares the verified body. Framed bodies are for objects and parts only.
func (q *request) openBody() error {
	if sigv4.IsStreaming(q.r.Header.Get("X-Amz-Content-Sha256")) && !q.op.upload {
		return errPayloadUsage
	}
	body, err := sigv4.NewBody(q.r, q.signed)
	q.body = body
	switch {
	case err != nil:
		return err
	case body.Size() < 0:
		return errNotImplemented.With("Header", "Transfer-Encoding")
	case q.op.upload && q.r.Body == http.NoBody && q.r.ContentLength == 0 && q.r.Header.Get("Content-Length") == "":
		return errNoLength
	}
	return nil
}

func (q *request) param(name string) string { return q.query.Get(name) }

func (q *request) header(name string) string {
	if q.form == nil {
		return q.r.Header.Get(name)
	}
	if strings.EqualFold(name, "X-Amz-Acl") {
		return cmp.Or(q.form["acl"], q.form["x-amz-acl"]) // the field of a browser upload has its own name
	}
	return q.form[strings.ToLower(name)]
}

// parseQuery is url.ParseQuery with a semicolon as an ordinary character, as in S3.
func parseQuery(raw string) (url.Values, error) {
	v, err := url.ParseQuery(strings.ReplaceAll(raw, ";", "%3B"))
	if err != nil {
		return v, errInvalidURI
	}
	return v, nil
}
