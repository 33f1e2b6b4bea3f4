// SPDX-License-Identifier: Apache-2.0

package fakecmd

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"slices"
	"strings"
)

// A peer is a program that a fake replaces with --like. Its settings make existing clients and tools work unchanged.
type peer struct {
	// fake is the name that the fake's command passes to Define.
	fake string
	// defaults are the values of flags that are not set.
	defaults map[string]string
	// variables are the peer's environment variables, and the flags that they set. former are variables with former names,
	// which set only flags that the others do not set.
	variables, former map[string]string
	// health maps the paths that tools poll to the response: JSON, or an empty body.
	health map[string]string
	// unserved is the prefix of the paths of an API that the fake does not support, and refusal the body of the response
	// 501.
	unserved, refusal string
	// ready are the lines that tools wait for. %s is the URL.
	ready []string
}

// peers are the values of --like. The credentials are public: every user of the peer has them.
var peers = map[string]peer{
	"localstack": {
		fake: "s3fake",
		defaults: map[string]string{
			"listen": "127.0.0.1:4566", "root-access-key-id": "test", "root-secret-access-key": "test",
			"domain": "s3.localhost.localstack.cloud,localhost.localstack.cloud",
		},
		health: map[string]string{
			"/_localstack/health":     `{"services": {"s3": "running", "iam": "running", "sts": "running", "sqs": "running"}, "edition": "cooper"}`,
			"/_localstack/init":       `{"completed": {"BOOT": true, "START": true, "READY": true, "SHUTDOWN": false}, "scripts": []}`,
			"/_localstack/init/ready": `{"completed": true, "scripts": []}`,
			"/_localstack/init/READY": `{"completed": true, "scripts": []}`,
		},
		ready: []string{"Ready."},
	},
	"minio": {
		fake:     "s3fake",
		defaults: map[string]string{"listen": "127.0.0.1:9000", "root-access-key-id": "minioadmin", "root-secret-access-key": "minioadmin"},
		variables: map[string]string{ //nolint:gosec // the values are names of flags
			"MINIO_ROOT_USER": "root-access-key-id", "MINIO_ROOT_PASSWORD": "root-secret-access-key", "MINIO_DOMAIN": "domain", "MINIO_REGION": "region",
		},
		former:   map[string]string{"MINIO_ACCESS_KEY": "root-access-key-id", "MINIO_SECRET_KEY": "root-secret-access-key"}, //nolint:gosec // the values are names of flags
		health:   map[string]string{"/minio/health/live": "", "/minio/health/ready": "", "/minio/health/cluster": "", "/minio/health/cluster/read": ""},
		unserved: "/minio/admin/",
		refusal: xml.Header + "<Error><Code>NotImplemented</Code><Message>This fake does not support MinIO's API for administrators. " +
			"Create users with IAM, or in a seed.</Message></Error>",
		ready: []string{"API: %s"},
	},
	"azurite": {
		fake: "azurefake",
		// The account and its key are those of the fake's own default.
		defaults:  map[string]string{"listen": "127.0.0.1:10000", "queue-listen": ":10001", "table-listen": ":10002", "deletion": "-1s"},
		variables: map[string]string{"AZURITE_ACCOUNTS": "account"},
		ready:     []string{"Azurite Blob service is starting at %s", "Azurite Blob service is successfully listening at %s"},
	},
	"fake-gcs-server": {
		fake:      "gcsfake",
		defaults:  map[string]string{"listen": "127.0.0.1:4443", "anonymous-is": "cooper-admin"},
		variables: map[string]string{"FAKE_GCS_EXTERNAL_URL": "url"},
		// The fake takes its own URL from each request, so the configuration has no effect.
		health: map[string]string{"/_internal/healthcheck": "", "/_internal/config": "{}"},
		ready:  []string{`level=INFO msg="server started at %s"`},
	},
}

// likes returns the names of the peers of a fake, sorted.
func likes(fake string) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		if peers[name].fake == fake {
			out = append(out, name)
		}
	}
	return out
}

// Resolve sets the flags that --like implies, and completes the address of --listen. Call it before the flags are
// used.
func (f *Flags) Resolve() error {
	f.like = peers[f.Like]
	if f.Like != "" && f.like.fake != f.name {
		return fmt.Errorf("--like %s: this fake can be like %s", f.Like, strings.Join(likes(f.name), " or "))
	}
	if err := errors.Join(f.implyVariables(f.like.variables), f.implyVariables(f.like.former)); err != nil {
		return err
	}
	for flag, value := range f.like.defaults {
		if err := f.imply(flag, value); err != nil {
			return fmt.Errorf("--like %s: %w", f.Like, err)
		}
	}
	if f.Cert != "" {
		f.TLS = true
		f.CAFile = cmp.Or(f.CAFile, f.Cert) // clients trust a self-signed certificate like a CA
	}
	if (f.Cert == "") != (f.Key == "") {
		return errors.New("--tls-cert and --tls-key must be set together")
	}
	if _, _, err := net.SplitHostPort(f.Listen); err != nil && !strings.Contains(f.Listen, "]") {
		_, port, _ := net.SplitHostPort(cmp.Or(f.like.defaults["listen"], f.listen))
		f.Listen = net.JoinHostPort(f.Listen, port)
	}
	return nil
}

// implyVariables sets the flags of environment variables that are not set.
func (f *Flags) implyVariables(flags map[string]string) error {
	for _, variable := range slices.Sorted(maps.Keys(flags)) {
		value := os.Getenv(variable)
		if value == "" {
			continue
		}
		if err := f.imply(flags[variable], value); err != nil {
			return fmt.Errorf("environment variable %s: %w", variable, err)
		}
	}
	return nil
}

// imply sets a flag that is not set.
func (f *Flags) imply(flag, value string) error {
	if known := f.flags.Lookup(flag); known == nil || known.Changed {
		return nil
	}
	return f.flags.Set(flag, value)
}

// Loopback reports whether the fake listens only on a loopback address.
func (f *Flags) Loopback() bool {
	host, _, _ := net.SplitHostPort(f.Listen)
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// announceReady prints the lines that tools of the peer wait for.
func (f *Flags) announceReady(w io.Writer, url string) {
	for _, line := range f.like.ready {
		if strings.Contains(line, "%s") {
			line = fmt.Sprintf(line, url)
		}
		fmt.Fprintln(w, line)
	}
}

// serveHealth responds to the peer's health checks, and to calls of an API that only the peer has. It reports whether
// the request is one of them.
func (f *Flags) serveHealth(w http.ResponseWriter, r *http.Request) bool {
	if f.like.unserved != "" && strings.HasPrefix(r.URL.Path, f.like.unserved) {
		w.Header().Set("Content-Type", "application/xml")
		w.WriteHeader(http.StatusNotImplemented)
		_, _ = io.WriteString(w, f.like.refusal) // fails only if the client has disconnected
		return true
	}
	body, ok := f.like.health[r.URL.Path]
	if !ok {
		return false
	}
	if body != "" {
		w.Header().Set("Content-Type", "application/json")
	}
	_, _ = io.WriteString(w, body) // fails only if the client has disconnected
	return true
}
