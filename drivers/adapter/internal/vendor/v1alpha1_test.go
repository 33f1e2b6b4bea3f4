// SPDX-License-Identifier: Apache-2.0

package vendor

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/testing/protocmp"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/proto/v1alpha1"
)

func TestAzureAccess(t *testing.T) {
	t.Parallel()
	const token = "https://acct.blob.core.windows.net/c?sig=x"
	for name, tc := range map[string]struct {
		known, account, written, want string
	}{
		"the Bucket has the storage account":                {"other", "other", "", ""},
		"the token contains the storage account":            {"", "acct", "", ""},
		"an expiry as the released sidecars read it":        {"", "acct", "2030-01-31 13:00:00.5 +0100 CET", "2030-01-31T12:00:00Z"},
		"an expiry as the contract has it":                  {"", "acct", "2030-01-31T12:00:00Z", "2030-01-31T12:00:00Z"},
		"an invalid time is kept and violates the contract": {"", "acct", "soon", "soon"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			known := &cosi.ObjectProtocolAndBucketInfo{Azure: &cosi.AzureBucketInfo{StorageAccount: tc.known}}
			info, credential := azureAccess(map[string]string{v1alpha1.KeyAccessToken: token, v1alpha1.KeyExpiry: tc.written}, known)
			if got := info.GetAzure().GetStorageAccount(); got != tc.account {
				t.Errorf("account %q, want %q", got, tc.account)
			}
			if got := credential.GetAzure(); got.GetAccessToken() != token || got.GetExpiryTimestamp() != tc.want {
				t.Errorf("credential %v, want expiry %q", got, tc.want)
			}
		})
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ said, want string }{
		"a URL":                   {"http://store.example:9000", "http://store.example:9000"},
		"a host without a scheme": {"us-east-1.store.example", "https://us-east-1.store.example"},
		"a host and a port":       {"store.example:8443", "https://store.example:8443"},
		"another scheme, which violates the contract": {"s3://store.example", "s3://store.example"},
		"none": {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info, _ := s3Access(map[string]string{v1alpha1.KeyEndpoint: tc.said}, "b", nil)
			if got := info.GetS3().GetEndpoint(); got != tc.want {
				t.Errorf("endpoint %q, want %q", got, tc.want)
			}
		})
	}
}

func TestBucketInfoOfV1alpha1(t *testing.T) {
	t.Parallel()
	s3 := &cosi.S3BucketInfo{BucketId: "b", Region: "r"}
	for name, tc := range map[string]struct {
		said  *v1alpha1.Protocol
		asked []*cosi.ObjectProtocol
		want  *cosi.ObjectProtocolAndBucketInfo
	}{
		"S3": {&v1alpha1.Protocol{Type: &v1alpha1.Protocol_S3{S3: &v1alpha1.S3{Region: "r"}}}, nil, &cosi.ObjectProtocolAndBucketInfo{S3: s3}},
		"Azure": {
			&v1alpha1.Protocol{Type: &v1alpha1.Protocol_AzureBlob{AzureBlob: &v1alpha1.AzureBlob{StorageAccount: "a"}}}, nil,
			&cosi.ObjectProtocolAndBucketInfo{Azure: &cosi.AzureBucketInfo{StorageAccount: "a"}},
		},
		"Google, where the keys are for S3": {
			&v1alpha1.Protocol{Type: &v1alpha1.Protocol_Gcs{Gcs: &v1alpha1.GCS{ProjectId: "p"}}}, nil,
			&cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{BucketId: "b"}, Gcs: &cosi.GcsBucketInfo{ProjectId: "p", BucketName: "b"}},
		},
		"a driver without protocols has the requested ones": {
			nil, []*cosi.ObjectProtocol{{Type: cosi.ObjectProtocol_AZURE}}, &cosi.ObjectProtocolAndBucketInfo{Azure: &cosi.AzureBucketInfo{}},
		},
		"neither the driver nor the claim has protocols": {
			nil, nil, &cosi.ObjectProtocolAndBucketInfo{S3: &cosi.S3BucketInfo{BucketId: "b"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, bucketInfo("b", tc.said, tc.asked), protocmp.Transform()); diff != "" {
				t.Errorf("bucketInfo (-want, +got):\n%s", diff)
			}
		})
	}
}
