// SPDX-License-Identifier: Apache-2.0

package formats

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf16"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/secretkeys"
	"github.com/cooper-cosi/cooper/internal/shellenv"
)

// shell writes the Secret's keys as variables, as in a Pod.
func shell(w *bytes.Buffer, buckets []bucket, _ Options) error {
	return shellenv.Write(w, buckets[0].values)
}

// dotenv writes the same variables for programs that read .env files. These agree only on words without
// quotes, and on single-quoted text without quotes and backslashes.
func dotenv(w *bytes.Buffer, buckets []bucket, _ Options) error {
	b := buckets[0]
	for _, key := range b.present() {
		value := b.values[key]
		_, more, _ := strings.Cut(value, "\n")
		switch {
		case strings.ContainsAny(value, `'\`), !pemLines.MatchString(more):
			return unfit(b, key)
		case shellenv.Quote(value) != value:
			value = "'" + value + "'"
		}
		fmt.Fprintf(w, "%s=%s\n", key, value)
	}
	return nil
}

// pemLines matches the lines of PEM. Programs that do not support multi-line values, such as docker run
// --env-file, do not mistake such a line for a variable.
var pemLines = regexp.MustCompile(`^(?:(?:-----(?:BEGIN|END)[A-Z0-9 ]*-----|[A-Za-z0-9+/]+={0,2}|#.*)?(?:\n|$))*$`)

// unfit returns the error for a value that a format cannot represent.
func unfit(b bucket, key string) error {
	return fmt.Errorf("Secret %q: the value of %s contains a character that other programs may misinterpret: use the format shell or json", b.secret, key)
}

// azure is the configuration of an Azure client for a container.
type azure struct{ container, endpoint, signature string }

// containerName matches the names of containers, including Azure's own, such as $web.
var containerName = regexp.MustCompile(`^[a-z0-9$-]+$`)

// azureOf parses the token, which is either the URL of the container with the signature as its query, or only
// the signature.
func azureOf(b bucket) (azure, error) {
	token := b.values[secretkeys.AzureAccessToken]
	if b.protocol != cosiapi.ProtocolAzure {
		return azure{}, b.other("the format supports only Azure")
	}
	if token == "" {
		return azure{}, withoutCredential(b)
	}
	address, signature, signed := strings.Cut(token, "?")
	if !strings.Contains(address, "://") {
		return azure{
			endpoint:  "https://" + b.values[secretkeys.AzureStorageAccount] + ".blob.core.windows.net",
			signature: strings.TrimPrefix(token, "?"),
		}, nil
	}
	at, err := url.Parse(address)
	if err != nil || !signed || at.Host == "" {
		return azure{}, fmt.Errorf("Secret %q: the value of %s is not a URL with a signature", b.secret, secretkeys.AzureAccessToken)
	}
	a := azure{container: path.Base(at.Path), signature: signature}
	if !containerName.MatchString(a.container) { // the path is decoded: it can contain line breaks
		return azure{}, fmt.Errorf("Secret %q: the value of %s does not contain the name of a container", b.secret, secretkeys.AzureAccessToken)
	}
	at.Path = path.Dir(at.Path)
	a.endpoint = strings.TrimSuffix(at.String(), "/")
	return a, nil
}

func withoutCredential(b bucket) error {
	return fmt.Errorf("Secret %q contains no credential: if its access authenticates by ServiceAccount, use it in a Pod of that service account", b.secret)
}

// az writes the variables of the az CLI.
func az(w *bytes.Buffer, buckets []bucket, _ Options) error {
	text, container, err := connectionString(buckets[0])
	if err != nil {
		return err
	}
	if container != "" {
		fmt.Fprintf(w, "# az storage blob list --container-name %s\n", shellenv.Quote(container))
	}
	return shellenv.Write(w, map[string]string{"AZURE_STORAGE_CONNECTION_STRING": text})
}

// connectionString returns Azure's connection string for a bucket, and its container.
func connectionString(b bucket) (text, container string, err error) {
	a, err := azureOf(b)
	if err != nil {
		return "", "", err
	}
	if strings.ContainsRune(a.endpoint+a.container+a.signature, ';') {
		return "", "", unfit(b, secretkeys.AzureAccessToken)
	}
	return "BlobEndpoint=" + a.endpoint + ";SharedAccessSignature=" + a.signature, a.container, nil
}

// keyFile is Google's service account key file.
type keyFile struct {
	Type         string `json:"type"`
	ProjectID    string `json:"project_id"`
	PrivateKeyID string `json:"private_key_id"`
	PrivateKey   string `json:"private_key"`
	ClientEmail  string `json:"client_email"`
	ClientID     string `json:"client_id"`
	TokenURI     string `json:"token_uri"`
}

// googleKey returns the key file of a bucket.
func googleKey(b bucket, o Options) (keyFile, error) {
	switch {
	case b.protocol != cosiapi.ProtocolGCS:
		return keyFile{}, b.other("the format supports only Google Cloud Storage")
	case b.values[secretkeys.GCSPrivateKey] == "" && b.values[secretkeys.GCSHMACAccessID] == "":
		return keyFile{}, withoutCredential(b)
	case b.values[secretkeys.GCSPrivateKey] == "":
		return keyFile{}, fmt.Errorf("Secret %q contains an HMAC key, which Google's own clients do not support: use the format aws, rclone, s3cmd or mc", b.secret)
	}
	issuer := "https://oauth2.googleapis.com"
	if o.GCSEndpoint != "" {
		issuer = strings.TrimSuffix(o.GCSEndpoint, "/")
	}
	return keyFile{
		Type: "service_account", ProjectID: b.values[secretkeys.GCSProjectID], TokenURI: issuer + "/token",
		PrivateKeyID: b.values[secretkeys.GCSPrivateKeyID], PrivateKey: b.values[secretkeys.GCSPrivateKey],
		ClientEmail: b.values[secretkeys.GCSClientEmail], ClientID: b.values[secretkeys.GCSClientID],
	}, nil
}

// gcloud writes the file for gcloud auth activate-service-account --key-file and GOOGLE_APPLICATION_CREDENTIALS.
func gcloud(w *bytes.Buffer, buckets []bucket, o Options) error {
	key, err := googleKey(buckets[0], o)
	if err != nil {
		return err
	}
	return writeJSON(w, key)
}

// asJSON writes all Secrets as JSON.
func asJSON(w *bytes.Buffer, buckets []bucket, _ Options) error {
	type secret struct {
		Claim  string            `json:"claim"`
		Secret string            `json:"secret"`
		Values map[string]string `json:"values"`
	}
	secrets := make([]secret, len(buckets))
	for i, b := range buckets {
		secrets[i] = secret{b.claim, b.secret, b.values}
	}
	return writeJSON(w, map[string]any{"secrets": secrets})
}

func writeJSON(w *bytes.Buffer, value any) error {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(value); err != nil {
		return errors.New("the Secret cannot be written as JSON")
	}
	for _, r := range text.String() { // JSON does not escape all terminal control characters
		if r == '\n' || unicode.IsPrint(r) {
			w.WriteRune(r)
			continue
		}
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(w, `\u%04x`, unit)
		}
	}
	return nil
}
