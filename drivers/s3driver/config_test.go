// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/drivers/s3driver/s3store"
	"github.com/cooper-cosi/cooper/internal/credstore"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestParseConfigFillsInDefaults(t *testing.T) {
	t.Parallel()
	got, err := s3driver.Format().Parse([]byte(`
backends:
  main: {type: aws}
  lab:
    type: aws
    endpoint: http://localhost:9000
    region: eu-west-1
defaultBackend: main
`))
	if err != nil {
		t.Fatal(err)
	}
	path := "/cosi/s3.cooper.dev/"
	want := s3driver.Config{
		DriverName: "s3.cooper.dev", DefaultBackend: "main",
		Backends: map[string]s3driver.BackendConfig{
			"main": {Type: "aws", Region: "us-east-1", Addressing: "virtual", ReadLag: "1.5s", IAM: s3driver.IAMConfig{Partition: "aws", Path: path}},
			"lab": {
				Type: "aws", Endpoint: "http://localhost:9000", Region: "eu-west-1", Addressing: "path",
				IAM: s3driver.IAMConfig{Endpoint: "http://localhost:9000", Partition: "aws", Path: path},
			},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("configuration differs (-want +got):\n%s", diff)
	}
}

func TestParseConfigSaysEverythingThatIsWrong(t *testing.T) {
	t.Parallel()
	noPEM := filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(noPEM, []byte("not a certificate"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		yaml string
		want []string
	}{
		"not YAML":                     {"backends: [", []string{"not valid"}},
		"a field with a typo":          {"backends: {a: {type: aws, endpont: x}}", []string{"backends.a.endpont: there is no such field; did you mean backends.a.endpoint?"}},
		"no backend":                   {"driverName: s3.example.com", []string{"backends: at least one"}},
		"several without a default":    {"backends: {a: {type: aws}, b: {type: aws}}", []string{"defaultBackend: is required", "a, b"}},
		"a default that is not there":  {"{defaultBackend: c, backends: {a: {type: aws}}}", []string{`defaultBackend: "c"`}},
		"a backend name with a dot":    {"backends: {a.b: {type: aws}}", []string{`"a.b"`}},
		"a driver name with capitals":  {"{driverName: S3.example.com, backends: {a: {type: aws}}}", []string{"driverName"}},
		"an unknown type":              {"backends: {a: {type: ceph}}", []string{`backends.a.type: "ceph"`, "aws"}},
		"an endpoint without a scheme": {"backends: {a: {type: aws, endpoint: 'localhost:9000'}}", []string{"backends.a.endpoint"}},
		"an endpoint with a path":      {"backends: {a: {type: aws, endpoint: 'http://h/bucket'}}", []string{"must end after the host"}},
		"an endpoint with a password":  {"backends: {a: {type: aws, endpoint: 'http://u:pw@h'}}", []string{"must not contain a user"}},
		"an addressing that is none":   {"backends: {a: {type: aws, addressing: dns}}", []string{"path, virtual"}},
		"a CA without TLS":             {"backends: {a: {type: aws, endpoint: 'http://h', caFile: " + noPEM + "}}", []string{"does not use TLS", "no PEM"}},
		"a CA file that is missing":    {"backends: {a: {type: aws, endpoint: 'https://h', caFile: /nowhere}}", []string{"/nowhere"}},
		"half a key pair":              {"backends: {a: {type: aws, credentials: {accessKeyIDFile: /id}}}", []string{"require each other"}},
		"an IAM path without slashes":  {"backends: {a: {type: aws, iam: {path: cosi}}}", []string{"iam.path"}},
		"a boundary that is no ARN":    {"backends: {a: {type: aws, iam: {permissionsBoundary: deny}}}", []string{"permissionsBoundary"}},
		"a store without accounts and without a key for workloads": {"backends: {a: {type: static, endpoint: 'http://h', credentials: {accessKeyIDFile: /id, secretAccessKeyFile: /key}}}", []string{"backends.a.workloads: is required for type static"}},
		"a key for workloads where each access has its own":        {"backends: {a: {type: aws, workloads: {accessKeyIDFile: /id, secretAccessKeyFile: /key}}}", []string{"backends.a.workloads: is only for type static"}},
		"a name with a percent sign":                               {"backends: {'%d': {type: moon}}", []string{`backends.%d.type: "moon" is not one of`}},
		"service accounts without a mark of the cluster":           {"backends: {a: {type: aws, iam: {serviceAccounts: {eksCluster: prod}}}}", []string{"cluster: is required with backends.a.iam.serviceAccounts"}},
		"a lag before the write":                                   {"backends: {a: {type: aws, readLag: -1s}}", []string{`backends.a.readLag: "-1s"`}},
		"a lag where accesses share a policy":                      {"backends: {a: {type: versitygw, endpoint: 'http://127.0.0.1', readLag: 1s}}", []string{"backends.a.readLag: must not be set for type versitygw"}},
		"a session token without a key":                            {"backends: {a: {type: aws, credentials: {sessionTokenFile: /token}}}", []string{"backends.a.credentials: sessionTokenFile requires"}},
		"a session for workloads":                                  {"backends: {a: {type: static, endpoint: 'http://127.0.0.1', credentials: &k {accessKeyIDFile: /id, secretAccessKeyFile: /key, sessionTokenFile: /token}, workloads: *k}}", []string{"backends.a.workloads.sessionTokenFile"}},
		"two mistakes are both told of":                            {"backends: {a: {type: x, addressing: y}}", []string{"backends.a.type", "backends.a.addressing"}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s3driver.Format().Parse([]byte(test.yaml))
			if err == nil {
				t.Fatal("accepted")
			}
			for _, want := range test.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("error %q does not contain %q", err, want)
				}
			}
			if strings.Contains(err.Error(), "pw") {
				t.Errorf("error %q holds a password", err)
			}
		})
	}
}

// TestTypesOfAnotherProgram checks the names of additional types: one that equals a built-in name would be ignored.
func TestTypesOfAnotherProgram(t *testing.T) {
	t.Parallel()
	config := s3driver.Config{Backends: map[string]s3driver.BackendConfig{"a": {Type: s3driver.TypeAWS}}}
	other := s3store.Type{Accounts: func(s3store.Store) s3store.Accounts { return nil }}
	for name, refused := range map[s3driver.BackendType]bool{"gate": false, s3driver.TypeMinIO: true, s3driver.TypeRGW: true, s3driver.TypeStatic: true} {
		_, err := s3driver.New(s3driver.Options{Config: config, Credentials: credstore.NewMemory(), Types: map[s3driver.BackendType]s3store.Type{name: other}})
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "type "+string(name)+" is already a type of the driver") {
			t.Errorf("a type %s of another program: %v", name, err)
		}
	}
}

func TestConfigFromEnvironment(t *testing.T) {
	t.Parallel()
	variables := map[string]string{
		"S3_DRIVER_ENDPOINT": "https://s3.example.com", "S3_DRIVER_REGION": "lab", "S3_DRIVER_NAME": "s3.example.com",
		"S3_DRIVER_ACCESS_KEY_ID": "id", "S3_DRIVER_SECRET_ACCESS_KEY": "secret", "S3_DRIVER_ADDRESSING": "virtual", "S3_DRIVER_READ_LAG": "2s",
	}
	lookup := func(name string) (string, bool) { value, set := variables[name]; return value, set }
	got, err := s3driver.Format().FromEnvironment(lookup)
	if err != nil {
		t.Fatal(err)
	}
	backend := got.Backends[got.DefaultBackend]
	want := s3driver.BackendConfig{
		Type: "aws", Endpoint: "https://s3.example.com", Region: "lab", Addressing: "virtual", ReadLag: "2s",
		Credentials: s3driver.CredentialsConfig{AccessKeyID: "id", SecretAccessKey: cosi.NewSecret("secret")},
		IAM:         s3driver.IAMConfig{Endpoint: "https://s3.example.com", Partition: "aws", Path: "/cosi/s3.example.com/"},
	}
	if diff := cmp.Diff(want, backend); diff != "" {
		t.Errorf("backend differs (-want +got):\n%s", diff)
	}
	delete(variables, "S3_DRIVER_SECRET_ACCESS_KEY")
	if _, err := s3driver.Format().FromEnvironment(lookup); err == nil || !strings.Contains(err.Error(), "require each other") {
		t.Errorf("half a key pair: %v", err)
	}
}

func TestNoVariableIsReserved(t *testing.T) {
	t.Parallel()
	for _, variable := range s3driver.Format().Variables {
		if strings.HasPrefix(variable.Name, "COSI_") || variable.Description == "" {
			t.Errorf("variable %q (%q)", variable.Name, variable.Description)
		}
	}
}

func FuzzParseConfig(f *testing.F) {
	f.Add([]byte("backends: {a: {type: aws, endpoint: 'http://h'}}"))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, data []byte) {
		config, err := s3driver.Format().Parse(data)
		if err == nil && (config.DefaultBackend == "" || len(config.Backends) == 0) {
			t.Errorf("accepted without a backend: %q", data)
		}
	})
}

func TestPartitionOfTheRegion(t *testing.T) {
	t.Parallel()
	for settings, want := range map[string]string{
		"region: eu-central-1": "aws", "region: cn-north-1": "aws-cn", "region: us-gov-east-1": "aws-us-gov", "region: eusc-de-east-1": "aws-eusc", "region: cn-lab, endpoint: 'https://s3.lab.example.com'": "aws",
	} {
		config, err := s3driver.Format().Parse([]byte("backends: {a: {type: aws, " + settings + "}}"))
		if err != nil {
			t.Fatal(err)
		}
		if got := config.Backends["a"].IAM.Partition; got != want {
			t.Errorf("%s: partition %q, want %q", settings, got, want)
		}
	}
}

// TestEndpointsOfTheSDK uses the endpoints from the SDK's variables, if the credentials come from there, too.
func TestEndpointsOfTheSDK(t *testing.T) { //nolint:paralleltest // it sets variables
	for name, value := range map[string]string{"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "AWS_ENDPOINT_URL_STS": "http://sts.example.com", "AWS_ENDPOINT_URL_S3": "https://s3.example.com/"} {
		t.Setenv(name, value)
	}
	for settings, refused := range map[string]bool{
		"type: aws":                 true,
		"type: aws, insecure: true": false,
		"type: aws, credentials: {accessKeyIDFile: /id, secretAccessKeyFile: /key}": false,
	} {
		config, err := s3driver.Format().Parse([]byte("backends: {a: {" + settings + "}}"))
		if (err != nil) != refused || refused && !strings.Contains(err.Error(), "backends.a.AWS_ENDPOINT_URL_STS: http://sts.example.com does not use TLS") {
			t.Errorf("%s: %v", settings, err)
		}
		if plain := s3driver.Format().Reach(config)["a"].Plain(); strings.Contains(settings, "insecure") && len(plain) != 2 {
			t.Errorf("%s: without TLS are %v, want two", settings, plain)
		}
	}
}
