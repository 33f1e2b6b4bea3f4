// SPDX-License-Identifier: Apache-2.0

package secretkeys_test

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func s3Info() *cosi.S3BucketInfo {
	return &cosi.S3BucketInfo{
		BucketId: "data", Endpoint: "https://s3.example.com", Region: "us-west-1",
		AddressingStyle: &cosi.S3AddressingStyle{Style: cosi.S3AddressingStyle_PATH},
	}
}

func TestBucketInfo(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		info *cosi.ObjectProtocolAndBucketInfo
		want map[string]string
	}{
		"S3 with all values": {
			&cosi.ObjectProtocolAndBucketInfo{S3: s3Info()},
			map[string]string{
				"COSI_PROTOCOL": "S3", "AWS_ENDPOINT_URL": "https://s3.example.com", "BUCKET_NAME": "data",
				"AWS_DEFAULT_REGION": "us-west-1", "AWS_S3_ADDRESSING_STYLE": "path",
			},
		},
		"Azure": {
			&cosi.ObjectProtocolAndBucketInfo{Azure: &cosi.AzureBucketInfo{StorageAccount: "acct"}},
			map[string]string{"COSI_PROTOCOL": "Azure", "AZURE_STORAGE_ACCOUNT": "acct"},
		},
		"GCS": {
			&cosi.ObjectProtocolAndBucketInfo{Gcs: &cosi.GcsBucketInfo{ProjectId: "p-1", BucketName: "g"}},
			map[string]string{"COSI_PROTOCOL": "GCS", "PROJECT_ID": "p-1", "BUCKET_NAME": "g"},
		},
		"a driver that keeps its values to itself leaves only the protocol": {
			&cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{}},
			map[string]string{"COSI_PROTOCOL": "S3"},
		},
		"the key that two protocols share has the value of S3": {
			&cosi.ObjectProtocolAndBucketInfo{S3: s3Info(), Gcs: &cosi.GcsBucketInfo{ProjectId: "p-1", BucketName: "g"}},
			map[string]string{
				"COSI_PROTOCOL": "S3,GCS", "AWS_ENDPOINT_URL": "https://s3.example.com", "BUCKET_NAME": "data",
				"AWS_DEFAULT_REGION": "us-west-1", "AWS_S3_ADDRESSING_STYLE": "path", "PROJECT_ID": "p-1",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, secretkeys.BucketInfo(tc.info)); diff != "" {
				t.Errorf("bucketInfo (-want, +got):\n%s", diff)
			}
		})
	}
}

func TestData(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		protocol   cosiapi.Protocol
		info       *cosi.ObjectProtocolAndBucketInfo
		credential *cosi.CredentialInfo
		want       map[string]string
	}{
		"S3 with a key and a certificate authority": {
			cosiapi.ProtocolS3, &cosi.ObjectProtocolAndBucketInfo{S3: s3Info()},
			&cosi.CredentialInfo{S3: &cosi.S3CredentialInfo{AccessKeyId: "AK", AccessSecretKey: "SK"}, CertificateAuthority: "PEM"},
			map[string]string{
				"COSI_PROTOCOL": "S3", "COSI_CERTIFICATE_AUTHORITY": "PEM", "AWS_ENDPOINT_URL": "https://s3.example.com",
				"BUCKET_NAME": "data", "AWS_DEFAULT_REGION": "us-west-1", "AWS_S3_ADDRESSING_STYLE": "path",
				"AWS_ACCESS_KEY_ID": "AK", "AWS_SECRET_ACCESS_KEY": "SK",
			},
		},
		"S3 with a service account has no credential": {
			cosiapi.ProtocolS3, &cosi.ObjectProtocolAndBucketInfo{S3: s3Info()}, nil,
			map[string]string{
				"COSI_PROTOCOL": "S3", "AWS_ENDPOINT_URL": "https://s3.example.com", "BUCKET_NAME": "data",
				"AWS_DEFAULT_REGION": "us-west-1", "AWS_S3_ADDRESSING_STYLE": "path",
			},
		},
		"Azure without an expiry": {
			cosiapi.ProtocolAzure, &cosi.ObjectProtocolAndBucketInfo{Azure: &cosi.AzureBucketInfo{StorageAccount: "acct"}},
			&cosi.CredentialInfo{Azure: &cosi.AzureCredentialInfo{AccessToken: "https://acct/c?sig=x"}},
			map[string]string{
				"COSI_PROTOCOL": "Azure", "AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_SAS_TOKEN": "https://acct/c?sig=x",
				"AZURE_STORAGE_SAS_TOKEN_EXPIRY_TIMESTAMP": "",
			},
		},
		"Azure with an expiry": {
			cosiapi.ProtocolAzure, &cosi.ObjectProtocolAndBucketInfo{Azure: &cosi.AzureBucketInfo{StorageAccount: "acct"}},
			&cosi.CredentialInfo{Azure: &cosi.AzureCredentialInfo{AccessToken: "t", ExpiryTimestamp: "2030-01-31T12:00:00Z"}},
			map[string]string{
				"COSI_PROTOCOL": "Azure", "AZURE_STORAGE_ACCOUNT": "acct", "AZURE_STORAGE_SAS_TOKEN": "t",
				"AZURE_STORAGE_SAS_TOKEN_EXPIRY_TIMESTAMP": "2030-01-31T12:00:00Z",
			},
		},
		"GCS with an HMAC pair": {
			cosiapi.ProtocolGCS, &cosi.ObjectProtocolAndBucketInfo{Gcs: &cosi.GcsBucketInfo{ProjectId: "p-1", BucketName: "g"}},
			&cosi.CredentialInfo{Gcs: &cosi.GcsCredentialInfo{AccessId: "GOOG", AccessSecret: "s"}},
			map[string]string{"COSI_PROTOCOL": "GCS", "PROJECT_ID": "p-1", "BUCKET_NAME": "g", "HMAC_ACCESS_ID": "GOOG", "HMAC_SECRET": "s"},
		},
		"GCS with a service account key": {
			cosiapi.ProtocolGCS, &cosi.ObjectProtocolAndBucketInfo{Gcs: &cosi.GcsBucketInfo{ProjectId: "p-1", BucketName: "g"}},
			&cosi.CredentialInfo{Gcs: &cosi.GcsCredentialInfo{
				ServiceAccount: "sa", ClientEmail: "sa@p-1", ClientId: "1", PrivateKeyName: "kid", PrivateKey: "PEM",
			}},
			map[string]string{
				"COSI_PROTOCOL": "GCS", "PROJECT_ID": "p-1", "BUCKET_NAME": "g", "SERVICE_ACCOUNT_NAME": "sa",
				"CLIENT_EMAIL": "sa@p-1", "CLIENT_ID": "1", "PRIVATE_KEY_ID": "kid", "PRIVATE_KEY": "PEM",
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, data := map[string]string{}, secretkeys.Data(tc.protocol, tc.info, tc.credential)
			for key, value := range data {
				got[key] = string(value)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("Secret data (-want, +got):\n%s", diff)
			}
			if diff := cmp.Diff(cosi.SecretsIn(tc.credential), secretkeys.Secrets(data)); diff != "" {
				t.Errorf("secret values (-want, +got):\n%s", diff)
			}
			if diff := cmp.Diff(data, secretkeys.Data(secretkeys.Read(data))); diff != "" {
				t.Errorf("read and rendered again (-want, +got):\n%s", diff)
			}
			for key := range data {
				if !slices.Contains(secretkeys.Keys(tc.protocol), key) {
					t.Errorf("%s is not among the keys of %s", key, tc.protocol)
				}
			}
		})
	}
}

func TestExpiry(t *testing.T) {
	t.Parallel()
	at, ok := secretkeys.Expiry(map[string][]byte{secretkeys.AzureExpiry: []byte("2030-01-31T12:00:00Z")})
	if want := time.Date(2030, 1, 31, 12, 0, 0, 0, time.UTC); !ok || !at.Equal(want) {
		t.Errorf("expiry: want %v, got %v, %v", want, at, ok)
	}
	if _, ok := secretkeys.Expiry(map[string][]byte{secretkeys.AzureAccessToken: []byte("t")}); ok {
		t.Error("a credential without an expiry must not have one")
	}
}
