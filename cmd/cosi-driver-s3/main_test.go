// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/testing/drivercmdtest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestMain(m *testing.M) {
	processtest.ProgramMain(main)
	os.Exit(m.Run())
}

func TestProcessServesAndStops(t *testing.T) {
	t.Parallel()
	server := startStore(t, s3fake.Options{})
	launch := drivercmdtest.Launch{Environment: map[string]string{
		"S3_DRIVER_ENDPOINT":          server.URL(),
		"S3_DRIVER_ACCESS_KEY_ID":     server.Root().AccessKeyID,
		"S3_DRIVER_SECRET_ACCESS_KEY": server.Root().SecretAccessKey,
		"COOPER_CREDENTIAL_STORE":     "directory:" + t.TempDir(),
	}}
	drivercmdtest.Life{
		Launches: []drivercmdtest.Launch{launch, launch},
		Protocol: cosi.ObjectProtocol_S3,
		Secrets:  func(granted *cosi.CredentialInfo) []string { return []string{granted.GetS3().GetAccessSecretKey()} },
		Own:      []string{server.Root().SecretAccessKey},
		Metric:   `cosi_driver_backend_call_duration_seconds_count{api="S3",backend="default",driver_name="s3.cooper.dev",operation="CreateBucket",status="200"}`,
		Spans:    []string{"DriverGrantBucketAccess", "IAM.CreateUser"},
	}.Test(t)
}

func TestBadStarts(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "config.yaml")
	write(t, file, "backends: {a: {type: azure}}")
	mistake := map[string]string{"S3_DRIVER_ENDPOINT": "localhost:9000"}
	drivercmdtest.BadStarts(t, map[string]drivercmdtest.BadStart{
		"no credential store":       {Code: 2, Want: "--credential-store is not set"},
		"an unknown store":          bad(2, `"vault:x" is not one of`, "--credential-store=vault:x"),
		"a store without its path":  bad(2, "directory:/path", "--credential-store=directory:"),
		"a store without a socket":  bad(2, "is not a UNIX socket address", "--credential-store=sidecar:localhost:1"),
		"keys that are not there":   bad(2, "--credential-key-file: read the keys", "--credential-store=memory", "--credential-key-file=/nowhere"),
		"secrets outside of a Pod":  bad(2, "not running in a Pod", "--credential-store=kubernetes"),
		"no way to an API server":   bad(1, "pass the kubeconfig file of the cluster with --kubeconfig", "--credential-store=kubernetes:store"),
		"a file with a mistake":     bad(1, `backends.a.type: "azure"`, "--config="+file),
		"a variable with a mistake": {Launch: drivercmdtest.Launch{Environment: mistake}, Code: 1, Want: "backends.default.endpoint"},
	})
}

// bad describes a start with flags that must fail.
func bad(code int, want string, arguments ...string) drivercmdtest.BadStart {
	return drivercmdtest.BadStart{Launch: drivercmdtest.Launch{Arguments: arguments}, Code: code, Want: want}
}

func TestHelp(t *testing.T) {
	t.Parallel()
	texts := []string{"[COOPER_CREDENTIAL_STORE]", "[KUBECONFIG]"}
	for _, variable := range s3driver.Format().Variables {
		texts = append(texts, variable.Name)
	}
	drivercmdtest.Help(t, texts...)
}
