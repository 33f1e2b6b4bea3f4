// SPDX-License-Identifier: Apache-2.0

package fakecmd

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"mime"
	"os"
	"path/filepath"

	"github.com/cooper-cosi/cooper/fakes/internal/seedobject"
)

// seedBucket is a bucket or container of a seed.
type seedBucket struct {
	Name    string              `json:"name"`
	Objects []seedobject.Object `json:"objects,omitempty"`
	Blobs   []seedobject.Object `json:"blobs,omitempty"`
}

// seedOfDir returns a seed with a bucket for each directory in dir, and an object for each file below it. If
// containers is true, it is a seed for Azure.
func seedOfDir(dir string, containers bool) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read --seed-dir: %w", err)
	}
	buckets := []seedBucket{}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		objects, err := objectsBelow(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read --seed-dir: %w", err)
		}
		if containers {
			buckets = append(buckets, seedBucket{Name: entry.Name(), Blobs: objects})
		} else {
			buckets = append(buckets, seedBucket{Name: entry.Name(), Objects: objects})
		}
	}
	if containers {
		return json.Marshal(map[string]any{"containers": buckets})
	}
	return json.Marshal(map[string]any{"buckets": buckets})
}

func objectsBelow(bucket string) ([]seedobject.Object, error) {
	var out []seedobject.Object
	err := filepath.WalkDir(bucket, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(bucket, path)
		if err != nil {
			return err
		}
		out = append(out, seedobject.Object{Name: filepath.ToSlash(name), File: path, ContentType: mime.TypeByExtension(filepath.Ext(path))})
		return nil
	})
	return out, err
}
