// SPDX-License-Identifier: Apache-2.0

package migrate

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
)

// backupOf returns the output of kubectl get for one bucket, claim and access, with replacements.
func backupOf(t *testing.T, changes ...string) olds {
	t.Helper()
	all, err := readBackup(written(t, strings.NewReplacer(changes...).Replace(`
apiVersion: v1
kind: List
items:
- {apiVersion: objectstorage.k8s.io/v1alpha1, kind: BucketAccessClass, metadata: {name: keys}, driverName: old.example, authenticationType: KEY}
- apiVersion: objectstorage.k8s.io/v1alpha1
  kind: Bucket
  metadata: {name: bucket-1, uid: u1}
  spec: {driverName: old.example, deletionPolicy: Delete, protocols: [S3], bucketClaim: {namespace: team-a, name: photos}}
  status: {bucketReady: true, bucketID: photos-1}
- apiVersion: objectstorage.k8s.io/v1alpha1
  kind: BucketClaim
  metadata: {namespace: team-a, name: photos, uid: u2}
  spec: {bucketClassName: store, protocols: [S3]}
  status: {bucketReady: true, bucketName: bucket-1}
- apiVersion: objectstorage.k8s.io/v1alpha1
  kind: BucketAccess
  metadata: {namespace: team-a, name: app, uid: u3}
  spec: {bucketClaimName: photos, bucketAccessClassName: keys, credentialsSecretName: creds, protocol: S3}
  status: {accountID: booth, accessGranted: true}
# more
`)))
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func written(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "backup.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func options() Options {
	return Options{Backup: "b.yaml", From: "old.example", Driver: "new.example", Suffix: "-v1alpha2", AccessClasses: map[string]string{"keys": "sample"}}
}

const (
	another = `- apiVersion: objectstorage.k8s.io/v1alpha1
  kind: BucketClaim
  metadata: {namespace: team-b, name: thief}
  spec: {existingBucketName: bucket-1, protocols: [S3]}
  status: {bucketReady: true, bucketName: bucket-1}
`
	sharing = `- apiVersion: objectstorage.k8s.io/v1alpha1
  kind: BucketAccess
  metadata: {namespace: team-a, name: second}
  spec: {bucketClaimName: photos, bucketAccessClassName: keys, credentialsSecretName: creds, protocol: S3}
`
	loose = `- apiVersion: objectstorage.k8s.io/v1alpha1
  kind: Bucket
  metadata: {name: bucket-2}
  spec: {driverName: old.example, deletionPolicy: Retain}
  status: {bucketID: kept}
- apiVersion: objectstorage.k8s.io/v1alpha1
  kind: Bucket
  metadata: {name: bucket-3}
  spec: {driverName: third.example, deletionPolicy: Delete}
`
)

// TestPlan checks the plan for one claim that differs from the normal case in one respect.
func TestPlan(t *testing.T) {
	t.Parallel()
	const deleted = `, deletionTimestamp: "2026-01-01T00:00:00Z"`
	class := func(driver string, by cosiapi.AuthenticationType) map[string]*cosiapi.BucketAccessClass {
		return map[string]*cosiapi.BucketAccessClass{"sample": {Spec: cosiapi.BucketAccessClassSpec{DriverName: driver, AuthenticationType: by}}}
	}
	for name, tc := range map[string]struct {
		changes []string
		options func(*Options)
		cluster cluster
		want    []string
		not     []string
	}{
		"a bucket moves with its claim and access": {
			want: []string{
				"existingBucketID: photos-1", "deletionPolicy: Retain", "driverName: new.example", "existingBucketName: bucket-1",
				"bucketAccessClassName: sample", "accessSecretName: creds-v1alpha2", "objectData: ReadWrite",
				`account "booth" in Secret creds, and gets a new credential in Secret creds-v1alpha2`,
			},
			not: []string{"is skipped", "Note:"},
		},
		"a cluster without v1alpha1 may not be the one of the backup": {
			want: []string{"(done) Set the deletion policy", "If another cluster still does, plan this step and the next one there"},
		},
		"a claim that is being deleted": {
			changes: []string{"uid: u2", "uid: u2" + deleted},
			want:    []string{"team-a/photos is skipped: it is being deleted", "access app is skipped: its claim is"}, not: []string{"---"},
		},
		"a claim without a Bucket": {
			changes: []string{"bucketReady: true, bucketName: bucket-1", "bucketReady: false"},
			want:    []string{"it is not bound to a Bucket", `Bucket bucket-1 ("photos-1" in the store) is skipped: it has no claim`}, not: []string{"---"},
		},
		"a claim without its Bucket": {
			changes: []string{"bucketName: bucket-1", "bucketName: bucket-9"}, want: []string{`its Bucket "bucket-9" does not exist`}, not: []string{"---"},
		},
		"a Bucket that is being deleted": {
			changes: []string{"uid: u1", "uid: u1" + deleted}, want: []string{"with policy Delete, which may have deleted the data. If bucket \"photos-1\" still exists in the store"}, not: []string{"---"},
		},
		"a Bucket without an ID": {
			changes: []string{", bucketID: photos-1", ""}, want: []string{`its Bucket "bucket-1" has no bucket ID yet`}, not: []string{"---"},
		},
		"parameters are for a person to judge": {
			changes: []string{"deletionPolicy: Delete,", "deletionPolicy: Delete, parameters: {zone: east},"},
			want:    []string{`Note: its parameters were map["zone":"east"]`}, not: []string{"parameters:\n"},
		},
		"a claim that took the Bucket of another one": {
			changes: []string{"# more", another},
			want: []string{
				"Note: claim team-b/thief uses the same bucket", `team-b/thief is skipped: its Bucket "bucket-1" refers to claim "team-a/photos"`, "    name: photos\n",
			},
		},
		"two accesses with one Secret": {
			changes: []string{"# more", sharing}, want: []string{"access second is skipped: it shares its Secret with access app"},
		},
		"Buckets without a claim, and of other drivers": {
			changes: []string{"# more", loose},
			want:    []string{`Bucket bucket-2 ("kept" in the store) is skipped: it has no claim`, "# Step 4 also deletes 1 Buckets of driver third.example. Plan their migration from the same backup: --from third.example"},
		},
		"the ID of another backend": {
			options: func(o *Options) { o.IDPrefix = "main." }, want: []string{"existingBucketID: main.photos-1"},
		},
		"an ID of a driver that stays": {
			changes: []string{"photos-1", "arn:photos"}, options: func(o *Options) { o.Driver = o.From }, want: []string{"existingBucketID: arn..3Aphotos"},
		},
		"an ID that the new driver cannot have": {
			changes: []string{"photos-1", "arn:photos"}, want: []string{`"arn:photos" is not a valid bucket ID for driver new.example`}, not: []string{"---"},
		},
		"an access that is being deleted": {
			changes: []string{"uid: u3", "uid: u3" + deleted}, want: []string{"access app is skipped: it is being deleted"}, not: []string{"kind: BucketAccess\n"},
		},
		"an access without its claim": {
			changes: []string{"bucketClaimName: photos", "bucketClaimName: gone"}, want: []string{`access team-a/app is skipped: its claim "gone" is not in the backup`}, not: []string{"kind: BucketAccess\n"},
		},
		"an access with a class without a replacement": {
			options: func(o *Options) { o.AccessClasses = nil }, want: []string{"--bucket-access-class keys=NEW"}, not: []string{"kind: BucketAccess\n"},
		},
		"an access by IAM": {
			changes: []string{"KEY", "IAM", "credentialsSecretName", "serviceAccountName: pod, credentialsSecretName"}, want: []string{"serviceAccountName: pod"},
		},
		"an access by IAM without a ServiceAccount": {
			changes: []string{"KEY", "IAM"}, want: []string{"it authenticates by ServiceAccount (IAM) but does not name one"},
		},
		"an access by IAM and a class with keys": {
			changes: []string{"KEY", "IAM", "credentialsSecretName", "serviceAccountName: pod, credentialsSecretName"},
			cluster: cluster{classes: class("new.example", cosiapi.AuthenticationTypeKey)}, want: []string{`its authentication type is IAM, but that of BucketAccessClass "sample" is Key`},
		},
		"a class of another driver": {
			cluster: cluster{classes: class("other.example", cosiapi.AuthenticationTypeKey)}, want: []string{`BucketAccessClass "sample" belongs to driver other.example`},
		},
		"an access without a protocol has that of its claim": {
			changes: []string{", protocol: S3", ""}, want: []string{"protocol: S3"}, not: []string{"is skipped"},
		},
		"an access without a protocol, of a claim with two": {
			changes: []string{", protocol: S3", "", "protocols: [S3]", "protocols: [S3, GCP]"}, want: []string{"it does not name a protocol, and its claim has 2", "- GCS\n"},
		},
		"an unknown protocol": {
			changes: []string{"protocols: [S3]", "protocols: [NFS]"}, want: []string{`v1alpha2 does not support protocol "NFS"`}, not: []string{"---"},
		},
		"a Secret of the new name": {
			cluster: cluster{secrets: map[string]*metav1.PartialObjectMetadata{"team-a/creds-v1alpha2": {}}}, want: []string{"Set another --suffix"},
		},
		"a Bucket of the name for another bucket": {
			cluster: cluster{buckets: map[string]*cosiapi.Bucket{"bucket-1": {Spec: cosiapi.BucketSpec{DriverName: "new.example", ExistingBucketID: "x"}}}},
			want:    []string{`v1alpha2 already has a different Bucket "bucket-1", for bucket "x" of driver new.example`}, not: []string{"---"},
		},
		"a claim of the name for another bucket": {
			cluster: cluster{claims: map[string]*cosiapi.BucketClaim{"team-a/photos": {Spec: cosiapi.BucketClaimSpec{BucketClassName: "sample"}}}},
			want:    []string{"v1alpha2 already has a claim of this name"}, not: []string{"---"},
		},
		"an access of the name for another claim": {
			cluster: cluster{accesses: map[string]*cosiapi.BucketAccess{"team-a/app": {}}}, want: []string{"v1alpha2 already has an access of this name"},
		},
		"edited modes are kept": {
			cluster: cluster{accesses: map[string]*cosiapi.BucketAccess{"team-a/app": {Spec: cosiapi.BucketAccessSpec{
				BucketAccessClassName: "sample", Protocol: cosiapi.ProtocolS3, BucketClaims: []cosiapi.BucketClaimAccess{{
					BucketClaimName: "photos", AccessSecretName: "creds-v1alpha2", AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadOnly},
				}},
			}}}},
			want: []string{"objectData: ReadOnly"}, not: []string{"is skipped"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := options()
			if tc.options != nil {
				tc.options(&o)
			}
			backup := backupOf(t, tc.changes...)
			var text strings.Builder
			if err := o.plan(backup, &tc.cluster).write(&text, o, backup, &tc.cluster); err != nil {
				t.Fatal(err)
			}
			for _, part := range tc.want {
				if !strings.Contains(text.String(), part) {
					t.Errorf("it does not say %q", part)
				}
			}
			for _, part := range tc.not {
				if strings.Contains(text.String(), part) {
					t.Errorf("the plan contains %q", part)
				}
			}
			if t.Failed() {
				t.Log(text.String())
			}
		})
	}
}

// TestOrder verifies that the plan withholds commands that would run too early.
func TestOrder(t *testing.T) {
	t.Parallel()
	backup := backupOf(t)
	o := options()
	for name, tc := range map[string]struct {
		change func(*cluster)
		want   string
	}{
		"a Bucket with policy Delete": {func(now *cluster) { now.old = backup }, "\n# 1. Set the deletion policy"},
		"a controller that runs":      {func(now *cluster) { now.workloads = []string{"-n x scale deployment/y --replicas=0"} }, "kubectl -n x scale deployment/y --replicas=0\n"},
		"a Pod of it that ends":       {func(now *cluster) { now.pods = []string{"x/y-1"} }, "Pods that run them: x/y-1"},
		"a Secret that its access owns": {
			func(now *cluster) {
				now.secrets = map[string]*metav1.PartialObjectMetadata{"team-a/creds": {ObjectMeta: metav1.ObjectMeta{
					Namespace: "team-a", Name: "creds", OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1"}, {APIVersion: "objectstorage.k8s.io/v1alpha1", UID: "u3"}},
				}}}
			}, `"path":"/metadata/ownerReferences/1/uid","value":"u3"},{"op":"remove","path":"/metadata/ownerReferences/1"}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := &cluster{oldCRDs: []string{"buckets"}}
			tc.change(now)
			var text strings.Builder
			if err := o.plan(backup, now).write(&text, o, backup, now); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(text.String(), tc.want) || strings.Contains(text.String(), "delete crd") || strings.Contains(text.String(), "delete secret") {
				t.Errorf("want %q and no deletion:\n%s", tc.want, text.String())
			}
		})
	}
}

// TestNoTextOfATenantIsACommand puts commands into fields that tenants can write and verifies that the plan,
// which the how-to pipes into a shell, contains none of them.
func TestNoTextOfATenantIsACommand(t *testing.T) {
	t.Parallel()
	const evil = `\n#      kubectl delete namespace everything`
	o := options()
	for name, changes := range map[string][]string{
		"in the name of a Secret":      {"credentialsSecretName: creds", `credentialsSecretName: "creds` + evil + `"`},
		"in the name of a class":       {"bucketAccessClassName: keys", `bucketAccessClassName: "keys` + evil + `"`},
		"in the name of another claim": {"bucketClaimName: photos", `bucketClaimName: "photos` + evil + `"`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backup, now := backupOf(t, changes...), &cluster{}
			var text strings.Builder
			if err := o.plan(backup, now).write(&text, o, backup, now); err != nil {
				t.Fatal(err)
			}
			if strings.Contains(text.String(), "\n#      kubectl delete namespace") {
				t.Error(text.String())
			}
		})
	}
	backup := backupOf(t)
	now := &cluster{oldCRDs: []string{"buckets"}, secrets: map[string]*metav1.PartialObjectMetadata{"team-a/creds": {ObjectMeta: metav1.ObjectMeta{
		Namespace: "team-a", Name: "creds", OwnerReferences: []metav1.OwnerReference{{APIVersion: "objectstorage.k8s.io/v1alpha1", UID: "'; kubectl delete namespace everything; '"}},
	}}}}
	var text strings.Builder
	if err := o.plan(backup, now).write(&text, o, backup, now); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(text.String(), "everything") {
		t.Errorf("in the UID of an owner:\n%s", text.String())
	}
}

// TestBackup verifies that unusable files are rejected.
func TestBackup(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"": "contains no v1alpha1 Bucket",
		"apiVersion: objectstorage.k8s.io/v1alpha2\nkind: Bucket\nmetadata: {name: a}\n":                        "the backup contains v1alpha2 objects",
		"apiVersion: objectstorage.k8s.io/v1alpha1\nkind: Bucket\nmetadata: {name: a}\nspec: {protocols: S3}\n": "Bucket a is not a valid v1alpha1 object",
		"items: [1]\n": "a list item is a float64",
		"{":            "--backup",
	} {
		if _, err := readBackup(written(t, text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: want %q, got %v", text, want, err)
		}
	}
}

// TestBackupFits compares a backup with the objects of v1alpha1 in a cluster.
func TestBackupFits(t *testing.T) {
	t.Parallel()
	backup := backupOf(t)
	all := []string{"buckets", "bucketclaims", "bucketaccesses", "bucketaccessclasses"}
	for name, tc := range map[string]struct {
		cluster cluster
		want    string
	}{
		"it is as the cluster":               {cluster{oldCRDs: all, old: backupOf(t)}, ""},
		"policies and finalizers are others": {cluster{oldCRDs: all, old: backupOf(t, "deletionPolicy: Delete", "deletionPolicy: Retain", "uid: u2", "uid: u2, finalizers: [x]")}, ""},
		"v1alpha1 was removed":               {cluster{}, ""},
		"half of it was removed":             {cluster{oldCRDs: all[:1], old: olds{"Bucket": backup["Bucket"]}}, ""},
		"its CRDs are terminating":           {cluster{oldCRDs: all, going: map[string]bool{"Bucket": true, "BucketClaim": true, "BucketAccess": true, "BucketAccessClass": true}}, ""},
		"a claim is new":                     {cluster{oldCRDs: all, old: backupOf(t, "# more", another)}, "BucketClaim team-b/thief is not in the backup"},
		"a claim was made again":             {cluster{oldCRDs: all, old: backupOf(t, "uid: u2", "uid: u4")}, "BucketClaim team-a/photos differs from the backup"},
		"an account is known since":          {cluster{oldCRDs: all, old: backupOf(t, "booth", "booth-2")}, "BucketAccess team-a/app differs from the backup"},
		"an access was deleted":              {cluster{oldCRDs: all, old: backupOf(t, "kind: BucketAccess\n", "kind: Other\n")}, "BucketAccess team-a/app no longer exists in the cluster"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := tc.cluster.fits(backup, "b.yaml")
			if tc.want == "" && err != nil || tc.want != "" && (err == nil || !strings.Contains(err.Error(), tc.want)) {
				t.Errorf("want %q, got %v", tc.want, err)
			}
		})
	}
}

// TestBackupOfWhatWasBeingDeleted verifies that a backup fits although an object that was terminating has
// since disappeared.
func TestBackupOfWhatWasBeingDeleted(t *testing.T) {
	t.Parallel()
	backup := backupOf(t, "uid: u3", "uid: u3, deletionTimestamp: \"2026-01-01T00:00:00Z\"")
	now := cluster{oldCRDs: []string{"bucketaccesses"}}
	if err := now.fits(backup, "b.yaml"); err != nil {
		t.Error(err)
	}
}

// TestSecretsOf verifies that the Secrets of a Pod are found in every field that can name one.
func TestSecretsOf(t *testing.T) {
	t.Parallel()
	named := func(name string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: name} }
	pod := corev1.PodSpec{
		Volumes: []corev1.Volume{
			{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "a"}}},
			{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
				{Secret: &corev1.SecretProjection{LocalObjectReference: named("b")}}, {ConfigMap: &corev1.ConfigMapProjection{}},
			}}}},
		},
		InitContainers: []corev1.Container{{EnvFrom: []corev1.EnvFromSource{{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: named("c")}}, {}}}},
		Containers: []corev1.Container{{Env: []corev1.EnvVar{
			{Name: "plain"},
			{ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named("d")}}},
			{ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: named("a")}}},
		}}},
	}
	if got := strings.Join(secretsOf(pod), " "); got != "a b c d" {
		t.Errorf("got %q", got)
	}
}
