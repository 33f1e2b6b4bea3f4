// SPDX-License-Identifier: Apache-2.0

// Package params reads the parameters that a BucketClass or BucketAccessClass may set for the Azure
// driver. It makes no calls: everything that is wrong with a parameter is said before anything is
// made.
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

// MarkPrefix begins the metadata that is the driver's own.
const MarkPrefix = "cosi_"

// maxMetadata bounds all names and values, which may have 8 KiB in total, some of it the driver's.
const maxMetadata = 6 << 10

// Bucket is what a BucketClass asks of a container.
type Bucket struct {
	// Backend is the name of the storage account; empty for the default one.
	Backend string
	// NamePrefix begins the container's name.
	NamePrefix string
	// EncryptionScope is the default one of the container; empty for the account's.
	EncryptionScope string
	// ScopeOnly refuses blobs that name another encryption scope.
	ScopeOnly bool
	// Metadata is set at creation. Its keys are lower-case.
	Metadata       map[string]string
	DeleteNonEmpty bool
	// Hash is equal for parameters that make equal containers.
	Hash string
}

// accountLevel are settings that Azure has for a whole storage account, with what they are.
var accountLevel = map[string]string{
	"versioning":    "blob versioning is a setting of the storage account, not of a container; set it there",
	"softDelete":    "soft delete is a setting of the storage account, not of a container; set it there",
	"cors":          "CORS rules are a setting of the storage account, not of a container; set them there",
	"lifecycle":     "lifecycle rules are a setting of the storage account, which can filter by container; set them there",
	"accessTier":    "the default access tier is a setting of the storage account; applications can set a tier for each blob",
	"region":        "the region is that of the storage account; configure an account for each region and name it by the parameter account",
	"redundancy":    "redundancy is a property of the storage account; configure an account for each and name it by the parameter account",
	"publicAccess":  "anonymous access is never given by this driver",
	"quota":         "Azure does not limit the size of containers",
	"immutability":  "immutability policies are set through the management API of the storage account by an administrator; this driver respects them",
	"encryptionKey": "the encryption key belongs to the storage account or to an encryption scope; name a scope by the parameter encryptionScope",
}

// BucketParameters declares what a BucketClass may set, and what it may not and why.
func BucketParameters() driverkit.Parameters {
	declared := driverkit.Parameters{
		keyBackend:         {Description: "Name of the configured storage account that holds the container. Default: the configured default account."},
		keyNamePrefix:      {Description: "Begins the name of every container of the class: lower-case letters, digits and single '-', at most 23 bytes.", Check: checkPrefix},
		keyEncryptionScope: {Description: "Encryption scope of the storage account that encrypts blobs by default. Default: the account's key.", Check: checkScope},
		keyOnlyScope:       {Description: "true refuses blobs that name another encryption scope. Needs encryptionScope.", Check: driverkit.Boolean},
		keyMetadata:        {Description: "Metadata of the container as a JSON object of strings; keys are letters, digits and '_', and must not begin with cosi_.", Check: checkMetadata},
		keyDeleteNonEmpty:  {Description: "true deletes a container together with its blobs, versions and snapshots. Default: a container with blobs is not deleted.", Check: driverkit.Boolean},
	}
	for key, reason := range accountLevel {
		declared[key] = driverkit.Parameter{
			Description: "Refused: " + reason + ".",
			Check:       func(string) error { return errors.New("is not for this driver: " + reason) },
		}
	}
	return declared
}

// ParseBucket reads the parameters of a class. Its errors are driverkit errors of the code
// InvalidArgument.
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

// DeleteNonEmpty reads the one parameter that matters to a deletion, where other parameters may be
// those of an older driver and are not checked.
func DeleteNonEmpty(values driverkit.Values) bool { return values.Bool(keyDeleteNonEmpty) }

// hash covers what makes a container what it is. Left out are the name's parts, which are in the
// bucket ID, and what only matters to the deletion.
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
	// metadataKey is what C# takes as an identifier, which Azure asks for.
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
			return nil, fmt.Errorf("has the key %q: keys that begin with %s are the driver's", key, MarkPrefix)
		case twice:
			return nil, fmt.Errorf("has the key %q twice: Azure does not tell cases apart", lower)
		case !metadataValue.MatchString(text):
			return nil, fmt.Errorf("has an unusable value for %q: values are printable ASCII, not empty, without space at either end", key)
		}
		metadata[lower] = text
		size += len(key) + len(text)
	}
	if size > maxMetadata {
		return nil, fmt.Errorf("has %d bytes, more than %d", size, maxMetadata)
	}
	return metadata, nil
}
