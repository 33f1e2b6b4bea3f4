// SPDX-License-Identifier: Apache-2.0

package minio

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"

	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/account/adminapi"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
)

// Quota limits the size of buckets.
type Quota struct {
	// API is the client, with the driver's own credentials.
	API *adminapi.Client
}

// quota is a limit in MinIO's format: quota is the former name of the field, followed by the current one.
type quota struct {
	Former int64  `json:"quota"`
	Size   int64  `json:"size"`
	Type   string `json:"quotatype"`
}

// Set limits the total size of the bucket's objects. MinIO cannot limit their number.
func (q Quota) Set(ctx context.Context, bucket string, bytes, _ int64) error {
	body, err := json.Marshal(quota{Former: bytes, Size: bytes, Type: "hard"})
	if err != nil {
		return fmt.Errorf("set the quota of bucket %s: %w", bucket, err)
	}
	_, err = q.call(ctx, http.MethodPut, "set-bucket-quota", bucket, body)
	return err
}

// Is reports whether the limit has this value.
func (q Quota) Is(ctx context.Context, bucket string, bytes, _ int64) (bool, error) {
	answer, err := q.call(ctx, http.MethodGet, "get-bucket-quota", bucket, nil)
	if apierror.Is(err, codeNoQuota) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	var found quota
	if err := json.Unmarshal(answer, &found); err != nil {
		return false, fmt.Errorf("read the quota of bucket %s: %w", bucket, err)
	}
	return max(found.Former, found.Size) == bytes, nil
}

func (q Quota) call(ctx context.Context, method, operation, bucket string, body []byte) ([]byte, error) {
	return q.API.Call(ctx, adminapi.Request{Operation: operation, Method: method, Path: base + operation, Query: url.Values{"bucket": {bucket}}, Body: body})
}
