// SPDX-License-Identifier: Apache-2.0

package s3driver_test

import (
	"reflect"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/internal/referencetest"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/params"
)

func TestReference(t *testing.T) {
	t.Parallel()
	referencetest.Document{
		Name: "s3", Title: "S3", Config: reflect.TypeFor[s3driver.Config](),
		Enums: map[reflect.Type][]string{
			reflect.TypeFor[s3driver.BackendType](): {"aws", "minio", "rgw", "seaweedfs", "versitygw", "static"},
			reflect.TypeFor[s3driver.Addressing]():  {"path", "virtual"},
		},
		Variables:        referencetest.Variables(s3driver.Format()),
		BucketParameters: params.BucketParameters(), AccessParameters: params.AccessParameters(),
	}.Current(t)
}
