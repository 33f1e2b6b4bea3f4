// SPDX-License-Identifier: Apache-2.0

package gcsdriver_test

import (
	"reflect"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/internal/referencetest"
)

func TestReference(t *testing.T) {
	t.Parallel()
	referencetest.Document{
		Name: "gcs", Title: "GCS", Config: reflect.TypeFor[gcsdriver.Config](),
		Variables:        referencetest.Variables(gcsdriver.Format()),
		BucketParameters: params.BucketParameters(), AccessParameters: params.AccessParameters(),
	}.Current(t)
}
