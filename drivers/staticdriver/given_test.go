// SPDX-License-Identifier: Apache-2.0

package staticdriver

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// secretOf returns the keys of a Secret, with changes; an empty value removes a key.
func secretOf(protocol driverkit.Protocol, changes map[string]string) map[string]string {
	values := map[driverkit.Protocol]map[string]string{
		driverkit.S3: {
			"AWS_ENDPOINT_URL": "https://s3.example.com", "BUCKET_NAME": "photos", "AWS_DEFAULT_REGION": "here", "AWS_S3_ADDRESSING_STYLE": "path",
			"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "hush",
		},
		driverkit.Azure: {"AZURE_STORAGE_ACCOUNT": "team", "AZURE_STORAGE_SAS_TOKEN": "https://team.example.com/photos?sp=rl&sig=hush"},
		driverkit.GCS:   {"PROJECT_ID": "team", "BUCKET_NAME": "photos", "HMAC_ACCESS_ID": "id", "HMAC_SECRET": "hush"},
	}[protocol]
	values = maps.Clone(values)
	values["COSI_PROTOCOL"] = string(protocol)
	for key, value := range changes {
		if values[key] = value; value == "" {
			delete(values, key)
		}
	}
	return values
}

func TestParse(t *testing.T) {
	t.Parallel()
	json := map[string]string{"CLIENT_EMAIL": "a@b", "CLIENT_ID": "1", "PRIVATE_KEY_ID": "2", "PRIVATE_KEY": "hush"}
	onlyJSON := maps.Clone(json)
	onlyJSON["HMAC_ACCESS_ID"], onlyJSON["HMAC_SECRET"] = "", ""
	for name, tc := range map[string]struct {
		protocol driverkit.Protocol
		changes  map[string]string
		err      string
	}{
		"S3":                                   {protocol: driverkit.S3},
		"Azure":                                {protocol: driverkit.Azure},
		"Azure, until a time":                  {protocol: driverkit.Azure, changes: map[string]string{"AZURE_STORAGE_SAS_TOKEN_EXPIRY_TIMESTAMP": "2030-01-01T00:00:00Z"}},
		"GCS with an HMAC key":                 {protocol: driverkit.GCS},
		"GCS with a service account key":       {protocol: driverkit.GCS, changes: onlyJSON},
		"GCS with both":                        {protocol: driverkit.GCS, changes: json},
		"an authority":                         {protocol: driverkit.S3, changes: map[string]string{"COSI_CERTIFICATE_AUTHORITY": "pem"}},
		"no protocol":                          {protocol: driverkit.S3, changes: map[string]string{"COSI_PROTOCOL": ""}, err: "COSI_PROTOCOL must be one of: S3, Azure, GCS"},
		"a key that is missing":                {protocol: driverkit.S3, changes: map[string]string{"AWS_DEFAULT_REGION": ""}, err: "AWS_DEFAULT_REGION is missing"},
		"an unknown key":                       {protocol: driverkit.S3, changes: map[string]string{"AWS_REGION": "x"}, err: "AWS_REGION is not a valid key in a Secret for S3"},
		"a key of another protocol":            {protocol: driverkit.Azure, changes: map[string]string{"BUCKET_NAME": "x"}, err: "BUCKET_NAME is not a valid key in a Secret for Azure"},
		"an addressing style that is none":     {protocol: driverkit.S3, changes: map[string]string{"AWS_S3_ADDRESSING_STYLE": "auto"}, err: "must be one of: path, virtual"},
		"an endpoint with the bucket in it":    {protocol: driverkit.S3, changes: map[string]string{"AWS_ENDPOINT_URL": "https://s3.example.com/photos"}, err: "AWS_ENDPOINT_URL"},
		"a signature without its URL":          {protocol: driverkit.Azure, changes: map[string]string{"AZURE_STORAGE_SAS_TOKEN": "sp=rl&sig=hush"}, err: "must be the URL of the container"},
		"a signature of a whole account":       {protocol: driverkit.Azure, changes: map[string]string{"AZURE_STORAGE_SAS_TOKEN": "https://team.example.com/?sig=hush"}, err: "must be the URL of the container"},
		"a time that is none":                  {protocol: driverkit.Azure, changes: map[string]string{"AZURE_STORAGE_SAS_TOKEN_EXPIRY_TIMESTAMP": "soon"}, err: "must be a time"},
		"half of an HMAC key":                  {protocol: driverkit.GCS, changes: map[string]string{"HMAC_ACCESS_ID": ""}, err: "set all of HMAC_ACCESS_ID, HMAC_SECRET"},
		"a part of a service account key":      {protocol: driverkit.GCS, changes: map[string]string{"CLIENT_EMAIL": "a@b"}, err: "all of CLIENT_EMAIL"},
		"no key at all":                        {protocol: driverkit.GCS, changes: map[string]string{"HMAC_ACCESS_ID": "", "HMAC_SECRET": ""}, err: "or all of CLIENT_EMAIL"},
		"a key with a line feed, as of a tool": {protocol: driverkit.S3, changes: map[string]string{"AWS_DEFAULT_REGION": "here\n"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			write(t, directory, secretOf(tc.protocol, tc.changes))
			_, err := read(directory)
			switch {
			case tc.err == "" && err != nil:
				t.Error(err)
			case tc.err != "" && (err == nil || !strings.Contains(err.Error(), tc.err)):
				t.Errorf("got %v, want an error with %q", err, tc.err)
			case err != nil && strings.Contains(err.Error(), "hush"):
				t.Errorf("a secret is in the error: %v", err)
			}
		})
	}
}

func write(t *testing.T, directory string, values map[string]string) {
	t.Helper()
	for key, value := range values {
		if err := os.WriteFile(filepath.Join(directory, key), []byte(value), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestExchangedAtOnce lays out the files like the kubelet: a directory for each version, and a link to the current
// one.
func TestExchangedAtOnce(t *testing.T) {
	t.Parallel()
	mount := t.TempDir()
	for _, version := range []string{"..1", "..2"} {
		if err := os.Mkdir(filepath.Join(mount, version), 0o700); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(mount, version), secretOf(driverkit.S3, map[string]string{"AWS_ACCESS_KEY_ID": "id" + version}))
	}
	link := filepath.Join(mount, "..data")
	var marks []string
	for _, version := range []string{"..1", "..2"} {
		if err := os.Symlink(version, link+version); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(link+version, link); err != nil {
			t.Fatal(err)
		}
		found, err := read(mount)
		if err != nil || found.credential.S3.AccessKeyID != "id"+version {
			t.Errorf("read %v, %v; want that of %s", found.credential.S3, err, version)
		}
		marks = append(marks, found.mark)
	}
	if marks[0] == marks[1] {
		t.Error("an exchange does not change the mark")
	}
}

// TestChoose gives one bucket several credentials.
func TestChoose(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	given := func(name string, protocol driverkit.Protocol, data, metadata driverkit.Mode) CredentialConfig {
		directory := filepath.Join(root, name)
		if err := os.Mkdir(directory, 0o700); err != nil {
			t.Fatal(err)
		}
		change := map[string]string{"AWS_ACCESS_KEY_ID": name}
		if protocol != driverkit.S3 {
			change = nil
		}
		write(t, directory, secretOf(protocol, change))
		return CredentialConfig{Directory: directory, ObjectData: data, BucketMetadata: metadata}
	}
	config := BucketConfig{Credentials: []CredentialConfig{
		given("all", driverkit.S3, driverkit.ReadWrite, driverkit.ReadWrite), given("write", driverkit.S3, driverkit.ReadWrite, ""),
		given("again", driverkit.S3, driverkit.ReadWrite, ""), given("read", driverkit.S3, driverkit.ReadOnly, driverkit.ReadOnly),
		given("azure", driverkit.Azure, driverkit.ReadOnly, ""),
	}}
	const open, rw, ro, wo = driverkit.Any, driverkit.ReadWrite, driverkit.ReadOnly, driverkit.WriteOnly
	for name, tc := range map[string]struct {
		protocol           driverkit.Protocol
		data, meta, bucket driverkit.Mode
		disallowed         driverkit.DisallowedModes
		want, err          string
	}{
		"the fewest permissions in unset modes, and the first of equals": {data: rw, meta: open, bucket: open, want: "write"},
		"an explicitly requested mode":                                   {data: rw, meta: rw, bucket: rw, want: "all"},
		"less":                                                           {data: ro, meta: open, bucket: open, want: "read"},
		"metadata go with the object":                                    {data: open, meta: ro, bucket: open, want: "read"},
		"one category alone":                                             {data: open, meta: open, bucket: rw, want: "all"},
		"more than was asked for is refused":                             {data: ro, meta: rw, bucket: open, err: "no configured credential has exactly the requested"},
		"a mode that is not configured":                                  {data: wo, meta: open, bucket: open, err: "objectData and objectMetadata ReadOnly, bucketMetadata ReadOnly"},
		"the modes that the class allows":                                {data: open, meta: open, bucket: open, disallowed: driverkit.DisallowedModes{ObjectData: []driverkit.Mode{rw, wo}}, want: "read"},
		"nothing that the class leaves": {
			data: open, meta: open, bucket: open, disallowed: driverkit.DisallowedModes{ObjectData: []driverkit.Mode{rw, ro, wo}}, err: "disallows",
		},
		"another protocol":           {protocol: driverkit.Azure, data: ro, meta: open, bucket: open, want: "azure"},
		"a protocol without any":     {protocol: driverkit.GCS, data: ro, meta: open, bucket: open, err: "has no credential for protocol GCS"},
		"a mode of another protocol": {protocol: driverkit.Azure, data: rw, meta: open, bucket: open, err: "no configured credential"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tc.protocol == "" {
				tc.protocol = driverkit.S3
			}
			found, err := choose(config, driverkit.BucketAccess{BucketID: "photos", ObjectData: tc.data, ObjectMetadata: tc.meta, BucketMetadata: tc.bucket},
				driverkit.AccessSpec{Protocol: tc.protocol, Disallowed: tc.disallowed})
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("got %v, want an error with %q", err, tc.err)
				}
				return
			}
			got := "azure"
			if found.credential.S3 != nil {
				got = found.credential.S3.AccessKeyID
			}
			if err != nil || got != tc.want {
				t.Errorf("got %q, %v; want %q", got, err, tc.want)
			}
		})
	}
}
