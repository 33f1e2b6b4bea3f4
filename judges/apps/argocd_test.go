// SPDX-License-Identifier: Apache-2.0

package apps_test

import (
	"os/exec"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	lua "github.com/yuin/gopher-lua"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	luajson "layeh.com/gopher-json"
	"sigs.k8s.io/yaml"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// A verdict is the result of a health check.
type verdict struct{ Status, Message, DeletionMessage string }

// healthKinds are the kinds with a health check, by the name of the check.
var healthKinds = map[string]schema.GroupVersionKind{
	"objectstorage.k8s.io_BucketClaim":  cosiapi.GroupVersion().WithKind("BucketClaim"),
	"objectstorage.k8s.io_BucketAccess": cosiapi.GroupVersion().WithKind("BucketAccess"),
	"objectstorage.k8s.io_Bucket":       cosiapi.GroupVersion().WithKind("Bucket"),
	"objectbucket.io_ObjectBucketClaim": {Group: "objectbucket.io", Version: "v1alpha1", Kind: "ObjectBucketClaim"},
}

type healthCase struct {
	object string
	want   verdict
}

func healthCases() map[string]healthCase {
	return map[string]healthCase{
		"a new object": {`metadata: {generation: 1}`, verdict{Status: "Progressing", Message: "Waiting for COSI."}},
		"an object with the defaults of the CRD": {`
metadata: {generation: 1}
status: {conditions: [{type: Ready, status: Unknown, reason: Pending, message: Waiting.}]}`, verdict{Status: "Progressing", Message: "Waiting."}},
		"a missing class": {`
metadata: {generation: 1}
status: {conditions: [{type: Ready, status: "False", observedGeneration: 1, message: No class.}]}`, verdict{Status: "Progressing", Message: "No class."}},
		"a refused parameter": {`
metadata: {generation: 1}
status: {conditions: [{type: Ready, status: "False", observedGeneration: 1, message: Refused.}, {type: Stalled, status: "True", observedGeneration: 1, message: Refused.}]}`, verdict{Status: "Degraded", Message: "Refused."}},
		"a problem that was solved": {`
metadata: {generation: 1}
status: {conditions: [{type: Ready, status: "True", observedGeneration: 1, message: Ready.}, {type: Stalled, status: "False", observedGeneration: 1}]}`, verdict{Status: "Healthy", Message: "Ready."}},
		"a change that COSI has not seen": {`
metadata: {generation: 2}
status: {conditions: [{type: Ready, status: "True", observedGeneration: 1, message: Ready.}]}`, verdict{Status: "Progressing", Message: "Ready."}},
		"an older version, without Ready": {`
metadata: {generation: 1}
status: {conditions: [{type: Provisioned, status: "True", observedGeneration: 1, message: Done.}]}`, verdict{Status: "Healthy", Message: "Done."}},
		"an older version, not provisioned": {`
metadata: {generation: 1}
status: {conditions: [{type: Provisioned, status: "False", message: Waiting.}]}`, verdict{Status: "Progressing", Message: "Waiting."}},
		"a deleted object": {`
metadata: {generation: 2, deletionTimestamp: "2026-01-01T00:00:00Z"}
status: {conditions: [{type: Ready, status: "True", observedGeneration: 1, message: Ready.}]}`, verdict{Status: "Progressing", Message: "Waiting for deletion.", DeletionMessage: "Waiting for deletion."}},
		"a deletion that cannot continue": {`
metadata: {generation: 2, deletionTimestamp: "2026-01-01T00:00:00Z"}
status: {conditions: [{type: DeprovisionFailed, status: "True", message: The bucket is in use.}]}`, verdict{Status: "Progressing", Message: "The bucket is in use.", DeletionMessage: "The bucket is in use."}},
		"a bound ObjectBucketClaim":   {`{metadata: {generation: 1}, status: {phase: Bound}}`, verdict{Status: "Healthy"}},
		"a failed ObjectBucketClaim":  {`{metadata: {generation: 1}, status: {phase: Failed}}`, verdict{Status: "Degraded", Message: "The phase is Failed."}},
		"a pending ObjectBucketClaim": {`{metadata: {generation: 1}, status: {phase: Pending}}`, verdict{Status: "Progressing", Message: "Waiting for COSI."}},
	}
}

// TestArgoCDHealth runs the health checks of deploy/argocd in the Lua interpreter of Argo CD, with the same libraries.
func TestArgoCDHealth(t *testing.T) {
	t.Parallel()
	scripts := healthScripts(t)
	for name, test := range healthCases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for kind := range healthKinds {
				if diff := cmp.Diff(test.want, health(t, scripts["resource.customizations.health."+kind], test.object)); diff != "" {
					t.Errorf("%s (-want +got):\n%s", kind, diff)
				}
			}
		})
	}
}

// healthScripts returns the data of the ConfigMap, as kubectl applies it.
func healthScripts(t *testing.T) map[string]string {
	t.Helper()
	programs, err := binaries.Find(t.Context(), binaries.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), programs.Kubectl, "kustomize", "../../deploy/argocd").Output()
	if err != nil {
		t.Fatalf("kubectl kustomize: %v", err)
	}
	settings := &corev1.ConfigMap{}
	if err := yaml.UnmarshalStrict(out, settings); err != nil || settings.Name != "argocd-cm" {
		t.Fatalf("ConfigMap %q, %v", settings.Name, err)
	}
	return settings.Data
}

// health runs a script like ExecuteHealthLua of Argo CD: with the libraries base, package and table only.
func health(t *testing.T, script, object string) verdict {
	t.Helper()
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	state.SetContext(t.Context())
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase, lua.TabLibName: lua.OpenTable} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			t.Fatal(err)
		}
	}
	var decoded any
	if err := yaml.Unmarshal([]byte(object), &decoded); err != nil {
		t.Fatal(err)
	}
	state.SetGlobal("obj", luajson.DecodeValue(state, decoded))
	if err := state.DoString(script); err != nil || strings.TrimSpace(script) == "" {
		t.Fatalf("script %q: %v", script, err)
	}
	encoded, err := luajson.Encode(state.Get(-1))
	if err != nil {
		t.Fatal(err)
	}
	var got verdict
	if err := yaml.UnmarshalStrict(encoded, &got); err != nil {
		t.Fatal(err)
	}
	return got
}
