// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/internal/ctrlmanager"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv"
)

// elected makes the next Sidecar of a system take part in the leader election for its driver, in the namespace of the
// test, as an instance of the owner's deployment. On a slow machine, an instance may not renew its Lease for many seconds.
func (s *system) elected(owner, identity string) {
	s.manager = sidecar.ManagerOptions{
		LeaderNamespace: s.namespace, Owner: owner, Identity: identity,
		Lease: ctrlmanager.LeaseTimes{Duration: time.Minute, RenewDeadline: 50 * time.Second, RetryPeriod: 200 * time.Millisecond},
	}
}

func (s *system) lease() *coordinationv1.Lease {
	return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: s.namespace, Name: sidecar.LeaseName(s.driver.Name())}}
}

func (s *system) untilHolder(identity string) *coordinationv1.Lease {
	s.t.Helper()
	return testenv.Until(s.Env, s.lease(), identity+" holds the Lease", func(l *coordinationv1.Lease) error {
		if l.Spec.HolderIdentity == nil || *l.Spec.HolderIdentity != identity {
			return fmt.Errorf("it is %v", l.Spec.HolderIdentity)
		}
		return nil
	})
}

func TestLeaderHandsOver(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.bindLeader()
	s.elected("store/driver", "first")
	stop := s.run()
	if l := s.untilHolder("first"); l.Annotations[sidecar.OwnerAnnotation] != "store/driver" {
		t.Errorf("the Lease has no owner: %v", l.Annotations)
	}
	s.readyBucket()
	s.elected("store/driver", "second")
	s.run()
	stop()
	s.untilHolder("second")
	s.readyBucket()
}

// TestSidecarSeesAnotherHolder uses a RenewDeadline that is longer than the test. Until that deadline, client-go would
// try to renew the Lease, and the Sidecar would continue.
func TestSidecarSeesAnotherHolder(t *testing.T) {
	t.Parallel()
	for name, take := range map[string]func(*coordinationv1.Lease){
		"another instance": func(l *coordinationv1.Lease) { l.Spec.HolderIdentity = new("second") },
		"another deployment": func(l *coordinationv1.Lease) {
			l.Annotations[sidecar.OwnerAnnotation], l.Spec.HolderIdentity = "elsewhere/driver", new("second")
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, memdriver.Options{})
			s.bindLeader()
			s.elected("store/driver", "first")
			s.manager.Lease.Duration, s.manager.Lease.RenewDeadline = time.Hour, 30*time.Minute
			_, ended := s.launch()
			s.readyBucket()
			testenv.Change(s.Env, s.lease(), take)
			ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
			defer cancel()
			select {
			case err := <-ended:
				if err == nil || !strings.Contains(err.Error(), "leader election lost") {
					t.Errorf("the Sidecar ended with %v", err)
				}
			case <-ctx.Done():
				t.Fatal("the Sidecar works although another one holds the Lease")
			}
		})
	}
}

func TestSidecarIsPassiveWhileAnotherDeploymentHasTheName(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.bindLeader()
	testenv.Change(s.Env, s.lease(), func(expired *coordinationv1.Lease) {
		expired.Annotations = map[string]string{sidecar.OwnerAnnotation: "elsewhere/driver"}
		expired.Spec = coordinationv1.LeaseSpec{
			HolderIdentity: new("gone"), LeaseDurationSeconds: new(int32(1)), RenewTime: &metav1.MicroTime{Time: time.Now().Add(-time.Hour)},
		}
	})
	s.elected("store/driver", "second")
	s.run()
	s.Eventually("the metric reports the owned name", func(context.Context) error {
		return testutil.GatherAndCompare(s.metrics, strings.NewReader(fmt.Sprintf(`
# HELP cosi_sidecar_driver_name_taken 1 while another deployment owns the driver name and this sidecar is therefore passive.
# TYPE cosi_sidecar_driver_name_taken gauge
cosi_sidecar_driver_name_taken{driver_name=%q} 1
`, s.driver.Name())), "cosi_sidecar_driver_name_taken")
	})
	s.Eventually("an Event reports it", func(ctx context.Context) error {
		var list corev1.EventList
		if err := s.Client.List(ctx, &list, client.InNamespace(s.namespace)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == "DriverNameTaken" && strings.Contains(e.Message, "elsewhere/driver") && strings.Contains(e.Message, sidecar.OwnerAnnotation) {
				return nil
			}
		}
		return errors.New("no such Event")
	})
	if holder := *testenv.Get(s.Env, s.lease()).Spec.HolderIdentity; holder != "gone" {
		t.Errorf("the Lease of another deployment was taken by %s", holder)
	}
	testenv.Change(s.Env, s.lease(), func(l *coordinationv1.Lease) { l.Annotations = nil })
	if l := s.untilHolder("second"); l.Annotations[sidecar.OwnerAnnotation] != "store/driver" {
		t.Errorf("the Lease has no new owner: %v", l.Annotations)
	}
	s.readyBucket()
}

func TestLeaderNeedsOwner(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	driver, err := sidecar.Connect(t.Context(), sidecar.ConnectOptions{Address: s.endpoint})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(driver.Close)
	_, err = sidecar.NewManager(s.Config(), sidecar.ManagerOptions{
		Sidecar: sidecar.Options{Driver: driver, Registerer: prometheus.NewRegistry()}, LeaderNamespace: s.namespace,
	})
	if err == nil || !strings.Contains(err.Error(), "Owner is not set") {
		t.Errorf("want an error about the owner, got %v", err)
	}
}
