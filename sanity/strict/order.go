// SPDX-License-Identifier: Apache-2.0

package strict

import (
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// subjectOf returns the bucket or account of a request.
func subjectOf(request proto.Message) string {
	switch r := request.(type) {
	case *cosi.DriverGenerateBucketIdRequest:
		return "bucket name " + r.GetName()
	case *cosi.DriverCreateBucketRequest:
		return "bucket " + r.GetBucketId()
	case *cosi.DriverGetBucketRequest:
		return "bucket " + r.GetBucketId()
	case *cosi.DriverDeleteBucketRequest:
		return "bucket " + r.GetBucketId()
	case *cosi.DriverGenerateBucketAccessIdRequest:
		return "account name " + r.GetAccountName()
	case *cosi.DriverGrantBucketAccessRequest:
		return "account " + r.GetAccountId()
	case *cosi.DriverRevokeBucketAccessRequest:
		return "account " + r.GetAccountId()
	default:
		return ""
	}
}

// checkOrder checks the rules that depend on earlier calls, and the rule about service accounts. The caller holds
// c.mu.
func (c *Checker) checkOrder(call watched) {
	switch r := call.request.(type) {
	case *cosi.DriverCreateBucketRequest:
		phase1, generated := c.buckets[r.GetBucketId()]
		switch {
		case !generated:
			c.report(call, GeneratedFirst, fmt.Sprintf("the bucket ID %q was never generated", r.GetBucketId()))
		case !maps.Equal(phase1.GetParameters(), r.GetParameters()) || !slices.EqualFunc(phase1.GetProtocols(), r.GetProtocols(), sameMessage):
			c.report(call, SameParameters, "parameters or protocols differ from those of DriverGenerateBucketId")
		}
	case *cosi.DriverGenerateBucketAccessIdRequest:
		c.checkServiceAccount(call, r.GetAuthenticationType(), r.GetServiceAccountName())
		c.checkBuckets(call, r.GetBuckets())
	case *cosi.DriverGrantBucketAccessRequest:
		c.checkServiceAccount(call, r.GetAuthenticationType(), r.GetServiceAccountName())
		c.checkBuckets(call, r.GetBuckets())
		c.checkGrant(call, r)
	case *cosi.DriverRevokeBucketAccessRequest:
		c.checkServiceAccount(call, r.GetAuthenticationType(), r.GetServiceAccountName())
	}
}

func (c *Checker) checkGrant(call watched, r *cosi.DriverGrantBucketAccessRequest) {
	phase1, generated := c.accounts[r.GetAccountId()]
	switch {
	case !generated:
		c.report(call, GeneratedFirst, fmt.Sprintf("the account ID %q was never generated", r.GetAccountId()))
	case !maps.Equal(phase1.GetParameters(), r.GetParameters()), phase1.GetProtocol().GetType() != r.GetProtocol().GetType(),
		phase1.GetAuthenticationType().GetType() != r.GetAuthenticationType().GetType(), !sameBuckets(phase1.GetBuckets(), r.GetBuckets()):
		c.report(call, SameParameters, "parameters, protocol, authentication type or buckets differ from those of DriverGenerateBucketAccessId")
	}
}

func (c *Checker) checkServiceAccount(call watched, by *cosi.AuthenticationType, name string) {
	if name != "" && by.GetType() != cosi.AuthenticationType_SERVICE_ACCOUNT {
		c.report(call, NoUnaskedServiceAccount, fmt.Sprintf("service_account_name is %q", name))
	}
}

func (c *Checker) checkBuckets(call watched, buckets []*cosi.AccessedBucket) {
	for _, bucket := range buckets {
		if !c.found[bucket.GetBucketId()] {
			c.report(call, KnownBuckets, fmt.Sprintf("no earlier call created or found bucket %q", bucket.GetBucketId()))
		}
	}
}

// learn records the result of a call. The caller holds c.mu.
func (c *Checker) learn(request, response proto.Message) {
	switch r := request.(type) {
	case *cosi.DriverGetInfoRequest:
		if answer, isResponse := response.(*cosi.DriverGetInfoResponse); isResponse {
			if c.info != nil && !proto.Equal(c.info, answer) {
				c.changed()
			}
			c.info = answer
		}
	case *cosi.DriverGenerateBucketIdRequest:
		if answer, isResponse := response.(*cosi.DriverGenerateBucketIdResponse); isResponse {
			c.buckets[answer.GetBucketId()] = r
		}
	case *cosi.DriverGenerateBucketAccessIdRequest:
		if answer, isResponse := response.(*cosi.DriverGenerateBucketAccessIdResponse); isResponse {
			c.accounts[answer.GetAccountId()] = r
		}
	case *cosi.DriverCreateBucketRequest:
		c.found[r.GetBucketId()] = true
	case *cosi.DriverGetBucketRequest:
		c.found[r.GetBucketId()] = true
	case *cosi.DriverDeleteBucketRequest:
		delete(c.found, r.GetBucketId())
	}
}

func sameMessage(one, other *cosi.ObjectProtocol) bool { return one.GetType() == other.GetType() }

// sameBuckets compares lists ignoring their order, which has no meaning.
func sameBuckets(one, other []*cosi.AccessedBucket) bool {
	if len(one) != len(other) {
		return false
	}
	byID := map[string]*cosi.AccessedBucket{}
	for _, bucket := range one {
		byID[bucket.GetBucketId()] = bucket
	}
	for _, bucket := range other {
		if !proto.Equal(byID[bucket.GetBucketId()], bucket) {
			return false
		}
	}
	return true
}
