// SPDX-License-Identifier: Apache-2.0

// Command reference writes the configuration reference of the S3 driver.
package main

import (
	"os"
	"reflect"

	"github.com/cooper-cosi/cooper/drivers/internal/reference"
	"github.com/cooper-cosi/cooper/drivers/s3driver"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/params"
)

func main() {
	document := reference.Document{
		Name: "s3", Title: "S3", Config: reflect.TypeFor[s3driver.Config](),
		Enums: map[reflect.Type][]string{
			reflect.TypeFor[s3driver.BackendType](): {"aws", "minio", "versitygw", "static"},
			reflect.TypeFor[s3driver.Addressing]():  {"path", "virtual"},
		},
		BucketParameters: params.BucketParameters(), AccessParameters: params.AccessParameters(),
	}
	for _, variable := range s3driver.Variables() {
		document.Variables = append(document.Variables, reference.Variable{Name: variable.Name, Description: variable.Description})
	}
	os.Exit(document.Main(os.Args[1:], os.Stderr))
}
