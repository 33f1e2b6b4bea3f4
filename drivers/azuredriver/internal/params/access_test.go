// SPDX-License-Identifier: Apache-2.0

package params_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

func TestParseAccess(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		values driverkit.Values
		want   params.Access
		says   string // part of the error text
	}{
		"nothing is asked for":              {want: params.Access{}},
		"an end":                            {values: driverkit.Values{"expiry": "720h"}, want: params.Access{Lifetime: 720 * time.Hour}},
		"no deletion":                       {values: driverkit.Values{"allowDelete": "false"}, want: params.Access{NoDelete: true}},
		"versions as well":                  {values: driverkit.Values{"deleteVersions": "true"}, want: params.Access{DeleteVersions: true}},
		"versions deleted without deletion": {values: driverkit.Values{"allowDelete": "false", "deleteVersions": "true"}, says: "cannot be true while allowDelete is false"},
		"an end that is too soon":           {values: driverkit.Values{"expiry": "14m"}, says: "from 15m"},
		"an end in days":                    {values: driverkit.Values{"expiry": "7d"}, says: "such as 720h"},
		"an end between two seconds":        {values: driverkit.Values{"expiry": "1h0.5s"}, says: "whole seconds"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := params.ParseAccess(test.values)
			if (err == nil) != (test.says == "") || err != nil && !strings.Contains(err.Error(), test.says) {
				t.Fatalf("%v, want %q", err, test.says)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
	if params.AccessParameters()["expiry"].Check("") == nil {
		t.Error("an empty expiry is accepted")
	}
}
