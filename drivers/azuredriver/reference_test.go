// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"reflect"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/internal/referencetest"
)

func TestReference(t *testing.T) {
	t.Parallel()
	referencetest.Document{
		Name: "azure", Title: "Azure", Config: reflect.TypeFor[azuredriver.Config](),
		Enums: map[reflect.Type][]string{
			reflect.TypeFor[azuredriver.Addressing](): {"path", "host"},
			reflect.TypeFor[azuredriver.Signing]():    {"accountKey", "userDelegation"},
		},
		Variables:        referencetest.Variables(azuredriver.Format()),
		BucketParameters: params.BucketParameters(), AccessParameters: params.AccessParameters(),
	}.Current(t)
}
