// SPDX-License-Identifier: Apache-2.0

package formats

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
)

// field is a line of a YAML mapping. Its value is text or a bool. A field with an empty text is omitted.
type field struct {
	key   string
	value any
}

// writeYAML writes fields, indented by n spaces. It quotes text as JSON, which every version of YAML reads as the same
// text: no parser reads a number, a Ruby symbol or a line break instead.
func writeYAML(w *bytes.Buffer, n int, fields ...field) error {
	for _, f := range fields {
		if f.value == "" {
			continue
		}
		var text bytes.Buffer
		encoder := json.NewEncoder(&text)
		encoder.SetEscapeHTML(false)
		if err := encoder.Encode(f.value); err != nil {
			return errors.New("the Secret cannot be written as YAML")
		}
		fmt.Fprintf(w, "%s%s: %s", strings.Repeat(" ", n), f.key, text.String())
	}
	return nil
}

// compactKey returns Google's key file on one line.
func compactKey(b bucket, o Options) (string, error) {
	key, err := googleKey(b, o)
	if err != nil {
		return "", err
	}
	text, err := json.Marshal(key) //nolint:gosec // the user has requested the key
	if err != nil {
		return "", errors.New("the Secret cannot be written as JSON")
	}
	return string(text), nil
}

// hostOf returns the host and port of an endpoint for programs that take no URL, and whether it lacks TLS.
func hostOf(c s3, program string) (host string, insecure bool, err error) {
	if strings.Trim(c.endpoint.Path, "/") != "" {
		return "", false, fmt.Errorf("%s does not support endpoints with a path, such as that of %s", program, c.endpoint.Host)
	}
	return c.endpoint.Host, c.endpoint.Scheme != "https", nil
}

// gitlab writes the connection of GitLab's object storage, as in the Secrets of GitLab's chart.
func gitlab(w *bytes.Buffer, buckets []bucket, o Options) error {
	b := buckets[0]
	if b.protocol == cosiapi.ProtocolGCS {
		key, err := compactKey(b, o)
		if err != nil {
			return err
		}
		return writeYAML(w, 0, field{"provider", "Google"}, field{"google_project", b.values[secretkeys.GCSProjectID]}, field{"google_json_key_string", key})
	}
	c, err := s3Of(b, o)
	if err != nil {
		return err
	}
	return writeYAML(w, 0, field{"provider", "AWS"}, field{"region", c.region}, field{"aws_access_key_id", c.id}, field{"aws_secret_access_key", c.secret},
		field{"endpoint", c.endpoint.String()}, field{"path_style", c.path})
}

// thanos writes the object store configuration of Thanos, which other programs use, too.
func thanos(w *bytes.Buffer, buckets []bucket, o Options) error {
	b := buckets[0]
	if b.protocol == cosiapi.ProtocolGCS {
		key, err := compactKey(b, o)
		if err != nil {
			return err
		}
		w.WriteString("type: GCS\nconfig:\n")
		return writeYAML(w, 2, field{"bucket", b.values[secretkeys.GCSBucketName]}, field{"service_account", key})
	}
	c, err := s3Of(b, o)
	if err != nil {
		return err
	}
	host, insecure, err := hostOf(c, "thanos")
	if err != nil {
		return err
	}
	lookup := "virtual-hosted"
	if c.path {
		lookup = "path"
	}
	w.WriteString("type: S3\nconfig:\n")
	return writeYAML(w, 2, field{"bucket", c.bucket}, field{"endpoint", host}, field{"region", c.region}, field{"access_key", c.id},
		field{"secret_key", c.secret}, field{"insecure", insecure}, field{"bucket_lookup_type", lookup})
}

// loki writes the common storage block of Loki's configuration.
func loki(w *bytes.Buffer, buckets []bucket, o Options) error {
	b := buckets[0]
	if b.protocol == cosiapi.ProtocolGCS {
		key, err := compactKey(b, o)
		if err != nil {
			return err
		}
		w.WriteString("common:\n  storage:\n    gcs:\n")
		return writeYAML(w, 6, field{"bucket_name", b.values[secretkeys.GCSBucketName]}, field{"service_account", key})
	}
	c, err := s3Of(b, o)
	if err != nil {
		return err
	}
	host, insecure, err := hostOf(c, "loki")
	if err != nil {
		return err
	}
	w.WriteString("common:\n  storage:\n    s3:\n")
	return writeYAML(w, 6, field{"bucketnames", c.bucket}, field{"endpoint", host}, field{"region", c.region}, field{"access_key_id", c.id},
		field{"secret_access_key", c.secret}, field{"insecure", insecure}, field{"s3forcepathstyle", c.path})
}

// velero writes the credentials file of Velero's plugins: AWS's shared credentials file or Google's key file.
func velero(w *bytes.Buffer, buckets []bucket, o Options) error {
	b := buckets[0]
	if b.protocol == cosiapi.ProtocolGCS && b.values[secretkeys.GCSHMACAccessID] == "" {
		return gcloud(w, buckets, o)
	}
	c, err := s3Of(b, o)
	if err != nil {
		return err
	}
	return section(w, "AWS shared credentials file", "default", entry{key: "aws_access_key_id", value: c.id}, entry{key: "aws_secret_access_key", value: c.secret})
}

// barman writes the credential of Barman and CloudNativePG: the same files as velero, or Azure's connection string.
func barman(w *bytes.Buffer, buckets []bucket, o Options) error {
	if buckets[0].protocol != cosiapi.ProtocolAzure {
		return velero(w, buckets, o)
	}
	text, _, err := connectionString(buckets[0])
	w.WriteString(text)
	return err
}

// spring writes the properties of Spring Cloud AWS, Azure or GCP.
func spring(w *bytes.Buffer, buckets []bucket, o Options) error {
	b := buckets[0]
	switch b.protocol {
	case cosiapi.ProtocolAzure:
		a, err := azureOf(b)
		if err != nil {
			return err
		}
		const prefix = "spring.cloud.azure.storage.blob."
		return properties(w, b, entry{key: prefix + "account-name", value: b.values[secretkeys.AzureStorageAccount]},
			entry{key: prefix + "container-name", value: a.container}, entry{key: prefix + "endpoint", value: a.endpoint}, entry{key: prefix + "sas-token", value: a.signature})
	case cosiapi.ProtocolGCS:
		key, err := compactKey(b, o)
		if err != nil {
			return err
		}
		return properties(w, b, entry{key: "spring.cloud.gcp.project-id", value: b.values[secretkeys.GCSProjectID]},
			entry{key: "spring.cloud.gcp.storage.credentials.encoded-key", value: base64.StdEncoding.EncodeToString([]byte(key))})
	default:
		c, err := s3Of(b, o)
		if err != nil {
			return err
		}
		const prefix = "spring.cloud.aws."
		return properties(w, b, entry{key: prefix + "credentials.access-key", value: c.id}, entry{key: prefix + "credentials.secret-key", value: c.secret},
			entry{key: prefix + "region.static", value: c.region}, entry{key: prefix + "s3.endpoint", value: c.endpoint.String()},
			entry{key: prefix + "s3.path-style-access-enabled", value: strconv.FormatBool(c.path)})
	}
}

// properties writes a file for java.util.Properties. It rejects the placeholders that Spring replaces.
func properties(w *bytes.Buffer, b bucket, entries ...entry) error {
	for _, e := range entries {
		if e.value == "" {
			continue
		}
		if strings.Contains(e.value, "${") || strings.Contains(e.value, "#{") {
			return unfit(b, e.key)
		}
		fmt.Fprintf(w, "%s=", e.key)
		for i, r := range e.value {
			switch {
			case r == '\\', r == ' ' && i == 0:
				w.WriteString(`\` + string(r))
			case r > '~' || r < ' ':
				for _, unit := range utf16.AppendRune(nil, r) {
					fmt.Fprintf(w, `\u%04x`, unit)
				}
			default:
				w.WriteRune(r)
			}
		}
		w.WriteByte('\n')
	}
	return nil
}
