// SPDX-License-Identifier: Apache-2.0

package lifecycle

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"google.golang.org/grpc/codes"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

func TestRotationAndRevision(t *testing.T) {
	t.Parallel()
	covers(t, "granted-again")
	bothWays(t, setup{fake: memdriver.Options{Revision: "1"}}, func(t *testing.T, o setup) {
		w := pair(t, o)
		access := w.granted("app", "keys", "photos")
		before := get(w, secret(access, 0)).DeepCopy()
		change(w, access, func(a *cosiapi.BucketAccess) { cosiapi.SetAnnotation(a, cosiapi.RotateAnnotation, "once") })
		rotated := until(w, secret(access, 0), "the rotation is delivered", func(s *corev1.Secret) error {
			if bytes.Equal(s.Data["AWS_SECRET_ACCESS_KEY"], before.Data["AWS_SECRET_ACCESS_KEY"]) {
				return errNot
			}
			return nil
		})
		w.called(memdriver.GrantAccess, 2)
		account := w.driver.Inventory().Accounts[0]
		if len(account.Keys) != 2 || account.Keys[0].Secret != string(rotated.Data["AWS_SECRET_ACCESS_KEY"]) {
			t.Errorf("the Secret does not hold the newest of two keys: %d keys", len(account.Keys))
		}
		// The driver has another revision and returns the same credential with additional data.
		response := proto.CloneOf(w.driver.Calls(memdriver.GrantAccess)[1].Response.(*cosi.DriverGrantBucketAccessResponse))
		response.Buckets[0].BucketInfo.S3.Endpoint = "https://moved.example"
		response.Credentials.CertificateAuthority = "PEM"
		w.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Answer: response, Times: memdriver.Always})
		w.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.Revision = "2" })
		moved := until(w, secret(access, 0), "the moved endpoint is delivered", func(s *corev1.Secret) error {
			if string(s.Data["AWS_ENDPOINT_URL"]) != "https://moved.example" {
				return errNot
			}
			return nil
		})
		rotated.Data["AWS_ENDPOINT_URL"] = []byte("https://moved.example")
		rotated.Data["COSI_CERTIFICATE_AUTHORITY"] = []byte("PEM")
		diff(t, "data of the Secret", rotated.Data, moved.Data)
		// Data that the driver no longer returns is removed.
		w.driver.ClearScript()
		w.driver.SetInfo(func(info *cosi.DriverGetInfoResponse) { info.Revision = "3" })
		back := until(w, secret(access, 0), "the endpoint is back", func(s *corev1.Secret) error {
			if !bytes.Equal(s.Data["AWS_ENDPOINT_URL"], before.Data["AWS_ENDPOINT_URL"]) {
				return errNot
			}
			return nil
		})
		delete(rotated.Data, "COSI_CERTIFICATE_AUTHORITY")
		rotated.Data["AWS_ENDPOINT_URL"] = before.Data["AWS_ENDPOINT_URL"]
		diff(t, "data of the Secret", rotated.Data, back.Data)
		w.ready(access)
	})
}

func TestNothingChanged(t *testing.T) {
	t.Parallel()
	covers(t, "granted-again", "provisioned-stays-true")
	w := pair(t, setup{resync: 20 * time.Millisecond})
	access := w.granted("app", "keys", "photos")
	claim := w.claim("photos", "fast")
	w.ready(claim)
	bucket := w.bucketOf(claim)
	w.eventually("the tape is quiet", func(context.Context) error {
		if n := len(w.driver.Calls(memdriver.GrantAccess)); n != 1 {
			return fmt.Errorf("%d grants", n)
		}
		return nil
	})
	reads := func() int {
		return len(w.Audit(controlplane.AuditFilter{User: w.user(theSidecar), Verbs: []string{"get"}, Resources: []string{"secrets"}}))
	}
	mark, before := w.tape.mark(), reads()
	versions := []string{get(w, access).ResourceVersion, get(w, claim).ResourceVersion, get(w, bucket).ResourceVersion}
	w.eventually("there were ten resyncs", func(context.Context) error {
		if n := reads() - before; n < 10 {
			return fmt.Errorf("there were %d", n)
		}
		return nil
	})
	if more := w.tape.done(since(mark)); len(more) > 0 {
		t.Errorf("requests though nothing changed: %v", more)
	}
	diff(t, "versions", versions, []string{get(w, access).ResourceVersion, get(w, claim).ResourceVersion, get(w, bucket).ResourceVersion})
}

// TestNothingChangedInWatchedSecrets verifies that a sidecar that watches Secrets reads only those that
// changed.
func TestNothingChangedInWatchedSecrets(t *testing.T) {
	t.Parallel()
	covers(t, "secret-read-when-changed")
	w := pair(t, setup{resync: 20 * time.Millisecond, watchSecrets: true}, multiBucket)
	access := w.granted("app", "keys", "photos", "films")
	looks := func() float64 {
		return w.sample(theSidecar, "cosi_step_duration_seconds", map[string]string{"component": "sidecar", "resource_kind": "BucketAccess", "step": "checkBuckets", "verdict": "next"})
	}
	tenLooks := func() {
		before := looks()
		w.eventually("there were ten resyncs", func(context.Context) error {
			if n := looks() - before; n < 10 {
				return fmt.Errorf("there were %v", n)
			}
			return nil
		})
	}
	reads := func() int {
		return len(w.Audit(controlplane.AuditFilter{User: w.user(theSidecar), Verbs: []string{"get"}, Resources: []string{"secrets"}}))
	}
	w.settled()
	tenLooks()
	before := reads()
	tenLooks()
	if n := reads() - before; n > 0 {
		t.Errorf("the sidecar read Secrets %d times though nothing changed", n)
	}
	// A Secret that did change is read and repaired.
	kept := get(w, secret(access, 0)).DeepCopy()
	change(w, secret(access, 0), func(s *corev1.Secret) { s.Data["AWS_ACCESS_KEY_ID"] = []byte("forged") })
	until(w, secret(access, 0), "it is repaired", sameAs(kept))
}

func TestSecretOfAnotherOwner(t *testing.T) {
	t.Parallel()
	covers(t, "secret-of-another-owner", "secret-name-twice")
	bothWays(t, setup{poll: 100 * time.Millisecond}, func(t *testing.T, o setup) {
		o.poll = 100 * time.Millisecond // foreign Secrets are not watched
		w := pair(t, o, multiBucket)
		access := w.access("app", "keys", "photos", "films")
		foreign := secret(access, 1)
		foreign.StringData = map[string]string{"mine": "keep out"}
		w.create(foreign, access)
		w.refused(access, conditions.SecretTaken)
		w.settled()
		if n := len(w.driver.Calls(memdriver.GenerateAccessID, memdriver.GrantAccess)); n > 0 {
			t.Errorf("the driver was called %d times", n)
		}
		before := foreign.DeepCopy()
		diff(t, "the foreign Secret", before, get(w, foreign))
		w.delete(foreign)
		w.ready(access)
		// The Secret belongs to another access, or two claims use one name.
		second := w.access("second", "keys", "photos")
		second.Spec.BucketClaims[0].AccessSecretName = access.Spec.BucketClaims[0].AccessSecretName
		w.create(second)
		w.refused(second, conditions.SecretTaken)
		if n := len(w.driver.CallsFor("ba-" + string(second.UID))); n > 0 {
			t.Errorf("the driver was called %d times for the second access", n)
		}
		twice := w.access("twice", "keys", "photos", "films")
		twice.Spec.BucketClaims[1].AccessSecretName = twice.Spec.BucketClaims[0].AccessSecretName
		if err := w.Client.Create(t.Context(), twice); err == nil {
			t.Error("one Secret for two claims was accepted")
		}
		w.delete(access)
		w.ready(second)
	})
}

// TestSecretThatPretends replaces an access Secret by a tenant's Secret that claims to be the original, and
// that the policy prevents the sidecar from changing. The Secret remains the tenant's and does not block a
// revocation.
func TestSecretThatPretends(t *testing.T) {
	t.Parallel()
	covers(t, "secret-of-another-owner")
	for name, pretend := range map[string]func(*corev1.Secret){
		"of a type that Kubernetes writes to": func(s *corev1.Secret) {
			s.Type, s.Annotations = corev1.SecretTypeServiceAccountToken, map[string]string{corev1.ServiceAccountNameKey: "default"}
		},
		"with an owner that the garbage collector does not know": func(s *corev1.Secret) {
			s.OwnerReferences[0].APIVersion, s.OwnerReferences[0].Kind = "example.com/v1", "Other"
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := pair(t, setup{poll: 100 * time.Millisecond, backoff: patient()})
			access, tenant := w.granted("app", "keys", "photos"), w.tenant()
			w.stop(theSidecar)
			original := get(w, secret(access, 0))
			w.removeByHand(original.DeepCopy())
			forged := secret(access, 0)
			forged.OwnerReferences = original.OwnerReferences
			forged.OwnerReferences[0].BlockOwnerDeletion = nil // tenants may not set it
			pretend(forged)
			w.must(tenant.Create(t.Context(), forged))
			w.runSidecar()
			w.refused(access, conditions.SecretTaken)
			if now := get(w, secret(access, 0)); now.ResourceVersion != forged.ResourceVersion {
				t.Errorf("the sidecar wrote to the Secret: %+v", now.ObjectMeta)
			}
			w.delete(access)
			w.gone(access)
			w.revoked(access)
		})
	}
}

func TestLeftoverSecret(t *testing.T) {
	t.Parallel()
	covers(t, "secret-left-over")
	bothWays(t, setup{poll: 100 * time.Millisecond}, func(t *testing.T, o setup) {
		w := pair(t, o)
		access := w.access("app", "keys", "photos")
		leftover := secret(access, 0)
		leftover.Labels = map[string]string{cosiapi.AccessSecretLabel: "true"}
		leftover.Annotations = map[string]string{ // with an owner reference the garbage collector would delete it at once
			"cooper.dev/access-uid": "of-the-one-before", cosiapi.BucketAccessReferenceAnnotation: w.namespace + "/app",
		}
		leftover.Finalizers = []string{cosiapi.ProtectionFinalizer} // only the sidecar removes it
		w.create(leftover)
		w.create(access)
		w.refused(access, conditions.SecretTaken)
		if c := testenv.Condition(access, cosiapi.ConditionProvisioned); c.Status == metav1.ConditionFalse {
			t.Errorf("a Secret that will be deleted makes the access fail permanently: %s", c.Reason)
		}
		w.settled()
		if get(w, leftover); !leftover.DeletionTimestamp.IsZero() || !cosiapi.HasProtection(leftover) {
			t.Errorf("the sidecar changed an object that it does not own: %+v", leftover.ObjectMeta)
		}
		w.delete(leftover)
		w.ready(access)
		if !metav1.IsControlledBy(get(w, secret(access, 0)), access) {
			t.Error("the Secret does not belong to the access")
		}
	})
}

func TestGrantResponsesThatBreakTheContract(t *testing.T) {
	t.Parallel()
	covers(t, "grant-response")
	for name, tc := range fulltest.Rows(t, map[string]struct {
		spoil   func(*cosi.DriverGrantBucketAccessResponse)
		message string
	}{
		"a bucket is missing": {func(r *cosi.DriverGrantBucketAccessResponse) { r.Buckets = nil }, "lacks"},
		"a bucket too many": {func(r *cosi.DriverGrantBucketAccessResponse) {
			more := proto.CloneOf(r.Buckets[0])
			more.BucketId = "canary-of-somebody-else"
			r.Buckets = append(r.Buckets, more)
		}, "was not requested"},
		"another protocol": {func(r *cosi.DriverGrantBucketAccessResponse) {
			r.Buckets[0].BucketInfo = &cosi.ObjectProtocolAndBucketInfo{Gcs: &cosi.GcsBucketInfo{ProjectId: "p", BucketName: "b"}}
		}, "protocol"},
		"no endpoint": {func(r *cosi.DriverGrantBucketAccessResponse) { r.Buckets[0].BucketInfo.S3.Endpoint = "" }, "endpoint"},
		"half a key":  {func(r *cosi.DriverGrantBucketAccessResponse) { r.Credentials.S3.AccessKeyId = "" }, "access_key_id"},
		"no key":      {func(r *cosi.DriverGrantBucketAccessResponse) { r.Credentials = nil }, "credentials"},
	}, "a bucket too many", "no key") {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := start(t, setup{})
			w.newClass("fast")
			w.newAccessClass("keys")
			_, bucket := w.provisioned("photos", "fast")
			response := &cosi.DriverGrantBucketAccessResponse{
				Buckets: []*cosi.DriverGrantBucketAccessResponse_BucketInfo{{
					BucketId: bucket.Name, BucketInfo: &cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{
						BucketId: "x", Endpoint: "https://s3.example.com", Region: "r", AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH},
					}},
				}},
				Credentials: &cosi.CredentialInfo{S3: &cosi.S3CredentialInfo{AccessKeyId: "AK", AccessSecretKey: "canary-secret"}},
			}
			tc.spoil(response)
			w.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Answer: response, Times: memdriver.Always})
			access := w.access("app", "keys", "photos")
			w.create(access)
			message := w.condition(access, cosiapi.ConditionProvisioned, metav1.ConditionFalse, conditions.DriverResponseInvalid)
			if !strings.Contains(message, tc.message) || strings.Contains(message, "canary") {
				t.Errorf("the message does not name %q, or names a secret or the bucket of another: %s", tc.message, message)
			}
			if data := get(w, secret(access, 0)).Data; len(data) > 0 {
				t.Errorf("the Secret has data")
			}
			w.delete(access)
			w.gone(access)
			w.called(memdriver.RevokeAccess, 1)
		})
	}
}

// TestCreationNeedNotReturnAll verifies that the response to a creation may omit fields that are mandatory
// for a grant.
func TestCreationNeedNotReturnAll(t *testing.T) {
	t.Parallel()
	covers(t, "grant-response")
	w := start(t, setup{})
	w.newClass("fast")
	w.newAccessClass("keys")
	w.driver.Script(memdriver.Fault{RPC: memdriver.CreateBucket, Answer: &cosi.DriverCreateBucketResponse{
		Protocols: &cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{}},
	}})
	_, bucket := w.provisioned("photos", "fast")
	diff(t, "bucketInfo", map[string]string{"COSI_PROTOCOL": "S3"}, bucket.Status.BucketInfo)
	w.granted("app", "keys", "photos")
}

func TestSecrets(t *testing.T) {
	t.Parallel()
	covers(t, "grant-response", "secret-metadata", "secret-keys")
	bothWays(t, setup{resync: 100 * time.Millisecond}, func(t *testing.T, o setup) {
		w := pair(t, o, multiBucket)
		access := w.granted("app", "keys", "photos", "films")
		one, two := get(w, secret(access, 0)), get(w, secret(access, 1))
		if !bytes.Equal(one.Data["AWS_SECRET_ACCESS_KEY"], two.Data["AWS_SECRET_ACCESS_KEY"]) || one.Data["BUCKET_NAME"] == nil {
			t.Error("the Secrets hold different credentials")
		}
		for i, s := range []*corev1.Secret{one, two} {
			if !cosiapi.HasProtection(s) || s.Labels[cosiapi.AccessSecretLabel] != "true" || !metav1.IsControlledBy(s, access) || s.Type != corev1.SecretTypeOpaque || string(s.Data["COSI_PROTOCOL"]) != "S3" {
				t.Errorf("finalizer, label, owner, type or protocol is wrong: %v", s.ObjectMeta)
			}
			diff(t, "references of the Secret", []string{w.namespace + "/app", w.namespace + "/" + access.Spec.BucketClaims[i].BucketClaimName},
				[]string{s.Annotations[cosiapi.BucketAccessReferenceAnnotation], s.Annotations[cosiapi.BucketClaimReferenceAnnotation]})
		}
		for what, spoil := range map[string]func(*corev1.Secret){
			"a missing key":       func(s *corev1.Secret) { delete(s.Data, "AWS_SECRET_ACCESS_KEY") },
			"a changed value":     func(s *corev1.Secret) { s.Data["AWS_ACCESS_KEY_ID"] = []byte("forged") },
			"a stale key":         func(s *corev1.Secret) { s.Data["OLD"] = []byte("value") },
			"a missing finalizer": func(s *corev1.Secret) { s.Finalizers = nil },
			"a missing reference": func(s *corev1.Secret) { s.Annotations = nil },
			"a missing label":     func(s *corev1.Secret) { s.Labels = nil },
			"a missing owner":     func(s *corev1.Secret) { s.OwnerReferences = nil },
		} {
			change(w, one.DeepCopy(), spoil)
			until(w, one.DeepCopy(), what+" is repaired", sameAs(one))
		}
		w.drop(t.Context(), one.DeepCopy())
		until(w, secret(access, 0), "the Secret is there again", sameAs(one))
		w.ready(access)
	})
}

// sameAs checks the contents of a Secret. The proof of ownership differs between Secrets of the same name.
func sameAs(want *corev1.Secret) func(*corev1.Secret) error {
	ofAny := cmpopts.IgnoreMapEntries(func(key, _ string) bool { return strings.HasSuffix(key, "-proof") })
	return func(got *corev1.Secret) error {
		if len(want.Annotations) != len(got.Annotations) {
			return fmt.Errorf("it has other annotations: %v", got.Annotations)
		}
		if d := cmp.Diff(want.Data, got.Data) + cmp.Diff(want.Annotations, got.Annotations, ofAny) + cmp.Diff(want.Labels, got.Labels) + cmp.Diff(want.Finalizers, got.Finalizers) +
			cmp.Diff(want.OwnerReferences, got.OwnerReferences); d != "" {
			return errors.New("it differs: " + d)
		}
		return nil
	}
}

func TestKeysOfEachProtocol(t *testing.T) {
	t.Parallel()
	covers(t, "secret-keys")
	for protocol, tc := range map[cosiapi.Protocol]struct {
		served cosi.ObjectProtocol_Type
		want   []string
	}{
		cosiapi.ProtocolS3: {cosi.ObjectProtocol_S3, []string{
			"AWS_ACCESS_KEY_ID", "AWS_DEFAULT_REGION", "AWS_ENDPOINT_URL", "AWS_S3_ADDRESSING_STYLE", "AWS_SECRET_ACCESS_KEY", "BUCKET_NAME", "COSI_PROTOCOL",
		}},
		cosiapi.ProtocolAzure: {cosi.ObjectProtocol_AZURE, []string{
			"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_SAS_TOKEN", "AZURE_STORAGE_SAS_TOKEN_EXPIRY_TIMESTAMP", "COSI_PROTOCOL",
		}},
		cosiapi.ProtocolGCS: {cosi.ObjectProtocol_GCS, []string{
			"BUCKET_NAME", "COSI_PROTOCOL", "HMAC_ACCESS_ID", "HMAC_SECRET", "PROJECT_ID",
		}},
	} {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			w, claim := serving(t, protocol, tc.served)
			access := w.access("app", "keys", "photos")
			access.Spec.Protocol = protocol
			w.create(claim, access)
			w.ready(access)
			diff(t, "keys", tc.want, slices.Sorted(maps.Keys(get(w, secret(access, 0)).Data)))
		})
	}
}

// TestAllKeysOfEachProtocol verifies that optional keys are present when the driver returns them.
func TestAllKeysOfEachProtocol(t *testing.T) {
	t.Parallel()
	covers(t, "secret-keys")
	for protocol, tc := range map[cosiapi.Protocol]struct {
		served  cosi.ObjectProtocol_Type
		granted *cosi.CredentialInfo
		want    map[string]string // "*" is the bucket ID
	}{
		cosiapi.ProtocolS3: {
			cosi.ObjectProtocol_S3,
			&cosi.CredentialInfo{CertificateAuthority: "PEM", S3: &cosi.S3CredentialInfo{AccessKeyId: "AK", AccessSecretKey: "SK"}},
			map[string]string{
				"COSI_PROTOCOL": "S3", "COSI_CERTIFICATE_AUTHORITY": "PEM", "AWS_ENDPOINT_URL": "https://s3.memory.example", "BUCKET_NAME": "*",
				"AWS_DEFAULT_REGION": "memory-1", "AWS_S3_ADDRESSING_STYLE": "path", "AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK",
			},
		},
		cosiapi.ProtocolAzure: {
			cosi.ObjectProtocol_AZURE,
			&cosi.CredentialInfo{CertificateAuthority: "PEM", Azure: &cosi.AzureCredentialInfo{AccessToken: "SAS", ExpiryTimestamp: "2199-05-17T12:00:00Z"}},
			map[string]string{
				"COSI_PROTOCOL": "Azure", "COSI_CERTIFICATE_AUTHORITY": "PEM", "AZURE_STORAGE_ACCOUNT": "memory", "AZURE_STORAGE_SAS_TOKEN": "SAS",
				"AZURE_STORAGE_SAS_TOKEN_EXPIRY_TIMESTAMP": "2199-05-17T12:00:00Z",
			},
		},
		cosiapi.ProtocolGCS: {
			cosi.ObjectProtocol_GCS,
			&cosi.CredentialInfo{CertificateAuthority: "PEM", Gcs: &cosi.GcsCredentialInfo{
				ServiceAccount: "robot", PrivateKeyName: "key-1", ClientEmail: "robot@example.com", ClientId: "1", PrivateKey: "RSA", AccessId: "HK", AccessSecret: "HS",
			}},
			map[string]string{
				"COSI_PROTOCOL": "GCS", "COSI_CERTIFICATE_AUTHORITY": "PEM", "PROJECT_ID": "memory-project", "BUCKET_NAME": "*",
				"SERVICE_ACCOUNT_NAME": "robot", "PRIVATE_KEY_ID": "key-1", "CLIENT_EMAIL": "robot@example.com", "CLIENT_ID": "1", "PRIVATE_KEY": "RSA",
				"HMAC_ACCESS_ID": "HK", "HMAC_SECRET": "HS",
			},
		},
	} {
		t.Run(string(protocol), func(t *testing.T) {
			t.Parallel()
			w, claim := serving(t, protocol, tc.served)
			w.create(claim)
			w.ready(claim)
			bucket := w.bucketOf(claim)
			created, ok := w.driver.Calls(memdriver.CreateBucket)[0].Response.(*cosi.DriverCreateBucketResponse)
			if !ok {
				t.Fatal("the creation has no response")
			}
			w.driver.Script(memdriver.Fault{RPC: memdriver.GrantAccess, Times: memdriver.Always, Answer: &cosi.DriverGrantBucketAccessResponse{
				Buckets:     []*cosi.DriverGrantBucketAccessResponse_BucketInfo{{BucketId: bucket.Name, BucketInfo: created.GetProtocols()}},
				Credentials: tc.granted,
			}})
			access := w.access("app", "keys", "photos")
			access.Spec.Protocol = protocol
			w.create(access)
			w.ready(access)
			got := map[string]string{}
			for key, value := range get(w, secret(access, 0)).Data {
				got[key] = strings.ReplaceAll(string(value), bucket.Name, "*")
			}
			diff(t, "data of the Secret", tc.want, got)
		})
	}
}

func TestRevocationThatFails(t *testing.T) {
	t.Parallel()
	covers(t, "revocation-order", "revocation-fails", "last-access")
	bothWays(t, setup{}, func(t *testing.T, o setup) {
		w := pair(t, o)
		first, stuck := w.granted("first", "keys", "photos"), w.granted("stuck", "keys", "photos")
		claim := w.claim("photos", "fast")
		w.driver.Script(memdriver.Fault{RPC: memdriver.RevokeAccess, ID: stuck.Status.AccountID, Code: codes.PermissionDenied, Message: "not allowed", Times: memdriver.Always})
		w.delete(stuck, first, claim)
		w.gone(first, secret(stuck, 0))
		message := w.condition(stuck, cosiapi.ConditionDeprovisionFailed, metav1.ConditionTrue, conditions.Retrying)
		if !strings.Contains(message, "not allowed") {
			t.Errorf("the driver's message is lost: %s", message)
		}
		w.settled()
		if get(w, stuck); !cosiapi.HasProtection(stuck) || cosiapi.HasAnnotation(stuck, cosiapi.SidecarCleanupFinishedAnnotation) {
			t.Errorf("an access was returned to the Controller although its revocation failed: %+v", stuck.ObjectMeta)
		}
		if !marked(get(w, claim)) || !cosiapi.HasProtection(claim) {
			t.Errorf("the claim lost its mark while an access is being revoked: %+v", claim.ObjectMeta)
		}
		if w.exists(secret(stuck, 0)) {
			t.Error("the Secret is there again")
		}
		w.driver.ClearScript()
		w.reconfigure()
		w.gone(stuck, claim)
		w.called(memdriver.RevokeAccess, 3)
	})
}

// TestReferenceThatCannotBeRemoved verifies that an access is kept while its UID cannot be removed from the
// claim, and that the other accesses of the claim keep theirs.
func TestReferenceThatCannotBeRemoved(t *testing.T) {
	t.Parallel()
	covers(t, "last-access")
	w := pair(t, setup{backoff: patient()})
	leaving, other := w.granted("leaving", "keys", "photos"), w.granted("other", "keys", "photos")
	w.settled()
	calm := w.tape.strike(&fault{Who: theController, What: "patch bucketclaims", Name: "photos", Status: http.StatusInternalServerError, Times: always})
	w.delete(leaving)
	w.eventually("the UID is not removed", func(context.Context) error {
		if w.log.count("removeReferences: write BucketClaim") == 0 {
			return errNot
		}
		return nil
	})
	if !cosiapi.HasProtection(get(w, leaving)) {
		t.Error("the access lost its finalizer while its UID is on the claim")
	}
	calm()
	w.gone(leaving)
	if got := get(w, w.claim("photos", "fast")).Annotations[cosiapi.HasBucketAccessReferencesAnnotation]; got != string(other.UID) {
		t.Errorf("the claim has the UIDs %q, want %q", got, other.UID)
	}
}

// TestManyAccessesWantOneSecretName verifies that many accesses that request the same Secret name do not
// cause each other work, and that one gets the name once it is free.
func TestManyAccessesWantOneSecretName(t *testing.T) {
	t.Parallel()
	covers(t, "secret-name-wanted-by-many", "secret-name-twice")
	const many = 8
	w := pair(t, setup{})
	holder := w.granted("app", "keys", "photos")
	want := func(i int) *cosiapi.BucketAccess {
		access := w.access(fmt.Sprintf("rival-%d", i), "keys", "photos")
		access.Spec.BucketClaims[0].AccessSecretName = holder.Spec.BucketClaims[0].AccessSecretName
		w.create(access)
		w.refused(access, conditions.SecretTaken)
		return access
	}
	reads := func() int {
		return len(w.Audit(controlplane.AuditFilter{User: w.user(theSidecar), Verbs: []string{"get"}, Resources: []string{"secrets"}}))
	}
	rivals := []*cosiapi.BucketAccess{}
	for i := range many {
		rivals = append(rivals, want(i))
	}
	w.settled()
	before := reads()
	rivals = append(rivals, want(many))
	w.settled()
	if n := reads() - before; n >= many {
		t.Errorf("another access that wants the name made the sidecar look %d times at the Secret", n)
	}
	w.delete(holder.DeepCopy())
	w.gone(holder)
	w.eventually("one has it", func(context.Context) error {
		for _, access := range rivals {
			if testenv.Condition(get(w, access), cosiapi.ConditionProvisioned).Status == metav1.ConditionTrue {
				return nil
			}
		}
		return errNot
	})
}
