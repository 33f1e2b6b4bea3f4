// SPDX-License-Identifier: Apache-2.0

// Package formats writes the granted credential of an access in the formats of shells, storage tools and
// applications. It writes each value unchanged or returns an error, so that the author of a Secret cannot inject a
// command, a variable or a section. Errors contain no secret values.
//
// The package does not read objects from a cluster. In a Secret, it uses only the keys that COSI defines.
package formats

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
)

// Grant is the credential of an access for the bucket of one claim.
type Grant struct {
	// Claim and Secret are the names of the claim and of the access Secret.
	Claim, Secret string
	// Data is the data of the Secret.
	Data map[string][]byte
}

// Format implements fmt.Formatter for every verb and redacts the credential.
func (g Grant) Format(state fmt.State, _ rune) {
	_, _ = io.WriteString(state, "Secret "+g.Secret+" [redacted]") // Format cannot return an error
}

// Options configure the output.
type Options struct {
	// Redact omits secret values.
	Redact bool
	// GCSEndpoint is the endpoint of Google Cloud Storage; empty means Google's.
	GCSEndpoint string
}

// format is an output format.
type format struct {
	name string
	// one means that the format supports only one bucket.
	one bool
	// any means that the format supports any text.
	any bool
	// write writes buckets with valid values.
	write func(w *bytes.Buffer, buckets []bucket, o Options) error
}

func formats() []format {
	return []format{
		{name: "shell", one: true, write: shell},
		{name: "dotenv", one: true, write: dotenv},
		{name: "aws", write: aws},
		{name: "rclone", write: rclone},
		{name: "s3cmd", one: true, write: s3cmd},
		{name: "mc", one: true, write: mc},
		{name: "az", one: true, write: az},
		{name: "gcloud", one: true, write: gcloud},
		{name: "gitlab", one: true, write: gitlab},
		{name: "barman", one: true, write: barman},
		{name: "velero", one: true, write: velero},
		{name: "loki", one: true, write: loki},
		{name: "thanos", one: true, write: thanos},
		{name: "spring", one: true, write: spring},
		{name: "json", any: true, write: asJSON},
	}
}

// Names returns the names of all formats.
func Names() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// Write writes the grants of one access in the named format. After an error nothing has been written.
func Write(w io.Writer, name string, granted []Grant, o Options) error {
	at := slices.IndexFunc(formats(), func(f format) bool { return f.name == name })
	if at < 0 {
		return fmt.Errorf("unknown format %q: use one of %s", name, strings.Join(Names(), ", "))
	}
	f := formats()[at]
	if f.one && len(granted) > 1 {
		return fmt.Errorf("the format %s supports one bucket, but the access has %d: select one with --claim", name, len(granted))
	}
	var buckets []bucket
	for _, grant := range granted {
		b, err := newBucket(grant, f.any, o.Redact)
		if err != nil {
			return err
		}
		buckets = append(buckets, b)
	}
	var text bytes.Buffer
	if err := f.write(&text, buckets, o); err != nil {
		return fmt.Errorf("format %s: %w", name, err)
	}
	_, err := w.Write(text.Bytes())
	return err
}

// bucket is a grant prepared for a format.
type bucket struct {
	claim, secret string
	protocol      cosiapi.Protocol
	// values are the values of COSI's keys in the Secret.
	values map[string]string
}

// newBucket rejects values with terminal control characters or line breaks.
func newBucket(grant Grant, anyText, redact bool) (bucket, error) {
	protocol := cosiapi.Protocol(grant.Data[secretkeys.Protocol])
	b := bucket{claim: grant.Claim, secret: grant.Secret, protocol: protocol, values: map[string]string{}}
	known := secretkeys.Keys(protocol)
	if known == nil {
		return bucket{}, fmt.Errorf("Secret %q: the value of %s is not one of S3, Azure, GCS", grant.Secret, secretkeys.Protocol)
	}
	hidden := secretkeys.Secrets(grant.Data)
	for _, key := range known {
		raw, ok := grant.Data[key]
		if !ok {
			continue
		}
		value := string(raw)
		if !printable(key, value, anyText) {
			return bucket{}, fmt.Errorf("Secret %q: the value of %s contains characters that no driver delivers, so it is not printed: "+
				"check which client writes that Secret, or use the format json", grant.Secret, key)
		}
		if redact && slices.Contains(hidden, value) {
			value = redacted(value)
		}
		b.values[key] = value
	}
	return b, nil
}

// redacted returns the part of a value that is not secret: for the URL of a container, everything but the
// signature.
func redacted(value string) string {
	url, _, signed := strings.Cut(value, "?")
	if signed && strings.Contains(url, "://") {
		return url + "?[redacted]"
	}
	return "[redacted]"
}

// printable reports whether a value is one line of text, or several lines where PEM is expected.
func printable(key, value string, anyText bool) bool {
	if !utf8.ValidString(value) || anyText {
		return utf8.ValidString(value)
	}
	lines := key == secretkeys.CertificateAuthority || key == secretkeys.GCSPrivateKey
	return !strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) && !(lines && r == '\n') })
}

// present returns the keys with values in display order.
func (b bucket) present() []string {
	return slices.DeleteFunc(secretkeys.Keys(b.protocol), func(key string) bool { return b.values[key] == "" })
}

// other returns the error for a protocol that a format does not support.
func (b bucket) other(what string) error {
	return fmt.Errorf("%s, but the protocol of claim %q is %s: use one of %s", what, b.claim, b.protocol, strings.Join(fitting(b.protocol), ", "))
}

// fitting returns the formats that always support a protocol.
func fitting(protocol cosiapi.Protocol) []string {
	switch protocol {
	case cosiapi.ProtocolAzure:
		return []string{"shell", "dotenv", "az", "rclone", "barman", "spring", "json"}
	case cosiapi.ProtocolGCS:
		return []string{"shell", "dotenv", "gcloud", "rclone", "gitlab", "barman", "velero", "loki", "thanos", "spring", "json"}
	default:
		return []string{"shell", "dotenv", "aws", "rclone", "s3cmd", "mc", "gitlab", "barman", "velero", "loki", "thanos", "spring", "json"}
	}
}
