// SPDX-License-Identifier: Apache-2.0

// Package seedobject defines the objects and blobs of the fakes' seeds.
package seedobject

import (
	"errors"
	"fmt"
	"os"
)

// Object is an object or blob of a seed.
type Object struct {
	Name string `json:"name"`
	// Content, Base64 and File are alternatives: the content as text, as base64, or the path of a file that contains it.
	Content string `json:"content,omitempty"`
	Base64  []byte `json:"base64,omitempty"`
	File    string `json:"file,omitempty"`
	// ContentType is the media type. Default: that of an upload without a type.
	ContentType string            `json:"contentType,omitempty"`
	Metadata    map[string]string `json:"metadata,omitempty"`
}

// Body returns the content of the object.
func (o Object) Body() ([]byte, error) {
	switch {
	case o.Name == "":
		return nil, errors.New("name is empty")
	case o.Content != "" && (o.Base64 != nil || o.File != "") || o.Base64 != nil && o.File != "":
		return nil, errors.New("content, base64 and file are mutually exclusive")
	case o.File != "":
		raw, err := os.ReadFile(o.File)
		if err != nil {
			return nil, fmt.Errorf("read the content: %w", err)
		}
		return raw, nil
	case o.Base64 != nil:
		return o.Base64, nil
	}
	return []byte(o.Content), nil
}
