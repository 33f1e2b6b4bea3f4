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

// Set limits the total size of the bucket's objects.
func (q Quota) Set(ctx context.Context, bucket string, bytes int64) error {
	own, err := q.Users.self(ctx)
	if err != nil {
		return err
	}
	_, err = q.call(ctx, http.MethodPut, "SetBucketQuota", url.Values{
		// This call takes the tenant from the user ID, whereas GetBucketInfo expects it with the bucket name.
		"quota": {""}, "uid": {own.inTenant(own.ID)}, "bucket": {bucket}, "max-size-kb": {strconv.FormatInt(kibibytes(bytes), 10)}, "max-objects": {"-1"}, "enabled": {"true"},
	})
	return err
}

// kibibytes converts bytes to KiB, the gateway's unit, and rounds up.
func kibibytes(bytes int64) int64 { return (bytes + 1023) / 1024 }

// Is reports whether the limit has this value.
func (q Quota) Is(ctx context.Context, bucket string, bytes int64) (bool, error) {
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
		} `json:"bucket_quota"`
	}
	if err := json.Unmarshal(answer, &found); err != nil {
		return false, fmt.Errorf("read the quota of bucket %s: %w", bucket, err)
	}
	return found.Quota.Enabled && found.Quota.Size == kibibytes(bytes), nil
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
