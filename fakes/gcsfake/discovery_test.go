// SPDX-License-Identifier: Apache-2.0

package gcsfake_test

import (
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// discoveryResource is a part of a discovery document.
type discoveryResource struct {
	Methods   map[string]discoveryMethod   `json:"methods"`
	Resources map[string]discoveryResource `json:"resources"`
}

type discoveryMethod struct {
	ID         string `json:"id"`
	HTTPMethod string `json:"httpMethod"`
	Path       string `json:"path"`
	FlatPath   string `json:"flatPath"`
	Parameters map[string]struct {
		Location string `json:"location"`
		Repeated bool   `json:"repeated"`
	} `json:"parameters"`
	Request schema `json:"request"`

	// operation is its request, with a bucket and an account that exist.
	operation operation
	// document is what describes it.
	document *discoveryDocument
}

// schema describes a document or a field of one.
type schema struct {
	Ref        string            `json:"$ref"`
	Properties map[string]schema `json:"properties"`
	Items      *schema           `json:"items"`
}

type discoveryDocument struct {
	discoveryResource

	ServicePath string `json:"servicePath"`
	// Parameters are those that every method has.
	Parameters map[string]json.RawMessage `json:"parameters"`
	Schemas    map[string]schema          `json:"schemas"`
}

// methods adds all methods of a part by their IDs.
func (d *discoveryDocument) methods(r discoveryResource, into map[string]discoveryMethod) {
	fill := strings.NewReplacer("{bucket}", "docs", "{destinationBucket}", "docs", "{sourceBucket}", "docs", "{object}", "o", "{sourceObject}", "o", "{destinationObject}", "x",
		"{projectId}", "cooper-fake", "{projectsId}", "cooper-fake", "{resource}", "cooper-fake", "{serviceAccountsId}", "target@cooper-fake.iam.gserviceaccount.com", "{accessId}", "{hmac}")
	for _, m := range r.Methods {
		path := fill.Replace("/" + d.ServicePath + cmp.Or(m.FlatPath, m.Path))
		path = strings.ReplaceAll(regexp.MustCompile(`\{\+?[a-zA-Z]+\}`).ReplaceAllString(path, "x"), "hmacKeys/x", "hmacKeys/{hmac}")
		m.operation, m.document = operation{method: m.HTTPMethod, path: path}, d
		into[m.ID] = m
	}
	for _, r := range r.Resources {
		d.methods(r, into)
	}
}

// discovered reads the discovery documents of the services that are served, or parts of them, from the module that has the
// clients generated from them, and returns their methods by ID.
func discovered(t *testing.T) map[string]discoveryMethod {
	t.Helper()
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/api").Output()
	wantNoError(t, err)
	out := map[string]discoveryMethod{}
	for file, wanted := range map[string][]string{
		"storage/v1/storage-api.json":                           {"storage."},
		"iam/v1/iam-api.json":                                   {"iam.projects.serviceAccounts.", "iam.projects.roles.", "iam.roles.", "iam.permissions."},
		"iamcredentials/v1/iamcredentials-api.json":             {"iamcredentials."},
		"cloudresourcemanager/v1/cloudresourcemanager-api.json": {"cloudresourcemanager.projects."},
		"sts/v1/sts-api.json":                                   {"sts."},
	} {
		raw, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), file))
		wantNoError(t, err)
		var d discoveryDocument
		wantNoError(t, json.Unmarshal(raw, &d))
		methods := map[string]discoveryMethod{}
		d.methods(d.discoveryResource, methods)
		for id, m := range methods {
			if slices.ContainsFunc(wanted, func(prefix string) bool { return strings.HasPrefix(id, prefix) }) {
				out[id] = m
			}
		}
	}
	return out
}

// TestEveryMethodIsServedOrSaysThatItIsNot sends a request of every method of the discovery documents. None may look as if
// it did not exist.
func TestEveryMethodIsServedOrSaysThatItIsNot(t *testing.T) {
	t.Parallel()
	all := discovered(t)
	var served, unserved []string
	w := newWorld(t)
	defer func() { w.close(t) }() // the last one that is made below
	for _, name := range slices.Sorted(maps.Keys(all)) {
		op := all[name].operation
		w.ForgetCalls()
		got := w.send(t, w.admin, op)
		calls := w.Calls()
		switch operation := calls[0].Operation; {
		case got.Code == http.StatusBadRequest && strings.Contains(got.Body.String(), "This fake does not support"):
			unserved = append(unserved, name)
		case operation == "unknown":
			t.Errorf("%s (%s %s): %d %s", name, op.method, op.path, got.Code, got.Body.String())
		default:
			served = append(served, name)
			// One path belongs to a method of the IAM API, which is switched off, and to its successor's.
			if operation != name && !strings.HasSuffix(name, ".signBlob") && !strings.HasSuffix(name, ".signJwt") {
				t.Errorf("%s is taken for %s", name, operation)
			}
		}
		if strings.HasPrefix(name, "storage.buckets.delete") || strings.HasPrefix(name, "iam.projects.serviceAccounts.delete") {
			w.close(t)
			w = newWorld(t)
		}
	}
	t.Logf("%d methods are served: %s", len(served), strings.Join(served, " "))
	t.Logf("%d methods respond that they are not: %s", len(unserved), strings.Join(unserved, " "))
	if len(served) < 50 {
		t.Errorf("%d methods are served", len(served))
	}
}
