// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

// This file creates and removes the resources of the v1alpha1 cases.

// oldBucket is a bucket of a case.
type oldBucket struct {
	request  *v1alpha1.DriverCreateBucketRequest
	response *v1alpha1.DriverCreateBucketResponse
}

func (b *oldBucket) id() string { return b.response.GetBucketId() }

// delete sets delete_context like the upstream sidecar: to the parameters of the creation.
func (b *oldBucket) delete() *v1alpha1.DriverDeleteBucketRequest {
	return &v1alpha1.DriverDeleteBucketRequest{BucketId: b.id(), DeleteContext: b.request.GetParameters()}
}

// oldAccess is an access of a case.
type oldAccess struct {
	request  *v1alpha1.DriverGrantBucketAccessRequest
	response *v1alpha1.DriverGrantBucketAccessResponse
}

// revoke sets no context, like the upstream sidecar.
func (a *oldAccess) revoke() *v1alpha1.DriverRevokeBucketAccessRequest {
	return &v1alpha1.DriverRevokeBucketAccessRequest{BucketId: a.request.GetBucketId(), AccountId: a.response.GetAccountId()}
}

func (c *C) old() v1alpha1.ProvisionerClient { return v1alpha1.NewProvisionerClient(c.suite.driver) }

func (c *C) oldRequest() *v1alpha1.DriverCreateBucketRequest {
	return &v1alpha1.DriverCreateBucketRequest{Name: c.name(), Parameters: maps.Clone(c.suite.config.Params.Bucket)}
}

func (c *C) oldCreated() *oldBucket {
	request := c.oldRequest()
	return &oldBucket{request: request, response: ok(c, c.old().DriverCreateBucket, request)}
}

func (c *C) oldGrantRequest(b *oldBucket) *v1alpha1.DriverGrantBucketAccessRequest {
	return &v1alpha1.DriverGrantBucketAccessRequest{
		BucketId: b.id(), Name: c.name(), AuthenticationType: v1alpha1.AuthenticationType_Key, Parameters: maps.Clone(c.suite.config.Params.Access),
	}
}

func (c *C) oldGranted(b *oldBucket) *oldAccess {
	request := c.oldGrantRequest(b)
	return &oldAccess{request: request, response: ok(c, c.old().DriverGrantBucketAccess, request)}
}

// oldPlain reports whether the credential value under a key is not secret.
func oldPlain(key string) bool {
	return slices.Contains([]string{v1alpha1.KeyEndpoint, v1alpha1.KeyRegion, v1alpha1.KeyAccessKeyID, v1alpha1.KeyExpiry}, key)
}

// oldAttempt uses only what a workload of the upstream sidecar has: one protocol's credentials, and the name of the
// Bucket object.
func (c *C) oldAttempt(a *oldAccess, name string) (cosi.ObjectProtocol_Type, Attempt) {
	attempt := Attempt{BucketID: name, Info: &cosi.ObjectProtocolAndBucketInfo{}, Credentials: &cosi.CredentialInfo{}}
	if s3 := a.response.GetCredentials()[v1alpha1.ProtocolS3].GetSecrets(); s3 != nil {
		attempt.Info.S3 = &cosi.S3BucketInfo{
			BucketId: name, Endpoint: s3[v1alpha1.KeyEndpoint], Region: s3[v1alpha1.KeyRegion],
			AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH},
		}
		attempt.Credentials.S3 = &cosi.S3CredentialInfo{
			AccessKeyId: s3[v1alpha1.KeyAccessKeyID], AccessSecretKey: s3[v1alpha1.KeyAccessSecretKey],
		}
		return cosi.ObjectProtocol_S3, attempt
	}
	attempt.Info.Azure = &cosi.AzureBucketInfo{}
	attempt.Credentials.Azure = &cosi.AzureCredentialInfo{
		AccessToken: a.response.GetCredentials()[v1alpha1.ProtocolAzure].GetSecrets()[v1alpha1.KeyAccessToken],
	}
	return cosi.ObjectProtocol_AZURE, attempt
}

// oldProbed attempts an action in the bucket with this name until the store's decision is the wanted one.
func (c *C) oldProbed(a *oldAccess, name string, action Action, key string, want Permission, why string) {
	protocol, attempt := c.oldAttempt(a, name)
	if c.suite.config.Probers[protocol] == nil {
		c.notApplicable("no prober supports protocol %s", protocol)
	}
	attempt.Action, attempt.Key, attempt.Body = action, key, contents(key)
	c.eventually(func() string {
		outcome, err := c.try(protocol, attempt)
		if err != nil {
			return fmt.Sprintf("%s: the attempt to %s failed without a response of the store: %v", why, action, err)
		}
		if outcome.Verdict != want {
			return fmt.Sprintf("%s: the result of the attempt to %s in bucket %s must be %s, but is %s: %s", why, action, name, want, outcome.Verdict, outcome.Detail)
		}
		return ""
	})
}

// nameOf returns the name for which an ID was returned. The caller holds c.mu.
func (c *C) nameOf(kind, id string) string {
	at := slices.IndexFunc(c.notes, func(n note) bool { return n.Kind == kind && n.learned == id })
	if at < 0 {
		return ""
	}
	return c.notes[at].ID
}

// learnedFrom returns the ID in the response to a request with a name.
func learnedFrom(response proto.Message) string {
	switch r := response.(type) {
	case *v1alpha1.DriverCreateBucketResponse:
		return r.GetBucketId()
	case *v1alpha1.DriverGrantBucketAccessResponse:
		return r.GetAccountId()
	default:
		return ""
	}
}

// removeOld removes a resource that was requested by name. If the response was lost, only the driver knows the ID, so
// removeOld repeats the request, which must be idempotent.
func (c *C) removeOld(ctx context.Context, n note) error {
	switch request := n.message.(type) {
	case *v1alpha1.DriverCreateBucketRequest:
		b := &oldBucket{request: request, response: &v1alpha1.DriverCreateBucketResponse{BucketId: n.learned}}
		if n.learned == "" {
			var code codes.Code
			if b.response, code = try(ctx, c, c.old().DriverCreateBucket, request); code != codes.OK {
				return fmt.Errorf("DriverCreateBucket, repeated to obtain the ID, returns %s", code)
			}
		}
		return removed(try(ctx, c, c.old().DriverDeleteBucket, b.delete()))
	case *v1alpha1.DriverGrantBucketAccessRequest:
		a := &oldAccess{request: request, response: &v1alpha1.DriverGrantBucketAccessResponse{AccountId: n.learned}}
		if n.learned == "" {
			var code codes.Code
			if a.response, code = try(ctx, c, c.old().DriverGrantBucketAccess, request); code != codes.OK {
				return fmt.Errorf("DriverGrantBucketAccess, repeated to obtain the ID, returns %s", code)
			}
		}
		return removed(try(ctx, c, c.old().DriverRevokeBucketAccess, a.revoke()))
	default:
		return fmt.Errorf("the journal does not contain the request of %s %s", n.Kind, n.ID)
	}
}

func removed(_ proto.Message, code codes.Code) error {
	if code == codes.OK || code == codes.NotFound {
		return nil
	}
	return fmt.Errorf("the call to delete the bucket or revoke the account returns %s", code)
}
