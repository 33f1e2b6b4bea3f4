// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/service"
	"github.com/minio/minio-go/v7"
	"github.com/minio/minio-go/v7/pkg/credentials"

	"github.com/cooper-cosi/cooper/fakes/gcsfake"
)

// protocol is a client of a cloud, which authenticates each request.
type protocol interface {
	makeBucket(ctx context.Context) error
	put(ctx context.Context, key string, body []byte) error
	get(ctx context.Context, key string) error
	// page returns a page of a listing with up to 1000 keys, as received. marker is "" for the first page.
	page(ctx context.Context, prefix, marker string) ([]byte, error)
	// marks returns the text that occurs once for each key in a page, and the text before the marker of the
	// next page.
	marks() (entry, next string)
}

// plain sends requests without a cloud's client library.
type plain struct{ *http.Client }

func newPlain() plain {
	return plain{&http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2 * many, DisableCompression: true}}}
}

// statusError is an unsuccessful response.
type statusError string

func (e statusError) Error() string { return string(e) }

// do sends a request, with header in name/value pairs, and writes the response body to into, unless it is
// nil.
func (c plain) do(ctx context.Context, method, address string, body []byte, into io.Writer, header ...string) error {
	req, err := http.NewRequestWithContext(ctx, method, address, bytes.NewReader(body))
	if err != nil {
		return fmt.Errorf("create a request: %w", err)
	}
	for i := 0; i+1 < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := c.Do(req)
	if err != nil {
		return fmt.Errorf("send a request: %w", err)
	}
	if into == nil {
		into = io.Discard
	}
	_, err = io.Copy(into, resp.Body)
	if err = errors.Join(err, resp.Body.Close()); err != nil {
		return fmt.Errorf("read a response: %w", err)
	}
	if resp.StatusCode >= http.StatusMultipleChoices {
		return statusError(method + " " + req.URL.Path + ": " + resp.Status)
	}
	return nil
}

// s3 is a minio-go client, which signs requests.
type s3 struct {
	plain
	core *minio.Core
}

func newS3(at place) (protocol, error) {
	c := s3{plain: newPlain()}
	var err error
	c.core, err = minio.NewCore(strings.TrimPrefix(at.URL, "http://"), &minio.Options{
		Creds: credentials.NewStaticV4(at.ID, at.Secret, ""), Region: "us-east-1", Transport: c.Transport,
	})
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	return c, nil
}

func (c s3) makeBucket(ctx context.Context) error {
	if err := c.core.MakeBucket(ctx, bucket, minio.MakeBucketOptions{Region: "us-east-1"}); err != nil {
		return fmt.Errorf("create the bucket: %w", err)
	}
	return nil
}

func (c s3) put(ctx context.Context, key string, body []byte) error {
	if _, err := c.core.PutObject(ctx, bucket, key, bytes.NewReader(body), int64(len(body)), "", "", minio.PutObjectOptions{}); err != nil {
		return fmt.Errorf("put an object: %w", err)
	}
	return nil
}

func (c s3) get(ctx context.Context, key string) error {
	r, _, _, err := c.core.GetObject(ctx, bucket, key, minio.GetObjectOptions{})
	if err != nil {
		return fmt.Errorf("get an object: %w", err)
	}
	_, err = io.Copy(io.Discard, r)
	return errors.Join(err, r.Close())
}

func (c s3) page(ctx context.Context, prefix, marker string) ([]byte, error) {
	query := url.Values{"list-type": {"2"}, "prefix": {prefix}}
	if marker != "" {
		query.Set("continuation-token", marker)
	}
	u, err := c.core.Presign(ctx, http.MethodGet, bucket, "", time.Hour, query)
	if err != nil {
		return nil, fmt.Errorf("sign the list request: %w", err)
	}
	var page bytes.Buffer
	err = c.do(ctx, http.MethodGet, u.String(), nil, &page)
	return page.Bytes(), err
}

func (s3) marks() (entry, next string) { return "<Contents>", "<NextContinuationToken>" }

// azure adds a precomputed account SAS to each request.
type azure struct {
	plain
	url, signature string
}

func newAzure(at place) (protocol, error) {
	key, err := service.NewSharedKeyCredential(at.ID, at.Secret)
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	values := sas.AccountSignatureValues{
		Permissions:   (&sas.AccountPermissions{Read: true, Write: true, Create: true, List: true}).String(),
		ResourceTypes: (&sas.AccountResourceTypes{Service: true, Container: true, Object: true}).String(),
		ExpiryTime:    time.Now().UTC().Add(time.Hour),
	}
	signature, err := values.SignWithSharedKey(key)
	if err != nil {
		return nil, fmt.Errorf("create an account SAS: %w", err)
	}
	return azure{newPlain(), strings.TrimSuffix(at.URL, "/") + "/" + at.ID + "/" + bucket, signature.Encode()}, nil
}

func (c azure) send(ctx context.Context, method, address string, body []byte, into io.Writer, headers ...string) error {
	return c.do(ctx, method, c.url+address+c.signature, body, into, append(headers, "X-Ms-Version", "2021-12-02")...)
}

func (c azure) makeBucket(ctx context.Context) error {
	return c.send(ctx, http.MethodPut, "?restype=container&", nil, nil)
}

func (c azure) put(ctx context.Context, key string, body []byte) error {
	return c.send(ctx, http.MethodPut, "/"+key+"?", body, nil, "X-Ms-Blob-Type", "BlockBlob")
}

func (c azure) get(ctx context.Context, key string) error {
	return c.send(ctx, http.MethodGet, "/"+key+"?", nil, nil)
}

func (c azure) page(ctx context.Context, prefix, marker string) ([]byte, error) {
	var page bytes.Buffer
	query := url.Values{"restype": {"container"}, "comp": {"list"}, "maxresults": {"1000"}, "prefix": {prefix}}
	if marker != "" {
		query.Set("marker", marker)
	}
	err := c.send(ctx, http.MethodGet, "?"+query.Encode()+"&", nil, &page)
	return page.Bytes(), err
}

func (azure) marks() (entry, next string) { return "<Blob>", "<NextMarker>" }

// gcs adds a token to each request to the JSON API.
type gcs struct {
	plain
	url, token string
}

func newGCS(at place) (protocol, error) { return gcs{newPlain(), at.URL, at.Secret}, nil }

func (c gcs) send(ctx context.Context, method, path string, body []byte, into io.Writer) error {
	return c.do(ctx, method, c.url+path, body, into, "Authorization", "Bearer "+c.token, "Content-Type", "application/octet-stream")
}

func (c gcs) makeBucket(ctx context.Context) error {
	return c.do(ctx, http.MethodPost, c.url+"/storage/v1/b?project="+gcsfake.DefaultProject, []byte(`{"name":"`+bucket+`"}`), nil,
		"Authorization", "Bearer "+c.token, "Content-Type", "application/json")
}

func (c gcs) put(ctx context.Context, key string, body []byte) error {
	return c.send(ctx, http.MethodPost, "/upload/storage/v1/b/"+bucket+"/o?uploadType=media&name="+url.QueryEscape(key), body, nil)
}

func (c gcs) get(ctx context.Context, key string) error {
	return c.send(ctx, http.MethodGet, "/storage/v1/b/"+bucket+"/o/"+url.PathEscape(key)+"?alt=media", nil, nil)
}

func (c gcs) page(ctx context.Context, prefix, marker string) ([]byte, error) {
	var page bytes.Buffer
	query := url.Values{"maxResults": {"1000"}, "prefix": {prefix}}
	if marker != "" {
		query.Set("pageToken", marker)
	}
	err := c.send(ctx, http.MethodGet, "/storage/v1/b/"+bucket+"/o?"+query.Encode(), nil, &page)
	return page.Bytes(), err
}

func (gcs) marks() (entry, next string) { return `"storage#object"`, `"nextPageToken":"` }
