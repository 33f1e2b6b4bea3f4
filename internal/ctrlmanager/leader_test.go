// SPDX-License-Identifier: Apache-2.0

package ctrlmanager_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"github.com/cooper-cosi/cooper/internal/ctrlmanager"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) {
	log.SetLogger(logr.Discard())
	testenv.Main(m)
}

// TestLeaderSeesAnotherHolder uses a RenewDeadline that is longer than the test. Until that deadline, client-go would
// try to renew the Lease, and the manager would continue.
func TestLeaderSeesAnotherHolder(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: env.Namespace(), Name: "component"}}
	options := ctrl.Options{
		Scheme: env.Scheme(), Metrics: metricsserver.Options{BindAddress: "0"},
		LeaderElection: true, LeaderElectionID: lease.Name, LeaderElectionNamespace: lease.Namespace, LeaderElectionReleaseOnCancel: true,
	}
	ctrlmanager.LeaseTimes{Duration: time.Hour, RenewDeadline: 30 * time.Minute, RetryPeriod: 200 * time.Millisecond}.Apply(&options)
	mgr, err := ctrlmanager.New(env.Config(), options)
	if err != nil {
		t.Fatal(err)
	}
	working, stopped := make(chan struct{}), make(chan struct{})
	err = mgr.Add(manager.RunnableFunc(func(ctx context.Context) error {
		close(working)
		<-ctx.Done()
		close(stopped)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- mgr.Start(t.Context()) }()
	until(ctx, t, working, "the manager works")
	testenv.Change(env, lease, func(l *coordinationv1.Lease) {
		l.Spec.HolderIdentity, l.Spec.RenewTime = new("another"), &metav1.MicroTime{Time: time.Now()}
	})
	select {
	case err := <-done:
		if err == nil || !strings.Contains(err.Error(), "held by another") {
			t.Errorf("Start returned %v, want an error that names the holder", err)
		}
	case <-ctx.Done():
		t.Fatal("the manager works although another instance holds the Lease")
	}
	until(ctx, t, stopped, "what runs in the manager is told to stop")
	if holder := *testenv.Get(env, lease).Spec.HolderIdentity; holder != "another" {
		t.Errorf("the Lease was given to %q", holder)
	}
	env.Eventually("an Event reports the new leader", func(ctx context.Context) error {
		var list corev1.EventList
		if err := env.Client.List(ctx, &list, client.InNamespace(lease.Namespace)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == "LeaderElection" && strings.HasSuffix(e.Message, "became leader") {
				return nil
			}
		}
		return fmt.Errorf("%d other Events", len(list.Items))
	})
}

func until(ctx context.Context, t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-ctx.Done():
		t.Fatalf("not in time: %s", what)
	}
}
