// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"net/http"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
)

var (
	containerName = regexp.MustCompile(`^[a-z0-9](-?[a-z0-9])*$`)
	metadataName  = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
)

// maxMetadata is the size of all metadata of a resource.
const maxMetadata = 8 << 10

// checkContainerName applies "Naming and Referencing Containers, Blobs, and Metadata".
func checkContainerName(name string) error {
	switch {
	case name == "$root" || name == "$web" || name == "$logs":
		return nil
	case len(name) < 3 || len(name) > 63:
		return azerr.New(http.StatusBadRequest, "OutOfRangeInput", "The specified resource name length is not within the permissible limits.")
	case !containerName.MatchString(name):
		return azerr.New(http.StatusBadRequest, "InvalidResourceName", "The specified resource name contains invalid characters.")
	}
	return nil
}

func checkBlobName(name string) error {
	if utf8.RuneCountInString(name) > 1024 || !utf8.ValidString(name) || strings.ContainsRune(name, 0) || strings.Count(name, "/") > 254 {
		return azerr.New(http.StatusBadRequest, "InvalidResourceName", "The specified resource name contains invalid characters.")
	}
	return nil
}

// metadata reads the x-ms-meta- headers.
func metadata(h http.Header) (map[string]string, error) {
	var out map[string]string
	size := 0
	for name, values := range h {
		key, ok := strings.CutPrefix(strings.ToLower(name), "x-ms-meta-")
		if !ok {
			continue
		}
		if key == "" {
			return nil, azerr.New(http.StatusBadRequest, "EmptyMetadataKey", "The key for one of the metadata key-value pairs is empty.")
		}
		if !metadataName.MatchString(key) {
			return nil, azerr.New(http.StatusBadRequest, "InvalidMetadata", "The metadata specified is invalid. It has characters that are not permitted.")
		}
		if out == nil {
			out = map[string]string{}
		}
		out[key] = values[0]
		size += len(key) + len(out[key])
	}
	if size > maxMetadata {
		return nil, azerr.New(http.StatusBadRequest, "MetadataTooLarge", "The size of the specified metadata exceeds the maximum size permitted.")
	}
	return out, nil
}

func setMetadata(w http.ResponseWriter, m map[string]string) {
	for name, value := range m {
		w.Header()["x-ms-meta-"+name] = []string{value}
	}
}
