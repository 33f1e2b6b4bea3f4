// SPDX-License-Identifier: Apache-2.0

// Package params parses the parameters that a BucketClass or BucketAccessClass may set for the S3 driver. It makes no
// calls, so the driver reports invalid parameters before it creates anything.
package params

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Keys of BucketClass parameters that can be changed on an existing bucket.
const (
	KeyLifecycle    = "lifecycle"
	KeyCORS         = "cors"
	KeyQuota        = "quota"
	KeyQuotaObjects = "quotaObjects"
	KeyEventQueue   = "eventQueue"
	KeyEventTypes   = "eventTypes"
)

// Keys of the other BucketClass parameters.
const (
	keyBackend        = "backend"
	keyNamePrefix     = "namePrefix"
	keyRegion         = "region"
	keyZonegroup      = "zonegroup"
	keyPlacement      = "placement"
	keyVersioning     = "versioning"
	keyObjectLock     = "objectLock"
	keyLockMode       = "objectLockMode"
	keyLockDays       = "objectLockDays"
	keyEncryption     = "encryption"
	keyKMSKey         = "kmsKeyID"
	keyTags           = "tags"
	keyDeleteNonEmpty = "deleteNonEmpty"
)

// Values of the parameter encryption.
const (
	EncryptionS3  = "SSE-S3"
	EncryptionKMS = "SSE-KMS"
)

// MaxTags is the maximum number of tags in the parameter. A bucket can have 50, some of which the driver uses.
const MaxTags = 40

// TagPrefix is the prefix of the driver's own tags.
const TagPrefix = "cosi-"

// maxLockDays is the maximum retention that S3 accepts, 100 years.
const maxLockDays = 36500

// Bucket holds the parameters of a BucketClass.
type Bucket struct {
	// Backend is the name of the backend, or empty for the default one.
	Backend string
	// NamePrefix is the prefix of the bucket's name.
	NamePrefix string
	// Region is empty for the region of the backend.
	Region string
	// Zonegroup and Placement are the location of the bucket in a store of type rgw, or empty for its defaults.
	Zonegroup, Placement string

	Versioning bool
	ObjectLock bool
	// Retention is nil if there is no default retention.
	Retention *types.DefaultRetention
	// Encryption is EncryptionS3 or EncryptionKMS, or empty for the store's default.
	Encryption string
	// KMSKey is the ARN or ID of the key for EncryptionKMS, or empty for the store's own key.
	KMSKey    string
	Lifecycle *types.BucketLifecycleConfiguration
	CORS      *types.CORSConfiguration
	// Events is the notification with the ID EventsID, or nil for none. Its event types are sorted.
	Events *types.QueueConfiguration
	// Tags are sorted by key.
	Tags []types.Tag
	// Quota is a size in bytes, and QuotaObjects a number of objects. 0 means no limit.
	Quota, QuotaObjects int64
	DeleteNonEmpty      bool
	// Hash identifies the parameters: equal parameters have the same Hash.
	Hash string
}

// BucketParameters declares the parameters that a BucketClass may set.
func BucketParameters() driverkit.Parameters {
	return driverkit.Parameters{
		keyBackend:        {Description: "Configured backend for the bucket. Default: the configured default backend."},
		keyNamePrefix:     {Description: "Prefix of the names of the class's buckets: lower-case letters, digits and '-', at most 23 bytes.", Check: checkPrefix},
		keyRegion:         {Description: "Region of the bucket. Default: the region of the backend."},
		keyZonegroup:      {Description: "API name of the bucket's zonegroup, for type rgw. Default: the endpoint's zonegroup.", Check: checkPlace},
		keyPlacement:      {Description: "Placement target of the bucket, for type rgw. Default: the default of the driver's user, or of the zonegroup.", Check: checkPlace},
		keyVersioning:     {Description: "true keeps old versions of objects.", Check: driverkit.Boolean},
		keyObjectLock:     {Description: "true creates the bucket with object lock, which includes versioning.", Check: driverkit.Boolean},
		keyLockMode:       {Description: "Default retention of objects: GOVERNANCE or COMPLIANCE. Requires objectLock and objectLockDays. AWS then rejects uploads without Content-MD5 or a checksum, which clients from before 2025 do not send by default.", Check: driverkit.OneOf("GOVERNANCE", "COMPLIANCE")},
		keyLockDays:       {Description: "Days of the default retention.", Check: driverkit.Integer(1, maxLockDays)},
		keyEncryption:     {Description: "SSE-S3 or SSE-KMS. Default: the store's default.", Check: driverkit.OneOf(EncryptionS3, EncryptionKMS)},
		keyKMSKey:         {Description: "ARN or ID of the key for SSE-KMS; not an alias. Default: the store's own key, which MinIO does not have.", Check: checkKey},
		KeyLifecycle:      {Description: `Lifecycle configuration as JSON, in the form of "aws s3api put-bucket-lifecycle-configuration".`, Check: checkLifecycle, Changeable: true},
		KeyCORS:           {Description: `CORS configuration as JSON, in the form of "aws s3api put-bucket-cors".`, Check: checkCORS, Changeable: true},
		KeyEventQueue:     {Description: "ARN of the SQS queue that receives the events of the bucket, for types aws and minio. Its policy must allow s3.amazonaws.com to send messages. For MinIO, the ARN of a target, such as arn:minio:sqs::NAME:webhook.", Check: checkQueue, Changeable: true},
		KeyEventTypes:     {Description: "Event types for eventQueue, separated by commas. Default: " + defaultEventTypes + ".", Check: checkEventTypes, Changeable: true},
		keyTags:           {Description: "Tags of the bucket as a JSON object of strings, at most 40; keys must not begin with cosi- or aws:.", Check: checkTags},
		KeyQuota:          {Description: "Maximum total size, such as 500Mi or 10Gi, if the backend supports quotas.", Check: checkQuota, Changeable: true},
		KeyQuotaObjects:   {Description: "Maximum number of objects, for type rgw.", Check: checkQuotaObjects, Changeable: true},
		keyDeleteNonEmpty: {Description: "true deletes a bucket together with its objects, versions and unfinished uploads. Default: a bucket with objects is not deleted.", Check: driverkit.Boolean},
	}
}

// ParseBucket parses the parameters of a class. Its errors are driverkit errors with code InvalidArgument.
func ParseBucket(values driverkit.Values) (Bucket, error) {
	if err := checkTogether(values); err != nil {
		return Bucket{}, err
	}
	bucket := Bucket{
		Backend:        values[keyBackend],
		NamePrefix:     values[keyNamePrefix],
		Region:         values[keyRegion],
		Zonegroup:      values[keyZonegroup],
		Placement:      values[keyPlacement],
		ObjectLock:     values.Bool(keyObjectLock),
		Versioning:     values.Bool(keyVersioning) || values.Bool(keyObjectLock),
		Encryption:     values[keyEncryption],
		KMSKey:         values[keyKMSKey],
		Events:         eventsOf(values),
		DeleteNonEmpty: values.Bool(keyDeleteNonEmpty),
		Hash:           hash(values),
	}
	if mode := values[keyLockMode]; mode != "" {
		days, err := strconv.ParseInt(values[keyLockDays], 10, 32)
		if err != nil {
			return Bucket{}, invalid(keyLockDays, err)
		}
		bucket.Retention = &types.DefaultRetention{Mode: types.ObjectLockRetentionMode(mode), Days: aws.Int32(int32(days))}
	}
	var err error
	if bucket.Lifecycle, err = driverkit.ParseJSON[types.BucketLifecycleConfiguration](values[KeyLifecycle]); err != nil {
		return Bucket{}, invalid(KeyLifecycle, err)
	}
	if bucket.CORS, err = driverkit.ParseJSON[types.CORSConfiguration](values[KeyCORS]); err != nil {
		return Bucket{}, invalid(KeyCORS, err)
	}
	if bucket.Tags, err = parseTags(values[keyTags]); err != nil {
		return Bucket{}, invalid(keyTags, err)
	}
	if bucket.Quota, err = parseQuota(values[KeyQuota]); err != nil {
		return Bucket{}, invalid(KeyQuota, err)
	}
	if bucket.QuotaObjects, err = parseQuotaObjects(values[KeyQuotaObjects]); err != nil {
		return Bucket{}, invalid(KeyQuotaObjects, err)
	}
	return bucket, nil
}

// DeleteNonEmpty reads the only parameter that affects deletion. Other parameters may come from an older driver and
// are not checked.
func DeleteNonEmpty(values driverkit.Values) bool { return values.Bool(keyDeleteNonEmpty) }

func checkTogether(values driverkit.Values) error {
	_, mode := values[keyLockMode]
	_, days := values[keyLockDays]
	switch {
	case mode != days:
		return driverkit.InvalidArgument("parameters %s and %s require each other", keyLockMode, keyLockDays)
	case mode && !values.Bool(keyObjectLock):
		return driverkit.InvalidArgument("parameter %s requires that %s is true", keyLockMode, keyObjectLock)
	case values[keyVersioning] == "false" && values.Bool(keyObjectLock):
		return driverkit.InvalidArgument("parameter %s requires versioning, but %s is false", keyObjectLock, keyVersioning)
	case values[KeyEventTypes] != "" && values[KeyEventQueue] == "":
		return driverkit.InvalidArgument("parameter %s requires %s", KeyEventTypes, KeyEventQueue)
	case values[keyKMSKey] != "" && values[keyEncryption] != EncryptionKMS:
		return driverkit.InvalidArgument("parameter %s requires that %s is %s", keyKMSKey, keyEncryption, EncryptionKMS)
	}
	return nil
}

// hash covers the parameters that determine the bucket's properties. It excludes the parts of the name, which are in
// the bucket ID, and parameters that affect only deletion.
func hash(values driverkit.Values) string {
	relevant := driverkit.Values{}
	for key, value := range values {
		switch key {
		case keyBackend, keyNamePrefix, keyDeleteNonEmpty:
		default:
			relevant[key] = value
		}
	}
	return relevant.Hash()
}

func invalid(key string, err error) error {
	return driverkit.InvalidArgument("parameter %s %v", key, err)
}

var prefixPattern = regexp.MustCompile(`^[a-z0-9][a-z0-9-]{0,22}$`)

func checkPrefix(value string) error {
	if !prefixPattern.MatchString(value) {
		return fmt.Errorf("is %q, but must be 1 to 23 lower-case letters, digits and '-', not beginning with '-'", value)
	}
	for _, reserved := range []string{"xn--", "sthree-", "amzn-s3-demo-"} {
		if strings.HasPrefix(value, reserved) {
			return fmt.Errorf("is %q, but S3 reserves names that begin with %q", value, reserved)
		}
	}
	return nil
}

var placePattern = regexp.MustCompile(`^[\w.-]+$`)

func checkPlace(value string) error {
	if !placePattern.MatchString(value) {
		return fmt.Errorf("is %q, but must be letters, digits and _.-", value)
	}
	return nil
}

func checkKey(value string) error {
	if strings.Contains(value, "alias/") {
		return errors.New("is an alias, but must be the ID or ARN of the key: permissions cannot name an alias")
	}
	return nil
}

// checkLifecycle refuses rules that S3 does not accept, before the bucket exists and with the name of the rule, which the
// error of the store lacks.
func checkLifecycle(value string) error {
	config, err := driverkit.ParseJSON[types.BucketLifecycleConfiguration](value)
	if err != nil || config == nil {
		return err
	}
	seen := map[string]bool{}
	for i, rule := range config.Rules {
		id := cmp.Or(aws.ToString(rule.ID), fmt.Sprintf("number %d", i+1))
		switch expiration := rule.Expiration; {
		case seen[id]:
			return fmt.Errorf("has several rules with the ID %q", id)
		case rule.Filter != nil && rule.Prefix != nil: //nolint:staticcheck // the old form, which S3 still accepts
			return fmt.Errorf("has Filter and Prefix in rule %q; remove one of them", id)
		case expiration != nil && expiration.Days != nil && *expiration.Days < 1:
			return fmt.Errorf("has an expiration of %d days in rule %q, but the minimum is 1", *expiration.Days, id)
		}
		seen[id] = true
	}
	return nil
}

// maxCORSRules is the maximum number of CORS rules of a bucket.
const maxCORSRules = 100

func checkCORS(value string) error {
	config, err := driverkit.ParseJSON[types.CORSConfiguration](value)
	if err == nil && config != nil && len(config.CORSRules) > maxCORSRules {
		return fmt.Errorf("has %d rules, but the maximum is %d", len(config.CORSRules), maxCORSRules)
	}
	return err
}

func checkTags(value string) error {
	_, err := parseTags(value)
	return err
}

func parseTags(value string) ([]types.Tag, error) {
	if value == "" {
		return nil, nil
	}
	var object map[string]string
	decoder := json.NewDecoder(bytes.NewReader([]byte(value)))
	if err := decoder.Decode(&object); err != nil {
		return nil, fmt.Errorf(`is not a JSON object of strings such as {"team":"a"}: %w`, err)
	}
	if len(object) > MaxTags {
		return nil, fmt.Errorf("has %d tags, more than %d", len(object), MaxTags)
	}
	tags := make([]types.Tag, 0, len(object))
	for key, text := range object {
		if err := checkTag(key, text); err != nil {
			return nil, err
		}
		tags = append(tags, types.Tag{Key: aws.String(key), Value: aws.String(text)})
	}
	slices.SortFunc(tags, func(a, b types.Tag) int { return strings.Compare(*a.Key, *b.Key) })
	return tags, nil
}

var tagPattern = regexp.MustCompile(`^[\p{L}\p{Z}\p{N}_.:/=+\-@]*$`)

func checkTag(key, value string) error {
	switch {
	case key == "" || len([]rune(key)) > 128 || len([]rune(value)) > 256:
		return fmt.Errorf("has the tag %q: keys are 1 to 128 characters, values at most 256", key)
	case strings.HasPrefix(key, TagPrefix) || strings.HasPrefix(strings.ToLower(key), "aws:"):
		return fmt.Errorf("has the tag %q: keys that begin with %s or aws: are reserved", key, TagPrefix)
	case !tagPattern.MatchString(key) || !tagPattern.MatchString(value):
		return fmt.Errorf("has the tag %q: allowed are letters, digits, spaces and _.:/=+-@", key)
	}
	return nil
}

func checkQuota(value string) error {
	_, err := parseQuota(value)
	return err
}

func checkQuotaObjects(value string) error {
	_, err := parseQuotaObjects(value)
	return err
}

func parseQuotaObjects(value string) (int64, error) {
	if value == "" {
		return 0, nil
	}
	objects, err := strconv.ParseInt(value, 10, 64)
	if err != nil || objects <= 0 {
		return 0, fmt.Errorf("is %q, but must be a positive whole number", value)
	}
	return objects, nil
}

var quotaUnits = map[string]int64{"": 1, "Ki": 1 << 10, "Mi": 1 << 20, "Gi": 1 << 30, "Ti": 1 << 40, "Pi": 1 << 50, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}

func parseQuota(value string) (int64, error) {
	if value == "" {
		return 0, nil
	}
	digits := strings.TrimRight(value, "KMGTPik")
	unit, known := quotaUnits[value[len(digits):]]
	number, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !known || number <= 0 || number > (1<<62)/unit {
		return 0, fmt.Errorf("is %q, but must be a positive whole number with an optional unit such as Mi, Gi, M or G", value)
	}
	return number * unit, nil
}
