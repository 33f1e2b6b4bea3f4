// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/codes"
	corev1 "k8s.io/api/core/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

func TestRotationGrantsAgain(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	a := s.readyAccess(s.readyBucket())
	secret := testenv.Get(s.Env, s.secrets(a)[0])
	first := string(secret.Data["AWS_SECRET_ACCESS_KEY"])
	for n, value := range []string{"once", "twice"} {
		testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, value) })
		testenv.Until(s.Env, secret, "the rotation is delivered", func(secret *corev1.Secret) error {
			if got := secret.Annotations["cooper.dev/delivered-rotation"]; got != value {
				return fmt.Errorf("delivered is %q", got)
			}
			return nil
		})
		if next := string(secret.Data["AWS_SECRET_ACCESS_KEY"]); next == first {
			t.Errorf("rotation %q delivered the same credential", value)
		}
		s.await(memdriver.GrantAccess, n+2)
		if request := memdriver.Requests[*cosi.DriverGrantBucketAccessRequest](s.driver)[n+1]; request.GetRotation() != value {
			t.Errorf("rotation of the grant: want %q, got %q", value, request.GetRotation())
		}
	}
	s.ready(a)
}

func TestRegrantInterval(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	s.options.RegrantInterval = 50 * time.Millisecond
	s.run()
	a := s.readyAccess(s.readyBucket())
	version := testenv.Get(s.Env, s.secrets(a)[0]).ResourceVersion
	s.await(memdriver.GrantAccess, 3)
	if testenv.Get(s.Env, s.secrets(a)[0]).ResourceVersion != version {
		t.Error("a Secret was written although the driver returned the same")
	}
}

func TestGrantBeforeCredentialExpires(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{Protocols: []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_AZURE}})
	b := s.bucket()
	b.Spec.Protocols = []cosiapi.Protocol{cosiapi.ProtocolAzure}
	s.Create(b)
	s.ready(b)
	a := s.access(b)
	a.Spec.Protocol = cosiapi.ProtocolAzure
	response := func(expiry time.Time) *cosi.DriverGrantBucketAccessResponse {
		return &cosi.DriverGrantBucketAccessResponse{
			Buckets: []*cosi.DriverGrantBucketAccessResponse_BucketInfo{{
				BucketId: b.Name, BucketInfo: &cosi.ObjectProtocolAndBucketInfo{Azure: &cosi.AzureBucketInfo{StorageAccount: "acct"}},
			}},
			Credentials: &cosi.CredentialInfo{Azure: &cosi.AzureCredentialInfo{
				AccessToken: "https://acct.example.com/c?sig=x", ExpiryTimestamp: expiry.UTC().Format(time.RFC3339),
			}},
		}
	}
	expiry := time.Now().Add(90 * 24 * time.Hour)
	s.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Answer: response(expiry), Times: memdriver.Always})
	s.handOff(a, b)
	s.ready(a)
	secret := testenv.Get(s.Env, s.secrets(a)[0])
	renewal := expiry.Add(-24 * time.Hour)
	want := renewal.UTC().Format(time.RFC3339)
	if got := secret.Annotations["cooper.dev/renew-at"]; got != want {
		t.Errorf("renewal: want %s, a day before the end, got %s", want, got)
	}
	s.measures(map[string]float64{
		"cosi_sidecar_active": 1, "cosi_sidecar_credential_renewal_timestamp_seconds": float64(renewal.Unix()),
		"cosi_sidecar_credential_expiry_timestamp_seconds": float64(expiry.Unix()), "cosi_sidecar_regrants_total Expiry": 0,
	})
	testenv.Change(s.Env, secret, func(secret *corev1.Secret) {
		secret.Annotations["cooper.dev/renew-at"] = time.Now().Add(-time.Second).UTC().Format(time.RFC3339)
	})
	testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, "poke", "look at the Secret") })
	s.await(memdriver.GrantAccess, 2)
	s.measures(map[string]float64{
		"cosi_sidecar_regrants_total Expiry": 1, "cosi_sidecar_regrants_total Driver": 0,
		"cosi_sidecar_credential_renewal_timestamp_seconds": float64(renewal.Unix()), "cosi_sidecar_credential_expiry_timestamp_seconds": float64(expiry.Unix()),
	})
	s.driver.Script(memdriver.Fault{RPC: memdriver.RevokeAccess, Code: codes.InvalidArgument})
	s.Delete(a)
	s.await(memdriver.RevokeAccess, 1)
	s.measures(map[string]float64{"cosi_sidecar_active": 1}) // the credential of a deleted access is not renewed
}

// measures waits until these sidecar metrics have these values. A key is the name of the metric, followed by the
// values of its labels other than the driver's. There must be no other metrics of expiring credentials.
func (s *system) measures(want map[string]float64) {
	s.t.Helper()
	s.Eventually(fmt.Sprintf("the metrics are %v", want), func(context.Context) error {
		families, err := s.metrics.Gather()
		if err != nil {
			return err
		}
		got := map[string]float64{}
		for _, family := range families {
			for _, m := range family.GetMetric() {
				name := family.GetName()
				for _, label := range m.GetLabel() {
					if label.GetName() != "driver_name" {
						name += " " + label.GetValue()
					}
				}
				if _, wanted := want[name]; wanted || strings.HasPrefix(name, "cosi_sidecar_credential_") {
					got[name] = m.GetGauge().GetValue() + m.GetCounter().GetValue()
				}
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			return fmt.Errorf("(-want +got):\n%s", diff)
		}
		return nil
	})
}

func TestRestartCallsNothingAgain(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{Revision: "1"})
	stop := s.run()
	one, two := s.readyBucket(), s.readyBucket()
	s.readyAccess(one, two)
	s.readyAccess(two)
	kept := s.bucket()
	kept.Spec.DeletionPolicy = cosiapi.DeletionPolicyRetain
	s.Create(kept)
	s.ready(kept)
	s.leave(kept)
	stop()
	s.driver.ForgetCalls()
	writes := len(s.writes())
	secretReads := func() int {
		return len(s.Audit(controlplane.AuditFilter{User: s.user, Verbs: []string{"get"}, Resources: []string{"secrets"}}))
	}
	before := secretReads()
	s.run()
	s.Eventually("the new sidecar has looked at all Secrets", func(context.Context) error {
		if n := secretReads() - before; n < 3 {
			return fmt.Errorf("it looked %d times", n)
		}
		return nil
	})
	if calls := s.calls(); len(calls) > 0 {
		t.Errorf("calls: want none but DriverGetInfo, got %v", calls)
	}
	if more := s.writes()[writes:]; len(more) > 0 {
		t.Errorf("writes: want none, got %v", more)
	}
	s.settled()
	if len(s.writes()[writes:]) == 0 {
		t.Error("the check is blind: the fence was not seen to be written")
	}
}
