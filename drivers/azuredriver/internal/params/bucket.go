// SPDX-License-Identifier: Apache-2.0

// Package params parses the parameters that a BucketClass or BucketAccessClass may set for the Azure driver. It makes
// no calls, so the driver reports invalid parameters before it creates anything.
package params

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Keys of BucketClass parameters.
const (
	keyBackend         = "account"
	keyNamePrefix      = "namePrefix"
	keyEncryptionScope = "encryptionScope"
	keyOnlyScope       = "encryptionScopeOnly"
	keyMetadata        = "metadata"
	keyDeleteNonEmpty  = "deleteNonEmpty"
)

// MarkPrefix is the prefix of the driver's own metadata.
const MarkPrefix = "cosi_"

// maxMetadata limits the size of all names and values. The service allows 8 KiB in total, some of which the driver
// uses.
const maxMetadata = 6 << 10

// Bucket holds the parameters of a BucketClass.
type Bucket struct {
	// Backend is the name of the storage account, or empty for the default one.
	Backend string
	// NamePrefix is the prefix of the container's name.
	NamePrefix string
	// EncryptionScope is the container's default encryption scope, or empty for the storage account's.
	EncryptionScope string
	// ScopeOnly rejects blobs that name another encryption scope.
	ScopeOnly bool
	// Metadata is set on creation. Its keys are lower-case.
	Metadata       map[string]string
	DeleteNonEmpty bool
	// Hash identifies the parameters: equal parameters have the same Hash.
	Hash string
}

// accountLevel maps settings that Azure has only for a whole storage account to their descriptions.
var accountLevel = map[string]string{
	"versioning":    "blob versioning is a setting of the storage account, not of a container; set it there",
	"softDelete":    "soft delete is a setting of the storage account, not of a container; set it there",
	"cors":          "CORS rules are a setting of the storage account, not of a container; set them there",
	"lifecycle":     "lifecycle rules are a setting of the storage account, which can filter by container; set them there",
	"accessTier":    "the default access tier is a setting of the storage account; applications can set a tier for each blob",
	"region":        "the region is a property of the storage account; configure an account for each region and select it with the parameter account",
	"redundancy":    "redundancy is a property of the storage account; configure an account for each kind and select it with the parameter account",
	"publicAccess":  "this driver never grants anonymous access",
	"quota":         "Azure does not limit the size of containers",
	"immutability":  "an administrator sets immutability policies with the management API of the storage account; this driver respects them",
	"encryptionKey": "the encryption key belongs to the storage account or to an encryption scope; select a scope with the parameter encryptionScope",
}

// BucketParameters declares the parameters that a BucketClass may set, and those that it may not set, with the
// reason.
func BucketParameters() driverkit.Parameters {
	declared := driverkit.Parameters{
		keyBackend:         {Description: "Configured storage account for the container. Default: the configured default account."},
		keyNamePrefix:      {Description: "Prefix of the names of the class's containers: lower-case letters, digits and single '-', at most 23 bytes.", Check: checkPrefix},
		keyEncryptionScope: {Description: "Encryption scope of the storage account that encrypts blobs by default. Default: the account's key.", Check: checkScope},
		keyOnlyScope:       {Description: "true rejects blobs with another encryption scope. Requires encryptionScope.", Check: driverkit.Boolean},
		keyMetadata:        {Description: "Metadata of the container as a JSON object of strings; keys are letters, digits and '_', and must not begin with cosi_.", Check: checkMetadata},
		keyDeleteNonEmpty:  {Description: "true deletes a container together with its blobs, versions and snapshots. Default: a container with blobs is not deleted.", Check: driverkit.Boolean},
	}
	for key, reason := range accountLevel {
		declared[key] = driverkit.Parameter{
			Description: "Not supported: " + reason + ".",
			Check:       func(string) error { return errors.New("is not supported by this driver: " + reason) },
		}
	}
	return declared
}

// ParseBucket parses the parameters of a class. Its errors are driverkit errors with code InvalidArgument.
func ParseBucket(values driverkit.Values) (Bucket, error) {
	metadata, err := parseMetadata(values[keyMetadata])
	if err != nil {
		return Bucket{}, driverkit.InvalidArgument("parameter %s %v", keyMetadata, err)
	}
	if values.Bool(keyOnlyScope) && values[keyEncryptionScope] == "" {
		return Bucket{}, driverkit.InvalidArgument("parameter %s needs %s", keyOnlyScope, keyEncryptionScope)
	}
	return Bucket{
		Backend:         values[keyBackend],
		NamePrefix:      values[keyNamePrefix],
		EncryptionScope: values[keyEncryptionScope],
		ScopeOnly:       values.Bool(keyOnlyScope),
		Metadata:        metadata,
		DeleteNonEmpty:  DeleteNonEmpty(values),
		Hash:            hash(values),
	}, nil
}

// DeleteNonEmpty reads the only parameter that affects deletion. Other parameters may come from an older driver and
// are not checked.
func DeleteNonEmpty(values driverkit.Values) bool { return values.Bool(keyDeleteNonEmpty) }

// hash covers the parameters that determine the container's properties. It excludes the parts of the name, which are
// in the bucket ID, and parameters that affect only deletion.
func hash(values driverkit.Values) string {
	relevant := driverkit.Values{}
	for key, value := range values {
		if key != keyBackend && key != keyNamePrefix && key != keyDeleteNonEmpty {
			relevant[key] = value
		}
	}
	return relevant.Hash()
}

var prefixPattern = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)*-?$`)

func checkPrefix(value string) error {
	if len(value) > 23 || !prefixPattern.MatchString(value) {
		return fmt.Errorf("is %q, but must be 1 to 23 lower-case letters, digits and single '-', not beginning with '-'", value)
	}
	return nil
}

var scopePattern = regexp.MustCompile(`^[a-zA-Z0-9-]{3,63}$`)

func checkScope(value string) error {
	if !scopePattern.MatchString(value) {
		return fmt.Errorf("is %q, but the name of an encryption scope is 3 to 63 letters, digits and '-'", value)
	}
	return nil
}

func checkMetadata(value string) error {
	_, err := parseMetadata(value)
	return err
}

var (
	// metadataKey matches C# identifiers, which Azure requires.
	metadataKey   = regexp.MustCompile(`^[a-z_][a-z0-9_]*$`)
	metadataValue = regexp.MustCompile(`^[!-~]([ -~]*[!-~])?$`)
)

func parseMetadata(value string) (map[string]string, error) {
	if value == "" {
		return nil, nil //nolint:nilnil // absent is a value of the parameter, not an error
	}
	var object map[string]string
	if err := json.Unmarshal([]byte(value), &object); err != nil {
		return nil, fmt.Errorf(`is not a JSON object of strings such as {"team":"a"}: %w`, err)
	}
	metadata, size := map[string]string{}, 0
	for key, text := range object {
		lower := strings.ToLower(key)
		_, twice := metadata[lower]
		switch {
		case !metadataKey.MatchString(lower):
			return nil, fmt.Errorf("has the key %q: keys are letters, digits and '_', not beginning with a digit", key)
		case strings.HasPrefix(lower, MarkPrefix):
			return nil, fmt.Errorf("has the key %q: keys that begin with %s are reserved for the driver", key, MarkPrefix)
		case twice:
			return nil, fmt.Errorf("has the key %q twice: keys are not case-sensitive in Azure", lower)
		case !metadataValue.MatchString(text):
			return nil, fmt.Errorf("has an invalid value for %q: values are printable ASCII, not empty, without leading or trailing spaces", key)
		}
		metadata[lower] = text
		size += len(key) + len(text)
	}
	if size > maxMetadata {
		return nil, fmt.Errorf("has %d bytes, more than %d", size, maxMetadata)
	}
	return metadata, nil
}
