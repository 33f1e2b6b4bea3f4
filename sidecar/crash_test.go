// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"os"
	"strconv"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/fakes/driverfake"
	"github.com/cooper-cosi/cooper/internal/backoff"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// flowWrites is how many writes a Sidecar makes in the flow of TestCrash: three
// for the Bucket, four for the access, three to clean up behind the access and
// one to let the Bucket go. TestCrash fails if there are more.
const flowWrites = 11

// interfered runs Sidecars through the life of a Bucket and its access while
// one of their requests is struck, starts a successor if that kills the first
// one, and checks that backend and API agree at every stage.
func interfered(t *testing.T, i *interference, prepare func(*system)) {
	t.Helper()
	s := newSystem(t, driverfake.Options{})
	s.options.Backoff = backoff.Options{Base: 10 * time.Millisecond, Max: 100 * time.Millisecond}
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
	data := get(s, s.secrets(a)[0]).Data
	credential := &cosi.CredentialInfo{S3: &cosi.S3CredentialInfo{
		AccessKeyId: string(data["AWS_ACCESS_KEY_ID"]), AccessSecretKey: string(data["AWS_SECRET_ACCESS_KEY"]),
	}}
	if err := s.driver.Works(credential, b.Status.BucketID, driverfake.WriteObject); err != nil {
		t.Errorf("the delivered credential does not work: %v", err)
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

// sampled is how many crashes of each matrix an ordinary run tries.
// COOPER_SOAK=1 tries all.
const sampled = 4

// draw chooses among a number of crashes. The seed is printed;
// COOPER_LIFECYCLE_SEED repeats one.
func draw(t *testing.T, crashes int) map[int]bool {
	t.Helper()
	seed, err := strconv.ParseUint(os.Getenv("COOPER_LIFECYCLE_SEED"), 10, 64)
	if err != nil {
		seed = uint64(time.Now().UnixNano() % 1e9)
	}
	order := rand.New(rand.NewPCG(seed, 1)).Perm(crashes)
	if os.Getenv("COOPER_SOAK") != "1" {
		order = order[:min(sampled, crashes)]
	}
	t.Logf("%d of %d: COOPER_LIFECYCLE_SEED=%d repeats them, COOPER_SOAK=1 takes all", len(order), crashes, seed)
	drawn := map[int]bool{}
	for _, n := range order {
		drawn[n] = true
	}
	return drawn
}

// place is the number of a crash among those before and after n requests.
func place(n int, after bool) int {
	if after {
		return 2*n + 1
	}
	return 2 * n
}

func TestCrash_at_every_write(t *testing.T) {
	t.Parallel()
	drawn := draw(t, 2*flowWrites)
	for n := 1; n <= flowWrites; n++ {
		for name, lost := range map[string]bool{"before": false, "after": true} {
			if !drawn[place(n-1, lost)] {
				continue
			}
			t.Run(fmt.Sprintf("%s write %d", name, n), func(t *testing.T) {
				t.Parallel()
				i := &interference{write: n, lost: lost, crash: true}
				interfered(t, i, nil)
				if len(i.struck) != 1 {
					t.Errorf("the flow has no write %d: it made %d", n, i.seen)
				}
			})
		}
	}
}

func TestCrash_at_every_call(t *testing.T) {
	t.Parallel()
	rpcs := []driverfake.RPC{
		driverfake.GenerateBucketID, driverfake.CreateBucket, driverfake.GenerateAccessID, driverfake.GrantAccess,
		driverfake.RevokeAccess, driverfake.DeleteBucket,
	}
	drawn := draw(t, 2*len(rpcs))
	for n, rpc := range rpcs {
		for name, effect := range map[string]bool{"before": false, "after": true} {
			if !drawn[place(n, effect)] {
				continue
			}
			t.Run(fmt.Sprintf("%s %s", name, rpc), func(t *testing.T) {
				t.Parallel()
				i := &interference{crash: true}
				interfered(t, i, func(s *system) { i.strikeCall(s.driver, rpc, effect) })
				if !i.fenced {
					t.Error("the flow has no such call")
				}
			})
		}
	}
}

func TestFaults_of_the_API(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]func() *interference{
		"conflicts":     func() *interference { return &interference{status: http.StatusConflict} },
		"server errors": func() *interference { return &interference{status: http.StatusInternalServerError} },
		"no answers":    func() *interference { return &interference{} },
		"lost answers":  func() *interference { return &interference{lost: true} },
	} {
		for first := 1; first <= 2; first++ {
			t.Run(fmt.Sprintf("%s from write %d on", name, first), func(t *testing.T) {
				t.Parallel()
				i := fault()
				i.write, i.alternate = first, true
				interfered(t, i, nil)
				if len(i.struck) < flowWrites/2 {
					t.Errorf("only %d writes of %d were struck", len(i.struck), i.seen)
				}
			})
		}
	}
}

func TestCrash_covers_every_write_of_the_flow(t *testing.T) {
	t.Parallel()
	i := &interference{}
	interfered(t, i, nil)
	if i.seen != flowWrites {
		t.Errorf("the flow makes %d writes, and TestCrash_at_every_write covers %d: set flowWrites", i.seen, flowWrites)
	}
}
