// SPDX-License-Identifier: Apache-2.0

// Package formats writes what an access was granted in the formats of shells and of storage tools. A value comes out as
// it is, or is refused: whoever wrote a Secret must not be able to add a command, a variable or a section.
//
// It must not read objects, and knows of a Secret no keys but COSI's.
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
	"github.com/cooper-cosi/cooper/cmd/kubectl-cosi/internal/grants"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
)

// Options say how to write.
type Options struct {
	// Redact leaves out what is secret.
	Redact bool
	// GCSEndpoint is where Google Cloud Storage is; empty means Google's.
	GCSEndpoint string
}

// format is one of the formats.
type format struct {
	name string
	// one says that the format has room for one bucket.
	one bool
	// any says that the format holds any text.
	any bool
	// write writes buckets whose values are as the format needs them.
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
		{name: "json", any: true, write: asJSON},
	}
}

// Names are the names of all formats.
func Names() []string {
	var names []string
	for _, f := range formats() {
		names = append(names, f.name)
	}
	return names
}

// Write writes the grants of one access in the format of that name. After an error nothing is written.
func Write(w io.Writer, name string, granted []grants.Grant, o Options) error {
	at := slices.IndexFunc(formats(), func(f format) bool { return f.name == name })
	if at < 0 {
		return fmt.Errorf("there is no format %q: say one of %s", name, strings.Join(Names(), ", "))
	}
	f := formats()[at]
	if f.one && len(granted) > 1 {
		return fmt.Errorf("the format %s has room for one bucket, and the access has %d: say which with --claim", name, len(granted))
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

// bucket is what a format writes of a grant.
type bucket struct {
	claim, secret string
	protocol      cosiapi.Protocol
	// values are those of COSI's keys that the Secret has.
	values map[string]string
}

// newBucket refuses values that nobody reads as they are: a terminal would obey them, and a file have lines that it
// should not have.
func newBucket(grant grants.Grant, anyText, redact bool) (bucket, error) {
	protocol := cosiapi.Protocol(grant.Data[secretkeys.Protocol])
	b := bucket{claim: grant.Claim, secret: grant.Secret, protocol: protocol, values: map[string]string{}}
	known := secretkeys.Keys(protocol)
	if known == nil {
		return bucket{}, fmt.Errorf("Secret %q: its %s is none of S3, Azure, GCS", grant.Secret, secretkeys.Protocol)
	}
	hidden := secretkeys.Secrets(grant.Data)
	for _, key := range known {
		raw, ok := grant.Data[key]
		if !ok {
			continue
		}
		value := string(raw)
		if !printable(key, value, anyText) {
			return bucket{}, fmt.Errorf("Secret %q: the value of %s holds characters that no driver delivers, and is not printed: "+
				"see who writes that Secret, or read it with -o json", grant.Secret, key)
		}
		if redact && slices.Contains(hidden, value) {
			value = redacted(value)
		}
		b.values[key] = value
	}
	return b, nil
}

// redacted leaves of a secret what is none: of the URL of a container, all but the signature.
func redacted(value string) string {
	url, _, signed := strings.Cut(value, "?")
	if signed && strings.Contains(url, "://") {
		return url + "?[redacted]"
	}
	return "[redacted]"
}

// printable reports whether a value is text of one line, or of several where PEM is.
func printable(key, value string, anyText bool) bool {
	if !utf8.ValidString(value) || anyText {
		return utf8.ValidString(value)
	}
	lines := key == secretkeys.CertificateAuthority || key == secretkeys.GCSPrivateKey
	return !strings.ContainsFunc(value, func(r rune) bool { return !unicode.IsPrint(r) && !(lines && r == '\n') })
}

// present are the keys that the bucket has values of, in the order in which people read them.
func (b bucket) present() []string {
	return slices.DeleteFunc(secretkeys.Keys(b.protocol), func(key string) bool { return b.values[key] == "" })
}

// other says that a bucket's protocol has no place in a format.
func (b bucket) other(what string) error {
	return fmt.Errorf("%s, and the protocol of claim %q is %s: take one of %s", what, b.claim, b.protocol, strings.Join(fitting(b.protocol), ", "))
}

// fitting are the formats that a protocol always has a place in.
func fitting(protocol cosiapi.Protocol) []string {
	switch protocol {
	case cosiapi.ProtocolAzure:
		return []string{"shell", "dotenv", "az", "rclone", "json"}
	case cosiapi.ProtocolGCS:
		return []string{"shell", "dotenv", "gcloud", "rclone", "json"}
	default:
		return []string{"shell", "dotenv", "aws", "rclone", "s3cmd", "mc", "json"}
	}
}
