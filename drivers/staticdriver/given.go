// SPDX-License-Identifier: Apache-2.0

package staticdriver

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// given is the administrator's description of one bucket and one credential.
type given struct {
	protocol   driverkit.Protocol
	info       driverkit.BucketInfo
	credential driverkit.Credential
	// mark changes, with high probability, when anything has changed. It is too short to reveal a secret.
	mark string
}

// keys returns the keys of a BucketAccess Secret by protocol, required and optional (KEP-1979, section "BucketAccess
// Secret data"). GCS also needs a complete HMAC pair or service account key.
func keys() map[driverkit.Protocol]struct{ needed, optional []string } {
	return map[driverkit.Protocol]struct{ needed, optional []string }{
		driverkit.S3: {needed: []string{"AWS_ENDPOINT_URL", "BUCKET_NAME", "AWS_DEFAULT_REGION", "AWS_S3_ADDRESSING_STYLE", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}},
		driverkit.Azure: {
			needed: []string{"AZURE_STORAGE_ACCOUNT", "AZURE_STORAGE_SAS_TOKEN"}, optional: []string{"AZURE_STORAGE_SAS_TOKEN_EXPIRY_TIMESTAMP"},
		},
		driverkit.GCS: {needed: []string{"PROJECT_ID", "BUCKET_NAME"}, optional: slices.Concat(hmacKeys, jsonKeys, []string{"SERVICE_ACCOUNT_NAME"})},
	}
}

var (
	hmacKeys = []string{"HMAC_ACCESS_ID", "HMAC_SECRET"}
	jsonKeys = []string{"CLIENT_EMAIL", "CLIENT_ID", "PRIVATE_KEY_ID", "PRIVATE_KEY"}
	pemKeys  = []string{"PRIVATE_KEY", "COSI_CERTIFICATE_AUTHORITY"}
)

// read reads a directory in the layout of a mounted Secret, with one file per key. Kubernetes replaces all files
// atomically through the link ..data. Errors contain no values.
func read(directory string) (given, error) {
	if current, err := filepath.EvalSymlinks(filepath.Join(directory, "..data")); err == nil {
		directory = current
	}
	entries, err := os.ReadDir(directory)
	if err != nil {
		return given{}, fmt.Errorf("read the keys of the credential: %w", err)
	}
	values := map[string]string{}
	for _, entry := range entries {
		if strings.HasPrefix(entry.Name(), ".") {
			continue
		}
		text, err := os.ReadFile(filepath.Join(directory, entry.Name()))
		if err != nil {
			return given{}, fmt.Errorf("read the keys of the credential: %w", err)
		}
		values[entry.Name()] = string(text)
		if !slices.Contains(pemKeys, entry.Name()) { // PEM files end with a line feed
			values[entry.Name()] = strings.TrimSpace(string(text))
		}
	}
	found, err := parse(values)
	if err != nil {
		return given{}, err
	}
	sum, err := driverkit.Digest(values)
	if err != nil {
		return given{}, err
	}
	found.mark = sum[:4]
	return found, nil
}

// parse is the inverse of the function with which a sidecar writes a Secret.
func parse(values map[string]string) (given, error) {
	g := given{protocol: driverkit.Protocol(values["COSI_PROTOCOL"])}
	wanted, ok := keys()[g.protocol]
	if !ok {
		return given{}, errors.New("COSI_PROTOCOL must be one of: S3, Azure, GCS")
	}
	if err := checkKeys(values, wanted.needed, wanted.optional); err != nil {
		return given{}, err
	}
	g.credential.CertificateAuthority = values["COSI_CERTIFICATE_AUTHORITY"]
	switch g.protocol {
	case driverkit.S3:
		return g.s3(values)
	case driverkit.Azure:
		return g.azure(values)
	default:
		return g.gcs(values)
	}
}

func checkKeys(values map[string]string, needed, optional []string) error {
	var problems []error
	for _, key := range needed {
		if values[key] == "" {
			problems = append(problems, fmt.Errorf("%s is missing", key))
		}
	}
	known := slices.Concat(needed, optional, []string{"COSI_PROTOCOL", "COSI_CERTIFICATE_AUTHORITY"})
	for key := range values {
		if !slices.Contains(known, key) {
			problems = append(problems, fmt.Errorf("%s is not a valid key in a Secret for %s; valid keys: %s", key, values["COSI_PROTOCOL"], strings.Join(known, ", ")))
		}
	}
	return errors.Join(problems...)
}

func (g given) s3(values map[string]string) (given, error) {
	style := driverkit.AddressingStyle(values["AWS_S3_ADDRESSING_STYLE"])
	if style != driverkit.PathStyle && style != driverkit.VirtualStyle {
		return given{}, errors.New("AWS_S3_ADDRESSING_STYLE must be one of: path, virtual")
	}
	if err := driverkit.CheckEndpoint(values["AWS_ENDPOINT_URL"], "https://s3.example.com"); err != nil {
		return given{}, fmt.Errorf("AWS_ENDPOINT_URL %w", err)
	}
	g.info.S3 = &driverkit.S3Bucket{
		Name: values["BUCKET_NAME"], Endpoint: strings.TrimRight(values["AWS_ENDPOINT_URL"], "/"), Region: values["AWS_DEFAULT_REGION"], Style: style,
	}
	g.credential.S3 = &driverkit.S3Credential{AccessKeyID: values["AWS_ACCESS_KEY_ID"], SecretKey: cosi.NewSecret(values["AWS_SECRET_ACCESS_KEY"])}
	return g, nil
}

func (g given) azure(values map[string]string) (given, error) {
	token := values["AZURE_STORAGE_SAS_TOKEN"]
	at, err := url.Parse(token)
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" || !at.Query().Has("sig") || strings.Trim(at.Path, "/") == "" {
		return given{}, errors.New("AZURE_STORAGE_SAS_TOKEN must be the URL of the container with the signature as its query")
	}
	g.info.Azure = &driverkit.AzureBucket{StorageAccount: values["AZURE_STORAGE_ACCOUNT"]}
	g.credential.Azure = &driverkit.AzureCredential{Token: cosi.NewSecret(token)}
	if expiry := values["AZURE_STORAGE_SAS_TOKEN_EXPIRY_TIMESTAMP"]; expiry != "" {
		if g.credential.Azure.Expiry, err = time.Parse(time.RFC3339, expiry); err != nil {
			return given{}, errors.New("AZURE_STORAGE_SAS_TOKEN_EXPIRY_TIMESTAMP must be a time such as 2026-11-23T12:00:00Z")
		}
	}
	return g, nil
}

func (g given) gcs(values map[string]string) (given, error) {
	whole := func(keys []string) bool {
		return !slices.ContainsFunc(keys, func(key string) bool { return values[key] == "" })
	}
	part := func(keys []string) bool {
		return !whole(keys) && slices.ContainsFunc(keys, func(key string) bool { return values[key] != "" })
	}
	if part(hmacKeys) || part(jsonKeys) || !whole(hmacKeys) && !whole(jsonKeys) {
		return given{}, fmt.Errorf("set all of %s, or all of %s, or both", strings.Join(hmacKeys, ", "), strings.Join(jsonKeys, ", "))
	}
	g.info.GCS = &driverkit.GCSBucket{ProjectID: values["PROJECT_ID"], BucketName: values["BUCKET_NAME"]}
	g.credential.GCS = &driverkit.GCSCredential{
		AccessID: values["HMAC_ACCESS_ID"], AccessSecret: cosi.NewSecret(values["HMAC_SECRET"]), ServiceAccount: values["SERVICE_ACCOUNT_NAME"],
		ClientEmail: values["CLIENT_EMAIL"], ClientID: values["CLIENT_ID"], PrivateKeyID: values["PRIVATE_KEY_ID"], PrivateKey: cosi.NewSecret(values["PRIVATE_KEY"]),
	}
	return g, nil
}

// server returns the URL of the store without the bucket, or "" if the Secret does not contain it.
func (g given) server() string {
	switch g.protocol {
	case driverkit.S3:
		return g.info.S3.Endpoint
	case driverkit.Azure:
		return g.container().Scheme + "://" + g.container().Host
	default:
		return ""
	}
}

// place returns the location of the bucket, which is not secret.
func (g given) place() string {
	switch g.protocol {
	case driverkit.S3:
		return g.info.S3.Endpoint + "/" + g.info.S3.Name
	case driverkit.Azure:
		return g.server() + g.container().Path
	default:
		return g.info.GCS.ProjectID + "/" + g.info.GCS.BucketName
	}
}

// container returns the URL of Azure's token.
func (g given) container() *url.URL {
	at, err := url.Parse(g.credential.Azure.Token.Reveal())
	if err != nil { // it was parsed before
		return &url.URL{}
	}
	return at
}
