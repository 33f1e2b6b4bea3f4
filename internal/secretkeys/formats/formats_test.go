// SPDX-License-Identifier: Apache-2.0

package formats_test

import (
	"bytes"
	"fmt"
	"maps"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/secretkeys/formats"
)

func grant(values ...string) formats.Grant {
	data := map[string][]byte{}
	for _, value := range values {
		key, value, _ := strings.Cut(value, "=")
		data[key] = []byte(value)
	}
	return formats.Grant{Claim: "photos", Secret: "photos-credentials", Data: data}
}

func s3Grant(more ...string) formats.Grant {
	return grant(append([]string{
		"COSI_PROTOCOL=S3", "AWS_ENDPOINT_URL=https://s3.example.com:9000", "BUCKET_NAME=b-1", "AWS_DEFAULT_REGION=eu-1",
		"AWS_S3_ADDRESSING_STYLE=path", "AWS_ACCESS_KEY_ID=AKIA", "AWS_SECRET_ACCESS_KEY=wJal/+=x",
	}, more...)...)
}

func azureGrant(more ...string) formats.Grant {
	return grant(append([]string{
		"COSI_PROTOCOL=Azure", "AZURE_STORAGE_ACCOUNT=acct", "AZURE_STORAGE_SAS_TOKEN=https://acct.blob.core.windows.net/c-1?sv=1&sig=a%2Fb",
	}, more...)...)
}

func hmacGrant(more ...string) formats.Grant {
	return grant(append([]string{"COSI_PROTOCOL=GCS", "PROJECT_ID=p-1", "BUCKET_NAME=g-1", "HMAC_ACCESS_ID=GOOG1", "HMAC_SECRET=h/+="}, more...)...)
}

func keyGrant(more ...string) formats.Grant {
	return grant(append([]string{
		"COSI_PROTOCOL=GCS", "PROJECT_ID=p-1", "BUCKET_NAME=g-1", "SERVICE_ACCOUNT_NAME=sa", "CLIENT_EMAIL=sa@p-1", "CLIENT_ID=1", "PRIVATE_KEY_ID=k",
		"PRIVATE_KEY=-----BEGIN-----\nab+/\n-----END-----\n",
	}, more...)...)
}

func TestWrite(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		format  string
		grant   formats.Grant
		options formats.Options
		want    string
	}{
		"shell": {
			format: "shell", grant: s3Grant(),
			want: "export AWS_ACCESS_KEY_ID=AKIA\nexport AWS_DEFAULT_REGION=eu-1\nexport AWS_ENDPOINT_URL=https://s3.example.com:9000\n" +
				"export AWS_S3_ADDRESSING_STYLE=path\nexport AWS_SECRET_ACCESS_KEY=wJal/+=x\nexport BUCKET_NAME=b-1\nexport COSI_PROTOCOL=S3\n",
		},
		"shell, with a secret that is a command": {
			format: "shell", grant: grant("COSI_PROTOCOL=S3", "AWS_SECRET_ACCESS_KEY=$(id); it's `x`"),
			want: "export AWS_SECRET_ACCESS_KEY='$(id); it'\\''s `x`'\nexport COSI_PROTOCOL=S3\n",
		},
		"shell, with keys that are not COSI's": {
			format: "shell", grant: grant("COSI_PROTOCOL=S3", "PROMPT_COMMAND=id", "PATH=/tmp", "LD_PRELOAD=x", "HMAC_SECRET=x"),
			want: "export COSI_PROTOCOL=S3\n",
		},
		"shell, on a terminal": {
			format: "shell", grant: grant("COSI_PROTOCOL=S3", "AWS_ACCESS_KEY_ID=AKIA", "AWS_SECRET_ACCESS_KEY=wJal"), options: formats.Options{Redact: true},
			want: "export AWS_ACCESS_KEY_ID=AKIA\nexport AWS_SECRET_ACCESS_KEY='[redacted]'\nexport COSI_PROTOCOL=S3\n",
		},
		"dotenv": {
			format: "dotenv", grant: grant("COSI_PROTOCOL=S3", "AWS_ENDPOINT_URL=https://s3", "AWS_SECRET_ACCESS_KEY=a#b $HOME", "COSI_CERTIFICATE_AUTHORITY=-----BEGIN-----\nab\n"),
			want: "COSI_PROTOCOL=S3\nAWS_ENDPOINT_URL=https://s3\nAWS_SECRET_ACCESS_KEY='a#b $HOME'\nCOSI_CERTIFICATE_AUTHORITY='-----BEGIN-----\nab\n'\n",
		},
		"aws": {
			format: "aws", grant: s3Grant(),
			want: "# aws --profile photos s3 ls s3://b-1\n[profile photos]\naws_access_key_id = AKIA\naws_secret_access_key = wJal/+=x\nregion = eu-1\n" +
				"endpoint_url = https://s3.example.com:9000\ns3 =\n  addressing_style = path\n",
		},
		"aws at Google": {
			format: "aws", grant: hmacGrant(),
			want: "# aws --profile photos s3 ls s3://g-1\n[profile photos]\naws_access_key_id = GOOG1\naws_secret_access_key = h/+=\nregion = auto\n" +
				"endpoint_url = https://storage.googleapis.com\nrequest_checksum_calculation = when_required\nresponse_checksum_validation = when_required\n" +
				"s3 =\n  addressing_style = path\n",
		},
		"rclone, with names in the host": {
			format: "rclone", grant: s3Grant("AWS_S3_ADDRESSING_STYLE=virtual"),
			want: "# rclone lsf photos:b-1\n[photos]\ntype = s3\nprovider = Other\naccess_key_id = AKIA\nsecret_access_key = wJal/+=x\nregion = eu-1\n" +
				"endpoint = https://s3.example.com:9000\nforce_path_style = false\nno_check_bucket = true\n",
		},
		"rclone at Azure": {
			format: "rclone", grant: azureGrant(),
			want: "# rclone lsf photos:c-1\n[photos]\ntype = azureblob\nsas_url = https://acct.blob.core.windows.net/c-1?sv=1&sig=a%2Fb\n",
		},
		"rclone at Google with a service account key": {
			format: "rclone", grant: keyGrant(), options: formats.Options{GCSEndpoint: "http://127.0.0.1:1"},
			want: "# rclone lsf photos:g-1\n[photos]\ntype = google cloud storage\nbucket_policy_only = true\nendpoint = http://127.0.0.1:1\n" +
				`service_account_credentials = {"type":"service_account","project_id":"p-1","private_key_id":"k","private_key":"-----BEGIN-----\nab+/\n-----END-----\n",` +
				`"client_email":"sa@p-1","client_id":"1","token_uri":"http://127.0.0.1:1/token"}` + "\n",
		},
		"s3cmd": {
			format: "s3cmd", grant: s3Grant(),
			want: "# s3cmd --config FILE ls s3://b-1\n[default]\naccess_key = AKIA\nsecret_key = wJal/+=x\nbucket_location = eu-1\nhost_base = s3.example.com:9000\n" +
				"host_bucket = s3.example.com:9000\nuse_https = True\n",
		},
		"mc": {
			format: "mc", grant: s3Grant("AWS_SECRET_ACCESS_KEY=\"<&>"),
			want: `{"url":"https://s3.example.com:9000","accessKey":"AKIA","secretKey":"\"<&>","api":"s3v4","path":"on"}`,
		},
		"az": {
			format: "az", grant: azureGrant(),
			want: "# az storage blob list --container-name c-1\nexport AZURE_STORAGE_CONNECTION_STRING='BlobEndpoint=https://acct.blob.core.windows.net;SharedAccessSignature=sv=1&sig=a%2Fb'\n",
		},
		"az, of an emulator": {
			format: "az", grant: azureGrant("AZURE_STORAGE_SAS_TOKEN=http://127.0.0.1:1/devstoreaccount1/c-1?sig=x"),
			want: "# az storage blob list --container-name c-1\nexport AZURE_STORAGE_CONNECTION_STRING='BlobEndpoint=http://127.0.0.1:1/devstoreaccount1;SharedAccessSignature=sig=x'\n",
		},
		"az, for a token without a URL": {
			format: "az", grant: azureGrant("AZURE_STORAGE_SAS_TOKEN=?sig=x"),
			want: "export AZURE_STORAGE_CONNECTION_STRING='BlobEndpoint=https://acct.blob.core.windows.net;SharedAccessSignature=sig=x'\n",
		},
		"az, on a terminal": {
			format: "az", grant: azureGrant(), options: formats.Options{Redact: true},
			want: "# az storage blob list --container-name c-1\nexport AZURE_STORAGE_CONNECTION_STRING='BlobEndpoint=https://acct.blob.core.windows.net;SharedAccessSignature=[redacted]'\n",
		},
		"gcloud": {
			format: "gcloud", grant: keyGrant(),
			want: `{"type":"service_account","project_id":"p-1","private_key_id":"k","private_key":"-----BEGIN-----\nab+/\n-----END-----\n","client_email":"sa@p-1",` +
				`"client_id":"1","token_uri":"https://oauth2.googleapis.com/token"}`,
		},
		"json, with terminal control characters": {
			format: "json", grant: grant("COSI_PROTOCOL=S3", "AWS_SECRET_ACCESS_KEY=\x1b[2J"),
			want: `{"secrets":[{"claim":"photos","secret":"photos-credentials","values":{"AWS_SECRET_ACCESS_KEY":"\u001b[2J","COSI_PROTOCOL":"S3"}}]}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			if err := formats.Write(&out, tc.format, []formats.Grant{tc.grant}, tc.options); err != nil {
				t.Fatal(err)
			}
			got := out.String()
			if strings.HasPrefix(tc.want, "{") { // ignore whitespace
				got = strings.NewReplacer("\n", "", ": ", ":", "  ", "").Replace(got)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("output (-want, +got):\n%s", diff)
			}
		})
	}
}

func TestWriteRefuses(t *testing.T) {
	t.Parallel()
	plain := []formats.Grant{s3Grant()}
	for name, tc := range map[string]struct {
		format string
		grants []formats.Grant
		want   string
	}{
		"a format that there is not":                {"xml", plain, `unknown format "xml": use one of shell, dotenv, aws, rclone, s3cmd, mc, az, gcloud, gitlab, barman, velero, loki, thanos, spring, json`},
		"two buckets where there is room for one":   {"shell", []formats.Grant{s3Grant(), s3Grant()}, "the access has 2: select one with --claim"},
		"a Secret of no protocol":                   {"shell", []formats.Grant{grant("COSI_PROTOCOL=FTP")}, "the value of COSI_PROTOCOL is not one of S3, Azure, GCS"},
		"a line in a value of one line":             {"aws", []formats.Grant{s3Grant("AWS_DEFAULT_REGION=x\n[profile default]\ncredential_process = id")}, "the value of AWS_DEFAULT_REGION contains characters that no driver delivers"},
		"terminal control characters":               {"shell", []formats.Grant{s3Grant("AWS_ACCESS_KEY_ID=\x1b[2J")}, "the value of AWS_ACCESS_KEY_ID contains characters"},
		"a return in PEM":                           {"shell", []formats.Grant{s3Grant("COSI_CERTIFICATE_AUTHORITY=a\rb")}, "the value of COSI_CERTIFICATE_AUTHORITY contains characters"},
		"text that turns its direction":             {"shell", []formats.Grant{s3Grant("BUCKET_NAME=a\u202eb")}, "the value of BUCKET_NAME contains characters"},
		"bytes that are no text":                    {"json", []formats.Grant{s3Grant("BUCKET_NAME=\xff")}, "the value of BUCKET_NAME contains characters"},
		"a comment in a value of a file":            {"aws", []formats.Grant{s3Grant("AWS_SECRET_ACCESS_KEY=a #b")}, "the value of aws_secret_access_key contains a character"},
		"an interpolation":                          {"rclone", []formats.Grant{s3Grant("AWS_SECRET_ACCESS_KEY=%(type)s")}, "the value of secret_access_key contains a character"},
		"an interpolation in a host":                {"s3cmd", []formats.Grant{s3Grant("AWS_ENDPOINT_URL=http://%25(x)s")}, "the value of host_base contains a character"},
		"a quote that .env files read as they like": {"dotenv", []formats.Grant{s3Grant("AWS_SECRET_ACCESS_KEY=a'b")}, "AWS_SECRET_ACCESS_KEY contains a character that other programs"},
		"a second field in a connection string":     {"az", []formats.Grant{azureGrant("AZURE_STORAGE_SAS_TOKEN=https://a/c?sig=x;AccountKey=y")}, "AZURE_STORAGE_SAS_TOKEN contains a character"},
		"a token that is no URL":                    {"az", []formats.Grant{azureGrant("AZURE_STORAGE_SAS_TOKEN=https://[/c?sig=x")}, "is not a URL with a signature"},
		"S3 at az":                                  {"az", plain, `the format supports only Azure, but the protocol of claim "photos" is S3: use one of shell, dotenv, aws, rclone, s3cmd, mc, gitlab, barman, velero, loki, thanos, spring, json`},
		"S3 at gcloud":                              {"gcloud", plain, "the format supports only Google Cloud Storage, but the protocol"},
		"Azure at aws":                              {"aws", []formats.Grant{azureGrant()}, `the protocol of claim "photos" is Azure: use one of shell, dotenv, az, rclone, barman, spring, json`},
		"Google without an HMAC key at mc":          {"mc", []formats.Grant{keyGrant()}, "an S3 client requires an HMAC key: use the format gcloud or rclone"},
		"Google with nothing but one at gcloud":     {"gcloud", []formats.Grant{hmacGrant()}, "contains an HMAC key, which Google's own clients do not support"},
		"a service account at S3":                   {"rclone", []formats.Grant{grant("COSI_PROTOCOL=S3", "BUCKET_NAME=b")}, "authenticates by ServiceAccount"},
		"a service account at Azure":                {"az", []formats.Grant{grant("COSI_PROTOCOL=Azure", "AZURE_STORAGE_ACCOUNT=a")}, "authenticates by ServiceAccount"},
		"a service account at Google":               {"rclone", []formats.Grant{grant("COSI_PROTOCOL=GCS", "BUCKET_NAME=g")}, "authenticates by ServiceAccount"},
		"an endpoint that is none":                  {"s3cmd", []formats.Grant{s3Grant("AWS_ENDPOINT_URL=s3.example.com")}, "the value of AWS_ENDPOINT_URL is not a URL"},
		"a command as a container":                  {"az", []formats.Grant{azureGrant("AZURE_STORAGE_SAS_TOKEN=https://a/$(id)?sig=x")}, "does not contain the name of a container"},
		"a line break in a container at az":         {"az", []formats.Grant{azureGrant("AZURE_STORAGE_SAS_TOKEN=https://a/c%0Aexport%20A=b?sig=x")}, "does not contain the name of a container"},
		"a line break in a container at rclone":     {"rclone", []formats.Grant{azureGrant("AZURE_STORAGE_SAS_TOKEN=https://a/c%0A[other]?sig=x")}, "does not contain the name of a container"},
		"an endpoint with a password and a path":    {"thanos", []formats.Grant{s3Grant("AWS_ENDPOINT_URL=https://user:password@s3.example.com/store")}, "such as that of s3.example.com"},
		"an endpoint with a path at s3cmd":          {"s3cmd", []formats.Grant{s3Grant("AWS_ENDPOINT_URL=https://s3.example.com/store")}, "does not support endpoints with a path"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			err := formats.Write(&out, tc.format, tc.grants, formats.Options{})
			if err == nil || !strings.Contains(err.Error(), tc.want) || out.Len() > 0 {
				t.Errorf("want an error with %q and no output, got %v and %q", tc.want, err, out.String())
			}
			if err != nil && (strings.Contains(err.Error(), "wJal") || strings.Contains(err.Error(), "user:password")) {
				t.Errorf("the error holds the secret: %v", err)
			}
		})
	}
}

// TestSeveralBuckets verifies that each bucket has its own section.
func TestSeveralBuckets(t *testing.T) {
	t.Parallel()
	other := s3Grant("BUCKET_NAME=b-2")
	other.Claim = "archive"
	for format, want := range map[string][]string{
		"aws": {"[profile photos]", "[profile archive]"}, "rclone": {"[photos]", "[archive]"}, "json": {`"claim": "photos"`, `"claim": "archive"`},
	} {
		var out bytes.Buffer
		if err := formats.Write(&out, format, []formats.Grant{s3Grant(), other}, formats.Options{}); err != nil {
			t.Fatal(err)
		}
		for _, one := range want {
			if strings.Count(out.String(), one) != 1 {
				t.Errorf("%s lacks %s:\n%s", format, one, out.String())
			}
		}
	}
}

// TestNothingSecretIsLeftOnATerminal looks for every secret of every protocol in the redacted output of every
// format.
func TestNothingSecretIsLeftOnATerminal(t *testing.T) {
	t.Parallel()
	for _, format := range formats.Names() {
		for protocol, one := range map[string]formats.Grant{"S3": s3Grant(), "Azure": azureGrant(), "HMAC": hmacGrant(), "key": keyGrant()} {
			var out bytes.Buffer
			if err := formats.Write(&out, format, []formats.Grant{one}, formats.Options{Redact: true}); err != nil {
				continue // covered by TestWriteRefuses
			}
			for _, secret := range []string{"wJal", "sig=", "h/+=", "ab+/"} {
				if strings.Contains(out.String(), secret) {
					t.Errorf("%s of %s shows %s:\n%s", format, protocol, secret, out.String())
				}
			}
		}
	}
}

// TestAGrantDoesNotPrint tries all verbs of package fmt.
func TestAGrantDoesNotPrint(t *testing.T) {
	t.Parallel()
	one := s3Grant()
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%x", "%q"} {
		for _, value := range []any{one, &one, []formats.Grant{one}, maps.Collect(maps.All(map[string]formats.Grant{"a": one}))} {
			if text := fmt.Sprintf(verb, value); strings.Contains(text, "wJal") || strings.Contains(text, "774a616c") || strings.Contains(text, "0x77") {
				t.Errorf("%s of %T: %s", verb, value, text)
			}
		}
	}
}
