// SPDX-License-Identifier: Apache-2.0

package peercmd_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/cmd/cooper/internal/peercmd"
)

func request(line string, variables map[string]string, container bool) peercmd.Request {
	words := strings.Fields(line)
	return peercmd.Request{Program: words[0], Args: words[1:], Container: container, Lookup: func(name string) (string, bool) {
		value, ok := variables[name]
		return value, ok
	}}
}

// TestTranslate translates the command lines of the images' documentation and of the modules of testcontainers.
func TestTranslate(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		line      string
		variables map[string]string
		container bool
		want      string
		notes     []string
	}{
		"the Azurite module of testcontainers-go": {
			line: "azurite --blobHost 0.0.0.0 --blobPort 10000 --queueHost 0.0.0.0 --queuePort 10001 --tableHost 0.0.0.0 --tablePort 10002",
			want: "fakes azure --like=azurite --listen=0.0.0.0:10000 --queue-listen=0.0.0.0:10001 --table-listen=0.0.0.0:10002",
		},
		"its option for one service": {
			line: "/bin/azurite-blob --blobHost 0.0.0.0 --blobPort 10000",
			want: "fakes azure --like=azurite --listen=0.0.0.0:10000 --queue-listen= --table-listen=",
		},
		"its option for memory": {
			line:  "azurite --blobHost=0.0.0.0 --inMemoryPersistence --extentMemoryLimit 64.000000",
			want:  "fakes azure --like=azurite --listen=0.0.0.0:10000 --queue-listen=127.0.0.1:10001 --table-listen=127.0.0.1:10002",
			notes: []string{"the option extentMemoryLimit has no effect: large bodies are in temporary files"},
		},
		"Azurite as the command of the image": {
			line: "/cooper azurite -l /data --loose",
			want: "fakes azure --like=azurite --listen=127.0.0.1:10000 --data=/data --queue-listen=127.0.0.1:10001 --table-listen=127.0.0.1:10002",
			notes: []string{
				"the option loose has no effect: cooper rejects unsupported headers and parameters",
			},
		},
		"Azurite with a certificate, and the option that its SDKs need then": {
			line:  "azurite-blob --cert cert.pem --key key.pem --oauth basic",
			want:  "fakes azure --like=azurite --listen=127.0.0.1:10000 --tls-cert=cert.pem --tls-key=key.pem --queue-listen= --table-listen=",
			notes: []string{"the option oauth has no effect: with TLS, cooper accepts the tokens that it issued, and evaluates their roles"},
		},
		"the Azurite module of testcontainers for Python": {
			line: "/cooper", variables: map[string]string{"AZURITE_ACCOUNTS": "a:a2V5"}, container: true,
			want: "fakes azure --like=azurite --listen=0.0.0.0:10000 --data=/data --queue-listen=0.0.0.0:10001 --table-listen=0.0.0.0:10002",
		},
		"the MinIO module of testcontainers-go": {
			line: "/cooper server /data", container: true,
			want: "fakes s3 --like=minio --listen=0.0.0.0:9000 --data=/data",
		},
		"the MinIO module of testcontainers for Node": {
			line: "/cooper server --console-address :9001 /data", container: true,
			want:  "fakes s3 --like=minio --listen=0.0.0.0:9000 --data=/data",
			notes: []string{"the option console-address has no effect: cooper has no console"},
		},
		"MinIO on a machine": {
			line: "minio server /data",
			want: "fakes s3 --like=minio --listen=127.0.0.1:9000 --data=/data",
		},
		"MinIO by its name": {
			line: "minio server --address 127.0.0.1:9100 /data",
			want: "fakes s3 --like=minio --listen=127.0.0.1:9100 --data=/data",
		},
		"MinIO with a directory that contains certificates": {
			line: "minio server -S testdata/certs /data",
			want: "fakes s3 --like=minio --listen=127.0.0.1:9000 --data=/data --tls-cert=testdata/certs/public.crt --tls-key=testdata/certs/private.key",
		},
		"MinIO with a directory without certificates": {
			line: "minio server --certs-dir testdata /data",
			want: "fakes s3 --like=minio --listen=127.0.0.1:9000 --data=/data",
		},
		"MinIO with a certificate without its key": {
			line: "minio server --certs-dir testdata/keyless /data",
			want: "fakes s3 --like=minio --listen=127.0.0.1:9000 --data=/data",
		},
		"the Google module of testcontainers for Node": {
			line: "fake-gcs-server -host 0.0.0.0 -scheme http -external-url http://gcs:4443",
			want: "fakes gcs --like=fake-gcs-server --listen=0.0.0.0:4443 --url=http://gcs:4443",
		},
		"fake-gcs-server by its options": {
			line:  "/cooper -scheme http -host 0.0.0.0 -port 4443 -public-host localhost:4443 -data /nowhere -backend memory",
			want:  "fakes gcs --like=fake-gcs-server --listen=0.0.0.0:4443",
			notes: []string{"the option public-host has no effect: cooper accepts every host name"},
		},
		"fake-gcs-server by its variables": {
			line: "fake-gcs-server", variables: map[string]string{"FAKE_GCS_SCHEME": "http", "FAKE_GCS_PORT": "8080", "FAKE_GCS_HOST": "127.0.0.1", "FAKE_GCS_DATA": "."},
			want: "fakes gcs --like=fake-gcs-server --listen=127.0.0.1:8080 --seed-dir=.",
		},
		"fake-gcs-server with a certificate": {
			line: "fake-gcs-server -cert-location cert.pem -private-key-location key.pem",
			want: "fakes gcs --like=fake-gcs-server --listen=127.0.0.1:4443 --tls=true --tls-cert=cert.pem --tls-key=key.pem",
		},
		"fake-gcs-server over HTTP with a certificate": {
			line: "fake-gcs-server -scheme http -cert-location cert.pem -private-key-location key.pem",
			want: "fakes gcs --like=fake-gcs-server --listen=127.0.0.1:4443",
		},
		"fake-gcs-server by default": {
			line: "fake-gcs-server -filesystem-root /storage",
			want: "fakes gcs --like=fake-gcs-server --listen=127.0.0.1:4443 --tls=true --data=/storage",
		},
		"the LocalStack module of testcontainers-go": {
			line: "/cooper", variables: map[string]string{"LOCALSTACK_HOST": "localhost"}, container: true,
			want: "fakes s3 --like=localstack --listen=0.0.0.0:4566",
		},
		"LocalStack on a machine": {
			line: "cooper localstack start",
			want: "fakes s3 --like=localstack --listen=127.0.0.1:4566",
		},
		"LocalStack with its variable": {
			line: "localstack start", variables: map[string]string{"GATEWAY_LISTEN": ":4567,:443"},
			want: "fakes s3 --like=localstack --listen=0.0.0.0:4567",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok, err := peercmd.Translate(request(test.line, test.variables, test.container))
			if err != nil || !ok || strings.Join(got.Args, " ") != test.want {
				t.Errorf("got %t %v %q, want %q", ok, err, strings.Join(got.Args, " "), test.want)
			}
			if diff := cmp.Diff(test.notes, got.Notes); diff != "" {
				t.Errorf("notes (-want +got):\n%s", diff)
			}
		})
	}
}

// TestOwnCommandLines checks that cooper's own command lines are not translated.
func TestOwnCommandLines(t *testing.T) {
	t.Parallel()
	for _, line := range []string{"cooper", "cooper up", "cooper --help", "cooper -h", "cooper --version", "cooper fakes s3 --like minio", "cooper unknown -port 1"} {
		if got, ok, err := peercmd.Translate(request(line, map[string]string{"LOCALSTACK_HOST": "localhost", "AZURITE_ACCOUNTS": "a"}, false)); ok || err != nil {
			t.Errorf("%s: got %v, %v", line, got, err)
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"azurite --unknown":                       "azurite: cooper does not support the option unknown",
		"azurite --cert /cert.pfx --pwd secret":   "azurite: cooper does not support the option pwd: convert the PFX file to PEM files",
		"azurite --blobPort":                      "azurite: option --blobPort requires a value",
		"azurite -l /data --inMemoryPersistence":  "mutually exclusive",
		"azurite stray":                           `unexpected argument: "stray"`,
		"azurite-queue":                           "azurite-queue: cooper does not serve Queue Storage",
		"azurite-table":                           "azurite-table: cooper does not serve Table Storage",
		"minio server /a /b":                      "only one local directory",
		"minio server http://host{1...4}/data":    "only one local directory",
		"minio gateway s3":                        "only the command `minio server DIRECTORY`",
		"cooper server":                           "minio: cooper supports only one local directory",
		"fake-gcs-server -scheme both":            `the scheme "both"`,
		"fake-gcs-server -event.bucket photos":    "cooper sends no events",
		"fake-gcs-server -cors-headers X-Goog-Me": "set the CORS configuration of each bucket",
		"localstack stop":                         "only the command `localstack start`",
		"localstack start -d":                     "does not support the option detached: start cooper in the background",
	} {
		if _, ok, err := peercmd.Translate(request(line, nil, false)); !ok || err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %t %v, want %q", line, ok, err, want)
		}
	}
}

func FuzzTranslate(f *testing.F) {
	for _, seed := range []string{"azurite -l /data", "minio server /data", "cooper -scheme http -port=1", "localstack start", "cooper server --address"} {
		f.Add(seed, true)
	}
	f.Fuzz(func(t *testing.T, line string, container bool) {
		if strings.TrimSpace(line) == "" {
			return
		}
		got, ok, err := peercmd.Translate(request(line, nil, container))
		if ok && err == nil && (len(got.Args) < 3 || got.Args[0] != "fakes") {
			t.Errorf("%q is translated to %q", line, got.Args)
		}
	})
}
