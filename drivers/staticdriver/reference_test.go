// SPDX-License-Identifier: Apache-2.0

package staticdriver_test

import (
	"reflect"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/internal/referencetest"
	"github.com/cooper-cosi/cooper/drivers/staticdriver"
)

func TestReference(t *testing.T) {
	t.Parallel()
	referencetest.Document{
		Name: "static", Title: "Static", Config: reflect.TypeFor[staticdriver.Config](),
		Enums:            map[reflect.Type][]string{reflect.TypeFor[driverkit.Mode](): {"ReadWrite", "ReadOnly", "WriteOnly"}},
		Variables:        referencetest.Variables(staticdriver.Format()),
		AccessParameters: staticdriver.AccessParameters(),
	}.Current(t)
}
