// SPDX-License-Identifier: Apache-2.0

package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

const (
	// pace is how often a user requests a bucket and an access to it. One of three is deleted soon
	// afterwards.
	pace = time.Second
	// settled is the number of users that are served before the disturbance.
	settled = 4
)

// A load is a set of users that claim and delete buckets, and a Pod that constantly uses its bucket.
type load struct {
	*world

	client client.Client
	// ns is the namespace of the users; the class has the same name.
	ns string

	mu sync.Mutex
	// kept and given are the names of the claims and accesses that must be kept, and that must be deleted.
	kept, given map[string]bool
	// before is the initial inventory of the store, secrets the Secrets of the first users.
	before  s3fake.Inventory
	secrets map[string]corev1.Secret
	// said are the reasons of failures that users saw while they waited.
	said map[string]bool
	// stop ends the users and returns the first error.
	stop func() error
}

// busy starts a load for a driver: some users that are already served, and others that start to request
// buckets.
func (w *world) busy(t *testing.T, name, driver string) *load {
	t.Helper()
	w.classes(t, name, driver)
	l := &load{
		world: w, client: w.client(t), before: w.inventory(t), ns: w.namespace(t, name),
		kept: map[string]bool{}, given: map[string]bool{}, said: map[string]bool{},
	}
	for i := range settled {
		wantNoError(t, l.ask(t.Context(), fmt.Sprintf("first-%d", i)))
	}
	w.until(t, l.done)
	l.secrets = l.allSecrets(t)
	w.pod(t, l.ns, pod{name: "user", environment: "first-0", again: true})
	w.wait(t, l.ns, "condition=Ready", "pod/user")
	l.goOn(t)
	return l
}

// goOn makes users request buckets until stop is called.
func (l *load) goOn(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	result, enough := make(chan error, 1), make(chan struct{})
	go func() {
		result <- l.users(ctx, enough)
	}()
	l.stop = func() error {
		cancel()
		err := <-result
		l.stop = func() error { return nil }
		return err
	}
	select {
	case <-enough:
	case err := <-result:
		t.Fatal(err)
	}
}

// users sends requests at the pace of the load until ctx ends, and closes enough after the first ones.
func (l *load) users(ctx context.Context, enough chan<- struct{}) error {
	const first, group = 4, 3
	ticker := time.NewTicker(pace)
	defer ticker.Stop()
	for i := 0; ; i++ {
		if i == first {
			close(enough)
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
		name := func(i int) string { return fmt.Sprintf("user-%d", i) }
		// An interrupted request may or may not have been processed, so requests that have started are
		// completed.
		whole := context.WithoutCancel(ctx)
		if err := l.ask(whole, name(i)); err != nil {
			return err
		}
		if i%group == group-1 {
			if err := l.giveBack(whole, name(i-1)); err != nil {
				return err
			}
		}
		_ = l.done(ctx) // for its side effect of recording reasons
	}
}

// ask claims a bucket and requests access to it.
func (l *load) ask(ctx context.Context, name string) error {
	claim, access := pair(l.ns, name)
	l.mu.Lock()
	l.kept[name] = true
	l.mu.Unlock()
	if err := l.client.Create(ctx, claim); err != nil {
		return err
	}
	return l.client.Create(ctx, access)
}

// giveBack deletes a claim and its access, whether they exist or not.
func (l *load) giveBack(ctx context.Context, name string) error {
	claim, access := pair(l.ns, name)
	l.mu.Lock()
	delete(l.kept, name)
	l.given[name] = true
	l.mu.Unlock()
	for _, object := range []client.Object{access, claim} {
		if err := client.IgnoreNotFound(l.client.Delete(ctx, object)); err != nil {
			return err
		}
	}
	return nil
}

// done returns nil if all kept requests are served and all deleted ones are cleaned up.
func (l *load) done(ctx context.Context) error {
	accesses, err := l.accesses(ctx)
	if err != nil {
		return err
	}
	claims, err := l.claims(ctx)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for name := range l.kept {
		for _, conditions := range [][]metav1.Condition{claims[name].Status.Conditions, accesses[name].Status.Conditions} {
			if failed := meta.FindStatusCondition(conditions, cosiapi.ConditionProvisionFailed); failed != nil && failed.Status == metav1.ConditionTrue {
				l.said[failed.Reason] = true
			}
			if !meta.IsStatusConditionTrue(conditions, cosiapi.ConditionProvisioned) {
				err = fmt.Errorf("%s is not provisioned: %+v", name, conditions)
			}
		}
	}
	if err == nil && (len(accesses) != len(l.kept) || len(claims) != len(l.kept)) {
		err = fmt.Errorf("there are %d claims and %d accesses, %d were asked for and not given back", len(claims), len(accesses), len(l.kept))
	}
	return err
}

// complained returns nil once a user has seen a failure reported.
func (l *load) complained(context.Context) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.said) == 0 {
		return errors.New("no condition has the reason ProvisionFailed")
	}
	return nil
}

func (l *load) accesses(ctx context.Context) (map[string]cosiapi.BucketAccess, error) {
	var list cosiapi.BucketAccessList
	err := l.client.List(ctx, &list, client.InNamespace(l.ns))
	found := map[string]cosiapi.BucketAccess{}
	for _, one := range list.Items {
		found[one.Name] = one
	}
	return found, err
}

func (l *load) claims(ctx context.Context) (map[string]cosiapi.BucketClaim, error) {
	var list cosiapi.BucketClaimList
	err := l.client.List(ctx, &list, client.InNamespace(l.ns))
	found := map[string]cosiapi.BucketClaim{}
	for _, one := range list.Items {
		found[one.Name] = one
	}
	return found, err
}

func (l *load) allSecrets(t *testing.T) map[string]corev1.Secret {
	t.Helper()
	var list corev1.SecretList
	wantNoError(t, l.client.List(t.Context(), &list, client.InNamespace(l.ns)))
	found := map[string]corev1.Secret{}
	for _, one := range list.Items {
		found[one.Name] = one
	}
	return found
}

// recovered stops the users, makes one more request, and returns the time until all requests were served.
func (l *load) recovered(t *testing.T) time.Duration {
	t.Helper()
	wantNoError(t, l.stop())
	began := time.Now()
	wantNoError(t, l.ask(t.Context(), "last"))
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	wantNoError(t, controlplane.Until(ctx, l.done))
	return time.Since(began)
}

// saw describes the effect for users, in one or two sentences.
func (l *load) saw(t *testing.T) string {
	t.Helper()
	accesses, err := l.accesses(t.Context())
	wantNoError(t, err)
	var slowest time.Duration
	for _, one := range accesses {
		provisioned := meta.FindStatusCondition(one.Status.Conditions, cosiapi.ConditionProvisioned)
		slowest = max(slowest, provisioned.LastTransitionTime.Sub(one.CreationTimestamp.Time))
	}
	text := fmt.Sprintf("%d buckets with accesses requested, the slowest ready after %.0f s; %d deleted.",
		len(l.kept)+len(l.given)-settled, slowest.Seconds(), len(l.given))
	if len(l.said) > 0 {
		text += " Conditions in the meantime: " + strings.Join(slices.Sorted(maps.Keys(l.said)), ", ") + "."
	}
	return text
}

// check fails the test if something is lost or duplicated, in the API, in the store or in a Pod.
func (l *load) check(t *testing.T) {
	t.Helper()
	buckets, users := l.wanted(t)
	now := l.inventory(t)
	if diff := cmp.Diff(buckets, added(names(l.before.Buckets, bucketName), names(now.Buckets, bucketName))); diff != "" {
		t.Errorf("the store has other buckets than were claimed (-claimed +there):\n%s", diff)
	}
	if diff := cmp.Diff(users, added(names(l.before.Users, userName), names(now.Users, userName))); diff != "" {
		t.Errorf("the store has other accounts than were asked for (-asked for +there):\n%s", diff)
	}
	for _, user := range now.Users {
		if slices.Contains(users, user.Name) && len(user.Keys) != 1 {
			t.Errorf("the account %s has the keys %v, want one", user.Name, user.Keys)
		}
	}
	secrets := l.allSecrets(t)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(l.kept)), slices.Sorted(maps.Keys(secrets))); diff != "" {
		t.Errorf("there are other Secrets than were asked for (-asked for +there):\n%s", diff)
	}
	for name, before := range l.secrets {
		if !cmp.Equal(before.Data, secrets[name].Data) || before.UID != secrets[name].UID {
			t.Errorf("the Secret %s is another than before", name)
		}
	}
	l.use(t, slices.Sorted(maps.Keys(l.kept)))
}

// wanted returns the sorted buckets and accounts that the store must have. Each claim has one Bucket.
func (l *load) wanted(t *testing.T) (buckets, users []string) {
	t.Helper()
	var list cosiapi.BucketList
	wantNoError(t, l.client.List(t.Context(), &list))
	for _, one := range list.Items {
		if one.Spec.BucketClaimRef.Namespace == l.ns {
			buckets = append(buckets, one.Status.BucketID)
		}
	}
	if len(buckets) != len(l.kept) {
		t.Errorf("%d claims have %d Buckets", len(l.kept), len(buckets))
	}
	accesses, err := l.accesses(t.Context())
	wantNoError(t, err)
	for _, one := range accesses {
		users = append(users, one.Status.AccountID)
	}
	slices.Sort(buckets)
	slices.Sort(users)
	return buckets, users
}

// use uses all buckets from a Pod, and checks that the Pod that constantly used its bucket had no failures.
func (l *load) use(t *testing.T, secrets []string) {
	t.Helper()
	l.pod(t, l.ns, pod{name: "all", mounts: secrets})
	l.wait(t, l.ns, "jsonpath={.status.phase}=Succeeded", "pod/all")
	log := l.logs(t, l.ns, "user")
	if strings.Contains(log, "failed") || !strings.Contains(log, "stored and read in") {
		t.Errorf("the Pod under load prints:\n%s", log)
	}
	if restarts := l.kubectl(t, "-n", l.ns, "get", "pod", "user", "-o", "jsonpath={.status.containerStatuses[0].restartCount}"); restarts != "0" {
		t.Errorf("the Pod that used its bucket all the time began again %s times: its log may lack why", restarts)
	}
}

// end deletes everything, and fails the test if something is left.
func (l *load) end(t *testing.T) {
	t.Helper()
	l.kubectl(t, "-n", l.ns, "delete", "pods", "--all", "--wait")
	for _, name := range slices.Collect(maps.Keys(l.kept)) {
		wantNoError(t, l.giveBack(t.Context(), name))
	}
	l.until(t, l.done)
	l.until(t, func(context.Context) error {
		var list cosiapi.BucketList
		if err := l.client.List(t.Context(), &list); err != nil {
			return err
		}
		for _, one := range list.Items {
			if one.Spec.BucketClaimRef.Namespace == l.ns {
				return fmt.Errorf("the Bucket %s is left: %+v", one.Name, one.Status)
			}
		}
		return nil
	})
	if left := l.allSecrets(t); len(left) > 0 {
		t.Errorf("Secrets are left: %q", slices.Sorted(maps.Keys(left)))
	}
	if diff := cmp.Diff(l.before, l.inventory(t)); diff != "" {
		t.Errorf("the contents of the store changed (-before +after):\n%s", diff)
	}
}

func bucketName(b s3fake.BucketInventory) string { return b.Name }
func userName(u s3fake.UserInventory) string     { return u.Name }

func names[T any](of []T, name func(T) string) []string {
	var found []string
	for _, one := range of {
		found = append(found, name(one))
	}
	return found
}

// added returns the sorted elements of after that are not in before.
func added(before, after []string) []string {
	found := slices.DeleteFunc(slices.Clone(after), func(name string) bool { return slices.Contains(before, name) })
	slices.Sort(found)
	return found
}
