// SPDX-License-Identifier: Apache-2.0

// Package params parses the parameters that a BucketClass or BucketAccessClass may set for the Google Cloud Storage
// driver. It makes no calls, so the driver reports invalid parameters before it creates anything.
package params

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	storage "google.golang.org/api/storage/v1"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/gcsdriver/internal/names"
)

// Keys of BucketClass parameters.
const (
	keyBackend        = "backend"
	keyNamePrefix     = "namePrefix"
	keyLocation       = "location"
	keyStorageClass   = "storageClass"
	keyVersioning     = "versioning"
	keyPublicAccess   = "publicAccessPrevention"
	keySoftDelete     = "softDeleteSeconds"
	keyRetention      = "retentionSeconds"
	keyKMSKey         = "kmsKeyName"
	keyLifecycle      = "lifecycle"
	keyCORS           = "cors"
	keyLabels         = "labels"
	keyDeleteNonEmpty = "deleteNonEmpty"
)

// LabelPrefix is the prefix of the driver's own labels.
const LabelPrefix = "cosi-"

const (
	// MaxLabels is the maximum number of labels in the parameter. A bucket can have 64, some of which the driver uses.
	MaxLabels = 60
	// Soft delete is disabled or keeps objects for 7 to 90 days ("Soft delete").
	minSoftDelete = 7 * 24 * 3600
	maxSoftDelete = 90 * 24 * 3600
	// maxRetention is 100 years, the maximum in "Retention policies".
	maxRetention = 3155760000
)

// PublicAccessEnforced is the value of public access prevention for a bucket that can never be public.
const PublicAccessEnforced = "enforced"

// Bucket holds the parameters of a BucketClass.
type Bucket struct {
	// Backend is the name of the backend, or empty for the default one.
	Backend string
	// NamePrefix is the prefix of the bucket's name.
	NamePrefix string
	// Location is in upper case, as Google returns it, or empty for the backend's location.
	Location string
	// StorageClass is empty for Google's default, STANDARD.
	StorageClass string
	Versioning   bool
	// PublicAccessPrevention is enforced or inherited.
	PublicAccessPrevention string
	// SoftDeleteSeconds is nil for Google's default and 0 to disable soft delete.
	SoftDeleteSeconds *int64
	// RetentionSeconds is 0 for no retention.
	RetentionSeconds int64
	// KMSKey is the full name of the key that encrypts new objects, or empty for Google's own key.
	KMSKey    string
	Lifecycle *storage.BucketLifecycle
	CORS      []*storage.BucketCors
	Labels    map[string]string
	// DeleteNonEmpty deletes the bucket together with its contents.
	DeleteNonEmpty bool
	// Hash identifies the parameters: equal parameters have the same Hash.
	Hash string
}

// BucketParameters declares the parameters that a BucketClass may set.
func BucketParameters() driverkit.Parameters {
	return driverkit.Parameters{
		keyBackend:        {Description: "Configured backend for the bucket. Default: the configured default backend."},
		keyNamePrefix:     {Description: `Prefix of the names of the class's buckets: lower-case letters, digits and '-', at most 23 bytes, not starting with "goog" and not containing "google".`, Check: checkPrefix},
		keyLocation:       {Description: "Region, dual-region or multi-region of the bucket, such as EUROPE-WEST1 or EU. Default: the location of the backend.", Check: checkLocation},
		keyStorageClass:   {Description: "STANDARD, NEARLINE, COLDLINE or ARCHIVE. Default: STANDARD.", Check: driverkit.OneOf("STANDARD", "NEARLINE", "COLDLINE", "ARCHIVE")},
		keyVersioning:     {Description: "true keeps old versions of objects.", Check: driverkit.Boolean},
		keyPublicAccess:   {Description: "enforced prevents public access to the bucket; inherited uses the project's policy. Default: enforced.", Check: driverkit.OneOf(PublicAccessEnforced, "inherited")},
		keySoftDelete:     {Description: "Seconds during which deleted objects can be restored and are billed: 0, or 604800 (7 days) to 7776000 (90 days). Default: Google's default, which is 7 days.", Check: checkSoftDelete},
		keyRetention:      {Description: "Seconds during which an object cannot be deleted or overwritten.", Check: checkRetention},
		keyKMSKey:         {Description: "Cloud KMS key that encrypts new objects, as projects/P/locations/L/keyRings/R/cryptoKeys/K. Default: Google's own keys.", Check: checkKey},
		keyLifecycle:      {Description: `Lifecycle configuration as JSON, in the form of the JSON API: {"rule": [{"action": {"type": "Delete"}, "condition": {"age": 30}}]}.`, Check: driverkit.JSON[storage.BucketLifecycle]},
		keyCORS:           {Description: `CORS configuration as a JSON list, in the form of the JSON API: [{"origin": ["https://example.com"], "method": ["GET"]}].`, Check: driverkit.JSON[[]*storage.BucketCors]},
		keyLabels:         {Description: "Labels of the bucket as a JSON object of strings, at most 60; keys must not begin with cosi-.", Check: checkLabels},
		keyDeleteNonEmpty: {Description: "true deletes a bucket together with its objects and their versions. Default: a bucket with objects is not deleted.", Check: driverkit.Boolean},
	}
}

// ParseBucket parses the parameters of a class. Its errors are driverkit errors with code InvalidArgument.
func ParseBucket(values driverkit.Values) (Bucket, error) {
	bucket := Bucket{
		Backend:                values[keyBackend],
		NamePrefix:             values[keyNamePrefix],
		Location:               strings.ToUpper(values[keyLocation]),
		StorageClass:           values[keyStorageClass],
		Versioning:             values.Bool(keyVersioning),
		PublicAccessPrevention: values.Or(keyPublicAccess, PublicAccessEnforced),
		KMSKey:                 values[keyKMSKey],
		DeleteNonEmpty:         values.Bool(keyDeleteNonEmpty),
		Hash:                   hash(values),
	}
	if text, set := values[keySoftDelete]; set {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return Bucket{}, invalid(keySoftDelete, err)
		}
		bucket.SoftDeleteSeconds = &seconds
	}
	if text, set := values[keyRetention]; set {
		seconds, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return Bucket{}, invalid(keyRetention, err)
		}
		bucket.RetentionSeconds = seconds
	}
	if err := bucket.parseDocuments(values); err != nil {
		return Bucket{}, err
	}
	return bucket, nil
}

func (b *Bucket) parseDocuments(values driverkit.Values) error {
	var err error
	if b.Lifecycle, err = driverkit.ParseJSON[storage.BucketLifecycle](values[keyLifecycle]); err != nil {
		return invalid(keyLifecycle, err)
	}
	cors, err := driverkit.ParseJSON[[]*storage.BucketCors](values[keyCORS])
	if err != nil {
		return invalid(keyCORS, err)
	}
	if cors != nil {
		b.CORS = *cors
	}
	if b.Labels, err = parseLabels(values[keyLabels]); err != nil {
		return invalid(keyLabels, err)
	}
	return nil
}

// DeleteNonEmpty reads the only parameter that deletion needs. Parameters of an older version of the driver do not
// prevent deletion.
func DeleteNonEmpty(values driverkit.Values) bool { return values.Bool(keyDeleteNonEmpty) }

// hash excludes parameters that do not affect the bucket's properties: the bucket ID contains the name and the
// backend, and the request to delete contains the parameters for deletion.
func hash(values driverkit.Values) string {
	relevant := maps.Clone(values)
	maps.DeleteFunc(relevant, func(key, _ string) bool {
		return slices.Contains([]string{keyBackend, keyNamePrefix, keyDeleteNonEmpty}, key)
	})
	return relevant.Hash()
}

func invalid(key string, err error) error {
	return driverkit.InvalidArgument("parameter %s %v", key, err)
}

var (
	prefixPattern   = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,22}$`)
	locationPattern = regexp.MustCompile(`^[A-Za-z0-9-]{2,40}$`)
	keyPattern      = regexp.MustCompile(`^projects/[^/]+/locations/[^/]+/keyRings/[^/]+/cryptoKeys/[^/]+$`)
	labelKeyPattern = regexp.MustCompile(`^[\p{Ll}\p{Lo}][\p{Ll}\p{Lo}\p{N}_-]{0,62}$`)
	labelPattern    = regexp.MustCompile(`^[\p{Ll}\p{Lo}\p{N}_-]{0,63}$`)
)

func checkPrefix(value string) error {
	if !prefixPattern.MatchString(value) {
		return fmt.Errorf("is %q, but must be 1 to 23 lower-case letters, digits and '-', not beginning with '-'", value)
	}
	if err := names.CheckReserved(value); err != nil {
		return fmt.Errorf("is %q, which %w", value, err)
	}
	return nil
}

func checkLocation(value string) error {
	if !locationPattern.MatchString(value) {
		return fmt.Errorf("is %q, but must be a location such as EU or EUROPE-WEST1", value)
	}
	return nil
}

func checkSoftDelete(value string) error {
	if value == "0" || driverkit.Integer(minSoftDelete, maxSoftDelete)(value) == nil {
		return nil
	}
	return fmt.Errorf("is %q, but must be 0 or a number from %d to %d", value, minSoftDelete, maxSoftDelete)
}

func checkRetention(value string) error {
	if seconds, err := strconv.ParseInt(value, 10, 64); err != nil || seconds < 1 || seconds > maxRetention {
		return fmt.Errorf("is %q, but must be a number from 1 to %d", value, int64(maxRetention))
	}
	return nil
}

func checkKey(value string) error {
	if !keyPattern.MatchString(value) {
		return fmt.Errorf("is %q, but must be the full name of a key, projects/P/locations/L/keyRings/R/cryptoKeys/K, without a version", value)
	}
	return nil
}

func checkLabels(value string) error {
	_, err := parseLabels(value)
	return err
}

func parseLabels(value string) (map[string]string, error) {
	labels, err := driverkit.ParseJSON[map[string]string](value)
	if err != nil {
		return nil, fmt.Errorf(`is not a JSON object of strings such as {"team":"a"}: %w`, err)
	}
	if labels == nil {
		return nil, nil //nolint:nilnil // absent is a value of the parameter, not an error
	}
	if len(*labels) > MaxLabels {
		return nil, fmt.Errorf("has %d labels, more than %d", len(*labels), MaxLabels)
	}
	for _, key := range slices.Sorted(maps.Keys(*labels)) {
		switch text := (*labels)[key]; {
		case strings.HasPrefix(key, LabelPrefix):
			return nil, fmt.Errorf("has the label %q: keys that begin with %s are reserved", key, LabelPrefix)
		case !labelKeyPattern.MatchString(key) || !labelPattern.MatchString(text):
			return nil, fmt.Errorf("has the label %q: keys begin with a lower-case letter; keys and values have at most 63 lower-case letters, digits, '_' and '-'", key)
		}
	}
	return *labels, nil
}
