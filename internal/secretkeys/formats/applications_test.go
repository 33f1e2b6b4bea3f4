// SPDX-License-Identifier: Apache-2.0

package formats_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/internal/secretkeys/formats"
)

// awkward is a secret with characters that YAML and properties files treat specially.
const awkward = `:sym, "a": 'b' # {c} \n ü`

const keyFileText = `{"type":"service_account","project_id":"p-1","private_key_id":"k","private_key":"-----BEGIN-----\nab+/\n-----END-----\n",` +
	`"client_email":"sa@p-1","client_id":"1","token_uri":"https://oauth2.googleapis.com/token"}`

func TestYAMLOfApplications(t *testing.T) {
	t.Parallel()
	type doc = map[string]any
	for name, tc := range map[string]struct {
		format string
		grant  formats.Grant
		want   doc
	}{
		"GitLab with S3": {"gitlab", s3Grant("AWS_SECRET_ACCESS_KEY=" + awkward), doc{
			"provider": "AWS", "region": "eu-1", "aws_access_key_id": "AKIA", "aws_secret_access_key": awkward, "endpoint": "https://s3.example.com:9000", "path_style": true,
		}},
		"GitLab with a numeric key and names in the host": {"gitlab", s3Grant("AWS_ACCESS_KEY_ID=1_000", "AWS_SECRET_ACCESS_KEY=0x1f", "AWS_S3_ADDRESSING_STYLE=virtual"), doc{
			"provider": "AWS", "region": "eu-1", "aws_access_key_id": "1_000", "aws_secret_access_key": "0x1f", "endpoint": "https://s3.example.com:9000", "path_style": false,
		}},
		"GitLab with Google": {"gitlab", keyGrant(), doc{"provider": "Google", "google_project": "p-1", "google_json_key_string": keyFileText}},
		"Thanos with S3": {"thanos", s3Grant("AWS_SECRET_ACCESS_KEY=" + awkward), doc{"type": "S3", "config": doc{
			"bucket": "b-1", "endpoint": "s3.example.com:9000", "region": "eu-1", "access_key": "AKIA", "secret_key": awkward, "insecure": false, "bucket_lookup_type": "path",
		}}},
		"Thanos with plain HTTP and names in the host": {"thanos", s3Grant("AWS_ENDPOINT_URL=http://s3/", "AWS_S3_ADDRESSING_STYLE=virtual"), doc{"type": "S3", "config": doc{
			"bucket": "b-1", "endpoint": "s3", "region": "eu-1", "access_key": "AKIA", "secret_key": "wJal/+=x", "insecure": true, "bucket_lookup_type": "virtual-hosted",
		}}},
		"Thanos with Google": {"thanos", keyGrant(), doc{"type": "GCS", "config": doc{"bucket": "g-1", "service_account": keyFileText}}},
		"Loki with S3": {"loki", s3Grant("AWS_SECRET_ACCESS_KEY=" + awkward), doc{"common": doc{"storage": doc{"s3": doc{
			"bucketnames": "b-1", "endpoint": "s3.example.com:9000", "region": "eu-1", "access_key_id": "AKIA", "secret_access_key": awkward, "insecure": false, "s3forcepathstyle": true,
		}}}}},
		"Loki with Google":   {"loki", keyGrant(), doc{"common": doc{"storage": doc{"gcs": doc{"bucket_name": "g-1", "service_account": keyFileText}}}}},
		"Velero with Google": {"velero", keyGrant(), decoded(t, keyFileText)},
		"Barman with Google": {"barman", keyGrant(), decoded(t, keyFileText)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, ok := written(t, tc.format, tc.grant)
			if !ok {
				t.Fatal("the format rejects the Secret")
			}
			if diff := cmp.Diff(tc.want, decoded(t, text)); diff != "" {
				t.Errorf("parsed output (-want, +got):\n%s", diff)
			}
		})
	}
}

func decoded(t *testing.T, text string) map[string]any {
	t.Helper()
	var document map[string]any
	if err := yaml.UnmarshalStrict([]byte(text), &document); err != nil {
		t.Fatalf("YAML: %v\n%s", err, text)
	}
	return document
}

// TestCredentialsFile reads the files of Velero and Barman with the AWS SDK.
func TestCredentialsFile(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		grant      formats.Grant
		id, secret string
	}{"S3": {s3Grant(), "AKIA", "wJal/+=x"}, "Google with an HMAC key": {hmacGrant(), "GOOG1", "h/+="}} {
		for _, format := range []string{"velero", "barman"} {
			t.Run(format+" with "+name, func(t *testing.T) {
				t.Parallel()
				text, _ := written(t, format, tc.grant)
				file := filepath.Join(t.TempDir(), "credentials")
				if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
				got, err := config.LoadSharedConfigProfile(t.Context(), "default", func(o *config.LoadSharedConfigOptions) {
					o.ConfigFiles, o.CredentialsFiles = []string{}, []string{file}
				})
				if err != nil || got.Credentials.AccessKeyID != tc.id || got.Credentials.SecretAccessKey != tc.secret {
					t.Errorf("AWS's SDK: %v, %q %q\n%s", err, got.Credentials.AccessKeyID, got.Credentials.SecretAccessKey, text)
				}
			})
		}
	}
}

func TestConnectionString(t *testing.T) {
	t.Parallel()
	text, _ := written(t, "barman", azureGrant())
	if want := "BlobEndpoint=https://acct.blob.core.windows.net;SharedAccessSignature=sv=1&sig=a%2Fb"; text != want {
		t.Errorf("want %q, got %q", want, text)
	}
}

// readProperties is a program for Java 11 or newer. It prints the properties in standard input as JSON, without
// escapes other than \uXXXX.
const readProperties = `public class Read {
  static String quote(String s) {
    StringBuilder b = new StringBuilder("\"");
    for (char c : s.toCharArray()) b.append(String.format("\\u%04x", (int) c));
    return b.append('"').toString();
  }
  public static void main(String[] args) throws Exception {
    java.util.Properties p = new java.util.Properties();
    p.load(System.in);
    StringBuilder b = new StringBuilder("{");
    for (String name : p.stringPropertyNames()) b.append(b.length() > 1 ? "," : "").append(quote(name)).append(':').append(quote(p.getProperty(name)));
    System.out.print(b.append("}"));
  }
}`

func springTable() map[string]struct {
	grant formats.Grant
	want  map[string]string
} {
	return map[string]struct {
		grant formats.Grant
		want  map[string]string
	}{
		"S3": {s3Grant("AWS_SECRET_ACCESS_KEY= " + awkward + "=😀"), map[string]string{
			"spring.cloud.aws.credentials.access-key": "AKIA", "spring.cloud.aws.credentials.secret-key": " " + awkward + "=😀", "spring.cloud.aws.region.static": "eu-1",
			"spring.cloud.aws.s3.endpoint": "https://s3.example.com:9000", "spring.cloud.aws.s3.path-style-access-enabled": "true",
		}},
		"Azure": {azureGrant(), map[string]string{
			"spring.cloud.azure.storage.blob.account-name": "acct", "spring.cloud.azure.storage.blob.container-name": "c-1",
			"spring.cloud.azure.storage.blob.endpoint": "https://acct.blob.core.windows.net", "spring.cloud.azure.storage.blob.sas-token": "sv=1&sig=a%2Fb",
		}},
		"Google": {keyGrant(), map[string]string{
			"spring.cloud.gcp.project-id": "p-1", "spring.cloud.gcp.storage.credentials.encoded-key": base64.StdEncoding.EncodeToString([]byte(keyFileText)),
		}},
	}
}

// TestProperties reads the properties with the rules of java.util.Properties, and with Java if it is installed.
func TestProperties(t *testing.T) {
	t.Parallel()
	java, _ := exec.LookPath("java") // empty if Java is not installed
	for name, tc := range springTable() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			text, _ := written(t, "spring", tc.grant)
			if diff := cmp.Diff(tc.want, parseProperties(t, text)); diff != "" {
				t.Errorf("properties (-want, +got):\n%s", diff)
			}
			if java == "" {
				return
			}
			program := filepath.Join(t.TempDir(), "Read.java")
			if err := os.WriteFile(program, []byte(readProperties), 0o600); err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(t.Context(), java, program)
			cmd.Stdin = strings.NewReader(text)
			out, err := cmd.Output()
			got := map[string]string{}
			if err != nil || json.Unmarshal(out, &got) != nil {
				t.Fatalf("Java: %v\n%s", err, out)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("properties of Java (-want, +got):\n%s", diff)
			}
		})
	}
}

// parseProperties parses a file with one property on each line.
func parseProperties(t *testing.T, text string) map[string]string {
	t.Helper()
	found := map[string]string{}
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if _, twice := found[key]; !ok || twice || !strings.HasPrefix(key, "spring.") || value != strings.TrimLeft(value, " \t\f") {
			t.Fatalf("%q is no property", line)
		}
		// Escapes are those of a Go string, except for the blank at the beginning.
		plain, err := unquote(strings.Replace(value, `\ `, " ", 1))
		if err != nil {
			t.Fatalf("%q: %v", value, err)
		}
		found[key] = plain
	}
	return found
}

// unquote replaces \\ and the escaped UTF-16 units.
func unquote(value string) (string, error) {
	var text string
	err := json.Unmarshal([]byte(`"`+strings.ReplaceAll(value, `"`, `\"`)+`"`), &text)
	return text, err
}

func TestApplicationsRefuse(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		format string
		grant  formats.Grant
		want   string
	}{
		"GitLab with Azure":                    {"gitlab", azureGrant(), "the format supports only S3"},
		"GitLab with Google's HMAC key":        {"gitlab", hmacGrant(), "contains an HMAC key"},
		"Velero with Azure":                    {"velero", azureGrant(), "the format supports only S3"},
		"Thanos with a path in the endpoint":   {"thanos", s3Grant("AWS_ENDPOINT_URL=https://s3/a"), "thanos does not support endpoints with a path"},
		"Loki with a path in the endpoint":     {"loki", s3Grant("AWS_ENDPOINT_URL=https://s3/a"), "loki does not support endpoints with a path"},
		"Spring with a placeholder":            {"spring", s3Grant("AWS_SECRET_ACCESS_KEY=${wJal}"), "contains a character that other programs may misinterpret"},
		"Spring with an expression":            {"spring", s3Grant("AWS_SECRET_ACCESS_KEY=#{wJal}"), "contains a character that other programs may misinterpret"},
		"Velero with a section in the secret":  {"velero", s3Grant("AWS_SECRET_ACCESS_KEY=wJal\n[other]"), "contains characters that no driver delivers"},
		"GitLab with a line in the secret":     {"gitlab", s3Grant("AWS_SECRET_ACCESS_KEY=wJal\nprovider: Local"), "contains characters that no driver delivers"},
		"GitLab without a credential":          {"gitlab", formats.Grant{Data: map[string][]byte{"COSI_PROTOCOL": []byte("S3")}}, "contains no credential"},
		"Barman with a field in the signature": {"barman", azureGrant("AZURE_STORAGE_SAS_TOKEN=https://a/c?wJal;AccountKey=y"), "contains a character"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := formats.Write(&out, tc.format, []formats.Grant{tc.grant}, formats.Options{})
			if err == nil || !strings.Contains(err.Error(), tc.want) || out.Len() > 0 || strings.Contains(err.Error(), "wJal") {
				t.Errorf("want an error with %q and no output, got %v and %s", tc.want, err, strconv.Quote(out.String()))
			}
		})
	}
}

// seeApplications verifies that the formats of applications represent the secret of a Secret exactly.
func seeApplications(t *testing.T, one formats.Grant, secret string) {
	t.Helper()
	nested := func(document map[string]any, path ...string) any {
		for _, key := range path[:len(path)-1] {
			document, _ = document[key].(map[string]any)
		}
		return document[path[len(path)-1]]
	}
	for format, path := range map[string][]string{
		"gitlab": {"aws_secret_access_key"}, "thanos": {"config", "secret_key"}, "loki": {"common", "storage", "s3", "secret_access_key"},
	} {
		if text, ok := written(t, format, one); ok {
			if got := nested(decoded(t, text), path...); got != secret {
				t.Errorf("%s: secret %q of %q", format, got, secret)
			}
		}
	}
	if text, ok := written(t, "spring", one); ok {
		if got := parseProperties(t, text)["spring.cloud.aws.credentials.secret-key"]; got != secret {
			t.Errorf("spring: secret %q of %q", got, secret)
		}
	}
	if text, ok := written(t, "velero", one); ok {
		seeCredentials(t, text, secret)
	}
}

// seeCredentials checks that a credentials file has exactly one section with two keys.
func seeCredentials(t *testing.T, text, secret string) {
	t.Helper()
	lines := strings.Split(text, "\n")
	if len(lines) != 5 || lines[1] != "[default]" || lines[3] != "aws_secret_access_key = "+secret {
		t.Errorf("velero: %q", text)
	}
}
