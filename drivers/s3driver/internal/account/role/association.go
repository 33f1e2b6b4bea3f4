// SPDX-License-Identifier: Apache-2.0

package role

import (
	"context"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/eks"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// PodIdentity associates service accounts of one EKS cluster with roles.
type PodIdentity struct {
	// API is the client, with the driver's own credentials.
	API associations
	// Cluster is the name of the EKS cluster, which is unique only within Region.
	Cluster, Region string
	// Driver is written to the mark of every association.
	Driver string
	// ReadLag is how long reads may be stale after a write.
	ReadLag time.Duration
}

// association is an existing association.
type association struct{ id, roleARN string }

// ensure ensures that the service account is associated with the role. EKS allows only one role per service account.
func (p *PodIdentity) ensure(ctx context.Context, of driverkit.ServiceAccountRef, arn string) error {
	existing, _, err := driverkit.Find(ctx, p.ReadLag, func(ctx context.Context) (association, bool, error) {
		existing, _, err := p.find(ctx, of)
		return existing, existing.roleARN != arn, err
	})
	if err == nil && existing.id == "" {
		_, err = p.API.CreatePodIdentityAssociation(ctx, &eks.CreatePodIdentityAssociationInput{
			ClusterName: &p.Cluster, Namespace: &of.Namespace, ServiceAccount: &of.Name, RoleArn: &arn,
			Tags: map[string]string{tagDriver: p.Driver},
		})
		if !apierror.Is(err, "ResourceInUse") {
			return err
		}
		existing, _, err = p.findAgain(ctx, of)
	}
	switch {
	case err != nil:
		return err
	case existing.id == "":
		return driverkit.Aborted("another process is changing the association of service account %s/%s; the driver tries again", of.Namespace, of.Name)
	case existing.roleARN != arn:
		return driverkit.AlreadyExists("service account %s/%s already has the Pod Identity association %[4]s with role %[3]s, and EKS allows only one; use another service account, or delete that association",
			of.Namespace, of.Name, existing.roleARN, existing.id)
	}
	return nil
}

// findAgain is find with repeated reads while there is no association.
func (p *PodIdentity) findAgain(ctx context.Context, of driverkit.ServiceAccountRef) (association, bool, error) {
	return driverkit.Find(ctx, p.ReadLag, func(ctx context.Context) (association, bool, error) { return p.find(ctx, of) })
}

// find returns the association of a service account and reports whether there is one.
func (p *PodIdentity) find(ctx context.Context, of driverkit.ServiceAccountRef) (association, bool, error) {
	pages := eks.NewListPodIdentityAssociationsPaginator(p.API, &eks.ListPodIdentityAssociationsInput{
		ClusterName: &p.Cluster, Namespace: &of.Namespace, ServiceAccount: &of.Name,
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return association{}, false, err
		}
		for _, listed := range page.Associations {
			out, err := p.API.DescribePodIdentityAssociation(ctx, &eks.DescribePodIdentityAssociationInput{
				ClusterName: &p.Cluster, AssociationId: listed.AssociationId,
			})
			if apierror.Is(err, "ResourceNotFound") {
				continue // it was deleted after it was listed
			}
			if err != nil {
				return association{}, false, err
			}
			return association{id: aws.ToString(listed.AssociationId), roleARN: aws.ToString(out.Association.RoleArn)}, true, nil
		}
	}
	return association{}, false, nil
}

// remove deletes the association of the service account with the driver's role, whose ARN ends with suffix. Other
// associations are not changed.
func (p *PodIdentity) remove(ctx context.Context, of driverkit.ServiceAccountRef, suffix string) error {
	existing, exists, err := p.findAgain(ctx, of)
	if err != nil || !exists || !strings.HasSuffix(existing.roleARN, suffix) {
		return err
	}
	_, err = p.API.DeletePodIdentityAssociation(ctx, &eks.DeletePodIdentityAssociationInput{ClusterName: &p.Cluster, AssociationId: &existing.id})
	if apierror.Is(err, "ResourceNotFound") {
		return nil
	}
	return err
}
