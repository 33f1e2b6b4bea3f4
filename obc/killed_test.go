// SPDX-License-Identifier: Apache-2.0

package obc_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

// errDead is the result of every request of a killed process.
var errDead = errors.New("this process was killed")

// A killer kills a process at one of its writes and refuses all later requests.
type killer struct {
	mu sync.Mutex
	// at is the number of the write, from 1; 0 disables the killer.
	at int
	// after reports that the write takes effect before the kill.
	after  bool
	writes int
	dead   chan struct{}
}

// write executes a write unless the process is dead or dies now.
func (k *killer) write(do func() error) error {
	k.mu.Lock()
	defer k.mu.Unlock() // one write at a time, so that their numbers give their order
	if k.at > 0 && k.writes >= k.at {
		return errDead
	}
	k.writes++
	if k.writes != k.at {
		return do()
	}
	if k.after {
		_ = do()
	}
	close(k.dead)
	return errDead
}

// A mortal is the client of a process that a killer may kill.
type mortal struct {
	client.Client

	killer *killer
}

func (m mortal) Create(ctx context.Context, o client.Object, options ...client.CreateOption) error {
	return m.killer.write(func() error { return m.Client.Create(ctx, o, options...) })
}

func (m mortal) Delete(ctx context.Context, o client.Object, options ...client.DeleteOption) error {
	return m.killer.write(func() error { return m.Client.Delete(ctx, o, options...) })
}

func (m mortal) Patch(ctx context.Context, o client.Object, p client.Patch, options ...client.PatchOption) error {
	return m.killer.write(func() error { return m.Client.Patch(ctx, o, p, options...) })
}

func (m mortal) Status() client.SubResourceWriter {
	return mortalStatus{m.Client.Status(), m.killer}
}

type mortalStatus struct {
	client.SubResourceWriter

	killer *killer
}

func (m mortalStatus) Patch(ctx context.Context, o client.Object, p client.Patch, options ...client.SubResourcePatchOption) error {
	return m.killer.write(func() error { return m.SubResourceWriter.Patch(ctx, o, p, options...) })
}

// runMortal starts cosi-obc with a client that the killer may kill.
func (w *world) runMortal(k *killer) (stop func()) {
	w.t.Helper()
	k.dead = make(chan struct{})
	w.wrapClient = func(c client.Client) client.Client { return mortal{c, k} }
	return w.run()
}

// TestKilledAtEveryWrite kills cosi-obc before or after some of its writes while it provisions and deletes a claim of
// each kind, and lets another instance finish. The soak covers every write.
func TestKilledAtEveryWrite(t *testing.T) {
	t.Parallel()
	driver, part := systemtest.NewDriver(t, memdriver.Options{})
	w := newWorld(t, part)
	if err := driver.AddBucket("archive"); err != nil {
		t.Fatal(err)
	}
	classes := map[string]string{
		"new":      w.storageClass("", corev1.PersistentVolumeReclaimDelete, map[string]string{"bucketPrefixParameter": "prefix"}), // with its own class
		"existing": w.storageClass(existing, corev1.PersistentVolumeReclaimDelete, map[string]string{"bucketName": "archive"}),
	}
	type point struct {
		sort     string
		deletion bool
		at       int
		after    bool
	}
	var before, after []point
	for _, sort := range slices.Sorted(maps.Keys(classes)) {
		provisioning, deletion := w.life("count-"+sort, classes[sort], &killer{}, &killer{})
		for n := 1; n <= provisioning+deletion; n++ {
			p := point{sort: sort, deletion: n > provisioning, at: n}
			if p.deletion {
				p.at -= provisioning
			}
			before = append(before, p)
			p.after = true
			after = append(after, p)
		}
		if provisioning < 8 || deletion < 6 {
			t.Errorf("a claim for a bucket of sort %s costs %d and %d writes: the test is blind", sort, provisioning, deletion)
		}
	}
	for _, p := range fulltest.Spread(slices.Concat(before, after), 8) {
		name := fmt.Sprintf("%s-%t-%d-%t", p.sort, p.deletion, p.at, p.after)
		provisioning, deletion := &killer{}, &killer{}
		if p.deletion {
			deletion.at, deletion.after = p.at, p.after
		} else {
			provisioning.at, provisioning.after = p.at, p.after
		}
		w.life(name, classes[p.sort], provisioning, deletion)
		w.Eventually(name+" has left nothing in the backend", func(context.Context) error {
			if has := driver.Inventory(); len(has.Accounts) > 0 || len(has.Buckets) != 1 {
				return fmt.Errorf("the driver has %+v", has)
			}
			return nil
		})
	}
}

// life creates and deletes a claim. Each phase runs under a process that may be killed and another one that finishes
// its work. It returns the number of their writes.
func (w *world) life(name, class string, provisioning, deletion *killer) (provisioned, deleted int) {
	w.t.Helper()
	claim := w.claim(name, class)
	if class == w.namespace+existing {
		claim.Spec.GenerateBucketName = ""
	}
	w.under(provisioning, func() { w.Create(claim) }, func(ctx context.Context) error {
		if err := w.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil || claim.Status.Phase != objectbucket.PhaseBound {
			return fmt.Errorf("%s is %+v: %w", name, claim.Status, err)
		}
		return nil
	})
	if environment := w.environment(claim.Name); environment["BUCKET_NAME"] == "" {
		w.t.Errorf("%s: bound without a bucket: %v", name, environment)
	}
	w.under(deletion, func() { w.Delete(claim) }, func(ctx context.Context) error {
		if names, err := w.left(ctx); err != nil || len(names) > 0 {
			return fmt.Errorf("%s has left %q: %w", name, names, err)
		}
		return nil
	})
	return provisioning.writes, deletion.writes
}

// under runs a process until it is killed or has finished, and then one that finishes. Whether the first one gets to
// its last writes depends on how much one reconcile sees at once.
func (w *world) under(k *killer, begin func(), finished func(context.Context) error) {
	w.t.Helper()
	stop := w.runMortal(k)
	begin()
	w.Eventually("the process is dead or has finished", func(ctx context.Context) error {
		select {
		case <-k.dead:
			return nil
		default:
			return finished(ctx)
		}
	})
	stop()
	if k.at > 0 {
		defer w.runMortal(&killer{})()
	}
	w.Eventually("its work is finished", finished)
}
