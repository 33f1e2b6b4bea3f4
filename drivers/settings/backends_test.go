// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/drivers/settings"
)

type rack struct{ Endpoint, CAFile string }

func TestComplete(t *testing.T) {
	t.Parallel()
	racks := map[string]rack{"main": {}, "lab": {Endpoint: "lab:9000"}, "old": {Endpoint: "http://old", CAFile: "/nowhere"}}
	got, problems := settings.Complete("racks", racks, func(r rack) rack {
		settings.Default(&r.Endpoint, "https://main.example.com")
		return r
	}, func(r rack, bad settings.Bad) {
		settings.Reach{CAFile: r.CAFile, Endpoints: map[string]string{"endpoint": r.Endpoint}}.Check(bad, "https://rack.example.com")
	})
	want := map[string]rack{"main": {Endpoint: "https://main.example.com"}, "lab": {Endpoint: "lab:9000"}, "old": {Endpoint: "http://old", CAFile: "/nowhere"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	const text = `racks.lab.endpoint: "lab:9000" is not an http or https URL such as https://rack.example.com
racks.old.endpoint: http://old does not use TLS, so keys, tokens and objects can be read and changed on the network: use https, or accept this with insecure: true
racks.old.caFile: is set, but the endpoint http://old does not use TLS
racks.old.caFile: read the certificate authorities: open /nowhere: no such file or directory`
	if diff := cmp.Diff(text, errors.Join(problems...).Error()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestPlainEndpoints(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]bool{
		"https://s3.example.com": true, "http://127.0.0.1:9000": true, "http://127.8.8.8": true, "http://[::1]:9000": true, "http://localhost:9000": true,
		"http://s3.example.com": false, "http://10.0.0.1:9000": false, "http://localhost.example.com": false, "http://s3:9000": false,
	} {
		reach := settings.Reach{Endpoints: map[string]string{"endpoint": endpoint, "adminEndpoint": endpoint}}
		var wrong []string
		reach.Check(func(field, _ string, _ ...any) { wrong = append(wrong, field) }, "https://rack.example.com")
		if accepted := len(wrong) == 0; accepted != want || len(wrong) > 1 {
			t.Errorf("%s: accepted %t, wrong are %v", endpoint, accepted, wrong)
		}
		reach.Insecure = true
		reach.Check(func(field, format string, args ...any) {
			t.Errorf("%s, accepted: "+format, append([]any{field}, args...)...)
		}, "https://rack.example.com")
	}
}
