// SPDX-License-Identifier: Apache-2.0

// Command reference writes the configuration reference of the GCS driver.
package main

import (
	"os"
	"reflect"

	"github.com/cooper-cosi/cooper/drivers/gcsdriver"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/internal/reference"
)

func main() {
	document := reference.Document{
		Name: "gcs", Title: "GCS", Config: reflect.TypeFor[gcsdriver.Config](),
		BucketParameters: params.BucketParameters(), AccessParameters: params.AccessParameters(),
	}
	for _, variable := range gcsdriver.Variables() {
		document.Variables = append(document.Variables, reference.Variable{Name: variable.Name, Description: variable.Description})
	}
	os.Exit(document.Main(os.Args[1:], os.Stderr))
}
