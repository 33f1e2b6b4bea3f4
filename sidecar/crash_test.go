// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/internal/reconciler"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
)

// flowWrites is the number of writes of a Sidecar in the flow of TestCrash: three for the Bucket, four for the access,
// four for the cleanup of the access and one for the release of the Bucket. TestCrash fails if there are more.
const flowWrites = 12

// interfered runs Sidecars through the life of a Bucket and its access while one of their requests fails. If that
// kills the first one, it starts a successor. It checks at every stage that backend and API agree.
func interfered(t *testing.T, fake memdriver.Options, i *interference, prepare func(*system)) {
	t.Helper()
	s := newSystem(t, fake)
	s.options.Backoff = reconciler.BackoffOptions{Base: 10 * time.Millisecond, Max: 100 * time.Millisecond}
	i.dead = make(chan struct{})
	s.wrap = i.wrap
	if prepare != nil {
		prepare(s)
	}
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

// A crash is one element of the matrices below: the request, and whether it takes effect before the Sidecar dies.
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

func TestCrashAtEveryWrite(t *testing.T) {
	t.Parallel()
	writes := make([]int, flowWrites)
	for i := range writes {
		writes[i] = i + 1
	}
	// One before or after a write for the Bucket, for the access, for its cleanup, and for the Bucket's release.
	tiers := fulltest.Tiers{Short: []string{"after 6"}, Full: []string{"before 2", "before 9", "after 12"}}
	for _, c := range fulltest.Pick(t, crashes(writes), tiers) {
		t.Run(fmt.Sprintf("%v. write", c), func(t *testing.T) {
			t.Parallel()
			i := &interference{write: c.struck, lost: c.effect, crash: true}
			interfered(t, memdriver.Options{}, i, nil)
			if len(i.struck) != 1 {
				t.Errorf("the flow has no write %d: it made %d", c.struck, i.seen)
			}
		})
	}
}

func TestCrashAtEveryCall(t *testing.T) {
	t.Parallel()
	rpcs := []memdriver.RPC{
		memdriver.GenerateBucketID, memdriver.CreateBucket, memdriver.GenerateAccessID, memdriver.GrantAccess,
		memdriver.RevokeAccess, memdriver.DeleteBucket,
	}
	tiers := fulltest.Tiers{Short: []string{"after DriverGrantBucketAccess"}, Full: []string{
		"after DriverCreateBucket", "before DriverRevokeBucketAccess", "after DriverDeleteBucket",
	}}
	for _, c := range fulltest.Pick(t, crashes(rpcs), tiers) {
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			i := &interference{crash: true}
			interfered(t, memdriver.Options{}, i, func(s *system) { i.strikeCall(s.driver, c.struck, c.effect) })
			if !i.fenced {
				t.Error("the flow has no such call")
			}
		})
	}
}

// faults returns the faults of every second write, from the first or the second one on.
func faults() []*interference {
	var all []*interference
	for _, first := range []int{1, 2} {
		all = append(all,
			&interference{write: first, alternate: true, status: http.StatusConflict},
			&interference{write: first, alternate: true, status: http.StatusInternalServerError},
			&interference{write: first, alternate: true}, // no response
			&interference{write: first, alternate: true, lost: true})
	}
	return all
}

func (i *interference) String() string {
	return fmt.Sprintf("status %d, effect %v, from write %d on", i.status, i.lost, i.write)
}

func TestFaultsOfAPI(t *testing.T) {
	t.Parallel()
	for _, i := range fulltest.Pick(t, faults(), fulltest.Tiers{Short: []string{"status 409, effect false, from write 2 on"}}) {
		t.Run(i.String(), func(t *testing.T) {
			t.Parallel()
			interfered(t, memdriver.Options{}, i, nil)
			if len(i.struck) < flowWrites/2 {
				t.Errorf("only %d writes of %d were struck", len(i.struck), i.seen)
			}
		})
	}
}

func TestCrashCoversEveryWrite(t *testing.T) {
	t.Parallel()
	i := &interference{}
	interfered(t, memdriver.Options{}, i, nil)
	if i.seen != flowWrites {
		t.Errorf("the flow makes %d writes, and TestCrashAtEveryWrite covers %d: set flowWrites", i.seen, flowWrites)
	}
}
