// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"context"
	"fmt"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Action is something a workload may try to do with a bucket.
type Action string

// The actions. The first four are about object data, the next two about object metadata, and the
// rest about the bucket.
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

// Attempt is one try of an action.
type Attempt struct {
	// BucketID is the COSI bucket ID, and Info what the driver says about the bucket.
	BucketID string
	Info     *cosi.ObjectProtocolAndBucketInfo
	// Credentials are those the driver granted; nil tries anonymously.
	Credentials *cosi.CredentialInfo
	// Granted are the bucket IDs that the credentials were granted for, where BucketID is not the only one.
	Granted []string
	// Action is what to try, Key the object and Body its contents.
	Action Action
	Key    string
	Body   []byte
}

// Outcome is what the store said.
type Outcome struct {
	// Verdict is Allowed, Refused or Missing.
	Verdict Permission
	// Body is the object of GetObject, and Keys the listing of ListObjects.
	Body []byte
	Keys []string
	// Detail is what the store returned, for the report. It must not hold a credential.
	Detail string
}

// Permission is the store's decision on an Attempt.
type Permission string

const (
	// Allowed: the action was done.
	Allowed Permission = "allowed"
	// Refused: the store refused the credential or the action.
	Refused Permission = "refused"
	// Missing: the store allowed it, but bucket or object do not exist.
	Missing Permission = "missing"
)

// Prober tries actions with granted credentials. An error says that the store could not be asked
// or returned something that is neither permission nor refusal.
type Prober interface {
	Try(ctx context.Context, attempt Attempt) (Outcome, error)
}

// ProberOptions say how to reach stores whose address the driver's responses do not hold.
type ProberOptions struct {
	// CertificateAuthority is PEM to trust in addition to what the driver returns.
	CertificateAuthority []byte
	// AzureEndpoint replaces https://<account>.blob.core.windows.net for tokens without a URI.
	AzureEndpoint string
	// GCSEndpoint replaces https://storage.googleapis.com.
	GCSEndpoint string
}

// Probers returns the probers that are part of the suite: plain HTTP, without any vendor's SDK.
func Probers(options ProberOptions) map[cosi.ObjectProtocol_Type]Prober {
	transport := &transport{authority: options.CertificateAuthority}
	return map[cosi.ObjectProtocol_Type]Prober{
		cosi.ObjectProtocol_S3:    s3Prober{transport: transport},
		cosi.ObjectProtocol_AZURE: azureProber{transport: transport, endpoint: options.AzureEndpoint},
		cosi.ObjectProtocol_GCS:   gcsProber{transport: transport, endpoint: options.GCSEndpoint},
	}
}

func unknownAction(action Action) error { return fmt.Errorf("this prober cannot %s", action) }
