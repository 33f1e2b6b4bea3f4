// SPDX-License-Identifier: Apache-2.0

// Package role lets pods access buckets with the identity of their Kubernetes service account, without a key. It
// manages one IAM role per service account, with one inline policy per access. Pods assume the role through an EKS
// Pod Identity association, or by exchanging their service account token if the role trusts the cluster's token
// issuer.
//
// A role belongs to a service account rather than to an access, because EKS allows only one association per service
// account. The driver deletes the role with the service account's last access.
package role

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"
	"github.com/aws/aws-sdk-go-v2/service/iam"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/internal/keylock"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/policy"
)

// Names of the tags that mark a role as the driver's.
const (
	tagDriver         = "cosi-driver"
	tagCluster        = "cosi-cluster"
	tagServiceAccount = "cosi-service-account"
)

const (
	// policyPrefix is the prefix of the names of the accesses' inline policies.
	policyPrefix = "cosi-"
	// missing is the name of a role that the driver never creates, because it contains no dots.
	missing = "cosi-nobody"
	// maxRoleName is the maximum length of a role name.
	maxRoleName = 64
	// maxPolicies is the limit for all inline policies of a role together, in characters without white space.
	maxPolicies = 10240
)

// Roles manages the roles of one store. API, Driver, Cluster, Path, Partition, Prefix and Locks are required,
// and PodIdentity, WebIdentity or both.
type Roles struct {
	// API is the client, with the driver's own credentials.
	API *iam.Client
	// Driver and Cluster are written to the marks of every role.
	Driver, Cluster string
	// Path is the IAM path of the roles.
	Path string
	// Prefix is the prefix of all role names.
	Prefix string
	// Boundary is the ARN of the permissions boundary of every role, or empty for none.
	Boundary string
	// Partition is the second part of ARNs.
	Partition string
	// PodIdentity is set to associate service accounts through EKS.
	PodIdentity *PodIdentity
	// WebIdentity is set to let roles trust tokens of the cluster.
	WebIdentity *WebIdentity
	// Locks serializes calls about one role. The kit serializes only calls for one access, but all accesses of a service
	// account share its role.
	Locks *keylock.Locks
	// ReadLag is how long reads may be stale after a write.
	ReadLag time.Duration
}

// WebIdentity describes the tokens that roles trust.
type WebIdentity struct {
	// Provider is the ARN of the IAM OpenID Connect provider for the cluster.
	Provider string
	// Audience is the required audience of tokens.
	Audience string
}

// Check returns an error if the access cannot be granted. It makes no calls.
func (r *Roles) Check(request account.Request) error {
	if request.ServiceAccount.Namespace == "" {
		return driverkit.InvalidArgument("service_account_namespace is required to identify the service account; upgrade the sidecar to a version that sends this field")
	}
	_, err := r.document(request)
	return err
}

func (r *Roles) document(request account.Request) (string, error) {
	document, err := policy.Build(policy.Dialect{Partition: r.Partition, Account: request.AWSAccount, Mark: mark(request.Hash)}, request.Buckets)
	if err != nil {
		return "", err
	}
	if len(document) > maxPolicies {
		return "", driverkit.InvalidArgument("the policy for %d buckets has %d characters, more than the maximum of %d for a role; request fewer buckets in one access",
			len(request.Buckets), len(document), maxPolicies)
	}
	return document, nil
}

// mark returns the statement ID that identifies the access that a policy was created for. Statement IDs may contain
// only letters and digits.
func mark(hash string) string { return "cosi" + hash }

// name returns the role name for a service account, which is always the same. If it is short enough, users can
// predict it for the annotation with which pods find a role that they assume by token.
func (r *Roles) name(of driverkit.ServiceAccountRef) string {
	// Namespace names contain no dots, so the parts are unambiguous.
	if plain := r.Prefix + "." + of.Namespace + "." + of.Name; len(plain) <= maxRoleName {
		return plain
	}
	const digits = 32
	sum := sha256.Sum256([]byte(of.Namespace + "/" + of.Name))
	return r.Prefix + ".h-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:digits])
}

// found is the relevant state of an existing role.
type found struct {
	arn   string
	trust string
	tags  map[string]string
}

// notOurs returns why a role does not belong to this driver, given the trust policy that it would have, or "" if it
// does.
func (r *Roles) notOurs(role found, of driverkit.ServiceAccountRef, trust string) string {
	switch {
	case role.tags[tagDriver] != r.Driver || role.tags[tagCluster] != r.Cluster || role.tags[tagServiceAccount] != of.Namespace+"/"+of.Name:
		return fmt.Sprintf("does not have the ownership marks of this driver and of service account %s/%s", of.Namespace, of.Name)
	case !sameCluster(role.trust, trust):
		return "trusts the pods of another cluster: two clusters with the same AWS account need different values of cluster or iam.serviceAccounts.rolePrefix; " +
			"if the role belongs to this cluster, and both eksCluster and oidcProvider were changed, change one of them at a time"
	}
	return ""
}

// find is read with repeated reads while the role is missing.
func (r *Roles) find(ctx context.Context, name string) (found, bool, error) {
	return driverkit.Find(ctx, r.ReadLag, func(ctx context.Context) (found, bool, error) { return r.read(ctx, name) })
}

// read returns a role and reports whether it exists.
func (r *Roles) read(ctx context.Context, name string) (found, bool, error) {
	out, err := r.API.GetRole(ctx, &iam.GetRoleInput{RoleName: &name})
	if apierror.Is(err, "NoSuchEntity") {
		return found{}, false, nil
	}
	if err != nil {
		return found{}, false, err
	}
	role := found{arn: aws.ToString(out.Role.Arn), trust: plain(out.Role.AssumeRolePolicyDocument), tags: map[string]string{}}
	for _, tag := range out.Role.Tags {
		role.tags[aws.ToString(tag.Key)] = aws.ToString(tag.Value)
	}
	return role, true, nil
}

// plain decodes a document, which IAM returns URL-encoded.
func plain(document *string) string {
	text, err := url.QueryUnescape(aws.ToString(document))
	if err != nil {
		return aws.ToString(document)
	}
	return text
}

// associations is the subset of the EKS API that is used.
type associations interface {
	CreatePodIdentityAssociation(ctx context.Context, in *eks.CreatePodIdentityAssociationInput, options ...func(*eks.Options)) (*eks.CreatePodIdentityAssociationOutput, error)
	DescribePodIdentityAssociation(ctx context.Context, in *eks.DescribePodIdentityAssociationInput, options ...func(*eks.Options)) (*eks.DescribePodIdentityAssociationOutput, error)
	DeletePodIdentityAssociation(ctx context.Context, in *eks.DeletePodIdentityAssociationInput, options ...func(*eks.Options)) (*eks.DeletePodIdentityAssociationOutput, error)
	ListPodIdentityAssociations(ctx context.Context, in *eks.ListPodIdentityAssociationsInput, options ...func(*eks.Options)) (*eks.ListPodIdentityAssociationsOutput, error)
}

// Ping reads a role that does not exist and the associations of the cluster. It fails if EKS does not know the
// cluster.
func (r *Roles) Ping(ctx context.Context) error {
	if _, _, err := r.read(ctx, missing); err != nil && !apierror.Denied(err) {
		return err
	}
	if r.PodIdentity == nil {
		return nil
	}
	_, err := r.PodIdentity.API.ListPodIdentityAssociations(ctx, &eks.ListPodIdentityAssociationsInput{ClusterName: &r.PodIdentity.Cluster, MaxResults: aws.Int32(1)})
	return err
}
