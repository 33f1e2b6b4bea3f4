// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"testing"
)

// TestRefusals sends requests of the administrator that the service does not do as they are.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, tc := range refusals() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			defer w.close(t)
			got := w.send(t, w.admin, tc.op)
			if got.Code != tc.status || !strings.Contains(got.Body.String(), tc.word) {
				t.Errorf("%d %s, want %d with %q", got.Code, got.Body.String(), tc.status, tc.word)
			}
			if tc.status == http.StatusUnauthorized && got.Header().Get("Www-Authenticate") == "" {
				t.Error("401 without WWW-Authenticate")
			}
		})
	}
}

// refusal is a request of the administrator that the service does not do as it is.
type refusal struct {
	op     operation
	status int
	// word is in the response.
	word string
}

func insertBucket(fields string) operation {
	return operation{method: "POST", path: "/storage/v1/b?project=cooper-fake", body: "{" + fields + "}"}
}

func patchBucket(fields string) operation {
	return operation{method: "PATCH", path: b, body: "{" + fields + "}"}
}

func setPolicy(doc string) operation {
	return operation{method: "PUT", path: b + "/iam", body: doc}
}

func setBinding(rest string) operation {
	return setPolicy(`{"version":3,"bindings":[{"role":"roles/storage.objectViewer",` + rest + `}]}`)
}

// variants are bindings of one role to one member under different conditions.
func variants(n int) string {
	out := make([]string, n)
	for i := range out {
		out[i] = fmt.Sprintf(`{"role":"roles/storage.objectViewer","members":["user:a@example.com"],"condition":{"title":"t","expression":"resource.name != '%d'"}}`, i)
	}
	return strings.Join(out, ",")
}

func newAccount(doc string) operation { return operation{method: "POST", path: sas, body: doc} }

// refusals returns all invalid requests, by their error.
func refusals() map[string]refusal {
	out := map[string]refusal{}
	for _, part := range []map[string]refusal{bucketRefusals(), objectRefusals(), policyRefusals(), hmacRefusals(), accountRefusals(), tokenRefusals(), xmlRefusals(), keyRefusals(), ambiguousRefusals()} {
		maps.Copy(out, part)
	}
	return out
}

// bucketRefusals has refusals of "Bucket naming guidelines: https://cloud.google.com/storage/docs/buckets#naming".
func bucketRefusals() map[string]refusal {
	return map[string]refusal{
		"a bucket name of two characters":            {insertBucket(`"name":"ab"`), 400, "invalid"},
		"a bucket name with capitals":                {insertBucket(`"name":"Abc"`), 400, "invalid"},
		"a bucket name that begins with goog":        {insertBucket(`"name":"googabc"`), 400, "invalid"},
		"a bucket name with google in it":            {insertBucket(`"name":"my-google-bucket"`), 400, "invalid"},
		"a bucket name that is an IP address":        {insertBucket(`"name":"192.168.5.4"`), 400, "invalid"},
		"a bucket name that ends with a dash":        {insertBucket(`"name":"abc-"`), 400, "invalid"},
		"a bucket name of 64 characters":             {insertBucket(`"name":"` + strings.Repeat("a", 64) + `"`), 400, "invalid"},
		"a bucket name that is a domain":             {insertBucket(`"name":"www.example.com"`), 403, "forbidden"},
		"a bucket without a name":                    {insertBucket(``), 400, "required"},
		"a bucket without a project":                 {operation{method: "POST", path: "/storage/v1/b", body: `{"name":"fresh"}`}, 400, "required"},
		"a bucket in a project that does not exist":  {operation{method: "POST", path: "/storage/v1/b?project=nowhere", body: `{"name":"fresh"}`}, 404, "notFound"},
		"a bucket that exists":                       {insertBucket(`"name":"docs"`), 409, "conflict"},
		"a location that does not exist":             {insertBucket(`"name":"fresh","location":"MOON"`), 400, "invalid"},
		"a storage class that does not exist":        {insertBucket(`"name":"fresh","storageClass":"WARM"`), 400, "invalid"},
		"a label key with capitals":                  {insertBucket(`"name":"fresh","labels":{"A":"b"}`), 400, "invalid"},
		"a label value of 64 characters":             {insertBucket(`"name":"fresh","labels":{"a":"` + strings.Repeat("v", 64) + `"}`), 400, "invalid"},
		"a soft delete of one day":                   {insertBucket(`"name":"fresh","softDeletePolicy":{"retentionDurationSeconds":"86400"}`), 400, "invalid"},
		"a soft delete of 91 days":                   {insertBucket(`"name":"fresh","softDeletePolicy":{"retentionDurationSeconds":"7862400"}`), 400, "invalid"},
		"a retention of nothing":                     {insertBucket(`"name":"fresh","retentionPolicy":{"retentionPeriod":"0"}`), 400, "invalid"},
		"a retention of more than 100 years":         {insertBucket(`"name":"fresh","retentionPolicy":{"retentionPeriod":"3155760001"}`), 400, "invalid"},
		"a prevention that does not exist":           {insertBucket(`"name":"fresh","iamConfiguration":{"publicAccessPrevention":"maybe"}`), 400, "invalid"},
		"a KMS key that is no name of one":           {insertBucket(`"name":"fresh","encryption":{"defaultKmsKeyName":"k"}`), 400, "invalid"},
		"a lifecycle action that does not exist":     {insertBucket(`"name":"fresh","lifecycle":{"rule":[{"action":{"type":"Burn"},"condition":{"age":1}}]}`), 400, "invalid"},
		"a lifecycle rule without a condition":       {insertBucket(`"name":"fresh","lifecycle":{"rule":[{"action":{"type":"Delete"}}]}`), 400, "invalid"},
		"a lifecycle age above 32 bits":              {insertBucket(`"name":"fresh","lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"age":3000000000}}]}`), 400, "lifecycle.rule.condition.age"},
		"a lifecycle class that is not a list":       {insertBucket(`"name":"fresh","lifecycle":{"rule":[{"action":{"type":"Delete"},"condition":{"matchesStorageClass":"STANDARD"}}]}`), 400, "matchesStorageClass"},
		"a CORS age above 32 bits":                   {insertBucket(`"name":"fresh","cors":[{"maxAgeSeconds":3000000000}]`), 400, "maxAgeSeconds"},
		"a website page that is not text":            {insertBucket(`"name":"fresh","website":{"mainPageSuffix":5}`), 400, "mainPageSuffix"},
		"a lifecycle class change without a class":   {insertBucket(`"name":"fresh","lifecycle":{"rule":[{"action":{"type":"SetStorageClass"},"condition":{"age":1}}]}`), 400, "invalid"},
		"labels that are a text":                     {insertBucket(`"name":"fresh","labels":"a"`), 400, "invalid"},
		"a document that is none":                    {operation{method: "POST", path: "/storage/v1/b?project=cooper-fake", body: `{`}, 400, "parseError"},
		"an ACL on a bucket with uniform access":     {insertBucket(`"name":"fresh","acl":[],"iamConfiguration":{"uniformBucketLevelAccess":{"enabled":true}}`), 400, "invalid"},
		"another location for a bucket":              {patchBucket(`"location":"EU"`), 400, "invalid"},
		"object retention on an existing bucket":     {patchBucket(`"objectRetention":{"mode":"Enabled"}`), 400, "invalid"},
		"a patch of another metageneration":          {operation{method: "PATCH", path: b + "?ifMetagenerationMatch=7", body: `{}`}, 412, "conditionNotMet"},
		"a metageneration that is no number":         {operation{method: "GET", path: b + "?ifMetagenerationMatch=x"}, 400, "invalid"},
		"a bucket that has not changed":              {operation{method: "GET", path: b + "?ifMetagenerationNotMatch=1"}, 304, ""},
		"a bucket that does not exist":               {operation{method: "GET", path: "/storage/v1/b/nowhere"}, 404, "notFound"},
		"the deletion of a bucket with objects":      {operation{method: "DELETE", path: b}, 409, "conflict"},
		"the deletion of a bucket that is not there": {operation{method: "DELETE", path: "/storage/v1/b/nowhere"}, 404, "notFound"},
		"the deletion of another metageneration":     {operation{method: "DELETE", path: "/storage/v1/b/empty?ifMetagenerationMatch=7"}, 412, "conditionNotMet"},
		"a lock without a metageneration":            {operation{method: "POST", path: "/storage/v1/b/kept/lockRetentionPolicy"}, 400, "required"},
		"a lock of a bucket without retention":       {operation{method: "POST", path: b + "/lockRetentionPolicy?ifMetagenerationMatch=1"}, 400, "invalid"},
		"a page size of nothing":                     {operation{method: "GET", path: b + "/o?maxResults=0"}, 400, "invalid"},
		"a page token that is none":                  {operation{method: "GET", path: b + "/o?pageToken=!"}, 400, "invalid"},
		"a dual-region of one region":                {insertBucket(`"name":"fresh","location":"US","customPlacementConfig":{"dataLocations":["US-EAST1"]}`), 400, "invalid"},
		"an Autoclass that ends in COLDLINE":         {insertBucket(`"name":"fresh","autoclass":{"enabled":true,"terminalStorageClass":"COLDLINE"}`), 400, "invalid"},
		"a method that a bucket does not have":       {operation{method: "POST", path: b}, 405, "methodNotAllowed"},
		"a path that does not exist":                 {operation{method: "GET", path: "/storage/v1/nothing"}, 404, "notFound"},
	}
}

// objectRefusals has refusals of "Objects: https://cloud.google.com/storage/docs/json_api/v1/objects and /status-codes".
func objectRefusals() map[string]refusal {
	return map[string]refusal{
		"an object that does not exist":             {operation{method: "GET", path: b + "/o/none"}, 404, "notFound"},
		"a generation that does not exist":          {operation{method: "GET", path: o + "?generation=1"}, 404, "notFound"},
		"an object of another generation":           {operation{method: "GET", path: o + "?ifGenerationMatch=1"}, 412, "conditionNotMet"},
		"an object that has not changed":            {operation{method: "GET", path: o + "?ifGenerationNotMatch={generation}"}, 304, ""},
		"a range after the end":                     {operation{method: "GET", path: o + "?alt=media", headers: "Range: bytes=99-"}, 416, "requestedRangeNotSatisfiable"},
		"an upload of no type":                      {operation{method: "POST", path: up + "?name=x", body: "x"}, 400, "invalid"},
		"an upload without a name":                  {operation{method: "POST", path: up + "?uploadType=media", body: "x"}, 400, "required"},
		"an object name of 1025 bytes":              {operation{method: "POST", path: up + "?uploadType=media&name=" + strings.Repeat("n", 1025), body: "x"}, 400, "invalid"},
		"an object name with a line end":            {operation{method: "POST", path: up + "?uploadType=media&name=a%0Ab", body: "x"}, 400, "invalid"},
		"an object named dot":                       {operation{method: "POST", path: up + "?uploadType=media&name=.", body: "x"}, 400, "invalid"},
		"an upload whose object must not yet exist": {operation{method: "POST", path: up + "?uploadType=media&name=o&ifGenerationMatch=0", body: "x"}, 412, "conditionNotMet"},
		"an upload with another MD5":                {operation{method: "POST", path: up + "?uploadType=media&name=x", headers: "X-Goog-Hash: md5=AAAA", body: "x"}, 400, "invalid"},
		"a multipart upload with another CRC32C":    {operation{method: "POST", path: up + "?uploadType=multipart", headers: "Content-Type: multipart/related; boundary=z\nX-Goog-Hash: crc32c=AAAAAA==", body: "--z\r\nContent-Type: application/json\r\n\r\n{\"name\":\"x\"}\r\n--z\r\nContent-Type: text/plain\r\n\r\nx\r\n--z--"}, 400, "invalid"},
		"an upload with another CRC32C":             {operation{method: "POST", path: up + "?uploadType=media&name=x", headers: "X-Goog-Hash: crc32c=AAAAAA==", body: "x"}, 400, "invalid"},
		"a multipart upload without a boundary":     {operation{method: "POST", path: up + "?uploadType=multipart", headers: "Content-Type: multipart/related", body: "x"}, 400, "invalid"},
		"a multipart upload without media":          {operation{method: "POST", path: up + "?uploadType=multipart", headers: "Content-Type: multipart/related; boundary=z", body: "--z\r\n\r\n{}\r\n--z--\r\n"}, 400, "invalid"},
		"a chunk of an upload that does not exist":  {operation{method: "PUT", path: up + "?uploadType=resumable&upload_id=none", body: "x"}, 404, "notFound"},
		"a predefined ACL with uniform access":      {operation{method: "POST", path: up + "?uploadType=media&name=x&predefinedAcl=publicRead", body: "x"}, 400, "invalid"},
		"another storage class by a patch":          {operation{method: "PATCH", path: o, body: `{"storageClass":"NEARLINE"}`}, 400, "invalid"},
		"a custom time in the year 0":               {operation{method: "PATCH", path: o, body: `{"customTime":"0000-01-01T00:00:00Z"}`}, 400, "invalid"},
		"a custom time in the year 10000":           {operation{method: "PATCH", path: o, body: `{"customTime":"9999-12-31T23:00:00-02:00"}`}, 400, "invalid"},
		"an invalid custom time":                    {operation{method: "PATCH", path: o, body: `{"customTime":"soon"}`}, 400, "invalid"},
		"retention where the bucket has none":       {operation{method: "PATCH", path: o, body: `{"retention":{"mode":"Unlocked","retainUntilTime":"2099-01-01T00:00:00Z"}}`}, 400, "invalid"},
		"the deletion of another generation":        {operation{method: "DELETE", path: o + "?ifGenerationMatch=1"}, 412, "conditionNotMet"},
		"the deletion of an absent object":          {operation{method: "DELETE", path: b + "/o/none"}, 404, "notFound"},
		"a composition of nothing":                  {operation{method: "POST", path: b + "/o/x/compose", body: `{}`}, 400, "invalid"},
		"a composition of 33 objects":               {operation{method: "POST", path: b + "/o/x/compose", body: `{"sourceObjects":[` + strings.Repeat(`{"name":"o"},`, 32) + `{"name":"o"}]}`}, 400, "invalid"},
		"a composition of a missing object":         {operation{method: "POST", path: b + "/o/x/compose", body: `{"sourceObjects":[{"name":"none"}]}`}, 404, "notFound"},
		"a composition with a predefined ACL":       {operation{method: "POST", path: b + "/o/x/compose?destinationPredefinedAcl=publicRead", body: `{"sourceObjects":[{"name":"o"}]}`}, 400, "uniform"},
		"a retention without a mode":                {operation{method: "PATCH", path: "/storage/v1/b/locked/o/o", body: `{"retention":{"retainUntilTime":"2099-01-01T00:00:00Z"}}`}, 400, "invalid"},
		"a retention without an end":                {operation{method: "PATCH", path: "/storage/v1/b/locked/o/o", body: `{"retention":{"mode":"Locked"}}`}, 400, "invalid"},
		"an expired retention":                      {operation{method: "PATCH", path: "/storage/v1/b/locked/o/o", body: `{"retention":{"mode":"Unlocked","retainUntilTime":"2020-01-01T00:00:00Z"}}`}, 400, "not in the future"},
		"a retention with an event-based hold":      {operation{method: "PATCH", path: "/storage/v1/b/locked/o/o", body: `{"eventBasedHold":true,"retention":{"mode":"Unlocked","retainUntilTime":"2099-01-01T00:00:00Z"}}`}, 400, "event-based hold"},
		"a rewrite of half a MiB at a time":         {operation{method: "POST", path: o + "/rewriteTo/b/docs/o/x?maxBytesRewrittenPerCall=524288"}, 400, "multiple of 1 MiB"},
		"an invalid rewrite token":                  {operation{method: "POST", path: o + "/rewriteTo/b/docs/o/x?rewriteToken=x"}, 400, "rewrite token"},
		"a glob with an open brace":                 {operation{method: "GET", path: b + "/o?matchGlob=%7Ba,b"}, 400, "matchGlob"},
		"a glob with an open bracket":               {operation{method: "GET", path: b + "/o?matchGlob=%5Ba"}, 400, "matchGlob"},
		"a filter by contexts":                      {operation{method: "GET", path: b + "/o?filter=contexts.%22a%22:*"}, 400, "filter"},
		"contexts of an object":                     {operation{method: "PATCH", path: o, body: `{"contexts":{"custom":{"a":{"value":"b"}}}}`}, 400, "contexts"},
		"a copy of an absent object":                {operation{method: "POST", path: b + "/o/none/copyTo/b/docs/o/x"}, 404, "notFound"},
		"a copy to a bucket that is not there":      {operation{method: "POST", path: o + "/copyTo/b/nowhere/o/x"}, 404, "notFound"},
		"a copy of another generation":              {operation{method: "POST", path: o + "/copyTo/b/docs/o/x?ifSourceGenerationMatch=1"}, 412, "conditionNotMet"},
	}
}

// policyRefusals has refusals of "Policies: https://cloud.google.com/iam/docs/policies and https://cloud.google.com/storage/docs/access-control/iam".
func policyRefusals() map[string]refusal {
	return map[string]refusal{
		"a policy of another etag":                  {setPolicy(`{"etag":"bm90aGluZw==","bindings":[]}`), 412, "conditionNotMet"},
		"a policy of version 2":                     {setPolicy(`{"version":2,"bindings":[]}`), 400, "invalid"},
		"a policy asked for in version 2":           {operation{method: "GET", path: b + "/iam?optionsRequestedPolicyVersion=2"}, 400, "invalid"},
		"a binding without a role":                  {setPolicy(`{"bindings":[{"members":["allUsers"]}]}`), 400, "invalid"},
		"a role that does not exist":                {setPolicy(`{"bindings":[{"role":"roles/storage.none","members":["allUsers"]}]}`), 400, "invalid"},
		"a role that says nothing about buckets":    {setPolicy(`{"bindings":[{"role":"roles/iam.roleAdmin","members":["user:a@example.com"]}]}`), 400, "invalid"},
		"a basic role on a bucket":                  {setPolicy(`{"bindings":[{"role":"roles/owner","members":["user:a@example.com"]}]}`), 400, "invalid"},
		"a member of no kind":                       {setBinding(`"members":["somebody"]`), 400, "invalid"},
		"a service account that does not exist":     {setBinding(`"members":["serviceAccount:none@cooper-fake.iam.gserviceaccount.com"]`), 400, "does not exist"},
		"a principal of no pool":                    {setBinding(`"members":["principal://iam.googleapis.com/somebody"]`), 400, "invalid"},
		"a condition in version 1":                  {setPolicy(`{"version":1,"bindings":[{"role":"roles/storage.objectViewer","members":["user:a@example.com"],"condition":{"title":"t","expression":"true"}}]}`), 400, "invalid"},
		"a condition that is no expression":         {setBinding(`"members":["user:a@example.com"],"condition":{"title":"t","expression":"resource.name ("}`), 400, "invalid"},
		"a condition that is not true or false":     {setBinding(`"members":["user:a@example.com"],"condition":{"title":"t","expression":"resource.name"}`), 400, "invalid"},
		"a role under 21 conditions for a member":   {setPolicy(`{"version":3,"bindings":[` + variants(21) + `]}`), 400, "20 condition expressions"},
		"a condition for everybody":                 {setBinding(`"members":["allUsers"],"condition":{"title":"t","expression":"true"}`), 400, "invalid"},
		"a condition on a legacy role":              {setPolicy(`{"version":3,"bindings":[{"role":"roles/storage.legacyBucketReader","members":["user:a@example.com"],"condition":{"title":"t","expression":"true"}}]}`), 400, "invalid"},
		"a legacy role on a project":                {operation{method: "POST", path: "/v1/projects/cooper-fake:setIamPolicy", body: `{"policy":{"bindings":[{"role":"roles/storage.legacyBucketReader","members":["user:a@example.com"]}]}}`}, 400, "invalid"},
		"a project policy of another etag":          {operation{method: "POST", path: "/v1/projects/cooper-fake:setIamPolicy", body: `{"policy":{"etag":"bm90aGluZw=="}}`}, 409, "ABORTED"},
		"a restoration without a generation":        {operation{method: "POST", path: "/storage/v1/b/bin/o/gone/restore"}, 400, "required"},
		"a restoration of an existing object":       {operation{method: "POST", path: "/storage/v1/b/docs/o/o/restore?generation={generation}"}, 412, "objectNotSoftDeleted"},
		"a restoration of an unknown object":        {operation{method: "POST", path: "/storage/v1/b/docs/o/none/restore?generation=7"}, 404, "notFound"},
		"a restoration where nothing is kept":       {operation{method: "POST", path: "/storage/v1/b/hard/o/none/restore?generation=7"}, 412, "softDeletePolicyNotSet"},
		"the content of a soft-deleted object":      {operation{method: "GET", path: "/storage/v1/b/bin/o/gone?softDeleted=true&alt=media&generation={soft}"}, 400, "invalid"},
		"both softly deleted and noncurrent ones":   {operation{method: "GET", path: b + "/o?softDeleted=true&versions=true"}, 400, "invalid"},
		"a move onto itself":                        {operation{method: "POST", path: o + "/moveTo/o/o"}, 400, "invalid"},
		"another projection":                        {operation{method: "GET", path: o + "?projection=half"}, 400, "invalid"},
		"a test of no permissions":                  {operation{method: "GET", path: b + "/iam/testPermissions"}, 400, "required"},
		"a test of a permission of another service": {operation{method: "GET", path: b + "/iam/testPermissions?permissions=iam.roles.get"}, 400, "invalid"},
	}
}

// hmacRefusals has refusals of "HMAC keys: https://cloud.google.com/storage/docs/authentication/hmackeys".
func hmacRefusals() map[string]refusal {
	return map[string]refusal{
		"an HMAC key for nobody":                 {operation{method: "POST", path: hmac}, 400, "required"},
		"an HMAC key for a stranger":             {operation{method: "POST", path: hmac + "?serviceAccountEmail=none@cooper-fake.iam.gserviceaccount.com"}, 404, "notFound"},
		"an HMAC key for one of another project": {operation{method: "POST", path: hmac + "?serviceAccountEmail=cooper-admin@other-project.iam.gserviceaccount.com"}, 400, "invalid"},
		"the deletion of an active HMAC key":     {operation{method: "DELETE", path: hmac + "/{hmac}"}, 400, "ACTIVE"},
		"the state DELETED for an HMAC key":      {operation{method: "PUT", path: hmac + "/{hmac}", body: `{"state":"DELETED"}`}, 400, "invalid"},
		"an HMAC key of another etag":            {operation{method: "PUT", path: hmac + "/{hmac}", body: `{"state":"INACTIVE","etag":"x"}`}, 412, "conditionNotMet"},
		"an HMAC key that does not exist":        {operation{method: "GET", path: hmac + "/GOOG1ENOBODY"}, 404, "notFound"},
		"an HMAC key of another project":         {operation{method: "GET", path: "/storage/v1/projects/other-project/hmacKeys/{hmac}"}, 404, "Access ID not found in project"},
	}
}

// accountRefusals has refusals of "Service accounts: https://cloud.google.com/iam/docs/reference/rest/v1/projects.serviceAccounts".
func accountRefusals() map[string]refusal {
	return map[string]refusal{
		"an account ID of five characters":           {newAccount(`{"accountId":"abcde"}`), 400, "INVALID_ARGUMENT"},
		"an account ID of 31 characters":             {newAccount(`{"accountId":"` + strings.Repeat("a", 31) + `"}`), 400, "INVALID_ARGUMENT"},
		"an account ID that begins with a digit":     {newAccount(`{"accountId":"1abcdef"}`), 400, "INVALID_ARGUMENT"},
		"an account ID with capitals":                {newAccount(`{"accountId":"Abcdefg"}`), 400, "INVALID_ARGUMENT"},
		"an account that exists":                     {newAccount(`{"accountId":"target"}`), 409, "ALREADY_EXISTS"},
		"a display name of 101 bytes":                {newAccount(`{"accountId":"fresh-one","serviceAccount":{"displayName":"` + strings.Repeat("d", 101) + `"}}`), 400, "INVALID_ARGUMENT"},
		"a description of 257 bytes":                 {newAccount(`{"accountId":"fresh-one","serviceAccount":{"description":"` + strings.Repeat("d", 257) + `"}}`), 400, "INVALID_ARGUMENT"},
		"an account that does not exist":             {operation{method: "GET", path: sas + "/none@cooper-fake.iam.gserviceaccount.com"}, 404, "NOT_FOUND"},
		"an account of another project":              {operation{method: "GET", path: "/v1/projects/cooper-fake/serviceAccounts/cooper-admin@other-project.iam.gserviceaccount.com"}, 404, "NOT_FOUND"},
		"a change of an account without a mask":      {operation{method: "PATCH", path: sa, body: `{"serviceAccount":{"description":"d"}}`}, 400, "INVALID_ARGUMENT"},
		"a change of an account's email":             {operation{method: "PATCH", path: sa, body: `{"updateMask":"email"}`}, 400, "INVALID_ARGUMENT"},
		"the deletion of an account that is not":     {operation{method: "DELETE", path: sas + "/none@cooper-fake.iam.gserviceaccount.com"}, 404, "NOT_FOUND"},
		"a key that does not exist":                  {operation{method: "DELETE", path: sa + "/keys/0123"}, 404, "NOT_FOUND"},
		"a token for two hours":                      {operation{method: "POST", path: sa + ":generateAccessToken", body: `{"scope":["x"],"lifetime":"7200s"}`}, 400, "INVALID_ARGUMENT"},
		"a signature of nothing":                     {operation{method: "POST", path: sa + ":signBlob"}, 400, "INVALID_ARGUMENT"},
		"a signature of the former API":              {operation{method: "POST", path: sa + ":signBlob", body: `{"bytesToSign":"eA=="}`}, 400, "UNIMPLEMENTED"},
		"a signature of claims that are none":        {operation{method: "POST", path: sa + ":signJwt", body: `{"payload":"x"}`}, 400, "INVALID_ARGUMENT"},
		"a signature of claims that have ended":      {operation{method: "POST", path: sa + ":signJwt", body: `{"payload":"{\"exp\":1}"}`}, 400, "INVALID_ARGUMENT"},
		"a signature of claims for centuries":        {operation{method: "POST", path: sa + ":signJwt", body: `{"payload":"{\"exp\":9999999999}"}`}, 400, "INVALID_ARGUMENT"},
		"a key that is no certificate":               {operation{method: "POST", path: sa + "/keys:upload", body: `{"publicKeyData":"eA=="}`}, 400, "INVALID_ARGUMENT"},
		"an account that was never deleted":          {operation{method: "POST", path: sas + "/123456789012345678901:undelete"}, 404, "NOT_FOUND"},
		"a token without a scope":                    {operation{method: "POST", path: sa + ":generateAccessToken"}, 400, "INVALID_ARGUMENT"},
		"a role of a permission that does not exist": {operation{method: "POST", path: "/v1/projects/cooper-fake/roles", body: `{"roleId":"abc","role":{"includedPermissions":["x.y.z"]}}`}, 400, "INVALID_ARGUMENT"},
		"a role that exists":                         {operation{method: "POST", path: "/v1/projects/cooper-fake/roles", body: `{"roleId":"spare"}`}, 409, "ALREADY_EXISTS"},
	}
}

// tokenRefusals has refusals of "Tokens: https://developers.google.com/identity/protocols/oauth2/service-account and the STS reference".
func tokenRefusals() map[string]refusal {
	return map[string]refusal{
		"a grant that does not exist":                {operation{method: "POST", path: "/token", headers: "Content-Type: application/x-www-form-urlencoded", body: "grant_type=password"}, 400, "unsupported_grant_type"},
		"a grant without an assertion":               {operation{method: "POST", path: "/token", headers: "Content-Type: application/x-www-form-urlencoded", body: "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer"}, 400, "invalid_request"},
		"an assertion that is no JWT":                {operation{method: "POST", path: "/token", headers: "Content-Type: application/x-www-form-urlencoded", body: "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=x"}, 400, "invalid_grant"},
		"an exchange of another grant":               {operation{method: "POST", path: "/v1/token", headers: "Content-Type: application/json", body: `{"grantType":"x"}`}, 400, "invalid_request"},
		"an exchange for a pool that does not exist": {operation{method: "POST", path: "/v1/token", headers: "Content-Type: application/json", body: `{"grantType":"urn:ietf:params:oauth:grant-type:token-exchange","audience":"a","scope":"s","requestedTokenType":"urn:ietf:params:oauth:token-type:access_token","subjectToken":"t","subjectTokenType":"urn:ietf:params:oauth:token-type:jwt"}`}, 400, "invalid_target"},
	}
}

// xmlRefusals has refusals of "XML: https://cloud.google.com/storage/docs/xml-api/reference-status".
func xmlRefusals() map[string]refusal {
	return map[string]refusal{
		"XML of a bucket that does not exist":  {operation{method: "GET", path: "/nowhere"}, 404, "NoSuchBucket"},
		"XML of an object that does not exist": {operation{method: "GET", path: "/docs/none"}, 404, "NoSuchKey"},
		"XML of a bucket that exists":          {operation{method: "PUT", path: "/docs"}, 409, "BucketAlreadyOwnedByYou"},
		"XML of the deletion of a full bucket": {operation{method: "DELETE", path: "/docs"}, 409, "BucketNotEmpty"},
		"XML of another generation":            {operation{method: "PUT", path: "/docs/o", headers: "X-Goog-If-Generation-Match: 0", body: "x"}, 412, "PreconditionFailed"},
		"XML of another etag":                  {operation{method: "GET", path: "/docs/o", headers: `If-Match: "x"`}, 412, "PreconditionFailed"},
		"XML of a range after the end":         {operation{method: "GET", path: "/docs/o", headers: "Range: bytes=99-"}, 416, "InvalidRange"},
		"XML of an upload that does not exist": {operation{method: "PUT", path: "/docs/o?partNumber=1&uploadId=none", body: "x"}, 404, "NoSuchUpload"},
		"XML of part 10001":                    {operation{method: "PUT", path: "/docs/m?partNumber=10001&uploadId={upload}", body: "x"}, 400, "InvalidArgument"},
		"XML of a part that was not uploaded":  {operation{method: "POST", path: "/docs/m?uploadId={upload}", body: `<CompleteMultipartUpload><Part><PartNumber>7</PartNumber><ETag>x</ETag></Part></CompleteMultipartUpload>`}, 400, "InvalidPart"},
		"XML of no parts":                      {operation{method: "POST", path: "/docs/m?uploadId={upload}", body: `<CompleteMultipartUpload/>`}, 400, "MalformedXML"},
		"XML that is none":                     {operation{method: "POST", path: "/docs/m?uploadId={upload}", body: `<`}, 400, "MalformedXML"},
		"XML of an ACL with uniform access":    {operation{method: "PUT", path: "/docs/x", headers: "X-Goog-Acl: public-read", body: "x"}, 400, "InvalidArgument"},
		"XML of a bucket's ACL":                {operation{method: "GET", path: "/docs?acl"}, 400, "uniform bucket-level access"},
		"XML of a bucket's ACL in a header":    {operation{method: "PUT", path: "/docs?acl", headers: "X-Goog-Acl: public-read"}, 400, "uniform bucket-level access"},
		"XML of an object's ACL":               {operation{method: "PUT", path: "/docs/o?acl", headers: "X-Goog-Acl: private"}, 400, "uniform bucket-level access"},
		"XML of an ACL of a resumable upload":  {operation{method: "POST", path: "/docs/x", headers: "X-Goog-Resumable: start\nX-Goog-Acl: public-read"}, 400, "uniform bucket-level access"},
		"XML of a copy of another generation":  {operation{method: "PUT", path: "/docs/x", headers: "X-Goog-Copy-Source: /docs/o\nX-Goog-Copy-Source-If-Generation-Match: 1"}, 412, "PreconditionFailed"},
		"XML of a copy of another etag":        {operation{method: "PUT", path: "/docs/x", headers: "X-Amz-Copy-Source: /docs/o\nX-Amz-Copy-Source-If-Match: \"x\""}, 412, "PreconditionFailed"},
		"XML of a copy unless it is the same":  {operation{method: "PUT", path: "/docs/x", headers: "X-Amz-Copy-Source: /docs/o\nX-Amz-Copy-Source-If-None-Match: *"}, 412, "PreconditionFailed"},
		"XML of less than no parts":            {operation{method: "GET", path: "/docs/m?uploadId={upload}&max-parts=-1"}, 400, "InvalidArgument"},
		"XML of what the fake does not serve":  {operation{method: "PUT", path: "/docs?website"}, 400, "NotImplemented"},
		"a form of another type":               {operation{method: "POST", path: "/docs", headers: "Content-Type: application/x-www-form-urlencoded", body: "key=o"}, 400, "multipart/form-data"},
		"a form without a file":                {operation{method: "POST", path: "/docs", headers: "Content-Type: multipart/form-data; boundary=z", body: "--z--"}, 400, "exactly one file"},
		"a form that is none":                  {operation{method: "POST", path: "/docs", headers: "Content-Type: multipart/form-data; boundary=z", body: "--z\r\nContent-Disposition: form-data; name=\"key\"\r\n\r\no"}, 400, "MalformedPOSTRequest"},
		"a POST to an object":                  {operation{method: "POST", path: "/docs/o", body: "x"}, 400, "x-goog-resumable"},
		"XML of a state of versioning":         {operation{method: "PUT", path: "/docs?versioning", body: `<VersioningConfiguration><Status>On</Status></VersioningConfiguration>`}, 400, "MalformedXML"},
		"XML of a rule without an action":      {operation{method: "PUT", path: "/docs?lifecycle", body: `<LifecycleConfiguration><Rule><Action/><Condition><Age>1</Age></Condition></Rule></LifecycleConfiguration>`}, 400, "MalformedXML"},
		"XML of a rule without a condition":    {operation{method: "PUT", path: "/docs?lifecycle", body: `<LifecycleConfiguration><Rule><Action><Delete/></Action><Condition/></Rule></LifecycleConfiguration>`}, 400, "InvalidArgument"},
		"XML of an element that nobody reads":  {operation{method: "PUT", path: "/fresh", body: `<CreateBucketConfiguration><Colour>red</Colour></CreateBucketConfiguration>`}, 400, "element Colour"},
		"XML of a checksum of S3's":            {operation{method: "PUT", path: "/docs/x", headers: "X-Amz-Checksum-Sha256: AAAA", body: "x"}, 400, "x-amz-checksum-sha256"},
		"XML of a checksum of a part":          {operation{method: "PUT", path: "/docs/m?partNumber=2&uploadId={upload}", headers: "X-Amz-Checksum-Crc32c: AAAAAA==", body: "x"}, 400, "x-amz-checksum-crc32c"},
		"XML of a checksum of a done part":     {operation{method: "POST", path: "/docs/m?uploadId={upload}", body: `<CompleteMultipartUpload><Part><PartNumber>1</PartNumber><ETag>{part}</ETag><ChecksumCRC32>AAAAAA==</ChecksumCRC32></Part></CompleteMultipartUpload>`}, 400, "ChecksumCRC32"},
		"XML of a checksum of a document":      {operation{method: "PUT", path: "/docs?cors", headers: "X-Amz-Checksum-Crc32: AAAAAA==", body: `<CorsConfig/>`}, 400, "x-amz-checksum-crc32"},
		"XML of a checksum that is unknown":    {operation{method: "PUT", path: "/docs/x", headers: "X-Amz-Checksum-Adler: AAAA", body: "x"}, 400, "x-amz-checksum-adler"},
		"XML of two checksums":                 {operation{method: "PUT", path: "/docs/x", headers: "X-Amz-Checksum-Crc32c: AAAAAA==\nX-Amz-Checksum-Crc32: AAAAAA==", body: "x"}, 400, "single x-amz-checksum-"},
		"XML of another CRC32C":                {operation{method: "PUT", path: "/docs/x", headers: "X-Goog-Hash: crc32c=AAAAAA==", body: "x"}, 400, "CRC32C"},
		"XML of a bucket's generation, GET":    {operation{method: "GET", path: "/docs", headers: "X-Goog-If-Generation-Match: 1"}, 400, "x-goog-if-generation-match"},
		"XML of a bucket's generation, DELETE": {operation{method: "DELETE", path: "/empty", headers: "X-Goog-If-Generation-Match: 1"}, 400, "x-goog-if-generation-match"},
		"XML of a bucket's generation, CORS":   {operation{method: "PUT", path: "/docs?cors", headers: "X-Goog-If-Generation-Match: 1", body: `<CorsConfig/>`}, 400, "x-goog-if-generation-match"},
		"XML of a bucket's generation, states": {operation{method: "PUT", path: "/docs?versioning", headers: "X-Goog-If-Generation-Not-Match: 1", body: `<VersioningConfiguration><Status>Enabled</Status></VersioningConfiguration>`}, 400, "x-goog-if-generation-not-match"},
		"XML of a bucket's generation, rules":  {operation{method: "PUT", path: "/docs?lifecycle", headers: "X-Goog-If-Generation-Match: 1", body: `<LifecycleConfiguration/>`}, 400, "x-goog-if-generation-match"},
		"XML of a source that is none, S3's":   {operation{method: "PUT", path: "/docs/x", headers: "X-Amz-Copy-Source-If-Match: x", body: "x"}, 400, "x-amz-copy-source-if-match"},
		"XML of a source that is none":         {operation{method: "PUT", path: "/docs/x", headers: "X-Goog-Copy-Source-If-Generation-Match: 1", body: "x"}, 400, "x-goog-copy-source-if-generation-match"},
		"XML of a condition that is no one's":  {operation{method: "PUT", path: "/docs/x", headers: "X-Goog-Copy-Source: /docs/o\nX-Goog-Copy-Source-If-Colour: red"}, 400, "x-goog-copy-source-if-colour"},
		"XML of a part under a condition":      {operation{method: "PUT", path: "/docs/m?partNumber=2&uploadId={upload}", headers: "X-Goog-If-Generation-Match: 1", body: "x"}, 400, "x-goog-if-generation-match"},
		"XML of metadata for a reader":         {operation{method: "GET", path: "/docs/o", headers: "X-Goog-Meta-A: b"}, 400, "x-goog-meta-a"},
		"XML of another document":              {operation{method: "PUT", path: "/docs?cors", body: `<LifecycleConfiguration/>`}, 400, "MalformedXML"},
	}
}

// ambiguousRefusals has queries that cannot be parsed completely, and duplicates of single-valued inputs.
func ambiguousRefusals() map[string]refusal {
	const form = "Content-Type: application/x-www-form-urlencoded"
	const assertion, twice = "grant_type=urn:ietf:params:oauth:grant-type:jwt-bearer&assertion=x", "sent more than once"
	return map[string]refusal{
		"a metageneration that cannot be read":   {operation{method: "DELETE", path: "/storage/v1/b/empty?ifMetagenerationMatch=%zz"}, 400, "cannot be read"},
		"a name that cannot be read":             {operation{method: "DELETE", path: "/storage/v1/b/empty?%zz=1"}, 400, "cannot be read"},
		"a semicolon in a query":                 {operation{method: "GET", path: b + "/o?prefix=a;b"}, 400, "cannot be read"},
		"a query of IAM that cannot be read":     {operation{method: "GET", path: sas + "?pageSize=%zz"}, 400, "INVALID_ARGUMENT"},
		"two metagenerations":                    {operation{method: "DELETE", path: "/storage/v1/b/empty?ifMetagenerationMatch=1&ifMetagenerationMatch=7"}, 400, "ifMetagenerationMatch is " + twice},
		"an unserved parameter behind false":     {operation{method: "GET", path: b + "/o?colour=false&colour=red"}, 400, "colour is " + twice},
		"two requests for tokens in one query":   {operation{method: "POST", path: "/token?assertion=x&assertion=y", headers: form, body: "grant_type=password"}, 400, "invalid_request"},
		"two assertions":                         {operation{method: "POST", path: "/token", headers: form, body: assertion + "&assertion=y"}, 400, "invalid_request"},
		"an assertion in the query and the form": {operation{method: "POST", path: "/token?assertion=y", headers: form, body: assertion}, 400, "invalid_request"},
		"two spellings of a grant":               {operation{method: "POST", path: "/v1/token", headers: "Content-Type: application/json", body: `{"grantType":"x","grant_type":"x"}`}, 400, "grant_type is " + twice},
		"an assertion beside what is unknown":    {operation{method: "POST", path: "/token", headers: form, body: assertion + "&colour=red"}, 400, "invalid_grant"},
		"XML of a generation, not to be read":    {operation{method: "DELETE", path: "/docs/o?generation=%zz"}, 400, "InvalidArgument"},
		"XML of two generations":                 {operation{method: "DELETE", path: "/docs/o?generation=1&generation=2"}, 400, "generation is " + twice},
		"XML of two uploads":                     {operation{method: "PUT", path: "/docs/m?partNumber=1&uploadId={upload}&uploadId=none", body: "x"}, 400, "uploadId is " + twice},
		"XML of two preconditions":               {operation{method: "PUT", path: "/docs/o", headers: "X-Goog-If-Generation-Match: 0\nX-Goog-If-Generation-Match: 1", body: "x"}, 400, "x-goog-if-generation-match is " + twice},
		"XML of two ranges":                      {operation{method: "GET", path: "/docs/o", headers: "Range: bytes=0-1\nRange: bytes=1-2"}, 400, "range is " + twice},
		"XML of two types":                       {operation{method: "PUT", path: "/docs/x", headers: "Content-Type: text/plain\nContent-Type: text/html", body: "x"}, 400, "content-type is " + twice},
		"XML of tags on two lines":               {operation{method: "GET", path: "/docs/o", headers: "If-Match: \"x\"\nIf-Match: \"y\""}, 412, "PreconditionFailed"},
		"XML of a tag that the etag is part of":  {operation{method: "GET", path: "/docs/o", headers: "If-Match: \"xa9f0e61a137d86aa9db53465e0801612x\""}, 412, "PreconditionFailed"},
		"XML of a tag on the second line":        {operation{method: "GET", path: "/docs/o", headers: "If-None-Match: \"x\"\nIf-None-Match: \"a9f0e61a137d86aa9db53465e0801612\""}, 304, ""},
		"XML of a copy, a tag it is part of":     {operation{method: "PUT", path: "/docs/x", headers: "X-Amz-Copy-Source: /docs/o\nX-Amz-Copy-Source-If-Match: \"xa9f0e61a137d86aa9db53465e0801612x\""}, 412, "PreconditionFailed"},
		"JSON of a tag on the second line":       {operation{method: "GET", path: b, headers: "If-None-Match: \"x\"\nIf-None-Match: *"}, 304, ""},
		"XML of S3's version":                    {operation{method: "GET", path: "/docs/o?versionId=1"}, 400, "parameter versionId"},
		"XML of S3's part":                       {operation{method: "GET", path: "/docs/o?partNumber=1"}, 400, "parameter partNumber"},
		"XML of a language of S3's":              {operation{method: "GET", path: "/docs/o?response-content-language=en"}, 400, "parameter response-content-language"},
		"XML of the JSON API's precondition":     {operation{method: "GET", path: "/docs/o?ifGenerationMatch=1"}, 400, "parameter ifGenerationMatch"},
		"XML of S3's version, HEAD":              {operation{method: "HEAD", path: "/docs/o?versionId=1"}, 400, ""},
	}
}
