// SPDX-License-Identifier: Apache-2.0

package main_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
)

// wrongObjects are valid for the API server, but cannot be provisioned.
const wrongObjects = `
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketClass
metadata: {name: misspelt}
spec: {driverName: s3.cooper.dev, deletionPolicy: Delete, parameters: {versionning: "true"}}
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketClaim
metadata: {name: misspelt}
spec: {bucketClassName: misspelt, protocols: [S3]}
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketAccessClass
metadata: {name: misspelt}
spec: {driverName: s3.cooper.dev, authenticationType: Key, parameters: {alowDelete: "true"}}
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketAccess
metadata: {name: misspelt}
spec:
  bucketAccessClassName: misspelt
  protocol: S3
  bucketClaims: [{bucketClaimName: sample, accessSecretName: misspelt, accessModes: {objectData: ReadWrite}}]
---
apiVersion: v1
kind: Secret
metadata: {name: password}
stringData: {password: of-somebody}
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketAccess
metadata: {name: taken}
spec:
  bucketAccessClassName: sample
  protocol: S3
  bucketClaims: [{bucketClaimName: sample, accessSecretName: password, accessModes: {objectData: ReadWrite}}]
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketClass
metadata: {name: nobody}
spec: {driverName: nobody.example.com, deletionPolicy: Delete}
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketClaim
metadata: {name: nobody}
spec: {bucketClassName: nobody, protocols: [S3]}
---
apiVersion: objectstorage.k8s.io/v1alpha2
kind: BucketClaim
metadata: {name: classless}
spec: {bucketClassName: forgotten, protocols: [S3]}
`

// TestWrongObjects checks the conditions that a user sees with kubectl for such objects, on the real system
// with the real S3 driver.
//
//nolint:tparallel // the parts in between are parallel
func TestWrongObjects(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "the messages are tested in their packages")
	up := startUp(t)
	env := up.environment(t)
	file := filepath.Join(t.TempDir(), "wrong.yaml")
	if err := os.WriteFile(file, []byte(wrongObjects), 0o600); err != nil {
		t.Fatal(err)
	}
	up.kubectl(t, env, "apply", "-f", file)
	t.Run("each", func(t *testing.T) { seeWrongObjects(t, up, env) })
	if got := up.kubectl(t, env, "get", "secret", "password", "-o", "jsonpath={.data}"); got != `{"password":"b2Ytc29tZWJvZHk="}` {
		t.Errorf("a Secret of another owner was changed: %s", got)
	}
	up.interrupt(t)
}

func seeWrongObjects(t *testing.T, up *upProcess, env map[string]string) {
	t.Helper()
	for name, tc := range map[string]struct {
		object, condition, status, reason string
		message                           []string
	}{
		"a class with an unknown parameter": {
			"bucketclaim/misspelt", "Provisioned", "False", "Refused",
			[]string{`unknown parameter "versionning"; supported parameters: backend, cors,`, " versioning"},
		},
		"an access class with an unknown parameter": {
			"bucketaccess/misspelt", "Provisioned", "False", "Refused",
			[]string{`unknown parameter "alowDelete"; supported parameters: `, "allowDelete"},
		},
		"an access with a Secret name in use": {
			"bucketaccess/taken", "ResourcesValidated", "False", "SecretTaken",
			[]string{
				`Secret "password" was not created for this BucketAccess. COSI does not change it.`,
				"Delete that Secret, or delete this BucketAccess and create it again with another accessSecretName.",
			},
		},
		"a class of a driver that does not run": {
			"bucketclaim/nobody", "Provisioned", "Unknown", "WaitingForBucket",
			[]string{`Waiting for the sidecar of driver "nobody.example.com" to provision Bucket "`},
		},
		"a claim of a class that is not there": {
			"bucketclaim/classless", "Provisioned", "Unknown", "WaitingForClass",
			[]string{`Waiting for BucketClass "forgotten" to exist.`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			condition := `{.status.conditions[?(@.type=="` + tc.condition + `")].`
			up.kubectl(t, env, "wait", "--timeout=3m", tc.object, "--for=jsonpath="+condition+"reason}="+tc.reason)
			got := up.kubectl(t, env, "get", tc.object, "-o", "jsonpath="+condition+"status} "+condition+"message}")
			if !strings.HasPrefix(got, tc.status+" ") {
				t.Errorf("%s: want %s, got %s", tc.condition, tc.status, got)
			}
			for _, want := range tc.message {
				if !strings.Contains(got, want) {
					t.Errorf("the message lacks %q:\n%s", want, got)
				}
			}
		})
	}
}
