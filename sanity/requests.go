// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// bucket is a bucket of a case: the request and response of phase 1.
type bucket struct {
	id      string
	request *cosi.DriverGenerateBucketIdRequest
}

func (b *bucket) create() *cosi.DriverCreateBucketRequest {
	return &cosi.DriverCreateBucketRequest{BucketId: b.id, Protocols: b.request.GetProtocols(), Parameters: b.request.GetParameters()}
}

func (b *bucket) get() *cosi.DriverGetBucketRequest {
	return &cosi.DriverGetBucketRequest{BucketId: b.id, Protocols: b.request.GetProtocols(), Parameters: b.request.GetParameters()}
}

func (b *bucket) delete() *cosi.DriverDeleteBucketRequest {
	return &cosi.DriverDeleteBucketRequest{BucketId: b.id, Parameters: b.request.GetParameters()}
}

// access is an access of a case: phase 1, the grant, and its response once granted.
type access struct {
	phase1   *cosi.DriverGenerateBucketAccessIdRequest
	request  *cosi.DriverGrantBucketAccessRequest
	response *cosi.DriverGrantBucketAccessResponse
}

func (a *access) revoke() *cosi.DriverRevokeBucketAccessRequest { return revokeOf(a.request) }

// protocol returns the protocol for cases that work with any: the first one that can be probed.
func (c *C) protocol() cosi.ObjectProtocol_Type {
	offered := c.suite.offered()
	for _, protocol := range offered {
		if c.suite.config.Probers[protocol] != nil {
			return protocol
		}
	}
	if len(offered) > 0 {
		return offered[0]
	}
	return cosi.ObjectProtocol_S3
}

// offered returns the known protocols in the response of DriverGetInfo.
func (s *suite) offered() []cosi.ObjectProtocol_Type {
	var offered []cosi.ObjectProtocol_Type
	for _, protocol := range s.info.GetSupportedProtocols() {
		if slices.Contains(allProtocols(), protocol.GetType()) && !slices.Contains(offered, protocol.GetType()) {
			offered = append(offered, protocol.GetType())
		}
	}
	return offered
}

func allProtocols() []cosi.ObjectProtocol_Type {
	return []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_S3, cosi.ObjectProtocol_AZURE, cosi.ObjectProtocol_GCS}
}

// missingProtocol returns a protocol that the driver does not offer.
func (s *suite) missingProtocol() (cosi.ObjectProtocol_Type, bool) {
	for _, protocol := range allProtocols() {
		if !slices.Contains(s.offered(), protocol) {
			return protocol, true
		}
	}
	return cosi.ObjectProtocol_UNKNOWN, false
}

func protocols(of ...cosi.ObjectProtocol_Type) []*cosi.ObjectProtocol {
	var list []*cosi.ObjectProtocol
	for _, protocol := range of {
		list = append(list, &cosi.ObjectProtocol{Type: protocol})
	}
	return list
}

func mode(of cosi.AccessMode_Mode) *cosi.AccessMode { return &cosi.AccessMode{Mode: of} }

func readWrite(bucketID string) *cosi.AccessedBucket {
	return &cosi.AccessedBucket{BucketId: bucketID, ObjectDataAccessMode: mode(cosi.AccessMode_READ_WRITE)}
}

func (c *C) bucketRequest(name string) *cosi.DriverGenerateBucketIdRequest {
	return &cosi.DriverGenerateBucketIdRequest{
		Name: name, Protocols: protocols(c.protocol()), Parameters: maps.Clone(c.suite.config.Params.Bucket),
	}
}

// generated runs phase 1 for a new bucket. For a driver that creates no buckets, it returns one that the fixture can
// create.
func (c *C) generated() *bucket {
	if c.suite.config.CreatesNothing {
		return c.static()
	}
	return c.generatedAs(c.bucketRequest(c.name()))
}

func (c *C) generatedAs(request *cosi.DriverGenerateBucketIdRequest) *bucket {
	return &bucket{request: request, id: ok(c, c.provisioner.DriverGenerateBucketId, request).GetBucketId()}
}

// created runs both phases for a new bucket.
func (c *C) created() *bucket {
	b := c.generated()
	if c.suite.config.CreatesNothing {
		c.makeStatic(b)
		return b
	}
	ok(c, c.provisioner.DriverCreateBucket, b.create())
	return b
}

// createdBy is like the function created, for a bucket that supports this protocol.
func (c *C) createdBy(protocol cosi.ObjectProtocol_Type) *bucket {
	if c.suite.config.CreatesNothing {
		return c.created()
	}
	request := c.bucketRequest(c.name())
	request.Protocols = protocols(protocol)
	b := c.generatedAs(request)
	ok(c, c.provisioner.DriverCreateBucket, b.create())
	return b
}

func (c *C) accessRequest(name string, protocol cosi.ObjectProtocol_Type, buckets []*cosi.AccessedBucket) *cosi.DriverGenerateBucketAccessIdRequest {
	request := &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName: name, Protocol: &cosi.ObjectProtocol{Type: protocol},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
		Parameters:         maps.Clone(c.suite.config.Params.Access), Buckets: buckets,
	}
	if !slices.Contains(c.suite.authentication(), cosi.AuthenticationType_KEY) {
		c.suite.useServiceAccount(request)
	}
	return request
}

func (s *suite) useServiceAccount(request *cosi.DriverGenerateBucketAccessIdRequest) {
	request.AuthenticationType = &cosi.AuthenticationType{Type: cosi.AuthenticationType_SERVICE_ACCOUNT}
	request.ServiceAccountName = s.config.ServiceAccount.Name
	request.ServiceAccountNamespace = s.config.ServiceAccount.Namespace
	if request.GetServiceAccountName() == "" {
		request.ServiceAccountName, request.ServiceAccountNamespace = "cosi-sanity", "default"
	}
}

func (s *suite) authentication() []cosi.AuthenticationType_Type {
	if len(s.config.Authentication) == 0 {
		return []cosi.AuthenticationType_Type{cosi.AuthenticationType_KEY}
	}
	return s.config.Authentication
}

func grantOf(accountID string, phase1 *cosi.DriverGenerateBucketAccessIdRequest) *cosi.DriverGrantBucketAccessRequest {
	return &cosi.DriverGrantBucketAccessRequest{
		AccountId: accountID, Protocol: phase1.GetProtocol(), AuthenticationType: phase1.GetAuthenticationType(),
		ServiceAccountName: phase1.GetServiceAccountName(), ServiceAccountNamespace: phase1.GetServiceAccountNamespace(),
		Parameters: phase1.GetParameters(), Buckets: phase1.GetBuckets(), Rotation: phase1.GetRotation(),
		DisallowedAccessModes: phase1.GetDisallowedAccessModes(),
	}
}

func revokeOf(grant *cosi.DriverGrantBucketAccessRequest) *cosi.DriverRevokeBucketAccessRequest {
	request := &cosi.DriverRevokeBucketAccessRequest{
		AccountId: grant.GetAccountId(), Protocol: grant.GetProtocol(), AuthenticationType: grant.GetAuthenticationType(),
		ServiceAccountName: grant.GetServiceAccountName(), ServiceAccountNamespace: grant.GetServiceAccountNamespace(),
		Parameters: grant.GetParameters(),
	}
	for _, bucket := range grant.GetBuckets() {
		request.Buckets = append(request.Buckets, &cosi.DriverRevokeBucketAccessRequest_AccessedBucket{BucketId: bucket.GetBucketId()})
	}
	return request
}

// accessTo runs phase 1 for an access that reads and writes the buckets.
func (c *C) accessTo(buckets ...*bucket) *access {
	var list []*cosi.AccessedBucket
	for _, b := range buckets {
		list = append(list, readWrite(b.id))
	}
	return c.accessAs(c.accessRequest(c.name(), c.protocol(), list))
}

func (c *C) accessAs(phase1 *cosi.DriverGenerateBucketAccessIdRequest) *access {
	named := ok(c, c.provisioner.DriverGenerateBucketAccessId, phase1)
	return &access{phase1: phase1, request: grantOf(named.GetAccountId(), phase1)}
}

// granted runs both phases for an access that reads and writes the buckets.
func (c *C) granted(buckets ...*bucket) *access { return c.grant(c.accessTo(buckets...)) }

func (c *C) grant(a *access) *access {
	a.response = ok(c, c.provisioner.DriverGrantBucketAccess, a.request)
	return a
}

func (c *C) revoke(a *access) { ok(c, c.provisioner.DriverRevokeBucketAccess, a.revoke()) }

// delete deletes a bucket. The driver does not delete a bucket that the fixture created; that one is deleted with the
// case.
func (c *C) delete(b *bucket) {
	if !c.suite.config.CreatesNothing {
		ok(c, c.provisioner.DriverDeleteBucket, b.delete())
	}
}

// attempt attempts an action on a bucket with the credentials of an access.
func (c *C) attempt(a *access, bucketID string, action Action, key string, body []byte) (Outcome, error) {
	attempt := Attempt{BucketID: bucketID, Credentials: a.response.GetCredentials(), Action: action, Key: key, Body: body}
	for _, asked := range a.request.GetBuckets() {
		attempt.Granted = append(attempt.Granted, asked.GetBucketId())
	}
	for _, granted := range a.response.GetBuckets() {
		if granted.GetBucketId() == bucketID {
			attempt.Info = granted.GetBucketInfo()
		}
	}
	return c.try(a.request.GetProtocol().GetType(), attempt)
}

func (c *C) try(protocol cosi.ObjectProtocol_Type, attempt Attempt) (Outcome, error) {
	prober := c.suite.config.Probers[protocol]
	if prober == nil {
		return Outcome{}, fmt.Errorf("no prober supports protocol %s", protocol)
	}
	return prober.Try(c.ctx, attempt)
}

// can waits until the access can perform the action, and returns the outcome.
func (c *C) can(a *access, b *bucket, action Action, key string) Outcome {
	var outcome Outcome
	c.eventually(func() string {
		var err error
		if outcome, err = c.attempt(a, b.id, action, key, contents(key)); err != nil {
			return fmt.Sprintf("the granted credential cannot %s: %v", action, err)
		}
		if outcome.Verdict != Allowed {
			return fmt.Sprintf("the granted credential must be able to %s, but the result is %s: %s", action, outcome.Verdict, outcome.Detail)
		}
		return ""
	})
	return outcome
}

// cannot waits until the store refuses the action.
func (c *C) cannot(a *access, b *bucket, action Action, key, why string) {
	c.eventually(func() string {
		outcome, err := c.attempt(a, b.id, action, key, contents(key))
		if err != nil {
			return fmt.Sprintf("%s: the store must deny the attempt to %s, but the attempt failed with another error: %v", why, action, err)
		}
		if outcome.Verdict != Refused {
			return fmt.Sprintf("%s: the store must deny the attempt to %s, but the result is %s", why, action, outcome.Verdict)
		}
		return ""
	})
}

// works checks that the access can put, get, list and delete.
func (c *C) works(a *access, b *bucket) {
	key := "works-" + c.name()
	c.can(a, b, PutObject, key)
	if got := c.can(a, b, GetObject, key); !bytes.Equal(got.Body, contents(key)) {
		c.Fail("an object has different contents when it is read back")
	}
	if listed := c.can(a, b, ListObjects, ""); !slices.Contains(listed.Keys, key) {
		c.Fail("the list does not contain an object that was written; it contains %q", listed.Keys)
	}
	c.can(a, b, DeleteObject, key)
}

// worksIfProbed calls works if there is a prober, and does nothing otherwise.
func (c *C) worksIfProbed(a *access, b *bucket) {
	if c.suite.lacks([]Need{NeedDataPlane, NeedKey}) == "" {
		c.works(a, b)
	}
}

func contents(key string) []byte { return []byte("cosi-sanity object " + key + "\n") }

// acceptedModes grants an access, unless the driver rejects its modes in either phase.
func (c *C) acceptedModes(phase1 *cosi.DriverGenerateBucketAccessIdRequest) (*access, bool) {
	named, code := try(c.ctx, c, c.provisioner.DriverGenerateBucketAccessId, phase1)
	if code == codes.InvalidArgument {
		return nil, false
	}
	if code != codes.OK {
		c.Fail("DriverGenerateBucketAccessId must return OK, or InvalidArgument if it does not support the access modes, not %s", code)
	}
	a := &access{phase1: phase1, request: grantOf(named.GetAccountId(), phase1)}
	response, code := try(c.ctx, c, c.provisioner.DriverGrantBucketAccess, a.request)
	if code == codes.InvalidArgument {
		return nil, false
	}
	if code != codes.OK {
		c.Fail("DriverGrantBucketAccess must return OK, or InvalidArgument if it does not support the access modes, not %s", code)
	}
	a.response = response
	return a, true
}
