// SPDX-License-Identifier: Apache-2.0

package addedkeys_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/cooper-cosi/cooper/internal/secretkeys/addedkeys"
	"github.com/cooper-cosi/cooper/internal/secretkeys/formats"
)

// secret is a secret value that must be in no error.
const secret = `wJal/+"\x`

func grant(claim string, more ...string) formats.Grant {
	data := map[string][]byte{}
	for _, pair := range append([]string{
		"COSI_PROTOCOL=S3", "AWS_ENDPOINT_URL=https://s3.example.com:9000", "BUCKET_NAME=b-" + claim, "AWS_DEFAULT_REGION=eu-1",
		"AWS_S3_ADDRESSING_STYLE=path", "AWS_ACCESS_KEY_ID=AKIA", "AWS_SECRET_ACCESS_KEY=" + secret,
	}, more...) {
		key, value, _ := strings.Cut(pair, "=")
		data[key] = []byte(value)
	}
	return formats.Grant{Claim: claim, Secret: claim + "-secret", Data: data}
}

func TestAdd(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		annotation string
		// want are the added keys of the Secret of claim photos.
		want map[string]string
		// problem is part of the error; empty if there must be none.
		problem string
	}{
		"no annotation": {},
		"a preset": {annotation: `velero: {preset: mc}`, want: map[string]string{
			"velero": "{\n  \"url\": \"https://s3.example.com:9000\",\n  \"accessKey\": \"AKIA\",\n  \"secretKey\": \"wJal/+\\\"\\\\x\",\n  \"api\": \"s3v4\",\n  \"path\": \"on\"\n}\n",
		}},
		"JSON": {annotation: `{"AWS_REGION": {"template": "{{ .AWS_DEFAULT_REGION }}"}}`, want: map[string]string{"AWS_REGION": "eu-1"}},
		"all functions": {
			annotation: "a: {template: '{{ b64enc .AWS_ACCESS_KEY_ID }} {{ .AWS_SECRET_ACCESS_KEY | quote }} {{ urlquery .AWS_SECRET_ACCESS_KEY }} " +
				"{{ urlpath .AWS_SECRET_ACCESS_KEY }} {{ host .AWS_ENDPOINT_URL }} {{ scheme .AWS_ENDPOINT_URL }}'}",
			want: map[string]string{"a": `QUtJQQ== "wJal/+\"\\x" wJal%2F%2B%22%5Cx wJal%2F+%22%5Cx s3.example.com:9000 https`},
		},
		"conditions, and a key without a value": {
			annotation: `a: {template: '{{ if .COSI_CERTIFICATE_AUTHORITY }}ca{{ else if and (eq .COSI_PROTOCOL "S3") (not (ne .AWS_S3_ADDRESSING_STYLE "path")) }}path{{ end }}'}`,
			want:       map[string]string{"a": "path"},
		},
		"the values of another claim": {annotation: `a: {template: '{{ (index .claims "films").BUCKET_NAME }}'}`, want: map[string]string{"a": "b-films"}},
		"a range over all claims": {
			annotation: "a: {template: '{{ range $claim, $v := .claims }}{{ $claim }}={{ $v.BUCKET_NAME }},{{ end }}'}", want: map[string]string{"a": "films=b-films,photos=b-photos,"},
		},
		"two ranges":        {annotation: "a: {template: '{{ range .claims }}x{{ end }}{{ with 1 }}{{ range $.claims }}y{{ end }}{{ end }}'}", want: map[string]string{"a": "xxyy"}},
		"an empty template": {annotation: `a: {template: ""}`, want: map[string]string{"a": ""}},
		"a bad key, and a good one": {
			annotation: "a: {template: '{{ .NO_SUCH_KEY }}'}\nb: {template: x}", want: map[string]string{"b": "x"}, problem: `key "a" of Secret "photos-secret": line 1 of the template: the template uses a key that does not exist`,
		},
		"text that is no YAML":              {annotation: "a: [", problem: "not valid YAML"},
		"a list":                            {annotation: "[a]", problem: "expected a group of names, got a list"},
		"a field that does not exist":       {annotation: "a: {presett: mc}", problem: "a.presett: there is no such field; did you mean a.preset?"},
		"a key twice":                       {annotation: "a: {preset: mc}\na: {preset: aws}", problem: "not valid YAML"},
		"two documents":                     {annotation: "a: {preset: mc}\n---\nb: {preset: mc}", problem: "must be one YAML document"},
		"an alias":                          {annotation: "a: &x {preset: mc}\nb: *x", problem: "aliases are not supported"},
		"neither preset nor template":       {annotation: "a: {}", problem: `key "a": set either preset or template`},
		"both preset and template":          {annotation: "a: {preset: mc, template: x}", problem: `key "a": set either preset or template`},
		"a preset that does not exist":      {annotation: "a: {preset: xml}", problem: `preset "xml" does not exist. The presets are shell`},
		"a preset for another protocol":     {annotation: "a: {preset: gcloud}", problem: `key "a" of Secret "photos-secret": format gcloud: the format supports only Google`},
		"a value that a preset cannot hold": {annotation: "a: {preset: aws}", problem: "the value of aws_secret_access_key contains a character"},
		"a key of COSI":                     {annotation: "AWS_ENDPOINT_URL: {template: x}", problem: "the name belongs to COSI"},
		"a key of another protocol":         {annotation: "AZURE_STORAGE_SAS_TOKEN_EXPIRY_TIMESTAMP: {template: x}", problem: "the name belongs to COSI"},
		"a future key of COSI":              {annotation: "COSI_X: {template: x}", problem: "the name belongs to COSI"},
		"the key of v1alpha1":               {annotation: "BucketInfo: {template: x}", problem: "the name belongs to COSI"},
		"a path as a name":                  {annotation: "../a: {template: x}", problem: "the name of a key must consist of"},
		"the parent directory":              {annotation: `"..": {template: x}`, problem: "the name of a key must consist of"},
		"an annotation that is too long":    {annotation: "a: {template: " + strings.Repeat("x", 17<<10) + "}", problem: "the annotation has 17"},
		"too many keys":                     {annotation: manyKeys(33), problem: "the annotation has 33 keys, but the limit is 32"},
		"more problems than fit":            {annotation: "A/: {}\nB/: {}\nC/: {}\nD/: {}\nE/: {}\nF/: {}", problem: "and 2 more"},
		"a syntax error":                    {annotation: "a: {template: '{{ .x'}", problem: `key "a": template: template:1: unclosed action`},
		"a function that does not exist":    {annotation: "a: {template: '{{ env \"HOME\" }}'}", problem: `function "env" not defined`},
		"printf":                            {annotation: "a: {template: '{{ printf \"%1000000000d\" 1 }}'}", problem: `function "printf" cannot be used. The functions are b64enc,`},
		"a call in an argument":             {annotation: "a: {template: '{{ quote (call .x) }}'}", problem: `"call" cannot be used`},
		"a function in a condition":         {annotation: "a: {template: '{{ if len .claims }}{{ end }}'}", problem: `"len" cannot be used`},
		"another template":                  {annotation: "a: {template: '{{ define \"x\" }}{{ end }}'}", problem: "cannot define other templates"},
		"recursion":                         {annotation: "a: {template: '{{ template \"template\" . }}'}", problem: "cannot call other templates"},
		"a range over a number":             {annotation: "a: {template: '{{ range 1000000000 }}{{ end }}'}", problem: "a range must be over"},
		"a range in a range":                {annotation: "a: {template: '{{ range .claims }}{{ range $.claims }}{{ end }}{{ end }}'}", problem: "a range must be over"},
		"a range over a variable":           {annotation: "a: {template: '{{ $x := 1000000000 }}{{ range $x }}{{ end }}'}", problem: "a range must be over"},
		"a field of a value":                {annotation: "a: {template: '{{ .AWS_SECRET_ACCESS_KEY.x }}'}", problem: "a value of the wrong type"},
		"a URL that is none":                {annotation: "a: {template: '{{ host .AWS_SECRET_ACCESS_KEY }}'}", problem: "the value is not a URL"},
		"a comparison of maps":              {annotation: "a: {template: '{{ eq . . }}'}", problem: "a value of the wrong type"},
		"a comparison of claims":            {annotation: "a: {template: '{{ ne .claims .claims }}'}", problem: "a value of the wrong type"},
		"a comparison with several texts":   {annotation: `a: {template: '{{ eq .COSI_PROTOCOL "GCS" "S3" }}'}`, want: map[string]string{"a": "true"}},
		"a quote that doubles": {
			annotation: "a: {template: '{{ .AWS_SECRET_ACCESS_KEY " + strings.Repeat("| quote ", 30) + "}}'}\nb: {template: 'x'}", problem: "the presets and templates of the access do too much work",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			grants := []formats.Grant{grant("photos", "left.over=x"), grant("films")}
			data, err := addedkeys.Add(tc.annotation, grants)
			if (err == nil) != (tc.problem == "") || err != nil && !strings.Contains(err.Error(), tc.problem) {
				t.Errorf("want an error with %q, got %v", tc.problem, err)
			}
			want := addedkeys.Own(grants[0].Data)
			for key, value := range tc.want {
				want[key] = []byte(value)
			}
			if diff := cmp.Diff(text(want), text(data[0])); diff != "" {
				t.Errorf("data (-want, +got):\n%s", diff)
			}
			if got := addedkeys.Rendered(data[0]); !slices.Equal(got, valuesOf(tc.want)) {
				t.Errorf("rendered values: %q", got)
			}
		})
	}
}

func manyKeys(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "k%d: {template: x}\n", i)
	}
	return b.String()
}

func text(data map[string][]byte) map[string]string {
	all := map[string]string{}
	for key, value := range data {
		all[key] = string(value)
	}
	return all
}

// valuesOf returns the values in the order of their keys.
func valuesOf(all map[string]string) (values []string) {
	for _, key := range slices.Sorted(maps.Keys(all)) {
		values = append(values, all[key])
	}
	return values
}

// TestAddLimitsASecret uses a credential of the maximum length.
func TestAddLimitsASecret(t *testing.T) {
	t.Parallel()
	one := grant("photos", "AWS_SECRET_ACCESS_KEY="+strings.Repeat("x", 16<<10))
	annotation := ""
	for i := range 20 {
		annotation += fmt.Sprintf("k%d: {template: '{{ .AWS_SECRET_ACCESS_KEY }}'}\n", i)
	}
	data, err := addedkeys.Add(annotation, []formats.Grant{one})
	if err == nil || !strings.Contains(err.Error(), `Secret "photos-secret" would have more than 262144 bytes`) {
		t.Errorf("error: %v", err)
	}
	if diff := cmp.Diff(text(one.Data), text(data[0])); diff != "" {
		t.Errorf("data (-want, +got):\n%s", diff)
	}
}

// TestAddLimitsPresets uses Secrets that a tenant has filled with text that JSON makes six times longer.
func TestAddLimitsPresets(t *testing.T) {
	t.Parallel()
	annotation := ""
	for i := range 32 {
		annotation += fmt.Sprintf("k%d: {preset: json}\n", i)
	}
	for name, tc := range map[string]struct {
		annotation string
		length     int
		problem    string
	}{
		"a Secret that is too large":                 {annotation, 1 << 20, `Secret "photos-secret" would have more than`},
		"a Secret that becomes too large":            {annotation, 40 << 10, `Secret "photos-secret" would have more than`},
		"a Secret with the maximum length":           {annotation, 255 << 10, `Secret "photos-secret" would have more than`},
		"a Secret that is too large, without a key":  {"", 1 << 20, ""},
		"a Secret that is too large, with a bad key": {"COSI_X: {template: x}", 1 << 20, `key "COSI_X": the name belongs to COSI`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := grant("photos", "BUCKET_NAME="+strings.Repeat("\x01", tc.length))
			data, err := addedkeys.Add(tc.annotation, []formats.Grant{one})
			if (err == nil) != (tc.problem == "") || err != nil && (!strings.Contains(err.Error(), tc.problem) || strings.Count(err.Error(), "\n") > 0) {
				t.Errorf("want an error with %q, got %v", tc.problem, err)
			}
			if diff := cmp.Diff(text(one.Data), text(data[0])); diff != "" {
				t.Error("the data of the Secret has changed")
			}
		})
	}
}

// TestAddLimitsWorkOfPresets uses Secrets of which each is small enough.
func TestAddLimitsWorkOfPresets(t *testing.T) {
	t.Parallel()
	var grants []formats.Grant
	for i := range 64 {
		grants = append(grants, grant(fmt.Sprintf("claim-%d", i), "BUCKET_NAME="+strings.Repeat("\x01", 30<<10)))
	}
	_, err := addedkeys.Add("a: {preset: json}", grants)
	if err == nil || !strings.Contains(err.Error(), "too much work") {
		t.Errorf("error: %v", err)
	}
}

// TestAddLimitsWork uses an access with as many claims as possible.
func TestAddLimitsWork(t *testing.T) {
	t.Parallel()
	var grants []formats.Grant
	for i := range 64 {
		grants = append(grants, grant(fmt.Sprintf("claim-%d", i)))
	}
	_, err := addedkeys.Add("a: {template: '{{ range .claims }}"+strings.Repeat("{{ if . }}{{ end }}", 800)+"{{ end }}'}", grants)
	if err == nil || !strings.Contains(err.Error(), "too much work") {
		t.Errorf("error: %v", err)
	}
}

// FuzzAdd verifies that no annotation changes COSI's keys, adds a key with a bad name, exceeds the limit, or reveals a
// secret in an error.
func FuzzAdd(f *testing.F) {
	for _, seed := range []string{
		"a: {preset: gitlab}", "a: {template: '{{ .BUCKET_NAME | quote | b64enc }}'}", "a: {template: '{{ range $k, $v := .claims }}{{ $v.BUCKET_NAME }}{{ end }}'}",
		"a: {template: '{{ index .claims .AWS_SECRET_ACCESS_KEY }}'}", "a: {template: '{{ .AWS_SECRET_ACCESS_KEY.x }}'}", "a: {template: '{{ index .AWS_SECRET_ACCESS_KEY 1 }}'}",
		"a: {template: '{{ eq .claims .AWS_SECRET_ACCESS_KEY }}'}", "a: {template: '{{ . }}'}", "a: {template: '{{ eq . . }}'}", "a: {template: '{{ ne .claims .claims }}'}", "a: {template: '{{ index . . }}'}", "a: {template: '{{ host .AWS_SECRET_ACCESS_KEY }}'}", "a: {template: '{{ $x := . }}{{ $x.claims }}'}",
		"a: {template: '{{ with $x := 1 }}{{ break }}{{ end }}'}", "a: {template: '{{/* c */}}'}", "? {a: b}\n: c", "a: !!binary eA==", "a: &a {template: x}\nb: *a", "COSI_PROTOCOL: {template: GCS}",
		"a: {template: '{{ quote .claims }}'}", "a: {template: '{{ block \"x\" . }}{{ end }}'}", "~: {template: x}", "{}", "null", "a: null", `{"a": {"preset": "json"}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, annotation string) {
		grants := []formats.Grant{grant("photos"), grant("films")}
		data, err := addedkeys.Add(annotation, grants)
		if err != nil && strings.Contains(err.Error(), secret) && !strings.Contains(annotation, secret) {
			t.Errorf("the error contains a secret: %v", err)
		}
		again, _ := addedkeys.Add(annotation, grants)
		for i, all := range data {
			if diff := cmp.Diff(text(all), text(again[i])); diff != "" {
				t.Errorf("a second rendering (-first, +second):\n%s", diff)
			}
			if diff := cmp.Diff(text(grants[i].Data), text(addedkeys.Own(all))); diff != "" {
				t.Errorf("keys of COSI (-want, +got):\n%s", diff)
			}
			size := 0
			for key, value := range all {
				size += len(key) + len(value)
				if problems := validation.IsConfigMapKey(key); len(problems) > 0 {
					t.Errorf("key %q: %v", key, problems)
				}
			}
			if size > 256<<10 {
				t.Errorf("the Secret has %d bytes", size)
			}
		}
	})
}
