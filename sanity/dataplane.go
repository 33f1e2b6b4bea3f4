// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"fmt"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Action is an operation that a workload may attempt on a bucket.
type Action string

// The actions. The first four concern object data, the next two object metadata, and the rest the bucket.
const (
	PutObject       Action = "put an object"
	GetObject       Action = "get an object"
	ListObjects     Action = "list objects"
	DeleteObject    Action = "delete an object"
	SetObjectTags   Action = "write object metadata"
	GetObjectTags   Action = "read object metadata"
	GetBucketTags   Action = "read bucket metadata"
	DeleteBucket    Action = "delete the bucket"
	SetBucketPolicy Action = "change the bucket's policy"
)

// Attempt is one attempt of an action.
type Attempt struct {
	// BucketID is the COSI bucket ID, and Info the driver's description of the bucket.
	BucketID string
	Info     *cosi.ObjectProtocolAndBucketInfo
	// Credentials are the credentials that the driver granted, or nil for an anonymous attempt.
	Credentials *cosi.CredentialInfo
	// Granted lists the bucket IDs that the credentials were granted for, if there are others than BucketID.
	Granted []string
	// Action is the action to attempt, Key the object and Body its contents.
	Action Action
	Key    string
	Body   []byte
}

// Outcome is the store's response.
type Outcome struct {
	// Verdict is Allowed, Refused or Missing.
	Verdict Permission
	// Body is the object from GetObject, and Keys the listing from ListObjects.
	Body []byte
	Keys []string
	// Detail is the store's response for the report. It must not contain a credential.
	Detail string
}

// Permission is the store's decision on an Attempt.
type Permission string

const (
	// Allowed means that the action was performed.
	Allowed Permission = "allowed"
	// Refused means that the store rejected the credential or the action.
	Refused Permission = "refused"
	// Missing means that the store allowed the action but the bucket or object does not exist.
	Missing Permission = "missing"
)

// Prober attempts actions with granted credentials. It returns an error if the store cannot be reached, or if the
// store's response neither allows nor rejects the action.
type Prober interface {
	Try(ctx context.Context, attempt Attempt) (Outcome, error)
}

// ProberOptions configure how to reach stores whose address is not in the driver's responses.
type ProberOptions struct {
	// CertificateAuthority is PEM to trust in addition to the certificate authority that the driver returns.
	CertificateAuthority []byte
	// AzureEndpoint replaces https://<account>.blob.core.windows.net for tokens without a URI.
	AzureEndpoint string
	// GCSEndpoint replaces https://storage.googleapis.com.
	GCSEndpoint string
}

// Probers returns the built-in probers. They use plain HTTP without any vendor's SDK.
func Probers(options ProberOptions) map[cosi.ObjectProtocol_Type]Prober {
	transport := &transport{authority: options.CertificateAuthority}
	return map[cosi.ObjectProtocol_Type]Prober{
		cosi.ObjectProtocol_S3:    s3Prober{transport: transport},
		cosi.ObjectProtocol_AZURE: azureProber{transport: transport, endpoint: options.AzureEndpoint},
		cosi.ObjectProtocol_GCS:   gcsProber{transport: transport, endpoint: options.GCSEndpoint},
	}
}

func unknownAction(action Action) error { return fmt.Errorf("this prober cannot %s", action) }
