// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Bad takes what is wrong with a field.
type Bad func(field, format string, args ...any)

// Default sets a field that is empty.
func Default[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}

// Complete returns the backends with what defaults fills in, and everything that check then says is wrong with them, by
// the whole names of the fields: below parent and the backend's name.
func Complete[B any](parent string, backends map[string]B, defaults func(B) B, check func(B, Bad)) (map[string]B, []error) {
	complete := make(map[string]B, len(backends))
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(backends)) {
		complete[name] = defaults(backends[name])
		check(complete[name], func(field, format string, args ...any) {
			problems = append(problems, fmt.Errorf("%s.%s.%s: %w", parent, name, field, fmt.Errorf(format, args...)))
		})
	}
	return complete, problems
}

// CheckReach checks how a backend is reached: its endpoints, by their fields, of which one has the name endpoint, and
// the certificate authorities in its caFile. The example is an endpoint as it should be.
func CheckReach(bad Bad, example, caFile string, endpoints map[string]string) {
	for _, field := range slices.Sorted(maps.Keys(endpoints)) {
		if err := driverkit.CheckEndpoint(endpoints[field], example); err != nil {
			bad(field, "%v", err)
		}
	}
	if endpoint := endpoints["endpoint"]; caFile != "" && strings.HasPrefix(endpoint, "http://") {
		bad("caFile", "is set, but the endpoint %s has no TLS", endpoint)
	}
	if _, err := driverkit.CertificateAuthorities(caFile); err != nil {
		bad("caFile", "%v", err)
	}
}
