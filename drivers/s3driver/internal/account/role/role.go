// SPDX-License-Identifier: Apache-2.0

// Package role lets pods use buckets as their Kubernetes service account, without a key: one IAM
// role for each service account, with one inline policy for each access. Pods get the role through
// an association of EKS Pod Identity, or by exchanging their token, which the role then trusts.
//
// A role belongs to a service account and not to an access, since EKS has room for only one
// association of a service account. It goes with the last access.
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

// Names of the tags that mark a role as ours.
const (
	tagDriver         = "cosi-driver"
	tagCluster        = "cosi-cluster"
	tagServiceAccount = "cosi-service-account"
)

const (
	// policyPrefix begins the names of the inline policies of accesses.
	policyPrefix = "cosi-"
	// nobody is a name that no role of ours has: it has no dots.
	nobody = "cosi-nobody"
	// maxRoleName is the longest name of a role.
	maxRoleName = 64
	// maxPolicies is for all inline policies of a role together, in characters without white space.
	maxPolicies = 10240
)

// Roles manages the roles of one store. API, Driver, Cluster, Path, Partition, Prefix and Locks are required,
// and PodIdentity, WebIdentity or both.
type Roles struct {
	// API is the client, with the driver's own credentials.
	API *iam.Client
	// Driver and Cluster are marked on every role.
	Driver, Cluster string
	// Path groups the roles.
	Path string
	// Prefix begins the name of every role.
	Prefix string
	// Boundary is the ARN of the permissions boundary of every role; empty for none.
	Boundary string
	// Partition is the second part of ARNs.
	Partition string
	// PodIdentity is set to bind service accounts through EKS.
	PodIdentity *PodIdentity
	// WebIdentity is set to let roles trust tokens of the cluster.
	WebIdentity *WebIdentity
	// Locks keeps calls about one role apart: the kit keeps only those of one access apart, and the
	// accesses of a service account share its role.
	Locks *keylock.Locks
	// ReadLag is how long what was written may be missing from reads.
	ReadLag time.Duration
}

// WebIdentity describes the tokens that roles trust.
type WebIdentity struct {
	// Provider is the ARN of IAM's OpenID Connect provider of the cluster.
	Provider string
	// Audience is whom tokens must be for.
	Audience string
}

// Check returns why the access cannot be granted, or nil. It makes no calls.
func (r *Roles) Check(request account.Request) error {
	if request.ServiceAccount.Namespace == "" {
		return driverkit.InvalidArgument("service_account_namespace is required: a name alone does not tell service accounts apart; use a sidecar that sends it")
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
		return "", driverkit.InvalidArgument("the policy for %d buckets has %d characters, more than the %d that a role takes; ask for fewer buckets in one access",
			len(request.Buckets), len(document), maxPolicies)
	}
	return document, nil
}

// mark names the access that a policy was made for. A statement's ID takes letters and digits only.
func mark(hash string) string { return "cosi" + hash }

// name is the same for the same service account. A person can foretell it, for the annotation with
// which pods find a role that they assume by a token, as long as it is short enough.
func (r *Roles) name(of driverkit.ServiceAccountRef) string {
	// The name of a namespace has no dots, so that the parts can be told apart.
	if plain := r.Prefix + "." + of.Namespace + "." + of.Name; len(plain) <= maxRoleName {
		return plain
	}
	const digits = 32
	sum := sha256.Sum256([]byte(of.Namespace + "/" + of.Name))
	return r.Prefix + ".h-" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:digits])
}

// found is what matters of an existing role.
type found struct {
	arn   string
	trust string
	tags  map[string]string
}

// notOurs says why a role is not ours, with which trust it would be; empty if it is.
func (r *Roles) notOurs(role found, of driverkit.ServiceAccountRef, trust string) string {
	switch {
	case role.tags[tagDriver] != r.Driver || role.tags[tagCluster] != r.Cluster || role.tags[tagServiceAccount] != of.Namespace+"/"+of.Name:
		return fmt.Sprintf("does not carry the marks of this driver and of service account %s/%s", of.Namespace, of.Name)
	case !sameCluster(role.trust, trust):
		return "trusts the pods of another cluster: two clusters of one AWS account need a different cluster, or iam.serviceAccounts.rolePrefix; " +
			"if it is this cluster's, whose eksCluster and oidcProvider were both changed, change one of them at a time"
	}
	return ""
}

// find is read that reads again while there is none.
func (r *Roles) find(ctx context.Context, name string) (found, bool, error) {
	return driverkit.Find(ctx, r.ReadLag, func(ctx context.Context) (found, bool, error) { return r.read(ctx, name) })
}

// read returns a role, and whether it exists.
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

// plain is a document as IAM returns it, without the encoding of URLs.
func plain(document *string) string {
	text, err := url.QueryUnescape(aws.ToString(document))
	if err != nil {
		return aws.ToString(document)
	}
	return text
}

// associations is the part of the EKS API that is used.
type associations interface {
	CreatePodIdentityAssociation(ctx context.Context, in *eks.CreatePodIdentityAssociationInput, options ...func(*eks.Options)) (*eks.CreatePodIdentityAssociationOutput, error)
	DescribePodIdentityAssociation(ctx context.Context, in *eks.DescribePodIdentityAssociationInput, options ...func(*eks.Options)) (*eks.DescribePodIdentityAssociationOutput, error)
	DeletePodIdentityAssociation(ctx context.Context, in *eks.DeletePodIdentityAssociationInput, options ...func(*eks.Options)) (*eks.DeletePodIdentityAssociationOutput, error)
	ListPodIdentityAssociations(ctx context.Context, in *eks.ListPodIdentityAssociationsInput, options ...func(*eks.Options)) (*eks.ListPodIdentityAssociationsOutput, error)
}

// Ping asks for a role that is not there, and for the associations of the cluster. A cluster that
// EKS does not know is a failure.
func (r *Roles) Ping(ctx context.Context) error {
	if _, _, err := r.read(ctx, nobody); err != nil && !apierror.Denied(err) {
		return err
	}
	if r.PodIdentity == nil {
		return nil
	}
	_, err := r.PodIdentity.API.ListPodIdentityAssociations(ctx, &eks.ListPodIdentityAssociationsInput{ClusterName: &r.PodIdentity.Cluster, MaxResults: aws.Int32(1)})
	return err
}
