// SPDX-License-Identifier: Apache-2.0

package params

import "github.com/cooper-cosi/cooper/drivers/driverkit"

// Keys of BucketAccessClass parameters.
const (
	keyCredentials  = "credentials"
	keyBucketReader = "bucketReader"
)

// Credentials selects the credentials that an access with keys gets.
type Credentials string

// The kinds of credentials.
const (
	// HMAC is a key pair for the XML API, for S3 clients.
	HMAC Credentials = "hmac"
	// JSON is a service account key, for Google's clients.
	JSON Credentials = "json"
	// Both is an HMAC pair and a service account key of the same account.
	Both Credentials = "both"
)

// WantsHMAC reports whether an HMAC pair is requested.
func (c Credentials) WantsHMAC() bool { return c != JSON }

// WantsJSON reports whether a service account key is requested.
func (c Credentials) WantsJSON() bool { return c == JSON || c == Both }

// Access holds the parameters of a BucketAccessClass.
type Access struct {
	Credentials Credentials
	// NoBucketReader omits the role with which S3 clients find the bucket.
	NoBucketReader bool
}

// AccessParameters declares the parameters that a BucketAccessClass may set.
func AccessParameters() driverkit.Parameters {
	return driverkit.Parameters{
		keyCredentials: {
			Description: "Credentials of an access with keys: hmac (a key pair for S3 clients), json (a service account key for Google's clients) or both. Default: hmac.",
			Check:       driverkit.OneOf(string(HMAC), string(JSON), string(Both)),
		},
		keyBucketReader: {
			Description: "false excludes roles/storage.legacyBucketReader, which S3 clients need to check whether a bucket exists. Otherwise, accesses that read objects with an HMAC key have it, unless the class disallows reading bucket metadata. Default: true.",
			Check:       driverkit.Boolean,
		},
	}
}

// ParseAccess parses the parameters of a class, which the kit has validated.
func ParseAccess(values driverkit.Values) Access {
	return Access{
		Credentials:    Credentials(values.Or(keyCredentials, string(HMAC))),
		NoBucketReader: values[keyBucketReader] == "false",
	}
}
