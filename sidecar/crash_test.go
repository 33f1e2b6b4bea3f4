// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"fmt"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/internal/reconciler"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// interfered runs Sidecars through the life of a Bucket and its access while one of their requests fails. If that
// kills the first one, it starts a successor. It checks at every stage that backend and API agree.
func interfered(t *testing.T, fake memdriver.Options, i *interference) {
	t.Helper()
	s := newSystem(t, fake)
	s.options.Backoff = reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: 100 * time.Millisecond}
	i.dead = make(chan struct{})
	s.wrap = i.wrap
	stop := s.run()
	succeeded := make(chan struct{})
	go func() {
		defer close(succeeded)
		select {
		case <-i.dead:
		case <-t.Context().Done():
			return
		}
		stop()
		s.wrap = nil
		s.run()
	}()
	b := s.readyBucket()
	a := s.readyAccess(b)
	if inventory := s.driver.Inventory(); len(inventory.Buckets) != 1 || len(inventory.Accounts) != 1 {
		t.Errorf("one Bucket and one access are %+v in the backend", inventory)
	}
	data := testenv.Get(s.Env, s.secrets(a)[0]).Data
	credential := &cosi.CredentialInfo{S3: &cosi.S3CredentialInfo{
		AccessKeyId: string(data["AWS_ACCESS_KEY_ID"]), AccessSecretKey: string(data["AWS_SECRET_ACCESS_KEY"]),
	}}
	put := sanity.Attempt{Credentials: credential, BucketID: b.Status.BucketID, Action: sanity.PutObject}
	if outcome, err := (memdriver.Prober{Store: s.driver.Store()}).Try(t.Context(), put); err != nil || outcome.Verdict != sanity.Allowed {
		t.Errorf("the delivered credential does not work: %v, %v", outcome, err)
	}
	if err := s.driver.RemoveObjects(b.Status.BucketID); err != nil {
		t.Error(err)
	}
	s.Delete(a)
	s.release(a)
	if err := s.Client.Get(t.Context(), client.ObjectKeyFromObject(s.secrets(a)[0]), s.secrets(a)[0]); !apierrors.IsNotFound(err) {
		t.Errorf("the Secret of a deleted access: %v", err)
	}
	s.leave(b)
	s.Gone(b)
	if inventory := s.driver.Inventory(); len(inventory.Buckets)+len(inventory.Accounts) != 0 {
		t.Errorf("the backend still has %+v", inventory)
	}
	if i.crash {
		<-succeeded
	}
}

// A crash is one element of a matrix of crashes: the request, and whether it takes effect before the Sidecar dies.
type crash[T any] struct {
	struck T
	effect bool
}

func (c crash[T]) String() string {
	if c.effect {
		return fmt.Sprint("after ", c.struck)
	}
	return fmt.Sprint("before ", c.struck)
}

// crashes returns the crashes before and after each of the given requests.
func crashes[T any](struck []T) []crash[T] {
	var all []crash[T]
	for _, s := range struck {
		all = append(all, crash[T]{s, false}, crash[T]{s, true})
	}
	return all
}
