// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"fmt"
	"strconv"
	"strings"
)

// maxNamed is how many objects of a list are named.
const maxNamed = 5

// Names returns the objects of one kind as users read them in conditions and
// Events: BucketClaim "a", or BucketClaims "a", "b". A name in another
// namespace than that of the object that they read comes as namespace/name.
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

// List returns the values of a field as users read them: S3, GCS.
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
