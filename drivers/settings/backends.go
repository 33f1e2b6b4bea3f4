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

// Bad takes what is wrong with a field.
type Bad func(field, format string, args ...any)

// Default sets a field that is empty.
func Default[T ~string](field *T, value T) {
	if *field == "" {
		*field = value
	}
}

// ReadLag is a duration such as 1.5s: how long what was written may be missing from reads. Empty is none.
type ReadLag string

// CloudReadLag is that of a cloud (ADR 0033).
const CloudReadLag ReadLag = "1.5s"

// longestReadLag bounds how long a call waits for what is missing.
const longestReadLag = 10 * time.Second

// Check says what is wrong with the field readLag.
func (l ReadLag) Check(bad Bad) {
	lag, err := time.ParseDuration(string(l))
	if l != "" && (err != nil || lag < 0 || lag > longestReadLag) {
		bad("readLag", "%q is not a duration such as %s, from 0s to %s", l, CloudReadLag, longestReadLag)
	}
}

// Duration returns one that was checked.
func (l ReadLag) Duration() time.Duration {
	lag, _ := time.ParseDuration(string(l))
	return lag
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

// Reach is how a backend is reached.
type Reach struct {
	// Endpoints are URLs by their fields, of which one has the name endpoint.
	Endpoints map[string]string
	// CAFile has the certificate authorities.
	CAFile string
	// Insecure accepts endpoints without TLS at other hosts than this one.
	Insecure bool
}

// Check checks how a backend is reached. The example is an endpoint as it should be.
func (r Reach) Check(bad Bad, example string) {
	for _, field := range slices.Sorted(maps.Keys(r.Endpoints)) {
		if err := driverkit.CheckEndpoint(r.Endpoints[field], example); err != nil {
			bad(field, "%v", err)
		}
	}
	plain := r.Plain()
	for _, field := range slices.Sorted(maps.Keys(plain)) {
		if !r.Insecure && !loopback(plain[field]) {
			bad(field, "%s has no TLS, so that what is in keys, tokens and objects can be read and changed on the way: use https, or accept that by insecure: true", plain[field])
		}
	}
	if endpoint := r.Endpoints["endpoint"]; r.CAFile != "" && strings.HasPrefix(endpoint, "http://") {
		bad("caFile", "is set, but the endpoint %s has no TLS", endpoint)
	}
	if _, err := driverkit.CertificateAuthorities(r.CAFile); err != nil {
		bad("caFile", "%v", err)
	}
}

// Plain are the endpoints without TLS. One that another field takes from endpoint by default is named once.
func (r Reach) Plain() map[string]string {
	plain := map[string]string{}
	for field, endpoint := range r.Endpoints {
		if strings.HasPrefix(endpoint, "http://") && driverkit.CheckEndpoint(endpoint, "") == nil && (field == "endpoint" || endpoint != r.Endpoints["endpoint"]) {
			plain[field] = endpoint
		}
	}
	return plain
}

// loopback reports whether a URL stays on this host.
func loopback(endpoint string) bool {
	parsed, err := url.Parse(endpoint)
	if err != nil {
		return false
	}
	host := parsed.Hostname()
	return host == "localhost" || net.ParseIP(host).IsLoopback()
}
