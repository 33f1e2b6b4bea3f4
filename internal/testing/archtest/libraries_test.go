// SPDX-License-Identifier: Apache-2.0

package archtest

import "testing"

func TestLibraries(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		from, to string
		want     string
	}{
		"a store fake has what all store fakes share":    {from: "fakes/s3fake", to: "fakes/internal/sigv4"},
		"a store fake reads YAML":                        {from: "fakes/fault", to: "sigs.k8s.io/yaml"},
		"a store fake has no internal leaf":              {from: "fakes/s3fake", to: "internal/reconciler", want: "which users of fakes/s3fake would have to compile"},
		"a store fake has no other store fake":           {from: "fakes/gcsfake/gcsfakecmd", to: "fakes/s3fake", want: "which users of fakes/gcsfake would have to compile"},
		"a store fake has no contract with drivers":      {from: "fakes/azurefake", to: "proto", want: "which users of fakes/azurefake would have to compile"},
		"the fake of Azure has Azure's SDK":              {from: "fakes/azurefake", to: "github.com/Azure/azure-sdk-for-go/sdk/azcore"},
		"the fake of S3 has not":                         {from: "fakes/s3fake", to: "github.com/Azure/azure-sdk-for-go/sdk/azcore", want: "which users of fakes/s3fake would have to compile"},
		"the fake of GCS has no Kubernetes":              {from: "fakes/gcsfake", to: "k8s.io/apimachinery/pkg/types", want: "which users of fakes/gcsfake would have to compile"},
		"a vendor's driver pays for no other vendor's":   {from: "drivers/driverkit", to: "github.com/aws/smithy-go", want: "which users of drivers/driverkit would have to compile"},
		"driverkit stands on the contract":               {from: "drivers/driverkit", to: "proto"},
		"the suite reads YAML strictly":                  {from: "sanity/settings", to: "internal/strictyaml"},
		"the suite has nothing else of internal":         {from: "sanity", to: "internal/secretkeys", want: "which users of sanity would have to compile"},
		"driverkit has no reconcile framework":           {from: "drivers/driverkit", to: "internal/reconciler", want: "which users of drivers/driverkit would have to compile"},
		"the suite has no fake":                          {from: "sanity/memdriver", to: "fakes/s3fake", want: "which users of sanity would have to compile"},
		"a package that is no library is not looked at":  {from: "drivers/s3driver", to: "github.com/minio/minio-go/v7"},
		"a name that only starts like a cloud's is none": {from: "fakes/s3fake", to: "github.com/awsome/x"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pkg := Package{ImportPath: importPath(module, tc.from), Deps: []string{importPath(module, tc.to)}}
			expect(t, Libraries(module, []Package{pkg}), tc.want)
		})
	}
}
