// SPDX-License-Identifier: Apache-2.0

package v1alpha2_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// A ruleCase is the files testdata/<kind>/<name>.*:
//
//	<name>.yaml                        an object to create, or
//	<name>.pre.yaml                    an object that exists, its status included, and
//	<name>.post.yaml                   an update of it, or
//	<name>.post-status.yaml            an update of its status;
//	<name>.err                         what the refusal says; without it, there must be none.
type ruleCase struct {
	path string // testdata/<kind>/<name>
}

// TestRules sends every manifest of testdata to a real API server.
func TestRules(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	namespace := env.Namespace()
	for _, c := range ruleCases(t) {
		t.Run(strings.TrimPrefix(c.path, "testdata/"), func(t *testing.T) {
			t.Parallel()
			c.run(t, env.Client, namespace)
		})
	}
}

func ruleCases(t *testing.T) []ruleCase {
	t.Helper()
	files, err := filepath.Glob("testdata/*/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var cases []ruleCase
	for _, file := range files {
		path := strings.TrimSuffix(strings.TrimSuffix(file, ".yaml"), ".pre")
		if !strings.Contains(filepath.Base(path), ".") { // a post file belongs to its pre file
			cases = append(cases, ruleCase{path: path})
		}
	}
	if len(cases) == 0 {
		t.Fatal("no manifest in testdata")
	}
	return cases
}

func (c ruleCase) run(t *testing.T, api client.Client, namespace string) {
	t.Helper()
	if obj := c.load(t, ".yaml"); obj != nil {
		c.place(obj, namespace)
		c.check(t, api.Create(t.Context(), obj))
		c.cleanUp(t, api, obj)
		return
	}
	obj := c.load(t, ".pre.yaml")
	c.place(obj, namespace)
	status := obj.Object["status"]
	if err := api.Create(t.Context(), obj); err != nil {
		t.Fatalf("create %s.pre.yaml: %v", c.path, err)
	}
	c.cleanUp(t, api, obj)
	if status != nil {
		obj.Object["status"] = status
		if err := api.Status().Update(t.Context(), obj); err != nil {
			t.Fatalf("status of %s.pre.yaml: %v", c.path, err)
		}
	}
	version := obj.GetResourceVersion()
	if post := c.load(t, ".post.yaml"); post != nil {
		c.place(post, namespace)
		post.SetResourceVersion(version)
		c.check(t, api.Update(t.Context(), post))
		return
	}
	post := c.load(t, ".post-status.yaml")
	if post == nil {
		t.Fatalf("%s.pre.yaml has neither a .post.yaml nor a .post-status.yaml", c.path)
	}
	c.place(post, namespace)
	post.SetResourceVersion(version)
	c.check(t, api.Status().Update(t.Context(), post))
}

// check compares the response of the API server with the .err file.
func (c ruleCase) check(t *testing.T, got error) {
	t.Helper()
	want, err := os.ReadFile(c.path + ".err")
	switch {
	case errors.Is(err, fs.ErrNotExist):
		if got != nil {
			t.Errorf("must be accepted, was refused: %v", got)
		}
	case err != nil:
		t.Fatal(err)
	case got == nil:
		t.Errorf("must be refused with %q, was accepted", strings.TrimSpace(string(want)))
	case !strings.Contains(got.Error(), strings.TrimSpace(string(want))):
		t.Errorf("must be refused with %q, was refused with: %v", strings.TrimSpace(string(want)), got)
	}
}

// load reads one file of the case; nil means that there is none.
func (c ruleCase) load(t *testing.T, suffix string) *unstructured.Unstructured {
	t.Helper()
	data, err := os.ReadFile(c.path + suffix)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		t.Fatal(err)
	}
	obj := &unstructured.Unstructured{}
	if err := yaml.UnmarshalStrict(data, &obj.Object); err != nil {
		t.Fatalf("%s%s: %v", c.path, suffix, err)
	}
	return obj
}

// place gives the object a name of its own; a namespace is ignored by the API
// server for kinds that have none.
func (c ruleCase) place(obj *unstructured.Unstructured, namespace string) {
	name := strings.ReplaceAll(filepath.Base(c.path), "_", "-")
	if kind := obj.GetKind(); kind == "BucketClaim" || kind == "BucketAccess" {
		obj.SetNamespace(namespace)
		obj.SetName(name)
		return
	}
	obj.SetName(fmt.Sprintf("%s.%s", namespace, name))
}

// cleanUp deletes the object at the end of the test, if it was created.
func (c ruleCase) cleanUp(t *testing.T, api client.Client, obj client.Object) {
	t.Helper()
	if obj.GetUID() == "" {
		return
	}
	t.Cleanup(func() {
		if err := client.IgnoreNotFound(api.Delete(context.WithoutCancel(t.Context()), obj)); err != nil {
			t.Errorf("delete the object of %s: %v", c.path, err)
		}
	})
}
