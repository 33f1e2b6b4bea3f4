// SPDX-License-Identifier: Apache-2.0

package tree

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/internal/secretkeys"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
)

// A grant is the access and the bucket for which a Secret is filled.
type grant struct {
	bucketID string
	protocol cosi.ObjectProtocol_Type
}

// grantOf returns the grant of a Secret, or nil for any other object.
func grantOf(objects *Objects, n *Node) *grant {
	if n.Kind != KindSecret {
		return nil
	}
	for key, access := range objects.Accesses {
		for _, c := range access.Spec.BucketClaims {
			if key.Namespace != n.Namespace || c.AccessSecretName != n.Name {
				continue
			}
			for _, bucket := range access.Status.AccessedBuckets {
				if bucket.BucketClaimName == c.BucketClaimName {
					return &grant{bucketID: bucket.BucketID, protocol: secretkeys.Type(access.Spec.Protocol)}
				}
			}
		}
	}
	return nil
}

// listTimeout limits a request to a store.
const listTimeout = 10 * time.Second

// objects returns the first keys in a bucket. It uses the credential of the Secret, which it reads for this
// purpose and does not keep.
func (o PageOptions) objects(ctx context.Context, n *Node, granted grant) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	secret := &corev1.Secret{}
	if err := o.Client.Get(ctx, client.ObjectKey{Namespace: n.Namespace, Name: n.Name}, secret); err != nil {
		return nil, fmt.Errorf("read Secret %q: %w", n.Name, err)
	}
	prober := o.Probers[granted.protocol]
	if prober == nil {
		return nil, fmt.Errorf("cannot list the objects of buckets with protocol %s", granted.protocol)
	}
	_, info, credentials := secretkeys.Read(secret.Data)
	outcome, err := prober.Try(ctx, sanity.Attempt{BucketID: granted.bucketID, Info: info, Credentials: credentials, Action: sanity.ListObjects})
	switch {
	case err != nil:
		return nil, fmt.Errorf("list the objects of bucket %q: %w", granted.bucketID, err)
	case outcome.Verdict != sanity.Allowed:
		return nil, fmt.Errorf("the credential is not allowed to list the objects of bucket %q: %s", granted.bucketID, outcome.Detail)
	}
	return outcome.Keys, nil
}
