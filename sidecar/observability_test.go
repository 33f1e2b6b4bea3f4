// SPDX-License-Identifier: Apache-2.0

package sidecar_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus/testutil"
	"google.golang.org/grpc/codes"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

// untilEvent waits for an Event and returns it.
func (s *system) untilEvent(namespace, kind, name, reason string) eventsv1.Event {
	s.t.Helper()
	var found eventsv1.Event
	s.Eventually(fmt.Sprintf("there is an Event %s on %s %s", reason, kind, name), func(ctx context.Context) error {
		var list eventsv1.EventList
		if err := s.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
			return err
		}
		for _, e := range list.Items {
			if e.Reason == reason && e.Regarding.Kind == kind && e.Regarding.Name == name {
				found = e
				return nil
			}
		}
		return fmt.Errorf("not among %d Events", len(list.Items))
	})
	return found
}

func TestEventsOfBucketAreSeenOnItsClaim(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	failing := s.bucket()
	s.driver.Script(
		memdriver.Fault{RPC: memdriver.CreateBucket, Code: codes.ResourceExhausted, Message: "quota is used up"},
		memdriver.Fault{RPC: memdriver.DeleteBucket, Code: codes.FailedPrecondition, Message: "not empty"},
	)
	s.Create(failing)
	s.leave(b)
	for reason, of := range map[string]*cosiapi.Bucket{"FailedCreateBucket": failing, "FailedDeleteBucket": b} {
		s.untilEvent(metav1.NamespaceDefault, "Bucket", of.Name, reason)
		ref := of.Spec.BucketClaimRef
		e := s.untilEvent(s.namespace, "BucketClaim", ref.Name, reason)
		if e.Regarding.UID != ref.UID || e.Type != "Warning" || !strings.Contains(e.Note, of.Name) {
			t.Errorf("%s on the claim: want its UID, a warning and the Bucket's name, got %+v", reason, e)
		}
	}
}

func TestEventsOfAccess(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	hold := make(chan struct{})
	waiting := s.bucket()
	s.driver.Script(
		memdriver.Fault{RPC: memdriver.CreateBucket, ID: waiting.Name, Hold: hold},
		memdriver.Fault{RPC: memdriver.GrantAccess, Code: codes.Unavailable},
		memdriver.Fault{RPC: memdriver.RevokeAccess, Code: codes.Unavailable},
	)
	s.Create(waiting)
	testenv.Until(s.Env, waiting, "the Bucket has an ID", func(b *cosiapi.Bucket) error {
		if b.Status.BucketID == "" {
			return fmt.Errorf("it has none")
		}
		return nil
	})
	a := s.access(waiting)
	s.handOff(a, waiting)
	s.untilEvent(s.namespace, "BucketAccess", a.Name, "WaitingForBucket")
	close(hold)
	s.untilEvent(s.namespace, "BucketAccess", a.Name, "FailedGrantAccess")
	s.Delete(a)
	s.untilEvent(s.namespace, "BucketAccess", a.Name, "FailedRevokeAccess")
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	s.driver.Script(memdriver.Fault{RPC: memdriver.GenerateAccessID, Code: codes.InvalidArgument})
	b := s.readyBucket()
	a := s.access(b)
	s.handOff(a, b)
	s.untilCondition(a, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.Terminal)
	s.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.Revision = "fixed" })
	s.ready(a)
	s.Delete(a)
	s.release(a)
	s.leave(b)
	s.Gone(b)
	name := s.driver.Name()
	counted := fmt.Sprintf(`
# HELP cosi_operation_count Number of reconciles that completed an operation (Succeeded, Canceled) or failed (Unknown).
# TYPE cosi_operation_count counter
cosi_operation_count{driver_name=%[1]q,operation="Create",resource_kind="Bucket",status="Succeeded"} 1
cosi_operation_count{driver_name=%[1]q,operation="Create",resource_kind="BucketAccess",status="Succeeded"} 1
cosi_operation_count{driver_name=%[1]q,operation="Create",resource_kind="BucketAccess",status="Unknown"} 1
cosi_operation_count{driver_name=%[1]q,operation="Delete",resource_kind="Bucket",status="Succeeded"} 1
# HELP cosi_sidecar_operation_errors_total Number of RPCs to the driver that did not return OK.
# TYPE cosi_sidecar_operation_errors_total counter
cosi_sidecar_operation_errors_total{driver_name=%[1]q,method_name="DriverGenerateBucketAccessId"} 1
`, name)
	s.Eventually("the metrics are those of one Bucket and one access", func(context.Context) error {
		return testutil.GatherAndCompare(s.metrics, strings.NewReader(counted), "cosi_operation_count", "cosi_sidecar_operation_errors_total")
	})
	families, err := s.metrics.Gather()
	if err != nil {
		t.Fatal(err)
	}
	observed := map[string]uint64{}
	for _, family := range families {
		for _, m := range family.GetMetric() {
			labels := []string{family.GetName()}
			for _, label := range m.GetLabel() {
				labels = append(labels, label.GetValue())
			}
			if m.GetHistogram() != nil {
				observed[strings.Join(labels, " ")] = m.GetHistogram().GetSampleCount()
			}
		}
	}
	for series, want := range map[string]uint64{
		"cosi_operation_total_seconds " + name + " Create Bucket":                                           1,
		"cosi_operation_total_seconds " + name + " Delete Bucket":                                           1,
		"cosi_operation_total_seconds " + name + " Create BucketAccess":                                     1,
		"cosi_sidecar_operation_duration_seconds " + name + " OK DriverCreateBucket":                        1,
		"cosi_sidecar_operation_duration_seconds " + name + " InvalidArgument DriverGenerateBucketAccessId": 1,
		"cosi_sidecar_operation_duration_seconds " + name + " OK DriverDeleteBucket":                        1,
	} {
		if got := observed[series]; got != want {
			t.Errorf("%s: want %d observations, got %d", series, want, got)
		}
	}
}

func TestCredentialIsNowhereButInItsSecret(t *testing.T) {
	t.Parallel()
	s := newSystem(t, memdriver.Options{})
	log := &lines{}
	s.log = log.add
	s.run()
	b := s.readyBucket()
	a := s.readyAccess(b)
	data := testenv.Get(s.Env, s.secrets(a)[0]).Data
	canaries := []string{string(data["AWS_SECRET_ACCESS_KEY"])}
	response := &cosi.DriverGrantBucketAccessResponse{Credentials: &cosi.CredentialInfo{S3: &cosi.S3CredentialInfo{AccessSecretKey: "canary-in-a-bad-response"}}}
	s.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Answer: response})
	testenv.Change(s.Env, a, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "1") })
	s.untilCondition(a, cosiapi.ConditionProvisionFailed, metav1.ConditionTrue, conditions.DriverResponseInvalid)
	s.ready(a)
	canaries = append(canaries, "canary-in-a-bad-response")
	for _, account := range s.driver.Inventory().Accounts {
		for _, key := range account.Keys {
			canaries = append(canaries, key.Secret)
		}
	}
	s.untilEvent(s.namespace, "BucketAccess", a.Name, "FailedGrantAccess")
	for _, canary := range canaries {
		if n := log.count(canary); n > 0 {
			t.Errorf("a credential is in %d lines of the log", n)
		}
		s.searchObjects(canary)
	}
	if log.count("[redacted]") == 0 {
		t.Error("the check is blind: no redacted message was logged")
	}
}

// searchObjects fails the test if text is in any object but a Secret.
func (s *system) searchObjects(text string) {
	s.t.Helper()
	for _, list := range []client.ObjectList{&cosiapi.BucketList{}, &cosiapi.BucketAccessList{}, &eventsv1.EventList{}} {
		if err := s.Client.List(s.t.Context(), list); err != nil {
			s.t.Fatal(err)
		}
		content, err := json.Marshal(list)
		if err != nil {
			s.t.Fatal(err)
		}
		if strings.Contains(string(content), text) {
			s.t.Errorf("a credential is in a %T", list)
		}
	}
}

func TestRights(t *testing.T) {
	t.Parallel()
	s := start(t, memdriver.Options{})
	b := s.readyBucket()
	a := s.readyAccess(b)
	s.Delete(a)
	s.release(a)
	s.leave(b)
	s.Gone(b)
	for _, e := range s.Audit(controlplane.AuditFilter{User: s.user}) {
		switch {
		case e.Verb == "delete" && e.Resource != "secrets":
			t.Errorf("the sidecar deleted %s %s", e.Resource, e.Name)
		case e.Resource == "bucketclaims", e.Resource == "bucketclasses", e.Resource == "bucketaccessclasses":
			t.Errorf("the sidecar wanted to %s %s", e.Verb, e.Resource)
		case e.Resource == "secrets" && (e.Verb == "list" || e.Verb == "watch"):
			t.Errorf("the sidecar wanted to %s Secrets", e.Verb)
		}
	}
}
