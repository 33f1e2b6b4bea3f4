// SPDX-License-Identifier: Apache-2.0

package replay_test

import (
	"cmp"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"cloud.google.com/go/storage"
	"golang.org/x/oauth2/google"
	"golang.org/x/oauth2/jwt"

	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

const (
	googleHost    = "https://storage.googleapis.com"
	googleBucket  = "go-cloud-blob-test-bucket"
	googleProject = "deklerk-sandbox"
	googleNumber  = "496169601714"
	googleAccount = "another-thing"
	// The tests of Requester Pays have a second account, which owns a bucket of the first by its access control list.
	secondProject = "gcloud-golang-firestore-tests"
	secondAccount = "integration"
	closedProject = "veener-jba" // neither account may bill it
)

// googleSuite is the traffic of 2026.
func googleSuite() suite {
	return suite{
		known: []exclusion{
			{match: `&name=&.* = 400: header Content-Type`, reason: "Google labels the error of an upload without a name as HTML", count: 1},
		},
		name: "Google", module: "gocloud.dev", files: "blob/gcsblob/testdata",
		want: score{recorded: 470, sent: 467, status: 467, equal: 466},
		start: func(t *testing.T, r *recording) service {
			t.Helper()
			out := startGoogle(t)
			// The other bucket exists, but is not the recorder's.
			for _, name := range []string{googleBucket, "bucket-does-not-exist"} {
				out.prepare(t, http.MethodPost, googleHost+"/storage/v1/b?project="+googleProject, nil, []byte(`{"name":"`+name+`","location":"US-EAST1","storageClass":"REGIONAL","iamConfiguration":{"uniformBucketLevelAccess":{"enabled":true}}}`))
			}
			for _, name := range r.leftovers(t, googleRules()) {
				out.prepare(t, http.MethodPost, googleHost+"/upload/storage/v1/b/"+googleBucket+"/o?uploadType=media&name="+url.QueryEscape(name), http.Header{"Content-Type": {"text/plain"}}, []byte(leftover))
			}
			return out
		},
		outside: []exclusion{
			{match: ` = 429( |$)`, reason: "Google limited the rate", count: 2},
			{match: `maxResults=1&pageToken=&prefix=&.* = 200`, reason: "the bucket held objects that are not recorded", count: 1},
		},
		rules: googleRules(),
	}
}

// googleIntegrationSuite is the traffic of 2019. What has changed since, and is in the traffic of 2026, is not compared.
func googleIntegrationSuite() suite {
	compared := googleRules()
	compared.ignored = regexp.MustCompile(compared.ignored.String() + `|^(Cache-Control|Pragma|Expires)$|^acl\[[01]\]\.(entity|projectTeam\.team)$`) // the order of the teams in resources
	compared.later = regexp.MustCompile(`^(.*\.)?(timeFinalized|locationType|iamConfiguration\..*|softDeletePolicy\..*|rpo|generation|version)$`)
	return suite{
		name: "Google 2019", module: "cloud.google.com/go/storage",
		want:  score{recorded: 419, sent: 394, status: 392, equal: 384},
		start: func(t *testing.T, _ *recording) service { t.Helper(); return startGoogle(t) },
		outside: []exclusion{
			{match: ` = 429( |$)`, reason: "Google limited the rate", count: 7},
			{match: `/notificationConfigs`, reason: "notifications", count: 5},
			{match: `gcp-public-data|/storage-library-test-bucket/`, reason: "buckets of others", count: 12},
			{match: `/b\?.*&prefix=go-integration-test&`, reason: "the project held buckets that are not recorded", count: 1},
		},
		known: []exclusion{
			{match: `ifMetagenerationNotMatch=1.* = 304: header Content-Type missing`, reason: "Go's server sends no Content-Type with 304", count: 1},
			{match: `/lockRetentionPolicy.*: (header Etag added|member owner.entity missing)`, reason: "Google sent an owner and no ETag with a locked policy", count: 1},
			{match: `^PATCH .*: member (acl|defaultObjectAcl|owner)[.\[].* added`, reason: "Google omitted the lists directly after uniform access was disabled", count: 1},
			{match: `/obj1 = 200: (status 206|header Content-Range added)`, reason: "Google ignored a range of the whole object", count: 2},
			{match: `/obj1 = 416: header Content-Range added`, reason: "Google's 416 had no Content-Range", count: 1},
			{match: `^GET .*: member metageneration "11", want "13"`, reason: "notifications, which are not sent, increased the metageneration twice", count: 2},
			{match: `/gzip-test = 200: `, reason: "Google decompressed an object", count: 1},
			{match: `= 403: member error.errors\[0\].reason "retentionPolicyNotMet"`, reason: "the reason of a refusal by a retention policy is newer", count: 1},
		},
		rules: compared,
	}
}

func googleRules() rules {
	return rules{
		format: func(e *exchange) string {
			switch target, _, _ := strings.Cut(e.Request.URL, "?"); {
			case e.Response.StatusCode == http.StatusNoContent:
				return data
			case strings.Contains(target, "/storage/v1/") && !strings.Contains(e.Request.URL, "alt=media"):
				return formJSON
			case e.Response.StatusCode >= http.StatusMultipleChoices:
				return formXML
			default:
				return data
			}
		},
		listed:  regexp.MustCompile(`^items\[\d+\]\.name$`),
		ignored: regexp.MustCompile(`^(Server|Alt-Svc|X-Guploader-.*)$|^error\.(errors\[\d+\]\.)?(debugInfo|extendedHelp)$`),
		varying: regexp.MustCompile(`^(Date|Etag|Expires|Last-Modified|X-Goog-Generation|X-Goog-Expiration|X-Goog-Encryption-Key-Sha256)$` +
			`|^(.*\.)?(id|selfLink|mediaLink|generation|etag|timeCreated|updated|timeStorageClassUpdated|timeFinalized|timeDeleted|lockedTime|effectiveTime|retentionExpirationTime|projectNumber|nextPageToken|rewriteToken|message|Message|Details|StringToSign|keySha256|email_address)$`),
	}
}

func startGoogle(t *testing.T) service {
	t.Helper()
	server := faketest.Start(t, gcsfake.New, gcsfake.Options{Projects: []gcsfake.Project{{ID: googleProject, Number: googleNumber}, {ID: secondProject}, {ID: closedProject}}})
	raw, err := server.AdminKey("")
	if err != nil {
		t.Fatal(err)
	}
	account, err := google.JWTConfigFromJSON(raw, storage.ScopeFullControl)
	if err != nil {
		t.Fatal(err)
	}
	stranger, err := server.NewAccount("", "stranger")
	if err != nil {
		t.Fatal(err)
	}
	recorder, err := server.NewAccount("", googleAccount)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Grant("", "serviceAccount:"+recorder, "roles/owner", "roles/storage.admin"); err != nil {
		t.Fatal(err)
	}
	second, err := server.NewAccount(secondProject, secondAccount)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Grant(secondProject, "serviceAccount:"+second, "roles/owner"); err != nil {
		t.Fatal(err)
	}
	tokens := map[string]string{}
	for _, email := range []string{recorder, stranger, second} {
		if tokens[email], err = server.Token(email); err != nil {
			t.Fatal(err)
		}
	}
	return service{url: server.URL(), sign: func(t *testing.T, r *http.Request, e *exchange) {
		t.Helper()
		encrypt(r.Header, e, "X-Goog-Encryption-")
		encrypt(r.Header, e, "X-Goog-Copy-Source-Encryption-")
		answered := string(e.Response.Body)
		switch {
		case r.URL.Query().Has("Signature"):
			r.URL.RawQuery = signedURL(t, account, r, e)
		case strings.Contains(answered, "Anonymous caller"):
		case strings.Contains(answered, "does not have storage."):
			r.Header.Set("Authorization", "Bearer "+tokens[stranger])
		case bySecondAccount(r, answered):
			r.Header.Set("Authorization", "Bearer "+tokens[second])
		default:
			r.Header.Set("Authorization", "Bearer "+tokens[recorder])
		}
	}}
}

// bySecondAccount reports whether the second account sent a request of the tests of Requester Pays. Each test makes the
// same call five times: as the first account without a project and with its own, then as the second account without a
// project, which Google refuses, and with its own and the closed one. The recording contains neither account.
func bySecondAccount(r *http.Request, answered string) bool {
	project := cmp.Or(r.URL.Query().Get("userProject"), r.Header.Get("X-Goog-User-Project"))
	return project == secondProject || project == closedProject || strings.Contains(answered, "no user project provided")
}

// encrypt replaces an encryption key that the recorder cleared with one that is derived from the key's checksum.
func encrypt(header http.Header, e *exchange, prefix string) {
	if header.Get(prefix+"Key") == "" {
		return
	}
	key := sha256.Sum256([]byte(e.Request.Header.Get(prefix + "Key-Sha256")))
	sum := sha256.Sum256(key[:])
	header.Set(prefix+"Key", base64.StdEncoding.EncodeToString(key[:]))
	header.Set(prefix+"Key-Sha256", base64.StdEncoding.EncodeToString(sum[:]))
}

// signedURL returns the query of a URL with Signature Version 2. If Google refused the signature, it is for another
// request.
func signedURL(t *testing.T, account *jwt.Config, r *http.Request, e *exchange) string {
	t.Helper()
	bucket, object, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	options := storage.SignedURLOptions{
		GoogleAccessID: account.Email, PrivateKey: account.PrivateKey, Method: r.Method, ContentType: r.Header.Get("Content-Type"), Expires: time.Now().Add(time.Hour),
	}
	if strings.Contains(string(e.Response.Body), "SignatureDoesNotMatch") {
		options.ContentType = "other"
	}
	signed, err := storage.SignedURL(bucket, object, &options)
	if err != nil {
		t.Fatal(err)
	}
	_, query, _ := strings.Cut(signed, "?")
	return query
}
