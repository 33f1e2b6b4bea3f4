// SPDX-License-Identifier: Apache-2.0

package obc

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
)

const uid = "12345678-1234-1234-1234-123456789012"

// asked returns a claim for a new bucket and the objects that it refers to, all valid.
func asked() (*objectbucket.ObjectBucketClaim, facts) {
	claim := &objectbucket.ObjectBucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team-a", Name: "photos", UID: uid},
		Spec:       objectbucket.ObjectBucketClaimSpec{StorageClassName: "fast", GenerateBucketName: "photo-booth"},
	}
	return claim, facts{
		storage: &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{Name: "fast"}, Provisioner: "s3.example.com/bucket",
			Parameters: map[string]string{paramBucketClass: "new", paramAccessClass: "keys"}, ReclaimPolicy: ptr.To(corev1.PersistentVolumeReclaimDelete),
		},
		bucketClass: &cosiapi.BucketClass{
			ObjectMeta: metav1.ObjectMeta{Name: "new"},
			Spec:       cosiapi.BucketClassSpec{DriverName: "s3.example.com", DeletionPolicy: cosiapi.DeletionPolicyDelete, Parameters: map[string]string{"tier": "hot"}},
		},
		accessClass: &cosiapi.BucketAccessClass{ObjectMeta: metav1.ObjectMeta{Name: "keys"}, Spec: cosiapi.BucketAccessClassSpec{DriverName: "s3.example.com"}},
	}
}

func TestDecide(t *testing.T) {
	t.Parallel()
	const rw = cosiapi.BucketAccessModeReadWrite
	own := func(parameters map[string]string, policy cosiapi.DeletionPolicy) decision {
		return decision{driver: "s3.example.com", accessClass: "keys", mode: rw, parameters: parameters, policy: policy}
	}
	type claim = objectbucket.ObjectBucketClaim
	for name, tc := range map[string]struct {
		change func(*claim, facts)
		want   decision
		// problem is a substring of the message.
		problem string
	}{
		"a new bucket is of the administrator's class": {
			change: func(*claim, facts) {},
			want:   decision{driver: "s3.example.com", accessClass: "keys", mode: rw, bucketClass: "new", policy: cosiapi.DeletionPolicyDelete},
		},
		"the reclaim policy is that of the StorageClass": {
			change: func(_ *claim, f facts) { f.storage.ReclaimPolicy = ptr.To(corev1.PersistentVolumeReclaimRetain) },
			want:   own(map[string]string{"tier": "hot"}, cosiapi.DeletionPolicyRetain),
		},
		"a prefix is passed to a driver that supports prefixes": {
			change: func(_ *claim, f facts) { f.storage.Parameters[paramPrefixParameter] = "prefix" },
			want:   own(map[string]string{"tier": "hot", "prefix": "photo-booth-"}, cosiapi.DeletionPolicyDelete),
		},
		"a name for a new bucket is refused": {
			change: func(c *claim, _ facts) { c.Spec.BucketName, c.Spec.GenerateBucketName = "wedding", "" }, problem: "does not allow claims to choose the bucket name",
		},
		"a name together with a prefix is refused, too": {
			change: func(c *claim, _ facts) { c.Spec.BucketName = "wedding" }, problem: "does not allow claims to choose the bucket name",
		},
		"a StorageClass that lets claims name their buckets is refused": {
			change: func(_ *claim, f facts) { f.storage.Parameters[paramRemoved] = "name" }, problem: "bucketNameParameter, which is no longer supported: bucket names are not unique across tenants",
		},
		"a new bucket needs a prefix": {
			change: func(c *claim, _ facts) { c.Spec.GenerateBucketName = "" }, problem: "Set spec.generateBucketName",
		},
		"an allowed key of additionalConfig is passed to the driver": {
			change: func(c *claim, f facts) {
				f.storage.Parameters[paramAllowedConfig], c.Spec.AdditionalConfig = "tier, size", map[string]string{"tier": "cold"}
			},
			want: own(map[string]string{"tier": "cold"}, cosiapi.DeletionPolicyDelete),
		},
		"keys of Rook set the parameters of the S3 driver": {
			change: func(c *claim, f facts) {
				f.storage.Parameters[paramAllowedConfig] = "bucketLifecycle, maxSize, bucketMaxObjects"
				c.Spec.AdditionalConfig = map[string]string{"bucketLifecycle": `{"Rules":[]}`, "maxSize": "1.5Ki", "bucketMaxObjects": "10"}
			},
			want: own(map[string]string{"tier": "hot", "lifecycle": `{"Rules":[]}`, "quota": "1536", "quotaObjects": "10"}, cosiapi.DeletionPolicyDelete),
		},
		"the StorageClass can name another parameter": {
			change: func(c *claim, f facts) {
				f.storage.Parameters[paramAllowedConfig], c.Spec.AdditionalConfig = "maxSize = hardLimit, cold=tier", map[string]string{"maxSize": "2G", "cold": "yes"}
			},
			want: own(map[string]string{"tier": "yes", "hardLimit": "2000000000"}, cosiapi.DeletionPolicyDelete),
		},
		"limits for the user are allowed unless the StorageClass lists keys": {
			change: func(c *claim, _ facts) {
				c.Spec.AdditionalConfig = map[string]string{"maxSize": "2G", "maxObjects": "1000"}
			},
			want: own(map[string]string{"tier": "hot", "quota": "2000000000", "quotaObjects": "1000"}, cosiapi.DeletionPolicyDelete),
		},
		"an empty list of keys allows none": {
			change: func(c *claim, f facts) {
				f.storage.Parameters[paramAllowedConfig], c.Spec.AdditionalConfig = "", map[string]string{"maxSize": "2G"}
			},
			problem: `does not allow "maxSize"`,
		},
		"limits for the bucket are refused by default": {
			change:  func(c *claim, _ facts) { c.Spec.AdditionalConfig = map[string]string{"bucketMaxSize": "2G"} },
			problem: `does not allow "bucketMaxSize"`,
		},
		"an administrator's limit is kept unless the StorageClass allows the key": {
			change: func(c *claim, f facts) {
				f.bucketClass.Spec.Parameters["quota"], c.Spec.AdditionalConfig = "1Gi", map[string]string{"maxSize": "2G"}
			},
			problem: "its BucketClass sets the parameter quota",
		},
		"an administrator's limit is a default if the StorageClass allows the key": {
			change: func(c *claim, f facts) {
				f.bucketClass.Spec.Parameters["quota"], f.storage.Parameters[paramAllowedConfig] = "1Gi", "maxSize"
				c.Spec.AdditionalConfig = map[string]string{"maxSize": "2G"}
			},
			want: own(map[string]string{"tier": "hot", "quota": "2000000000"}, cosiapi.DeletionPolicyDelete),
		},
		"the lower of two limits applies": {
			change: func(c *claim, f facts) {
				f.storage.Parameters[paramAllowedConfig] = "maxSize, bucketMaxSize"
				c.Spec.AdditionalConfig = map[string]string{"maxSize": "1G", "bucketMaxSize": "2G"}
			},
			want: own(map[string]string{"tier": "hot", "quota": "1000000000"}, cosiapi.DeletionPolicyDelete),
		},
		"two keys for one parameter are refused": {
			change: func(c *claim, f facts) {
				f.storage.Parameters[paramAllowedConfig] = "lifecycle, bucketLifecycle"
				c.Spec.AdditionalConfig = map[string]string{"lifecycle": "{}", "bucketLifecycle": "{}"}
			},
			problem: `contains "bucketLifecycle" and "lifecycle"`,
		},
		"a limit is not added to a parameter of the driver": {
			change: func(c *claim, f facts) {
				f.storage.Parameters[paramAllowedConfig] = "a=quota, maxSize"
				c.Spec.AdditionalConfig = map[string]string{"a": "1", "maxSize": "2"}
			},
			problem: `contains "a" and "maxSize"`,
		},
		"a size that is none is refused": {
			change: func(c *claim, _ facts) { c.Spec.AdditionalConfig = map[string]string{"maxSize": "big"} }, problem: `maxSize is "big", but must be a positive size`,
		},
		"no number of objects is refused": {
			change: func(c *claim, _ facts) { c.Spec.AdditionalConfig = map[string]string{"maxObjects": "0"} }, problem: `maxObjects is "0", but must be a positive whole number`,
		},
		"a bucket policy is refused even if it is allowed": {
			change: func(c *claim, f facts) {
				f.storage.Parameters[paramAllowedConfig], c.Spec.AdditionalConfig = "bucketPolicy", map[string]string{"bucketPolicy": "{}"}
			},
			problem: "could give other tenants access",
		},
		"another owner is refused even if it is allowed": {
			change: func(c *claim, f facts) {
				f.storage.Parameters[paramAllowedConfig], c.Spec.AdditionalConfig = "bucketOwner=owner", map[string]string{"bucketOwner": "alice"}
			},
			problem: "whom COSI does not manage",
		},
		"a limit of an existing bucket is refused by default": {
			change: func(c *claim, f facts) {
				f.storage.Parameters[paramBucket], c.Spec.GenerateBucketName = "archive", ""
				c.Spec.AdditionalConfig = map[string]string{"maxSize": "2G"}
			},
			problem: `does not allow "maxSize"`,
		},
		"any other key is refused": {
			change: func(c *claim, _ facts) { c.Spec.AdditionalConfig = map[string]string{"tier": "cold"} }, problem: `does not allow "tier"`,
		},
		"the parameter for prefixes is refused there even if it is allowed": {
			change: func(c *claim, f facts) {
				f.storage.Parameters[paramPrefixParameter], f.storage.Parameters[paramAllowedConfig] = "prefix", "prefix"
				c.Spec.AdditionalConfig = map[string]string{"prefix": "another-tenant-"}
			},
			problem: `does not allow "prefix"`,
		},
		"an existing bucket is that of the StorageClass, and is kept": {
			change: func(c *claim, f facts) { f.storage.Parameters[paramBucket], c.Spec.GenerateBucketName = "archive", "" },
			want:   decision{driver: "s3.example.com", accessClass: "keys", mode: rw, existing: "archive", policy: cosiapi.DeletionPolicyRetain},
		},
		"a claim cannot name another existing bucket": {
			change: func(c *claim, f facts) {
				f.storage.Parameters[paramBucket], c.Spec.GenerateBucketName, c.Spec.BucketName = "archive", "", "of-somebody-else"
			},
			problem: "gives access to an existing bucket",
		},
		"nor ask for a new one of that StorageClass": {
			change: func(_ *claim, f facts) { f.storage.Parameters[paramBucket] = "archive" }, problem: "gives access to an existing bucket",
		},
		"a StorageClass is for the namespaces that it lists": {
			change: func(_ *claim, f facts) { f.storage.Parameters[paramNamespaces] = "team-b, team-c" }, problem: "not allowed in this namespace",
		},
		"a StorageClass that lists the namespace is": {
			change: func(_ *claim, f facts) { f.storage.Parameters[paramNamespaces] = "team-b, team-a" },
			want:   decision{driver: "s3.example.com", accessClass: "keys", mode: rw, bucketClass: "new", policy: cosiapi.DeletionPolicyDelete},
		},
		"the credential may do what its class does not disallow": {
			change: func(_ *claim, f facts) {
				f.accessClass.Spec.DisallowedBucketAccessModes.ObjectData = []cosiapi.BucketAccessMode{rw}
			},
			want: decision{driver: "s3.example.com", accessClass: "keys", mode: cosiapi.BucketAccessModeReadOnly, bucketClass: "new", policy: cosiapi.DeletionPolicyDelete},
		},
		"a class that disallows everything is refused": {
			change: func(_ *claim, f facts) {
				f.accessClass.Spec.DisallowedBucketAccessModes.ObjectData = []cosiapi.BucketAccessMode{rw, cosiapi.BucketAccessModeReadOnly, cosiapi.BucketAccessModeWriteOnly}
			},
			problem: "allows no access to objects",
		},
		"a class without keys is refused": {
			change: func(_ *claim, f facts) {
				f.accessClass.Spec.AuthenticationType = cosiapi.AuthenticationTypeServiceAccount
			},
			problem: "authenticates by ServiceAccount",
		},
		"the BucketAccessClass of another driver is refused": {
			change: func(_ *claim, f facts) { f.accessClass.Spec.DriverName = "other" }, problem: `BucketAccessClass "keys" belongs to driver "other"`,
		},
		"the BucketClass of another driver is refused": {
			change: func(_ *claim, f facts) { f.bucketClass.Spec.DriverName = "other" }, problem: `BucketClass "new" belongs to driver "other"`,
		},
		"a StorageClass for neither sort of bucket is refused": {
			change: func(_ *claim, f facts) { delete(f.storage.Parameters, paramBucketClass) }, problem: "has neither the parameter",
		},
		"a claim that is too long for the name of an ObjectBucket is refused": {
			change: func(c *claim, _ facts) { c.Name = strings.Repeat("n", 250) }, problem: "too long",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, f := asked()
			tc.change(c, f)
			got, p := decide(c, f)
			switch {
			case p == nil && tc.problem != "":
				t.Errorf("want a problem with %q, got %+v", tc.problem, got)
			case p != nil && (tc.problem == "" || !strings.Contains(p.message, tc.problem) || p.phase != objectbucket.PhaseFailed):
				t.Errorf("want %q, got %+v", tc.problem, p)
			case p == nil:
				if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(decision{})); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				kept, ok := decisionOf(&objectbucket.ObjectBucket{Spec: objectbucket.ObjectBucketSpec{
					ReclaimPolicy: string(got.policy), AdditionalState: got.state(), ClaimRef: &objectbucket.Reference{},
				}})
				if diff := cmp.Diff(got, kept, cmp.AllowUnexported(decision{})); diff != "" || !ok {
					t.Errorf("stored in an ObjectBucket (-decision +read):\n%s", diff)
				}
			}
		})
	}
}

func TestDecideWaits(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]func(*facts){
		"for the BucketClass":       func(f *facts) { f.bucketClass = nil },
		"for the BucketAccessClass": func(f *facts) { f.accessClass = nil },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, f := asked()
			missing(&f)
			if _, p := decide(c, f); p == nil || p.phase != objectbucket.PhasePending {
				t.Errorf("want it to wait, got %+v", p)
			}
		})
	}
}

func TestIgnoredChanges(t *testing.T) {
	t.Parallel()
	type claim = objectbucket.ObjectBucketClaim
	for name, tc := range map[string]struct {
		change func(*claim, *objectbucket.ObjectBucket)
		// fields are those in the message; if it is empty, there must be no message.
		fields string
	}{
		"nothing":                    {func(*claim, *objectbucket.ObjectBucket) {}, ""},
		"the references that we set": {func(c *claim, _ *objectbucket.ObjectBucket) { c.Spec.BucketName, c.Spec.ObjectBucketName = "b", "ob" }, ""},
		"a value":                    {func(c *claim, _ *objectbucket.ObjectBucket) { c.Spec.AdditionalConfig["quota"] = "4Mi" }, "spec.additionalConfig.quota "},
		"a key that was added": {func(c *claim, _ *objectbucket.ObjectBucket) {
			c.Spec.AdditionalConfig["tags"] = ""
		}, "spec.additionalConfig.tags "},
		"all other fields": {func(c *claim, _ *objectbucket.ObjectBucket) {
			c.Spec = objectbucket.ObjectBucketClaimSpec{StorageClassName: "slow"}
		}, "spec.storageClassName, spec.generateBucketName, spec.additionalConfig.quota "},
		"more fields than a message names": {func(c *claim, _ *objectbucket.ObjectBucket) {
			for i := range 40000 {
				c.Spec.AdditionalConfig[fmt.Sprintf("key%05d", i)] = ""
			}
		}, "spec.additionalConfig.key00009 and 39990 more has no effect"},
		"the ObjectBucket of an earlier build": {func(c *claim, b *objectbucket.ObjectBucket) {
			c.Spec.AdditionalConfig["quota"], b.Spec.AdditionalState = "4Mi", nil
		}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := asked()
			c.Spec.AdditionalConfig = map[string]string{"quota": "1Mi"}
			b := &objectbucket.ObjectBucket{Spec: objectbucket.ObjectBucketSpec{
				StorageClassName: c.Spec.StorageClassName, AdditionalState: map[string]string{stateRequest: requestOf(c)},
			}}
			tc.change(c, b)
			got := ignoredChanges(c, b, changedConfig(c, b))
			if (got == "") != (tc.fields == "") || !strings.Contains(got, tc.fields) || strings.Contains(got, "4Mi") {
				t.Errorf("want %q, got %q", tc.fields, got)
			}
		})
	}
}

// TestUnderWay checks which condition of COSI's objects a claim without a credential reports.
func TestUnderWay(t *testing.T) {
	t.Parallel()
	failed := metav1.Condition{Type: cosiapi.ConditionProvisionFailed, Status: metav1.ConditionTrue, Message: "refused"}
	stalled := metav1.Condition{Type: objectbucket.ConditionStalled, Status: metav1.ConditionTrue, Message: "create it again"}
	for name, tc := range map[string]struct {
		claim, access []metav1.Condition
		want          problem
	}{
		"a wait":                      {want: *wait("Waiting for BucketClaim and BucketAccess \"a\" to be provisioned. See their conditions for the reason.")},
		"a failure that is retried":   {claim: []metav1.Condition{failed}, want: *wait("refused")},
		"a claim that is stalled":     {claim: []metav1.Condition{failed, stalled}, want: problem{phase: objectbucket.PhasePending, message: "create it again", stalled: true}},
		"an access that is stalled":   {claim: []metav1.Condition{failed}, access: []metav1.Condition{stalled}, want: problem{phase: objectbucket.PhasePending, message: "create it again", stalled: true}},
		"an access that is not valid": {access: []metav1.Condition{{Type: cosiapi.ConditionResourcesValidated, Status: metav1.ConditionFalse, Message: "invalid"}}, want: *wait("invalid")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c, _ := asked()
			w := &work{
				claim: c, bucket: &objectbucket.ObjectBucket{},
				bucketClaim: &cosiapi.BucketClaim{Status: cosiapi.BucketClaimStatus{Conditions: tc.claim}},
				access:      &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Status: cosiapi.BucketAccessStatus{Conditions: tc.access}},
			}
			if diff := cmp.Diff(tc.want, *underWay(w), cmp.AllowUnexported(problem{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestStatusOfBoundClaims checks that a bound claim is ready only if its BucketClaim and BucketAccess are.
func TestStatusOfBoundClaims(t *testing.T) {
	t.Parallel()
	ready := metav1.Condition{Type: cosiapi.ConditionReady, Status: metav1.ConditionTrue, Reason: "Provisioned", Message: "done"}
	lost := metav1.Condition{Type: cosiapi.ConditionReady, Status: metav1.ConditionFalse, Reason: "BucketMissing", Message: "the bucket is lost"}
	stalled := metav1.Condition{Type: cosiapi.ConditionStalled, Status: metav1.ConditionTrue, Message: "the bucket is lost"}
	for name, tc := range map[string]struct {
		claim, access []metav1.Condition
		ready         metav1.ConditionStatus
		reason        string
		stalled       bool
	}{
		"both are ready":                     {[]metav1.Condition{ready}, []metav1.Condition{ready}, metav1.ConditionTrue, "Bound", false},
		"neither has conditions":             {nil, nil, metav1.ConditionTrue, "Bound", false},
		"the BucketClaim is not ready":       {[]metav1.Condition{lost}, []metav1.Condition{ready}, metav1.ConditionFalse, "BucketMissing", false},
		"the BucketAccess is not ready":      {[]metav1.Condition{ready}, []metav1.Condition{lost}, metav1.ConditionFalse, "BucketMissing", false},
		"the BucketAccess must be corrected": {[]metav1.Condition{ready}, []metav1.Condition{lost, stalled}, metav1.ConditionFalse, "BucketMissing", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := &work{
				bucketClaim: &cosiapi.BucketClaim{Status: cosiapi.BucketClaimStatus{Conditions: tc.claim}},
				access:      &cosiapi.BucketAccess{Status: cosiapi.BucketAccessStatus{Conditions: tc.access}},
			}
			claim, _ := asked()
			setStatus(claim, *boundTo(w))
			c := meta.FindStatusCondition(claim.Status.Conditions, objectbucket.ConditionReady)
			if claim.Status.Phase != objectbucket.PhaseBound || c.Status != tc.ready || c.Reason != tc.reason ||
				meta.IsStatusConditionTrue(claim.Status.Conditions, objectbucket.ConditionStalled) != tc.stalled {
				t.Errorf("phase %s, conditions %+v", claim.Status.Phase, claim.Status.Conditions)
			}
			if want := tc.ready == metav1.ConditionFalse; (claim.Status.Message == lost.Message) != want {
				t.Errorf("message %q", claim.Status.Message)
			}
		})
	}
}

// TestLongMessages checks that a message with a key of a user fits into the status.
func TestLongMessages(t *testing.T) {
	t.Parallel()
	claim, f := asked()
	claim.Spec.AdditionalConfig = map[string]string{strings.Repeat("k", 1<<20): ""}
	_, p := decide(claim, f)
	setStatus(claim, *p)
	if got := len(claim.Status.Message); got != conditions.MaxMessage {
		t.Errorf("the message has %d bytes, want %d", got, conditions.MaxMessage)
	}
	if setStatus(claim, *p) {
		t.Error("the same problem counts as a change")
	}
}

// FuzzLimits checks that every accepted limit is a positive number that the drivers accept.
func FuzzLimits(f *testing.F) {
	for _, seed := range []string{"2G", "1.5Gi", "-1", "0", "1e30", "1000"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, value string) {
		for key, known := range translations() {
			if known.parse == nil {
				continue
			}
			if limit, err := known.parse(value); err == nil && limit <= 0 {
				t.Errorf("%s %q is %d", key, value, limit)
			}
		}
	})
}

// TestConfig checks that applications get host and port separately, whatever parts the endpoint omits.
func TestConfig(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string][2]string{
		"http://s3.example.com:9000":   {"s3.example.com", "9000"},
		"http://s3.example.com":        {"s3.example.com", "80"},
		"https://s3.example.com":       {"s3.example.com", "443"},
		"https://s3.example.com/path/": {"s3.example.com", "443"},
	} {
		got := config(map[string][]byte{"AWS_ENDPOINT_URL": []byte(endpoint), "BUCKET_NAME": []byte("b"), "AWS_SECRET_ACCESS_KEY": []byte("s")})
		wanted := map[string]string{
			"BUCKET_HOST": want[0], "BUCKET_PORT": want[1], "BUCKET_NAME": "b", "BUCKET_REGION": "", "BUCKET_SUBREGION": "", "AWS_ENDPOINT_URL": endpoint,
		}
		if diff := cmp.Diff(wanted, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", endpoint, diff)
		}
	}
}

func TestLabel(t *testing.T) {
	t.Parallel()
	for driver, want := range map[string]string{
		"aws-s3.io":                          "aws-s3.io-bucket",
		strings.Repeat("d", 56) + ".example": strings.Repeat("d", 56) + ".exampl",
		strings.Repeat("d", 62) + "x":        strings.Repeat("d", 62) + "x",
	} {
		if got := (decision{driver: driver}).label(); got != want || len(got) > 63 {
			t.Errorf("%s: %q, want %q", driver, got, want)
		}
	}
}
