// SPDX-License-Identifier: Apache-2.0

package containers

import (
	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// Names of the drivers below, as in the tutorial's classes.
const (
	S3DriverName    = "s3.cooper.dev"
	AzureDriverName = "azure.cooper.dev"
	GCSDriverName   = "gcs.cooper.dev"
)

// keptCredentials is the directory in which a driver keeps credentials that a store returns only once.
const keptCredentials = "/data"

// Driver returns Cooper's driver for the store.
func (s *S3Store) Driver() Driver {
	return Driver{
		Name: S3DriverName, Image: Ours("cosi-driver-s3"), Data: keptCredentials, Probe: []string{"/cosi-driver-s3", "--probe"},
		Environment: map[string]string{
			"COOPER_CREDENTIAL_STORE":     "directory:" + keptCredentials,
			"S3_DRIVER_NAME":              S3DriverName,
			"S3_DRIVER_TYPE":              s.kind,
			"S3_DRIVER_REGION":            region,
			"S3_DRIVER_INSECURE":          "true",
			"S3_DRIVER_ENDPOINT":          s.NetworkURL(),
			"S3_DRIVER_PUBLIC_ENDPOINT":   s.URL(),
			"S3_DRIVER_ACCESS_KEY_ID":     rootKey,
			"S3_DRIVER_SECRET_ACCESS_KEY": rootSecret,
		},
	}
}

// Driver returns Cooper's driver for the store.
func (s *AzureStore) Driver() Driver {
	return Driver{
		Name: AzureDriverName, Image: Ours("cosi-driver-azure"), Probe: []string{"/cosi-driver-azure", "--probe"},
		Environment: map[string]string{
			"AZURE_DRIVER_NAME":            AzureDriverName,
			"AZURE_DRIVER_ACCOUNT":         azurefake.DefaultAccount,
			"AZURE_DRIVER_ACCOUNT_KEY":     azureKey,
			"AZURE_DRIVER_INSECURE":        "true",
			"AZURE_DRIVER_ENDPOINT":        s.NetworkURL(),
			"AZURE_DRIVER_PUBLIC_ENDPOINT": s.URL(),
		},
	}
}

// Driver returns Cooper's driver for the store. If the store has no accounts, the driver creates buckets but
// rejects accesses.
func (s *GCSStore) Driver() Driver {
	d := Driver{
		Name: GCSDriverName, Image: Ours("cosi-driver-gcs"), Data: keptCredentials, Probe: []string{"/cosi-driver-gcs", "--probe"},
		Environment: map[string]string{
			"COOPER_CREDENTIAL_STORE": "directory:" + keptCredentials,
			"GCS_DRIVER_NAME":         GCSDriverName,
			"GCS_DRIVER_PROJECT":      s.ProjectID(),
			"GCS_DRIVER_INSECURE":     "true",
			"GCS_DRIVER_ENDPOINT":     s.NetworkURL(),
		},
	}
	if s.keys == "" {
		d.Environment["GCS_DRIVER_WITHOUT_ACCOUNTS"] = "true"
		return d
	}
	d.Environment["GCS_DRIVER_CREDENTIALS_FILE"] = adminKeyFile
	d.Volumes = map[string]string{s.keys: "/keys"}
	return d
}
