// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/rest"
	"github.com/cooper-cosi/cooper/fakes/internal/accept"
)

// listedInputs are the query parameters and, with a dot before them, the fields of the body that each method has.
func listedInputs() map[string]map[string]accept.Use {
	out := map[string]map[string]accept.Use{}
	for name, inputs := range rest.Inputs {
		out[name] = map[string]accept.Use{}
		for _, in := range inputs.Query {
			out[name][in.Name] = in.Use
		}
		for _, in := range inputs.Fields {
			out[name]["."+in.Name] = in.Use
		}
	}
	return out
}

// inputs returns the query parameters of a method, and the fields of its body in the granularity of the list, each
// prefixed with a dot.
func (m discoveryMethod) inputs(listed map[string]accept.Use) []string {
	var out []string
	if m.ID != "sts.token" { // a form alone
		out = slices.Collect(maps.Keys(m.document.Parameters))
	}
	for name, p := range m.Parameters {
		if p.Location == "query" {
			out = append(out, name)
		}
	}
	var walk func(s schema, path string)
	walk = func(s schema, path string) {
		if s.Ref != "" {
			s = m.document.Schemas[s.Ref]
		}
		if s.Items != nil {
			walk(*s.Items, path)
		}
		for name, below := range s.Properties {
			field := path + "." + name
			if slices.ContainsFunc(slices.Collect(maps.Keys(listed)), func(other string) bool { return strings.HasPrefix(other, field+".") }) {
				walk(below, field)
				continue
			}
			out = append(out, field)
		}
	}
	walk(m.Request, "")
	slices.Sort(out)
	return slices.Compact(out)
}

// undescribed are parameters that the fake takes and the documents do not have.
var undescribed = map[string]string{
	"$alt":        "the form in which Google's generated clients ask for JSON",
	"upload_id":   "the session of a resumable upload",
	"userProject": "a parameter of every request (HTTP headers and common query string parameters for JSON)",
	"bytesToSign": "the field of the former method on the same path",

	"autoPaginate": ofNode, "delimiter": ofNode, "endOffset": ofNode, "force": ofNode, "includeFiles": ofNode, "matchGlob": ofNode, "maxResults": ofNode,
	"prefix": ofNode, "private": ofNode, "public": ofNode, "startOffset": ofNode, "versions": ofNode,
}

const ofNode = "an option of Google's client for Node, which sends the options of a bulk operation with each request"

// TestTheListHasWhatIsDescribed finds entries in the list of parameters that are no longer in the discovery
// documents.
func TestTheListHasWhatIsDescribed(t *testing.T) {
	t.Parallel()
	all := discovered(t)
	for name, listed := range listedInputs() {
		m, ok := all[name]
		if !ok {
			t.Errorf("there is no method %s", name)
			continue
		}
		for p, about := range m.Parameters {
			if listed[p] != 0 && about.Repeated != slices.Contains(rest.RepeatedQuery, p) {
				t.Errorf("%s of %s is repeated: %v", p, name, about.Repeated)
			}
		}
		described := m.inputs(listed)
		for p := range listed {
			if !slices.Contains(described, p) && undescribed[strings.TrimPrefix(p, ".")] == "" {
				t.Errorf("%s has no %s", name, p)
			}
		}
	}
	served := listedInputs()
	for _, name := range gcsfake.Operations() {
		if served[name] == nil && !strings.HasPrefix(name, "xml.") && name != "oauth2.token" {
			t.Errorf("%s is served and is not in the list of parameters", name)
		}
	}
}

// TestHeadersOfTheXMLAPI sends every header that any operation of the XML API takes to each that does not, which refuses it.
func TestHeadersOfTheXMLAPI(t *testing.T) {
	t.Parallel()
	requests := xmlOperations()
	w := newWorld(t)
	defer w.close(t)
	all := map[accept.Input]bool{}
	for _, in := range rest.FormFields {
		all[in] = strings.HasPrefix(in.Name, "x-goog-") || strings.HasPrefix(in.Name, "x-amz-")
	}
	for _, inputs := range rest.XMLInputs {
		for _, in := range inputs.Headers {
			all[in] = true
		}
	}
	sent := 0
	for name, op := range requests {
		operation, variant, _ := strings.Cut(name, " ")
		if variant != "" {
			continue
		}
		for in, isHeader := range all {
			h := in.Name
			if copies := strings.HasSuffix(h, "-copy-source"); !isHeader || slices.Contains(rest.XMLInputs[operation].Headers, in) || copies && operation == "xml.PutObject" {
				continue
			}
			one := op
			one.headers = strings.TrimPrefix(op.headers+"\n"+h+": 1", "\n")
			if in.Prefix {
				one.headers = strings.TrimPrefix(op.headers+"\n"+h+"a: 1", "\n")
			}
			got := w.send(t, w.admin, one)
			sent++
			if got.Code != http.StatusBadRequest || op.method != http.MethodHead && !strings.Contains(got.Body.String(), h) {
				t.Errorf("%s with %s: %d %s", name, h, got.Code, got.Body)
			}
		}
	}
	for _, operation := range gcsfake.Operations() {
		if _, listed := rest.XMLInputs[operation]; strings.HasPrefix(operation, "xml.") && !listed {
			t.Errorf("%s is not in the list of headers", operation)
		}
	}
	if sent < 500 {
		t.Errorf("%d headers were sent: are they still found?", sent)
	}
}

// probes are requests with which parameters are tested if operations contains no suitable one. They can be repeated,
// because they overwrite existing data.
func probes() map[string]operation {
	out := operations()
	out["storage.buckets.testIamPermissions"] = operation{method: "GET", path: b + "/iam/testPermissions?permissions=storage.objects.get"}
	out["cloudresourcemanager.projects.testIamPermissions"] = operation{method: "POST", path: "/v1/projects/cooper-fake:testIamPermissions", body: `{}`}
	out["iam.projects.serviceAccounts.testIamPermissions"] = operation{method: "POST", path: sa + ":testIamPermissions", body: `{}`}
	out["iam.projects.serviceAccounts.keys.create"] = operation{method: "POST", path: sa + "/keys", body: `{}`}
	out["iam.roles.list"] = operation{method: "GET", path: "/v1/roles"}
	out["iam.roles.get"] = operation{method: "GET", path: "/v1/roles/storage.admin"}
	out["sts.token"] = operation{
		method: "POST", path: "/v1/token", headers: "Content-Type: application/json",
		body: `{"grantType":"urn:ietf:params:oauth:grant-type:token-exchange","audience":"a","scope":"s","requestedTokenType":"urn:ietf:params:oauth:token-type:access_token","subjectToken":"t","subjectTokenType":"urn:ietf:params:oauth:token-type:jwt"}`,
	}
	const other = b + "/o/dir%2Fa"
	out["storage.objects.insert"] = operation{method: "POST", path: up + "?uploadType=media&name=o", body: "x"}
	out["storage.objects.copy"] = operation{method: "POST", path: other + "/copyTo/b/docs/o/o"}
	out["storage.objects.rewrite"] = operation{method: "POST", path: other + "/rewriteTo/b/docs/o/o"}
	out["storage.objects.compose"] = operation{method: "POST", path: o + "/compose", body: `{"sourceObjects":[{"name":"dir/a"}]}`}
	out["storage.objects.move"] = operation{method: "POST", path: other + "/moveTo/o/o"}
	out["storage.objects.restore"] = operation{method: "POST", path: "/storage/v1/b/bin/o/again/restore?generation={over}"}
	out["storage.buckets.delete"] = operation{method: "DELETE", path: "/storage/v1/b/empty"}
	return out
}

// TestParametersThatAreNotServed sends every parameter and every field of the discovery documents that the list does
// not contain or marks as refused. Each must be rejected in a way that makes Google's client give up, with a message
// that names it.
func TestParametersThatAreNotServed(t *testing.T) {
	t.Parallel()
	all, requests, sent := discovered(t), probes(), 0
	w := newWorld(t)
	defer w.close(t)
	for name, listed := range listedInputs() {
		for _, p := range all[name].inputs(listed) {
			if use := listed[p]; use != accept.Unknown && use != accept.Refused {
				continue
			}
			value := "true"
			if strings.HasPrefix(p, ".") {
				value = "x"
			}
			op := requests[name].with(t, name, p, value)
			got := w.send(t, w.admin, op)
			sent++
			says := got.Body.String()
			named := strings.Contains(strings.ReplaceAll(says, "_", ""), strings.TrimPrefix(p, ".")) || strings.Contains(strings.ToLower(strings.ReplaceAll(says, "_", "")), strings.ToLower(p[1:])) || strings.Contains(says, p) || strings.Contains(says, "uniform bucket-level access") ||
				strings.Contains(says, "contexts") || strings.Contains(says, "Service Account Credentials API only")
			if got.Code != http.StatusBadRequest || !named {
				t.Errorf("%s with %s: %d %s", name, p, got.Code, says)
			}
		}
	}
	t.Logf("%d parameters and fields are refused", sent)
	if sent < 200 {
		t.Errorf("%d parameters and fields are refused: are they still found?", sent)
	}
}

// with returns the request with a parameter, or with a field of the body.
func (op operation) with(t *testing.T, name, parameter, value string) operation {
	t.Helper()
	field, isField := strings.CutPrefix(parameter, ".")
	if !isField {
		path, query, _ := strings.Cut(op.path, "?")
		q, err := url.ParseQuery(query)
		wantNoError(t, err)
		q.Set(parameter, value)
		op.path = path + "?" + q.Encode()
		op.path = strings.NewReplacer("%7B", "{", "%7D", "}").Replace(op.path)
		return op
	}
	if name == "storage.objects.insert" {
		op = emptyObject
	}
	body := map[string]any{}
	if op.body != "" {
		if err := json.Unmarshal([]byte(op.body), &body); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	var v any
	if json.Unmarshal([]byte(value), &v) != nil {
		v = value
	}
	at, names := body, strings.Split(field, ".")
	for _, n := range names[:len(names)-1] {
		if list, ok := at[n].([]any); ok {
			at = list[0].(map[string]any)
			continue
		}
		if at[n] == nil {
			at[n] = map[string]any{}
		}
		at = at[n].(map[string]any)
	}
	at[names[len(names)-1]] = v
	raw, err := json.Marshal(body)
	wantNoError(t, err)
	op.body = string(raw)
	return op
}

// acts are values that change the response, by the name of a parameter or of a method and a parameter. {current} stands for
// the generation that the method overwrites or reads, {source} for the one that it copies, {metageneration} for the bucket's.
var acts = map[string]string{
	"fields": "(", "userProject": "nowhere", "project": "other-project", "prefix": "zzz", "pageToken": "!", "maxResults": "x", "pageSize": "x", "view": "x", "updateMask": "x",
	"ifGenerationMatch": "77", "ifGenerationNotMatch": "{current}", "ifMetagenerationMatch": "77", "ifMetagenerationNotMatch": "1",
	"ifSourceGenerationMatch": "77", "ifSourceGenerationNotMatch": "{source}", "ifSourceMetagenerationMatch": "77", "ifSourceMetagenerationNotMatch": "1",
	"generation": "77", "sourceGeneration": "77", "softDeleted": "true", "versions": "true", "delimiter": "/", "includeTrailingDelimiter": "true", "startOffset": "zzz", "endOffset": "a", "matchGlob": "zzz",
	"enableObjectRetention": "true", "overrideUnlockedRetention": "true", "kmsKeyName": aKey, "destinationKmsKeyName": aKey, "name": "other", "contentEncoding": "gzip",
	"uploadType": "x", "upload_id": "none", "optionsRequestedPolicyVersion": "2", "options.requestedPolicyVersion": "2", "permissions": "storage.buckets.get",
	"serviceAccountEmail": "none@cooper-fake.iam.gserviceaccount.com", "showDeletedKeys": "true", "keyTypes": "SYSTEM_MANAGED", "maxBytesRewrittenPerCall": "1", "rewriteToken": "x",

	"projection": "x", "predefinedAcl": "private", "predefinedDefaultObjectAcl": "private", "destinationPredefinedAcl": "private", "copySourceAcl": "true",
	"storage.buckets.insert predefinedAcl": "x", "storage.buckets.insert predefinedDefaultObjectAcl": "x", "storage.defaultObjectAccessControls.list ifMetagenerationNotMatch": "2",
	".acl": `[{"entity":"allUsers","role":"READER"}]`, ".defaultObjectAcl": `[{"entity":"allUsers","role":"READER"}]`, ".entity": "allUsers", ".role": "OWNER",

	".billing.requesterPays": "true", ".defaultEventBasedHold": "true", ".iamConfiguration": `{"publicAccessPrevention":"enforced"}`, ".labels": `{"p":"q"}`, ".retentionPolicy": `{"retentionPeriod":"60"}`,
	".softDeletePolicy.retentionDurationSeconds": "0", ".versioning.enabled": "true", "storage.buckets.update .versioning.enabled": "false", "storage.objects.update .contentType": "text/css", ".name": "other",
	".cacheControl": "no-store", ".contentDisposition": "inline", ".contentEncoding": "gzip", ".contentLanguage": "en", ".contentType": "text/html", ".customTime": "2030-01-01T00:00:00Z",
	".eventBasedHold": "true", ".temporaryHold": "true", ".metadata": `{"p":"q"}`, ".retention.mode": "Locked", ".retention.retainUntilTime": "2099-01-01T00:00:00Z",
	".deleteSourceObjects": "true", ".sourceObjects.generation": `"77"`, ".sourceObjects.name": "none", ".sourceObjects.objectPreconditions.ifGenerationMatch": `"77"`,
	".bindings": `[{"role":"roles/storage.objectViewer","members":["allAuthenticatedUsers"]}]`, ".etag": "x", ".version": "2", ".state": "DELETED",
	".policy.bindings": `[{"role":"roles/none","members":["allUsers"]}]`, ".policy.etag": "x", ".policy.version": "2", ".permissions": `["storage.buckets.get","iam.serviceAccounts.get"]`,
	".accountId": "other-account", ".serviceAccount.description": "d", ".serviceAccount.displayName": "d", ".updateMask": "email", ".keyAlgorithm": "x", ".privateKeyType": "x", ".publicKeyData": "eA==",
	"iam.projects.serviceAccounts.patch .serviceAccount.description": "other",
	".roleId": "other", ".role.description": "d", ".role.includedPermissions": "[]", ".role.stage": "GA", ".role.title": "d", ".description": "d", ".includedPermissions": "[]", ".stage": "GA", ".title": "d",
	".lifetime": "7200s", ".scope": "[]", ".payload": "",
}

const aKey = "projects/p/locations/l/keyRings/r/cryptoKeys/k"

// seenElsewhere are parameters whose effect is tested elsewhere.
var seenElsewhere = map[string]string{
	"storage.buckets.getStorageLayout prefix":                                    "what conditions see",
	"storage.objects.compose .deleteSourceObjects":                               "TestBehaviour",
	"storage.objects.insert .crc32c":                                             "TestRefusals",
	"storage.objects.insert .md5Hash":                                            "TestRefusals",
	"cloudresourcemanager.projects.getIamPolicy .options.requestedPolicyVersion": "TestConditionsInBothVersions",
	"iam.projects.serviceAccounts.patch .serviceAccount.displayName":             "the mask of the request has another field",
}

// TestParametersAct sends each parameter and field that is served with a value that makes a difference: a response that is
// the same as without it has ignored it.
func TestParametersAct(t *testing.T) {
	t.Parallel()
	requests := probes()
	for name, listed := range listedInputs() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for p, use := range listed {
				if use != accept.Served || seenElsewhere[name+" "+p] != "" || name == "sts.token" { // TestWorkloadIdentity
					continue
				}
				op := requests[name]
				if strings.HasPrefix(p, ".") && name == "storage.objects.insert" {
					op = emptyObject
				}
				value, ok := acts[name+" "+p]
				if !ok {
					value, ok = acts[strings.Replace(p, ".destination.", ".", 1)]
				}
				if !ok {
					t.Errorf("nothing says how %s of %s is seen to act", p, name)
					continue
				}
				op = base(op, name, p)
				without, with := actsIn(t, op), actsIn(t, op.with(t, name, p, value))
				if without.Code >= 300 && p != "overrideUnlockedRetention" {
					t.Errorf("%s without %s: %d %s", name, p, without.Code, without.Body)
				}
				if without.Code == with.Code && without.Body.String() == with.Body.String() && without.Header().Get("Location") == with.Header().Get("Location") {
					t.Errorf("%s ignores %s=%s: %d %s", name, p, value, with.Code, with.Body)
				}
			}
		})
	}
}

// emptyObject creates an object without a body: the only way to insert one with a request that consists of a
// document.
var emptyObject = operation{method: "POST", path: b + "/o", body: `{"name":"o"}`}

// base returns the request with everything else that a parameter needs.
func base(op operation, name, parameter string) operation {
	switch parameter {
	case "softDeleted":
		if name == "storage.objects.list" {
			op.path = "/storage/v1/b/bin/o"
		}
	case "versions":
		op.path = "/storage/v1/b/versioned/o"
	case "includeTrailingDelimiter":
		op.path += "?delimiter=/"
	case "overrideUnlockedRetention":
		op.path, op.body = "/storage/v1/b/locked/o/o", `{"retention":{"mode":"Unlocked","retainUntilTime":"2098-01-01T00:00:00Z"}}`
	}
	return op
}

// actsIn sends a request in a world of its own, in which little depends on chance.
func actsIn(t *testing.T, op operation) *httptest.ResponseRecorder {
	t.Helper()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	w := worldOf(t, gcsfake.Options{Now: func() time.Time { return now }})
	defer w.close(t)
	for _, step := range []operation{
		{method: "POST", path: up + "?uploadType=media&name=dir/", body: "folder"},
		{method: "POST", path: "/storage/v1/b?project=cooper-fake", body: `{"name":"versioned","versioning":{"enabled":true}}`},
		{method: "POST", path: "/upload/storage/v1/b/versioned/o?uploadType=media&name=o", body: "old"},
		{method: "POST", path: "/upload/storage/v1/b/versioned/o?uploadType=media&name=o", body: "new"},
		{method: "PATCH", path: "/storage/v1/b/locked/o/o", body: `{"retention":{"mode":"Unlocked","retainUntilTime":"2099-01-01T00:00:00Z"}}`},
	} {
		w.must(t, step)
	}
	for name, path := range map[string]string{"{current}": o, "{source}": b + "/o/dir%2Fa"} {
		if strings.Contains(op.path, "/b/bin/") {
			path = "/storage/v1/b/bin/o/again"
		}
		var doc struct{ Generation string }
		wantNoError(t, json.Unmarshal(w.send(t, w.admin, operation{method: "GET", path: path}).Body.Bytes(), &doc))
		w.known[name] = doc.Generation
	}
	return w.send(t, w.admin, op)
}

// says maps parameters and fields to the page's text about the difference.
var says = map[string]string{
	"alt":                      "`json`, and `media` for `storage.objects.get`; others are rejected",
	"key":                      "there are no API keys",
	"prettyPrint":              "responses are never indented",
	"quotaUser":                "there are no quotas for users",
	"userIp":                   "there are no quotas for users",
	"returnPartialSuccess":     "no location is ever unreachable",
	"includeFoldersAsPrefixes": "there are no folders",
	"pageSize":                 "the list is always empty",
	"pageToken":                "the list is always empty",
	"prefix":                   "the list is always empty",
	".autoclass.enabled":       "stored and returned; no object changes its class",

	".autoclass.terminalStorageClass": "stored and returned; no object changes its class",
	".cors":                           "stored and returned; browsers get no headers",
	".customPlacementConfig":          "stored and returned without effect",
	".encryption.defaultKmsKeyName":   "stored and returned with new objects; nothing is encrypted",
	".kmsKeyName":                     "set with the parameter, not in the body",
	".lifecycle":                      "validated, stored and returned; never executed",
	".location":                       "stored and returned without effect",
	".logging":                        "stored and returned; nothing is logged",
	".rpo":                            "stored and returned",
	".storageClass":                   "stored and returned without effect",
	".website":                        "stored and returned; no pages are served",
}

const page = "../../docs/reference/gcsfake.md"

// TestThePageListsEveryParameter compares the page with the discovery documents and the list. COOPER_UPDATE=1 writes it.
func TestThePageListsEveryParameter(t *testing.T) {
	t.Parallel()
	was, err := os.ReadFile(page)
	wantNoError(t, err)
	const heading = "\n## Every method, parameter and field\n"
	before, _, ok := strings.Cut(string(was), heading)
	if !ok {
		t.Fatalf("%s has no heading %q", page, heading)
	}
	want := before + heading + list(t)
	if os.Getenv("COOPER_UPDATE") != "" {
		wantNoError(t, os.WriteFile(page, []byte(want), 0o600))
		was = []byte(want)
	}
	if diff := gocmp.Diff(want, string(was)); diff != "" {
		t.Errorf("COOPER_UPDATE=1 go test ./fakes/gcsfake -run %s writes %s (-want +got):\n%s", t.Name(), page, diff)
	}
}

// list is the generated part of the page.
func list(t *testing.T) string {
	t.Helper()
	all, served := discovered(t), listedInputs()
	counts := map[accept.Use]int{}
	different := map[string]bool{}
	var rows, unserved []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		listed := served[name]
		if strings.HasPrefix(name, "iam.") && served["iamcredentials"+strings.TrimPrefix(name, "iam")] != nil {
			continue // switched off; its path is that of its successor
		}
		if listed == nil {
			unserved = append(unserved, "`"+name+"`")
			continue
		}
		cells := map[accept.Use][]string{}
		for _, p := range all[name].inputs(listed) {
			use := cmp.Or(listed[p], accept.Refused)
			if use == accept.Different {
				field := strings.Replace(p, ".destination.", ".", 1)
				if says[field] == "" {
					t.Errorf("nothing says what is different with %s", field)
				}
				different[field] = true
			}
			counts[use]++
			cells[use] = append(cells[use], "`"+p+"`")
		}
		rows = append(rows, fmt.Sprintf("| %#q | %s | %s | %s |", name, cell(cells[accept.Served]), cell(cells[accept.Different]), cell(cells[accept.Refused])))
	}
	var out strings.Builder
	fmt.Fprintf(&out, `
From the discovery documents of google.golang.org/api by

    COOPER_UPDATE=1 go test ./fakes/gcsfake -run TestThePageListsEveryParameter

Names with a leading dot are fields of the body; a field includes all fields below it. %d parameters and fields are supported, %d
are different, %d are rejected with 400 and a message that names them, and %d, which only the service sets, are ignored, as in
Google Cloud. All other parameters and fields are rejected, as are unused headers of Google and of S3, and conditional headers
of operations that do not support them. TestParametersAct verifies that each supported one changes a response, and
TestParametersThatAreNotServed that each other one is rejected. Empty values (false, null, "" or empty) are accepted.

| method | supported | different | rejected |
|---|---|---|---|
%s

Differences:

| parameter or field | |
|---|---|
`, counts[accept.Served], counts[accept.Different], counts[accept.Refused], counts[accept.Ignored], strings.Join(rows, "\n"))
	for _, p := range slices.Sorted(maps.Keys(different)) {
		fmt.Fprintf(&out, "| `%s` | %s |\n", p, says[p])
	}
	fmt.Fprintf(&out, "\nUnsupported methods (%d): %s.\n", len(unserved), strings.Join(unserved, ", "))
	out.WriteString("\nOperations of the XML API, with the headers of Google and S3 that each supports in addition to those for authentication and billing. Other\nheaders are rejected with 400 and their names, including those of other operations:\n\n| operation | headers |\n|---|---|\n")
	row := func(name string, inputs accept.List) {
		var names []string
		for _, in := range inputs {
			names = append(names, "`"+in.Name+"`")
		}
		fmt.Fprintf(&out, "| %#q | %s |\n", name, cell(names))
	}
	row("form", rest.FormFields)
	for _, name := range slices.Sorted(maps.Keys(rest.XMLInputs)) {
		row(name, rest.XMLInputs[name].Headers)
	}
	return out.String()
}

func cell(names []string) string { return cmp.Or(strings.Join(names, " "), "–") }
