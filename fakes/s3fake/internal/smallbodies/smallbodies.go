// SPDX-License-Identifier: Apache-2.0

// Package smallbodies keeps small bodies in a storage backend of gofakes3. It knows nothing of what they are.
package smallbodies

import (
	"bytes"
	"fmt"
	"io"

	"github.com/johannesboyne/gofakes3"

	"github.com/cooper-cosi/cooper/fakes/internal/blob"
)

// bucket is the only bucket in the backend; its keys are IDs.
const bucket = "bodies"

// Backend keeps small bodies in a storage backend of gofakes3, which is what the fake grew from.
type Backend struct{ backend gofakes3.Backend }

// New prepares backend, which must be empty.
func New(backend gofakes3.Backend) (*Backend, error) {
	if err := backend.CreateBucket(bucket); err != nil {
		return nil, fmt.Errorf("prepare the storage backend: %w", err)
	}
	return &Backend{backend}, nil
}

// Put implements blob.Small.
func (b *Backend) Put(id blob.ID, body []byte) error {
	if _, err := b.backend.PutObject(bucket, string(id), map[string]string{}, bytes.NewReader(body), int64(len(body)), nil); err != nil {
		return fmt.Errorf("store a body: %w", err)
	}
	return nil
}

// Get implements blob.Small.
func (b *Backend) Get(id blob.ID, offset, length int64) ([]byte, bool, error) {
	var want *gofakes3.ObjectRangeRequest
	if length > 0 {
		want = &gofakes3.ObjectRangeRequest{Start: offset, End: offset + length - 1}
	}
	object, err := b.backend.GetObject(bucket, string(id), want)
	if gofakes3.HasErrorCode(err, gofakes3.ErrNoSuchKey) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("read a body: %w", err)
	}
	if length == 0 {
		return nil, true, object.Contents.Close()
	}
	body := make([]byte, length)
	if _, err := io.ReadFull(object.Contents, body); err != nil {
		return nil, false, fmt.Errorf("read a body: %w", err)
	}
	return body, true, object.Contents.Close()
}

// Delete implements blob.Small.
func (b *Backend) Delete(id blob.ID) error {
	if _, err := b.backend.DeleteObject(bucket, string(id)); err != nil {
		return fmt.Errorf("drop a body: %w", err)
	}
	return nil
}
