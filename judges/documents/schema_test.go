// SPDX-License-Identifier: Apache-2.0

package documents_test

import (
	"encoding/json"
	"os"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/drivers/s3driver"
)

// accepted reports whether a YAML text matches the schema.
func accepted(t *testing.T, text []byte) bool {
	t.Helper()
	raw, err := os.ReadFile(root + "docs/reference/s3-driver.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	schema := &spec.Schema{}
	if err := json.Unmarshal(raw, schema); err != nil {
		t.Fatal(err)
	}
	var document any
	if err := yaml.Unmarshal(text, &document); err != nil {
		t.Fatal(err)
	}
	found := validate.NewSchemaValidator(schema, nil, "", strfmt.Default).Validate(document)
	t.Logf("the schema says: %v", found.Errors)
	return found.IsValid()
}

// TestSchema validates the same configurations with the schema and the driver. Only the driver checks what the schema
// cannot express, such as whether an address is valid.
func TestSchema(t *testing.T) {
	t.Parallel()
	deployed, err := os.ReadFile(root + "deploy/drivers/s3/config.yaml")
	if err != nil {
		t.Fatal(err)
	}
	tests := map[string]struct {
		yaml string
		want bool
	}{
		"what deploy has": {string(deployed), true},
		"one of each type": {`
driverName: s3.example.com
cluster: blue
defaultBackend: aws
removedBackends: [old]
backends:
  aws:
    type: aws
    iam: {path: /teams/, permissionsBoundary: 'arn:aws:iam::1:policy/b', serviceAccounts: {eksCluster: prod, rolePrefix: blue}}
  minio: {type: minio, insecure: true, endpoint: 'http://minio:9000', adminEndpoint: 'http://minio:9001', credentials: &key {accessKeyIDFile: /id, secretAccessKeyFile: /secret}}
  versitygw: {type: versitygw, insecure: true, endpoint: 'http://vgw:7070', publicEndpoint: 'https://s3.example.com', credentials: *key}
  static: {type: static, insecure: true, endpoint: 'http://garage:3900', region: garage, addressing: virtual, credentials: *key, workloads: *key}
`, true},
		"no backends":              {"driverName: s3.example.com", false},
		"a backend without a type": {"backends: {a: {endpoint: 'http://h'}}", false},
		"a type that is none":      {"backends: {a: {type: ceph}}", false},
		"a field with a typo":      {"backends: {a: {type: aws, endpont: 'http://h'}}", false},
		"a typo further down":      {"backends: {a: {type: aws, iam: {serviceAccounts: {cluster: prod}}}}", false},
		"an object for a text":     {"backends: {a: {type: aws, region: {}}}", false},
		"a text for a list":        {"{backends: {a: {type: aws}}, removedBackends: old}", false},
		"a list of backends":       {"backends: [{type: aws}]", false},
		"a secret in the file":     {"backends: {a: {type: aws, credentials: {accessKeyID: id, secretAccessKey: secret}}}", false},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := accepted(t, []byte(test.yaml)); got != test.want {
				t.Errorf("the schema accepts it: %t, want %t", got, test.want)
			}
			if _, err := s3driver.Format().Parse([]byte(test.yaml)); (err == nil) != test.want {
				t.Errorf("the driver accepts it: %t (%v), want %t", err == nil, err, test.want)
			}
		})
	}
}
