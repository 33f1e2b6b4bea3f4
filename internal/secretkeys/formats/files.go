// SPDX-License-Identifier: Apache-2.0

package formats

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	"github.com/cooper-cosi/cooper/internal/shellenv"
)

// googleEndpoint is the endpoint of Google Cloud Storage for S3 clients.
const googleEndpoint = "https://storage.googleapis.com"

// s3 is the configuration of an S3 client for a bucket.
type s3 struct {
	bucket, region, id, secret string
	endpoint                   *url.URL
	path                       bool
	// google means that the store is Google's, which does not support AWS checksums.
	google bool
}

// s3Of returns the S3 configuration of a bucket, which is either in an S3 store or at Google with an HMAC
// key.
func s3Of(b bucket, o Options) (s3, error) {
	v := b.values
	c := s3{
		bucket: v[secretkeys.S3BucketName], region: v[secretkeys.S3Region], id: v[secretkeys.S3AccessKeyID], secret: v[secretkeys.S3AccessSecretKey],
		path: v[secretkeys.S3AddressingStyle] == "path",
	}
	address := v[secretkeys.S3Endpoint]
	switch b.protocol {
	case cosiapi.ProtocolS3:
	case cosiapi.ProtocolGCS:
		if v[secretkeys.GCSHMACAccessID] == "" && v[secretkeys.GCSPrivateKey] != "" {
			return s3{}, fmt.Errorf("Secret %q contains a service account key, but an S3 client requires an HMAC key: use the format gcloud or rclone", b.secret)
		}
		c = s3{bucket: v[secretkeys.GCSBucketName], region: "auto", id: v[secretkeys.GCSHMACAccessID], secret: v[secretkeys.GCSHMACSecret], path: true, google: true}
		address = cmp.Or(o.GCSEndpoint, googleEndpoint)
	default:
		return s3{}, b.other("the format supports only S3")
	}
	if c.id == "" || c.secret == "" {
		return s3{}, withoutCredential(b)
	}
	var err error
	if c.endpoint, err = url.Parse(address); err != nil || c.endpoint.Host == "" {
		return s3{}, fmt.Errorf("Secret %q: the value of %s is not a URL", b.secret, secretkeys.S3Endpoint)
	}
	return c, nil
}

// entry is a line of a section.
type entry struct {
	key, value string
	// ours means that the value does not come from the Secret.
	ours bool
}

// section writes a section of an INI file with a usage comment. Programs do not agree on quoting in such
// files, so it rejects values that any of them would change.
func section(w *bytes.Buffer, comment, name string, entries ...entry) error {
	fmt.Fprintf(w, "# %s\n[%s]\n", comment, name)
	for _, e := range entries {
		if e.value == "" {
			continue
		}
		if !e.ours && (strings.ContainsAny(e.value, " '\"`\\#;") || strings.Contains(e.value, "%(")) {
			return fmt.Errorf("the value of %s contains a character that programs may misinterpret in a file of this format: use the format shell or json", e.key)
		}
		fmt.Fprintf(w, "%s = %s\n", e.key, e.value)
	}
	return nil
}

// aws writes a profile for each bucket, for AWS_CONFIG_FILE.
func aws(w *bytes.Buffer, buckets []bucket, o Options) error {
	for _, b := range buckets {
		c, err := s3Of(b, o)
		if err != nil {
			return err
		}
		entries := []entry{
			{key: "aws_access_key_id", value: c.id}, {key: "aws_secret_access_key", value: c.secret}, {key: "region", value: c.region}, {key: "endpoint_url", value: c.endpoint.String()},
		}
		if c.google {
			entries = append(entries, entry{key: "request_checksum_calculation", value: "when_required"}, entry{key: "response_checksum_validation", value: "when_required"})
		}
		if err := section(w, "aws --profile "+b.claim+" s3 ls "+shellenv.Quote("s3://"+c.bucket), "profile "+b.claim, entries...); err != nil {
			return err
		}
		if c.path {
			w.WriteString("s3 =\n  addressing_style = path\n")
		}
	}
	return nil
}

// rclone writes a remote for each bucket.
func rclone(w *bytes.Buffer, buckets []bucket, o Options) error {
	for _, b := range buckets {
		var err error
		switch {
		case b.protocol == cosiapi.ProtocolAzure:
			err = rcloneAzure(w, b)
		case b.protocol == cosiapi.ProtocolGCS && b.values[secretkeys.GCSHMACAccessID] == "":
			err = rcloneGoogle(w, b, o)
		default:
			err = rcloneS3(w, b, o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func rcloneS3(w *bytes.Buffer, b bucket, o Options) error {
	c, err := s3Of(b, o)
	if err != nil {
		return err
	}
	provider := "Other"
	if c.google {
		provider = "GCS"
	}
	return section(w, rcloneUse(b, c.bucket), b.claim,
		entry{key: "type", value: "s3"}, entry{key: "provider", value: provider}, entry{key: "access_key_id", value: c.id}, entry{key: "secret_access_key", value: c.secret},
		entry{key: "region", value: c.region}, entry{key: "endpoint", value: c.endpoint.String()}, entry{key: "force_path_style", value: strconv.FormatBool(c.path)},
		entry{key: "no_check_bucket", value: "true"}, // do not try to create it: it exists
	)
}

func rcloneAzure(w *bytes.Buffer, b bucket) error {
	a, err := azureOf(b)
	if err != nil {
		return err
	}
	if a.container == "" {
		return fmt.Errorf("Secret %q: the value of %s does not name the container: use the format shell or json", b.secret, secretkeys.AzureAccessToken)
	}
	return section(w, rcloneUse(b, a.container), b.claim, entry{key: "type", value: "azureblob"}, entry{key: "sas_url", value: b.values[secretkeys.AzureAccessToken]})
}

// rcloneGoogle writes the key file on one line. This JSON is not checked like other values: it contains no
// line break and does not begin with a quote.
func rcloneGoogle(w *bytes.Buffer, b bucket, o Options) error {
	key, err := googleKey(b, o)
	if err != nil {
		return err
	}
	text, err := json.Marshal(key) //nolint:gosec // the user has requested the key
	if err != nil || strings.Contains(string(text), "%(") {
		return errors.New("the key of the service account cannot be written on one line, as rclone requires: use the format gcloud")
	}
	return section(w, rcloneUse(b, b.values[secretkeys.GCSBucketName]), b.claim,
		entry{key: "type", value: "google cloud storage", ours: true}, entry{key: "bucket_policy_only", value: "true"},
		entry{key: "endpoint", value: o.GCSEndpoint}, entry{key: "service_account_credentials", value: string(text), ours: true})
}

// rcloneUse returns the command that lists a bucket of that name.
func rcloneUse(b bucket, name string) string {
	return "rclone lsf " + shellenv.Quote(b.claim+":"+name)
}

// s3cmd writes a file for s3cmd --config.
func s3cmd(w *bytes.Buffer, buckets []bucket, o Options) error {
	c, err := s3Of(buckets[0], o)
	if err != nil {
		return err
	}
	host, insecure, err := hostOf(c, "s3cmd")
	if err != nil {
		return err
	}
	secure := "True"
	if insecure {
		secure = "False"
	}
	if !c.path {
		host = "%(bucket)s." + host
	}
	return section(w, "s3cmd --config FILE ls "+shellenv.Quote("s3://"+c.bucket), "default",
		entry{key: "access_key", value: c.id}, entry{key: "secret_key", value: c.secret}, entry{key: "bucket_location", value: c.region},
		entry{key: "host_base", value: c.endpoint.Host}, entry{key: "host_bucket", value: host, ours: true}, entry{key: "use_https", value: secure})
}

// mc writes the input of mc alias import.
func mc(w *bytes.Buffer, buckets []bucket, o Options) error {
	c, err := s3Of(buckets[0], o)
	if err != nil {
		return err
	}
	lookup := "auto"
	if c.path {
		lookup = "on"
	}
	return writeJSON(w, struct {
		URL       string `json:"url"`
		AccessKey string `json:"accessKey"`
		SecretKey string `json:"secretKey"`
		API       string `json:"api"`
		Path      string `json:"path"`
	}{c.endpoint.String(), c.id, c.secret, "s3v4", lookup})
}
