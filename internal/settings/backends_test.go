// SPDX-License-Identifier: Apache-2.0

package settings_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/settings"
)

type rack struct{ Endpoint, CAFile string }

func TestComplete(t *testing.T) {
	t.Parallel()
	racks := map[string]rack{"main": {}, "lab": {Endpoint: "lab:9000"}, "old": {Endpoint: "http://old", CAFile: "/nowhere"}}
	got, problems := settings.Complete("racks", racks, func(r rack) rack {
		settings.Default(&r.Endpoint, "https://main.example.com")
		return r
	}, func(r rack, bad settings.Bad) {
		settings.CheckReach(bad, "https://rack.example.com", r.CAFile, map[string]string{"endpoint": r.Endpoint})
	})
	want := map[string]rack{"main": {Endpoint: "https://main.example.com"}, "lab": {Endpoint: "lab:9000"}, "old": {Endpoint: "http://old", CAFile: "/nowhere"}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	const text = `racks.lab.endpoint: "lab:9000" is not an http or https URL such as https://rack.example.com
racks.old.caFile: is set, but the endpoint http://old has no TLS
racks.old.caFile: read the certificate authorities: open /nowhere: no such file or directory`
	if diff := cmp.Diff(text, errors.Join(problems...).Error()); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}
