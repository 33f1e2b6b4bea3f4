// SPDX-License-Identifier: Apache-2.0

package drivertest

import cosi "github.com/cooper-cosi/cooper/proto"

// Modes are the access modes that a request asks for on each of its buckets.
type Modes struct{ Data, ObjectMetadata, BucketMetadata cosi.AccessMode_Mode }

// GrantRequest returns a request for access to buckets. The authentication type is Key.
func GrantRequest(protocol cosi.ObjectProtocol_Type, account string, asked Modes, buckets ...string) *cosi.DriverGrantBucketAccessRequest {
	request := &cosi.DriverGrantBucketAccessRequest{
		AccountId:          account,
		Protocol:           &cosi.ObjectProtocol{Type: protocol},
		AuthenticationType: &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY},
	}
	for _, bucket := range buckets {
		request.Buckets = append(request.Buckets, &cosi.AccessedBucket{
			BucketId:                 bucket,
			ObjectDataAccessMode:     &cosi.AccessMode{Mode: asked.Data},
			ObjectMetadataAccessMode: &cosi.AccessMode{Mode: asked.ObjectMetadata},
			BucketMetadataAccessMode: &cosi.AccessMode{Mode: asked.BucketMetadata},
		})
	}
	return request
}

// RevokeRequest returns the request that revokes a granted access.
func RevokeRequest(granted *cosi.DriverGrantBucketAccessRequest) *cosi.DriverRevokeBucketAccessRequest {
	request := &cosi.DriverRevokeBucketAccessRequest{
		AccountId: granted.GetAccountId(), Protocol: granted.GetProtocol(), AuthenticationType: granted.GetAuthenticationType(),
		ServiceAccountName: granted.GetServiceAccountName(), ServiceAccountNamespace: granted.GetServiceAccountNamespace(),
		Parameters: granted.GetParameters(),
	}
	for _, bucket := range granted.GetBuckets() {
		request.Buckets = append(request.Buckets, &cosi.DriverRevokeBucketAccessRequest_AccessedBucket{BucketId: bucket.GetBucketId()})
	}
	return request
}
