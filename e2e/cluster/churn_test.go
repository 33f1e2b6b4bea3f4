// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

const (
	// churnUsers is the number of users that constantly claim and delete buckets.
	churnUsers = 4
	// churnInterval is the poll interval of each user.
	churnInterval = 200 * time.Millisecond
)

// A churn is a set of users that claim buckets, get credentials and delete both until it ends. The first user
// that waits too long fails it.
type churn struct {
	client    client.Client
	namespace string

	cancel context.CancelCauseFunc
	ctx    context.Context //nolint:containedctx // that of the goroutines, with the cause of their end
	done   sync.WaitGroup
	rounds [churnUsers]atomic.Int64
	ending atomic.Bool
}

// newChurn creates users in a namespace. The first user completes one round, after which the driver has
// stored what it stores only once.
func (w *world) newChurn(t *testing.T, namespace string) *churn {
	t.Helper()
	c := &churn{client: w.client(t), namespace: namespace}
	wantNoError(t, c.round(t.Context(), "first", false))
	c.settles(t, 0)
	return c
}

// start starts the users. They end with the test, or earlier when end is called.
func (c *churn) start(t *testing.T) {
	t.Helper()
	c.ctx, c.cancel = context.WithCancelCause(t.Context())
	for user := range churnUsers {
		c.done.Go(func() { c.use(user) })
	}
	t.Cleanup(func() {
		c.cancel(nil)
		c.done.Wait()
	})
}

// use is the loop of one user.
func (c *churn) use(user int) {
	for n := 0; !c.ending.Load(); n++ {
		if err := c.round(c.ctx, fmt.Sprintf("round-%d-%d", user, n), n%3 == 2); err != nil {
			c.cancel(err)
			return
		}
		c.rounds[user].Add(1)
	}
}

// round creates a claim and an access, waits until both are ready, deletes them and waits until they no
// longer exist. With hasty it deletes them before they are ready.
func (c *churn) round(ctx context.Context, name string, hasty bool) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	claim, access := pair(c.namespace, name)
	both := []client.Object{claim, access}
	if err := c.each(ctx, both, c.create); err != nil {
		return err
	}
	if !hasty {
		if err := c.each(ctx, both, c.ready); err != nil {
			return err
		}
		if err := c.hasCredential(ctx, name); err != nil {
			return err
		}
	}
	if err := c.each(ctx, both, c.delete); err != nil {
		return err
	}
	return c.each(ctx, both, c.gone)
}

// each repeats an operation for every object until it succeeds.
func (c *churn) each(ctx context.Context, all []client.Object, do func(context.Context, client.Object) error) error {
	for _, o := range all {
		err := controlplane.UntilEvery(ctx, churnInterval, func(ctx context.Context) error { return do(ctx, o) })
		if err != nil {
			return fmt.Errorf("%T %s: %w", o, o.GetName(), err)
		}
	}
	return nil
}

func (c *churn) create(ctx context.Context, o client.Object) error {
	if err := c.client.Create(ctx, o); !apierrors.IsAlreadyExists(err) {
		return err
	}
	return nil // an earlier attempt succeeded
}

func (c *churn) ready(ctx context.Context, o client.Object) error {
	if err := c.client.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
		return err
	}
	if has := testenv.Conditions(o); !meta.IsStatusConditionTrue(has, cosiapi.ConditionProvisioned) {
		return fmt.Errorf("not ready: %+v", has)
	}
	return nil
}

func (c *churn) hasCredential(ctx context.Context, name string) error {
	secret := &corev1.Secret{}
	if err := c.client.Get(ctx, client.ObjectKey{Namespace: c.namespace, Name: name}, secret); err != nil {
		return fmt.Errorf("secret of an access that is ready: %w", err)
	}
	for _, key := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "BUCKET_NAME"} {
		if len(secret.Data[key]) == 0 {
			return fmt.Errorf("the Secret %s of an access that is ready has no %s", name, key)
		}
	}
	return nil
}

func (c *churn) delete(ctx context.Context, o client.Object) error {
	return client.IgnoreNotFound(c.client.Delete(ctx, o))
}

func (c *churn) gone(ctx context.Context, o client.Object) error {
	err := c.client.Get(ctx, client.ObjectKeyFromObject(o), o)
	if err == nil {
		return fmt.Errorf("it is still there, with the finalizers %q: %+v", o.GetFinalizers(), testenv.Conditions(o))
	}
	return client.IgnoreNotFound(err)
}

// settles waits until the namespace has only the given number of Buckets. The Bucket of a deleted claim is
// deleted after the claim.
func (c *churn) settles(t *testing.T, kept int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	err := controlplane.UntilEvery(ctx, churnInterval, func(ctx context.Context) error {
		var buckets cosiapi.BucketList
		if err := c.client.List(ctx, &buckets); err != nil {
			return err
		}
		ours := slices.DeleteFunc(buckets.Items, func(b cosiapi.Bucket) bool { return b.Spec.BucketClaimRef.Namespace != c.namespace })
		if len(ours) != kept {
			return fmt.Errorf("the namespace has %d Buckets, want %d: %+v", len(ours), kept, ours)
		}
		return nil
	})
	wantNoError(t, err)
}

// passes waits until every user has started and completed three more rounds, one of them hasty.
func (c *churn) passes(t *testing.T) {
	t.Helper()
	var want [churnUsers]int64
	for user := range c.rounds {
		want[user] = c.rounds[user].Load() + 1 + 3 // the current round does not count
	}
	err := controlplane.UntilEvery(c.ctx, churnInterval, func(context.Context) error {
		for user := range c.rounds {
			if has := c.rounds[user].Load(); has < want[user] {
				return fmt.Errorf("user %d is in round %d", user, has)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatalf("%v: %v", context.Cause(c.ctx), err)
	}
}

// end waits until every user has deleted everything, and returns the number of rounds.
func (c *churn) end(t *testing.T) int64 {
	t.Helper()
	c.ending.Store(true)
	c.done.Wait()
	wantNoError(t, context.Cause(c.ctx))
	var rounds int64
	for user := range c.rounds {
		rounds += c.rounds[user].Load()
	}
	return rounds
}
