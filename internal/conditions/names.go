// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"fmt"
	"strconv"
	"strings"
)

// maxNamed is the maximum number of objects that a list names.
const maxNamed = 5

// Names returns the objects of one kind in the format of conditions and Events: BucketClaim "a", or BucketClaims "a",
// "b". Use namespace/name if an object is in another namespace than the object with the condition.
func Names(kind string, names ...string) string {
	quoted := make([]string, 0, maxNamed)
	for _, name := range names[:min(len(names), maxNamed)] {
		quoted = append(quoted, strconv.Quote(name))
	}
	switch {
	case len(names) == 1:
	case strings.HasSuffix(kind, "s"):
		kind += "es"
	default:
		kind += "s"
	}
	text := kind + " " + strings.Join(quoted, ", ")
	if more := len(names) - maxNamed; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// List returns the values of a field in the format of messages: S3, GCS.
func List[T ~string](values []T) string {
	if len(values) == 0 {
		return "nothing"
	}
	list := make([]string, len(values))
	for i, v := range values {
		list[i] = string(v)
	}
	return strings.Join(list, ", ")
}
