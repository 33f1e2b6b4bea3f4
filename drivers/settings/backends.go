// SPDX-License-Identifier: Apache-2.0

package settings

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// Bad records an error in a field.
type Bad func(field, format string, args ...any)

// Default sets a field if it is empty.
func Default[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}

// ReadLag is a duration such as 1.5s. It sets how long reads may be stale after a write. Empty means that reads are
// never stale.
type ReadLag string

// CloudReadLag is the ReadLag of public clouds (ADR 0033).
const CloudReadLag ReadLag = "1.5s"

// longestReadLag is the maximum time that a call waits for something missing.
const longestReadLag = 10 * time.Second

// Check reports errors in the field readLag.
func (l ReadLag) Check(bad Bad) {
	lag, err := time.ParseDuration(string(l))
	if l != "" && (err != nil || lag < 0 || lag > longestReadLag) {
		bad("readLag", "%q is not a duration such as %s, from 0s to %s", l, CloudReadLag, longestReadLag)
	}
}

// Duration returns the duration of a value that passed Check.
func (l ReadLag) Duration() time.Duration {
	lag, _ := time.ParseDuration(string(l))
	return lag
}

// Complete returns the backends with their defaults filled in, and all errors that check reports. Errors contain the
// full path of the field, which consists of parent, the backend's name and the field.
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

// Reach describes how the driver connects to a backend.
type Reach struct {
	// Endpoints maps fields to URLs. One of the fields is named endpoint.
	Endpoints map[string]string
	// CAFile is the file with the certificate authorities.
	CAFile string
	// Insecure allows endpoints without TLS that are not on this host.
	Insecure bool
}

// Check returns the errors in the settings for connecting to a backend. example is a valid endpoint for error
// messages.
func (r Reach) Check(bad Bad, example string) {
	for _, field := range slices.Sorted(maps.Keys(r.Endpoints)) {
		if err := driverkit.CheckEndpoint(r.Endpoints[field], example); err != nil {
			bad(field, "%v", err)
		}
	}
	plain := r.Plain()
	for _, field := range slices.Sorted(maps.Keys(plain)) {
		if !r.Insecure && !loopback(plain[field]) {
			bad(field, "%s does not use TLS, so keys, tokens and objects can be read and changed on the network: use https, or accept this with insecure: true", plain[field])
		}
	}
	if endpoint := r.Endpoints["endpoint"]; r.CAFile != "" && strings.HasPrefix(endpoint, "http://") {
		bad("caFile", "is set, but the endpoint %s does not use TLS", endpoint)
	}
	if _, err := driverkit.CertificateAuthorities(r.CAFile); err != nil {
		bad("caFile", "%v", err)
	}
}

// Plain returns the endpoints without TLS. If another field defaults to endpoint, the URL is listed only once.
func (r Reach) Plain() map[string]string {
	plain := map[string]string{}
	for field, endpoint := range r.Endpoints {
		if strings.HasPrefix(endpoint, "http://") && driverkit.CheckEndpoint(endpoint, "") == nil && (field == "endpoint" || endpoint != r.Endpoints["endpoint"]) {
			plain[field] = endpoint
		}
	}
	return plain
}

// loopback reports whether a URL refers to the local host.
func loopback(endpoint string) bool {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	host := parsed.Hostname()
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
