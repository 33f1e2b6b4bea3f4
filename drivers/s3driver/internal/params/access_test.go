// SPDX-License-Identifier: Apache-2.0

package params_test

import (
	"testing"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/params"
)

func TestParseAccess(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		values driverkit.Values
		want   params.Access
	}{
		"nothing is asked for":       {nil, params.Access{}},
		"the default values":         {driverkit.Values{"allowDelete": "true", "acceptSharedCredential": "false"}, params.Access{}},
		"no deletion":                {driverkit.Values{"allowDelete": "false"}, params.Access{NoDelete: true}},
		"a key that others have too": {driverkit.Values{"acceptSharedCredential": "true"}, params.Access{AcceptShared: true}},
	} {
		if got := params.ParseAccess(test.values); got != test.want {
			t.Errorf("%s: %+v", name, got)
		}
	}
	for key, parameter := range params.AccessParameters() {
		if parameter.Check("perhaps") == nil {
			t.Errorf("%s is not a boolean", key)
		}
	}
}
