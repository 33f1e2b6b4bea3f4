// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/testenv"
)

var serial atomic.Int64

func logrFunc(write func(string)) logr.Logger {
	return funcr.New(func(prefix, args string) { write(prefix + " " + args) }, funcr.Options{Verbosity: 2})
}

// bucket returns a Bucket as the Controller creates it for a claim.
func (s *system) bucket() *cosiapi.Bucket {
	uid := uuid.NewUUID()
	return &cosiapi.Bucket{
		ObjectMeta: metav1.ObjectMeta{
			Name: cosiapi.BucketNameFor(uid), Annotations: map[string]string{cosiapi.CreatedAnnotation: "2030-01-01T00:00:00Z"},
		},
		Spec: cosiapi.BucketSpec{
			DriverName: s.driver.Name(), DeletionPolicy: cosiapi.DeletionPolicyDelete,
			Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}, Parameters: map[string]string{"tier": "fast"},
			BucketClaimRef: cosiapi.BucketClaimReference{
				Namespace: s.namespace, Name: fmt.Sprintf("claim-%d", serial.Add(1)), UID: uid,
			},
		},
	}
}

// readyBucket creates a Bucket and waits until it is provisioned.
func (s *system) readyBucket() *cosiapi.Bucket {
	s.t.Helper()
	b := s.bucket()
	s.Create(b)
	s.ready(b)
	return b
}

// leave changes a Bucket as the Controller does when its claim is deleted.
func (s *system) leave(b *cosiapi.Bucket) {
	s.t.Helper()
	testenv.Change(s.Env, b, func(b *cosiapi.Bucket) { cosiapi.SetAnnotation(b, cosiapi.BucketClaimBeingDeletedAnnotation, "") })
	if b.Spec.DeletionPolicy == cosiapi.DeletionPolicyDelete {
		s.Delete(b)
	}
}

// access returns a user's access to the claims of some Buckets.
func (s *system) access(buckets ...*cosiapi.Bucket) *cosiapi.BucketAccess {
	n := serial.Add(1)
	a := &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: s.namespace, Name: fmt.Sprintf("access-%d", n), Finalizers: []string{cosiapi.ProtectionFinalizer},
		},
		Spec: cosiapi.BucketAccessSpec{BucketAccessClassName: "class", Protocol: cosiapi.ProtocolS3},
	}
	for i, b := range buckets {
		a.Spec.BucketClaims = append(a.Spec.BucketClaims, cosiapi.BucketClaimAccess{
			BucketClaimName: b.Spec.BucketClaimRef.Name, AccessSecretName: fmt.Sprintf("secret-%d-%d", n, i),
			AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
		})
	}
	return a
}

// handOff creates an access and hands it off to the Sidecar, as the Controller does.
func (s *system) handOff(a *cosiapi.BucketAccess, buckets ...*cosiapi.Bucket) {
	s.t.Helper()
	s.Create(a)
	testenv.ChangeStatus(s.Env, a, func(a *cosiapi.BucketAccess) {
		a.Status.DriverName = s.driver.Name()
		a.Status.AuthenticationType = cosiapi.AuthenticationTypeKey
		a.Status.Parameters = s.parameters
		for _, b := range buckets {
			a.Status.AccessedBuckets = append(a.Status.AccessedBuckets, cosiapi.AccessedBucket{
				BucketName: b.Name, BucketID: b.Status.BucketID, BucketClaimName: b.Spec.BucketClaimRef.Name,
			})
		}
	})
}

// readyAccess creates an access to some Buckets and waits until it is granted.
func (s *system) readyAccess(buckets ...*cosiapi.Bucket) *cosiapi.BucketAccess {
	s.t.Helper()
	a := s.access(buckets...)
	s.handOff(a, buckets...)
	s.ready(a)
	return a
}

// secrets returns the access's Secrets, without content, in the order of its claims.
func (s *system) secrets(a *cosiapi.BucketAccess) []*corev1.Secret {
	var secrets []*corev1.Secret
	for _, claim := range a.Spec.BucketClaims {
		secrets = append(secrets, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: claim.AccessSecretName}})
	}
	return secrets
}

// release changes a deleted access as the Controller does after the cleanup of the Sidecar.
func (s *system) release(a *cosiapi.BucketAccess) {
	s.t.Helper()
	testenv.Until(s.Env, a, "the Sidecar has cleaned up", func(a *cosiapi.BucketAccess) error {
		if !cosiapi.HasAnnotation(a, cosiapi.SidecarCleanupFinishedAnnotation) {
			return fmt.Errorf("no annotation; conditions %v", a.Status.Conditions)
		}
		return nil
	})
	testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.RemoveProtection(a) })
	s.Gone(a)
}

// untilEvent waits for an Event on an access.
func (s *system) untilEvent(a *cosiapi.BucketAccess, reason string) {
	s.t.Helper()
	s.Eventually(fmt.Sprintf("there is an Event %s on %s", reason, a.Name), func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := s.Client.List(ctx, &list, client.InNamespace(a.Namespace)); err != nil {
			return err
		}
		if !slices.ContainsFunc(list.Items, func(e eventsv1.Event) bool { return e.Reason == reason && e.Regarding.Name == a.Name }) {
			return fmt.Errorf("not among %d Events", len(list.Items))
		}
		return nil
	})
}
