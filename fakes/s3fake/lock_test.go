// SPDX-License-Identifier: Apache-2.0

package s3fake_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestLocksHoldAgainstRoot follows "How S3 Object Lock works" (Amazon S3 User Guide) as the root user, who has all
// permissions.
func TestLocksHoldAgainstRoot(t *testing.T) {
	t.Parallel()
	const (
		locked  = "/vault/k?versionId={version}"
		past    = `<Retention><Mode>COMPLIANCE</Mode><RetainUntilDate>2098-01-01T00:00:00Z</RetainUntilDate></Retention>`
		later   = `<Retention><Mode>COMPLIANCE</Mode><RetainUntilDate>2100-01-01T00:00:00Z</RetainUntilDate></Retention>`
		weaker  = `<Retention><Mode>GOVERNANCE</Mode><RetainUntilDate>2100-01-01T00:00:00Z</RetainUntilDate></Retention>`
		strict  = `<Retention><Mode>COMPLIANCE</Mode><RetainUntilDate>2099-01-01T00:00:00Z</RetainUntilDate></Retention>`
		several = `<Delete><Object><Key>k</Key><VersionId>{version}</VersionId></Object></Delete>`
		release = `<LegalHold><Status>OFF</Status></LegalHold>`
		yearly  = `<ObjectLockConfiguration><ObjectLockEnabled>Enabled</ObjectLockEnabled><Rule><DefaultRetention><Mode>COMPLIANCE</Mode><Years>1</Years></DefaultRetention></Rule></ObjectLockConfiguration>`
	)
	put := operation{method: http.MethodPut, path: "/vault/k", body: "x"}
	lock := func(body string) operation {
		return operation{method: http.MethodPut, path: "/vault/k?retention", headers: bypass, body: body}
	}
	remove := operation{method: http.MethodDelete, path: locked, headers: bypass}
	part := operation{method: http.MethodPut, path: "/vault/k?partNumber=1&uploadId={upload}", body: "part"}
	// bare has no Content-MD5, as today's clients send requests.
	bare := func(op operation) operation {
		op.headers = "Content-Md5: "
		return op
	}
	type step struct {
		name string
		op   operation
		want int
		says string
	}
	refused := func(name string, op operation) step {
		return step{name, op, http.StatusForbidden, "Access Denied because object protected by object lock."}
	}
	done := func(name string, op operation) step { return step{name, op, 0, ""} }
	tests := map[string][]step{
		"compliance cannot be shortened, weakened, lifted or passed": {
			done("put", put), done("retain", lock(strict)),
			refused("delete the version", remove), refused("shorten", lock(past)), refused("weaken", lock(weaker)), refused("lift", lock(`<Retention/>`)),
			done("extend", lock(later)), refused("delete the version", remove),
			done("hide it behind a delete marker", operation{method: http.MethodDelete, path: "/vault/k"}),
			{"delete the bucket", operation{method: http.MethodDelete, path: "/vault"}, http.StatusConflict, "BucketNotEmpty"},
		},
		"a legal hold holds until it is off": {
			done("put", put), done("hold", operation{method: http.MethodPut, path: "/vault/k?legal-hold", body: hold}),
			refused("delete the version", remove), done("release", operation{method: http.MethodPut, path: "/vault/k?legal-hold", body: release}), done("delete the version", remove),
		},
		"governance is passed when asked for": {
			done("put", put), done("retain", lock(retention)),
			refused("delete the version", operation{method: http.MethodDelete, path: locked}),
			{"delete the version with others", operation{method: http.MethodPost, path: "/vault?delete", body: several}, http.StatusOK, "object protected by object lock"},
			done("delete the version", remove),
		},
		"the default retention is that of every new version": {
			done("configure", operation{method: http.MethodPut, path: "/vault?object-lock", body: yearly}),
			done("put", put), refused("delete the version", remove),
			done("copy", operation{method: http.MethodPut, path: "/vault/k", headers: "X-Amz-Copy-Source: vault/k\nX-Amz-Metadata-Directive: REPLACE"}), refused("delete the copy", remove),
			done("start", operation{method: http.MethodPost, path: "/vault/k?uploads"}),
			done("upload", part),
			done("complete", operation{method: http.MethodPost, path: "/vault/k?uploadId={upload}", body: parts}), refused("delete what was uploaded in parts", remove),
		},
		"what a default retention locks comes with a checksum": {
			done("start", operation{method: http.MethodPost, path: "/vault/k?uploads"}),
			done("configure", operation{method: http.MethodPut, path: "/vault?object-lock", body: yearly}),
			{"put", bare(put), http.StatusBadRequest, "required for Put Object requests with Object Lock parameters"},
			{"upload", bare(part), http.StatusBadRequest, "required for Put Part requests with Object Lock parameters"},
			done("put with one", operation{method: http.MethodPut, path: "/vault/k", headers: bare(put).headers + "\nX-Amz-Checksum-Crc32: jNwWgw==", body: "x"}),
		},
		"a copy does not take its source's lock along": {
			done("put", put), done("retain", lock(strict)),
			done("copy", operation{method: http.MethodPut, path: "/vault/copy", headers: "X-Amz-Copy-Source: vault/k"}),
			{"read its retention", operation{method: http.MethodGet, path: "/vault/copy?retention"}, http.StatusNotFound, "NoSuchObjectLockConfiguration"},
		},
		"an upload is locked as it was begun": {
			done("start", operation{method: http.MethodPost, path: "/vault/k?uploads", headers: strings.ReplaceAll(until, "GOVERNANCE", "COMPLIANCE")}),
			done("upload", part),
			done("complete", operation{method: http.MethodPost, path: "/vault/k?uploadId={upload}", body: parts}), refused("delete the version", remove),
		},
		"a bucket without versions has no lock": {
			{"configure", operation{method: http.MethodPut, path: "/empty?object-lock", body: yearly}, http.StatusConflict, "InvalidBucketState"},
			done("put", operation{method: http.MethodPut, path: "/empty/k", body: "x"}),
			{"hold", operation{method: http.MethodPut, path: "/empty/k?legal-hold", body: hold}, http.StatusBadRequest, "Bucket is missing Object Lock Configuration"},
		},
	}
	for name, steps := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.send(t, w.Root(), operation{method: http.MethodPut, path: "/vault", headers: "X-Amz-Bucket-Object-Lock-Enabled: true"})
			for _, s := range steps {
				got := w.send(t, w.Root(), s.op)
				ok := got.Code == s.want && strings.Contains(got.Body.String(), s.says)
				if s.want == 0 {
					ok = got.Code < http.StatusMultipleChoices
				}
				if !ok {
					t.Fatalf("%s: got %d %s, want %d %s", s.name, got.Code, got.Body, s.want, s.says)
				}
				if s.op.method != http.MethodDelete {
					w.learn(s.op, got)
				}
			}
		})
	}
}
