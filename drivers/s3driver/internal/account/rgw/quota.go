// SPDX-License-Identifier: Apache-2.0

package rgw

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"

	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
)

// Quota limits the size of buckets. For this, the driver's user needs the admin capability "buckets".
type Quota struct {
	// Users manages the users of the same gateway.
	Users *Users
}

// Set limits the total size of the bucket's objects, and their number.
func (q Quota) Set(ctx context.Context, bucket string, bytes, objects int64) error {
	own, err := q.Users.self(ctx)
	if err != nil {
		return err
	}
	_, err = q.call(ctx, http.MethodPut, "SetBucketQuota", url.Values{
		// This call takes the tenant from the user ID, whereas GetBucketInfo expects it with the bucket name.
		"quota": {""}, "uid": {own.inTenant(own.ID)}, "bucket": {bucket}, "max-size-kb": {limit(kibibytes(bytes))}, "max-objects": {limit(objects)}, "enabled": {"true"},
	})
	return err
}

// limit returns a limit in the gateway's format, in which -1 means none.
func limit(value int64) string {
	if value == 0 {
		value = -1
	}
	return strconv.FormatInt(value, 10)
}

// kibibytes converts bytes to KiB, the gateway's unit, and rounds up.
func kibibytes(bytes int64) int64 { return (bytes + 1023) / 1024 }

// Is reports whether the limits other than 0 have these values.
func (q Quota) Is(ctx context.Context, bucket string, bytes, objects int64) (bool, error) {
	own, err := q.Users.self(ctx)
	if err != nil {
		return false, err
	}
	answer, err := q.call(ctx, http.MethodGet, "GetBucketInfo", url.Values{"bucket": {own.bucket(bucket)}})
	if err != nil {
		return false, err
	}
	var found struct {
		Quota struct {
			Enabled bool  `json:"enabled"`
			Size    int64 `json:"max_size_kb"`
			Objects int64 `json:"max_objects"`
		} `json:"bucket_quota"`
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return false, fmt.Errorf("read the quota of bucket %s: %w", bucket, err)
	}
	return found.Quota.Enabled && (bytes == 0 || found.Quota.Size == kibibytes(bytes)) && (objects == 0 || found.Quota.Objects == objects), nil
}

// bucket returns the name of the user's bucket in the admin operations.
func (u user) bucket(name string) string {
	if u.Tenant == "" {
		return name
	}
	return u.Tenant + "/" + name
}

func (q Quota) call(ctx context.Context, method, operation string, query url.Values) ([]byte, error) {
	return q.Users.Admin.Call(ctx, adminapi.Request{Operation: operation, Method: method, Path: "/admin/bucket", Query: query})
}
