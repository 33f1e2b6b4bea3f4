// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"net/http"
	"strings"
	"testing"
)

// TestRequesterPays sends requests on a bucket with Requester Pays, with and without a project, as the traffic of 2019 in
// cloud.google.com/go/storage does.
func TestRequesterPays(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	const member = "serviceAccount:requester@cooper-fake.iam.gserviceaccount.com"
	requester := w.account(t, "requester")
	wantNoError(t, w.Grant("", member, "roles/storage.admin"))
	w.must(t, operation{method: "PATCH", path: "/storage/v1/b/fine", body: `{"billing":{"requesterPays":true}}`})
	const fine = "/storage/v1/b/fine"
	requests := map[string]operation{
		"get a bucket":        {method: "GET", path: fine},
		"list objects":        {method: "GET", path: fine + "/o"},
		"get an object":       {method: "GET", path: fine + "/o/o"},
		"get a list":          {method: "GET", path: fine + "/acl"},
		"upload":              {method: "POST", path: "/upload" + fine + "/o?uploadType=media&name=up", body: "x"},
		"start an upload":     {method: "POST", path: "/upload" + fine + "/o?uploadType=resumable&name=up"},
		"rewrite from":        {method: "POST", path: fine + "/o/o/rewriteTo/b/docs/o/copy"},
		"copy to":             {method: "POST", path: "/storage/v1/b/docs/o/o/copyTo/b/fine/o/copy"},
		"get by XML":          {method: "GET", path: "/fine/o"},
		"put by XML":          {method: "PUT", path: "/fine/put", body: "x"},
		"copy by XML":         {method: "PUT", path: "/docs/copied", headers: "X-Goog-Copy-Source: /fine/o"},
		"another bucket":      {method: "GET", path: "/storage/v1/b/docs"},
		"an unknown bucket":   {method: "GET", path: "/storage/v1/b/nowhere"},
		"without credentials": {method: "GET", path: "/fine/o"},
	}
	expect := func(what, token, project string, want map[string]int, others int) {
		t.Helper()
		for name, op := range requests {
			if project != "" {
				op.headers += "\nX-Goog-User-Project: " + project
			}
			caller := token
			if name == "without credentials" {
				caller = ""
			}
			status, listed := want[name]
			if !listed {
				status = others
			}
			got := w.send(t, caller, op)
			if got.Code != status {
				t.Errorf("%s, %s: %d %s", what, name, got.Code, got.Body)
			}
			if got.Code == http.StatusBadRequest && !strings.Contains(got.Body.String(), "no user project provided") {
				t.Errorf("%s, %s: %s", what, name, got.Body)
			}
		}
	}
	expect("without a project", requester, "", map[string]int{"another bucket": 200, "an unknown bucket": 404}, http.StatusBadRequest)
	expect("with a forbidden project", requester, "cooper-fake", nil, http.StatusForbidden)
	wantNoError(t, w.Grant("", member, "roles/serviceusage.serviceUsageConsumer"))
	expect("with a project", requester, "cooper-fake", map[string]int{"an unknown bucket": 404, "without credentials": 403}, http.StatusOK)
	expect("by the owner", w.admin, "", map[string]int{"an unknown bucket": 404, "without credentials": 400}, http.StatusOK)
	wantNoError(t, w.Grant("", member, "roles/billing.projectManager"))
	expect("by a manager of billing", requester, "", map[string]int{"an unknown bucket": 404, "without credentials": 400}, http.StatusOK)
}

// TestRequesterPaysByXML compares the errors of the XML API with those in the traffic of 2019.
func TestRequesterPaysByXML(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	const member = "requester@cooper-fake.iam.gserviceaccount.com"
	requester := w.account(t, "requester")
	wantNoError(t, w.Grant("", "serviceAccount:"+member, "roles/storage.admin"))
	w.must(t, operation{method: "PATCH", path: "/storage/v1/b/fine", body: `{"billing":{"requesterPays":true}}`})
	for headers, want := range map[string]string{
		"":                                 "<Code>UserProjectMissing</Code><Message>Bucket is a requester pays bucket but no user project provided.</Message><Details>Bucket is Requester Pays bucket but no billing project id provided for non-owner.</Details>",
		"X-Goog-User-Project: cooper-fake": "<Code>UserProjectAccessDenied</Code><Message>Requester does not have serviceusage.services.use permissions on user project.</Message><Details>" + member + " does not have serviceusage.services.use access to project ",
	} {
		if got := w.send(t, requester, operation{method: "GET", path: "/fine/o", headers: headers}); !strings.Contains(got.Body.String(), want) {
			t.Errorf("%q: %d %s", headers, got.Code, got.Body)
		}
	}
}

// TestRequesterPaysOfUploads completes an upload that started with a project.
func TestRequesterPaysOfUploads(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	w.must(t, operation{method: "PATCH", path: "/storage/v1/b/docs", body: `{"billing":{"requesterPays":true}}`})
	session := w.resumable(t, w.admin, "resumed")
	if got := w.send(t, "", operation{method: "PUT", path: session, body: "x"}); got.Code != http.StatusOK {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

// TestRequesterPaysWithUploadIDs adds the ID of an upload to other calls than those of uploads. They still need a project.
func TestRequesterPaysWithUploadIDs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	defer w.close(t)
	requester := w.account(t, "requester")
	wantNoError(t, w.Grant("", "serviceAccount:requester@cooper-fake.iam.gserviceaccount.com", "roles/storage.admin"))
	w.must(t, operation{method: "PATCH", path: "/storage/v1/b/fine", body: `{"billing":{"requesterPays":true}}`})
	for _, op := range []operation{
		{method: "GET", path: "/storage/v1/b/fine/o/o?upload_id=false"},
		{method: "GET", path: "/storage/v1/b/fine/o/upload%2Fstorage%2Fv1%2F?upload_id=false"},
		{method: "DELETE", path: "/storage/v1/b/fine/o/o?upload_id=false"},
		{method: "POST", path: "/storage/v1/b/fine/o?upload_id=1&name=free", body: `{"name":"free"}`},
		{method: "GET", path: "/fine/o?acl&upload_id=1"},
		{method: "GET", path: "/fine?location&upload_id=1"},
		{method: "POST", path: "/fine/free?upload_id=1", headers: "X-Goog-Resumable: start"},
	} {
		if got := w.send(t, requester, op); got.Code != http.StatusBadRequest || !strings.Contains(got.Body.String(), "no user project provided") {
			t.Errorf("%s %s: %d %s", op.method, op.path, got.Code, got.Body)
		}
	}
}
