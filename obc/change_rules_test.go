// SPDX-License-Identifier: Apache-2.0

package obc

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/api/objectbucket"
	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/bucketchange"
)

// TestChangesOf computes the changes of a claim whose bucket was created with maxSize and the parameter tier.
func TestChangesOf(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		allowed string
		tier    string
		config  map[string]string
		// want are the changes, or a part of the message of the problem.
		want, problem string
	}{
		"a value":       {"maxSize", "hot", map[string]string{"maxSize": "2"}, `{"quota":"2"}`, ""},
		"a removed key": {"maxSize", "hot", nil, `{"quota":null}`, ""},
		"a removed key that is no longer allowed":       {"bucketLifecycle", "hot", nil, "", `no longer allows "maxSize"`},
		"a key that is another parameter now":           {"maxSize=hardLimit", "hot", map[string]string{"maxSize": "2"}, "", `no longer allows "maxSize"`},
		"more parameters than a request may have":       {"maxSize,note", strings.Repeat("x", 60000), map[string]string{"maxSize": "1", "note": strings.Repeat("x", 6000)}, "", "would not be valid: parameters has"},
		"more changes than the annotation may have":     {"maxSize,note", "hot", map[string]string{"maxSize": "1", "note": strings.Repeat("<", 12000)}, "", "more than 65536"},
		"as many changes as the annotation may have":    {"maxSize,note", "hot", map[string]string{"maxSize": "1", "note": strings.Repeat("x", 60000)}, `{"note":"` + strings.Repeat("x", 60000) + `"}`, ""},
		"a key with the parameter of the administrator": {"maxSize=tier", "hot", map[string]string{"maxSize": "1"}, `{"tier":"1"}`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			claim, f := asked()
			claim.Spec.AdditionalConfig = map[string]string{"maxSize": "1"}
			w := &work{claim: claim, decision: decision{driver: f.bucketClass.Spec.DriverName}, bucket: &objectbucket.ObjectBucket{Spec: objectbucket.ObjectBucketSpec{
				StorageClassName: claim.Spec.StorageClassName, AdditionalState: map[string]string{stateRequest: requestOf(claim)},
			}}}
			claim.Spec.AdditionalConfig = tc.config
			f.storage.Parameters[paramAllowedConfig] = tc.allowed
			changes, p := changesOf(w, &cosiapi.Bucket{Spec: cosiapi.BucketSpec{Parameters: map[string]string{"quota": "1", "tier": tc.tier}}}, f)
			if p != nil && (tc.problem == "" || !strings.Contains(p.message, tc.problem)) || p == nil && (tc.problem != "" || changes.Text() != tc.want) {
				t.Errorf("want %s%s, got %s, %+v", tc.want, tc.problem, changes.Text(), p)
			}
		})
	}
}

// TestChangeOf checks what a claim with the edited fields maxSize and tags reports about the result of its change.
func TestChangeOf(t *testing.T) {
	t.Parallel()
	fields := []string{fieldConfig + "maxSize", fieldConfig + "tags"}
	for name, tc := range map[string]struct {
		allowed string
		result  bucketchange.Result
		want    change
	}{
		"applied":                      {"maxSize,tags", bucketchange.Result{}, change{}},
		"a parameter is not supported": {"maxSize,tags", bucketchange.Result{Unsupported: []string{"quota"}}, change{ignored: fields[:1]}},
		"a parameter that the administrator names is not supported": {"maxSize=limit,tags", bucketchange.Result{Unsupported: []string{"limit"}}, change{ignored: fields[:1]}},
		"a parameter of a key that is not allowed any longer":       {"", bucketchange.Result{Unsupported: []string{"tags"}}, change{ignored: fields[1:]}},
		"a parameter that was not edited":                           {"maxSize,tags,tier", bucketchange.Result{Unsupported: []string{"tier"}}, change{}},
		"a failed change": {"maxSize,tags", bucketchange.Result{Problem: "No."}, change{
			message: "COSI could not apply the change of spec.additionalConfig.maxSize, spec.additionalConfig.tags, or applied only a part of it: No.", failed: true,
		}},
		"a change that is repeated": {"maxSize,tags", bucketchange.Result{Problem: "Down.", Retrying: true}, change{
			message: "COSI could not apply the change of spec.additionalConfig.maxSize, spec.additionalConfig.tags, or applied only a part of it: Down.",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, f := asked()
			f.storage.Parameters[paramAllowedConfig] = tc.allowed
			b := &cosiapi.Bucket{}
			cosiapi.SetAnnotation(b, cosiapi.ParameterChangesAnnotation, "{}")
			tc.result.Request = bucketchange.Digest(b)
			cosiapi.SetAnnotation(b, cosiapi.ParameterChangesResultAnnotation, tc.result.Text())
			if diff := cmp.Diff(&tc.want, changeOf(b, f.storage, fields), cmp.AllowUnexported(change{})); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
	if got := changeOf(&cosiapi.Bucket{}, nil, fields); got.failed || !strings.Contains(got.message, "is not applied yet") {
		t.Errorf("without a result: %+v", got)
	}
}
