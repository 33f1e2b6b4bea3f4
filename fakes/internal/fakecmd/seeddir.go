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

// seedOfDir returns a seed with a bucket for each directory in dir, and an object for each file below it. If
// containers is true, it is a seed for Azure.
func seedOfDir(dir string, containers bool) ([]byte, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, fmt.Errorf("read --seed-dir: %w", err)
	}
	buckets, contents := "buckets", "objects"
	if containers {
		buckets, contents = "containers", "blobs"
	}
	list := []map[string]any{}
	for _, entry := range entries {
		if !entry.IsDir() {
			continue
		}
		objects, err := objectsBelow(filepath.Join(dir, entry.Name()))
		if err != nil {
			return nil, fmt.Errorf("read --seed-dir: %w", err)
		}
		list = append(list, map[string]any{"name": entry.Name(), contents: objects})
	}
	return json.Marshal(map[string]any{buckets: list})
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
