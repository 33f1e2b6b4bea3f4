// SPDX-License-Identifier: Apache-2.0

// Command reference writes the configuration reference of the Azure driver.
package main

import (
	"os"
	"reflect"

	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/params"
	"github.com/cooper-cosi/cooper/drivers/internal/reference"
)

func main() {
	document := reference.Document{
		Name: "azure", Title: "Azure", Config: reflect.TypeFor[azuredriver.Config](),
		Enums: map[reflect.Type][]string{
			reflect.TypeFor[azuredriver.Addressing](): {"path", "host"},
			reflect.TypeFor[azuredriver.Signing]():    {"accountKey", "userDelegation"},
		},
		BucketParameters: params.BucketParameters(), AccessParameters: params.AccessParameters(),
	}
	for _, variable := range azuredriver.Variables() {
		document.Variables = append(document.Variables, reference.Variable{Name: variable.Name, Description: variable.Description})
	}
	os.Exit(document.Main(os.Args[1:], os.Stderr))
}
