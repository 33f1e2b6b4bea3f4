// SPDX-License-Identifier: Apache-2.0

package formats_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/config"

	"github.com/cooper-cosi/cooper/internal/secretkeys/formats"
)

// FuzzWrite verifies that every format either represents any Secret exactly or rejects it.
func FuzzWrite(f *testing.F) {
	for _, hostile := range []string{
		"plain", "wJalr/XUt+nF=", "", " a ", "a'b", `a"b`, "$(touch x)", "`id`", "a\nb", "a\n[default]\n", "a#b", "a ;b", `a\`, "%(x)s", "\x1b[2J", "\x00", "\xff",
		"{", "ü", "\u202e", "[::1]", "a,b", "~", "!x", "a=b", "a\u00a0b", "a\u2028b", "a\u0085b", "${x}", ":x", "1_0", "\U0001f600", "a/c%0Ab", "a/c%0A[b]%0Ac%20=", "a/c%0d%0Ab%1b[2J", "[::1%25%0Aa]/c",
	} {
		f.Add(hostile, "https://s3.example.com")
		f.Add("plain", hostile)
		f.Add("plain", "https://"+hostile)
	}
	f.Fuzz(func(t *testing.T, value, endpoint string) {
		s3 := s3Grant("AWS_SECRET_ACCESS_KEY="+value, "AWS_ENDPOINT_URL="+endpoint, "BUCKET_NAME="+value, value+"=x")
		data := map[string]string{}
		for key, raw := range s3.Data {
			data[key] = string(raw)
		}
		if text, ok := written(t, "shell", s3); ok {
			seeShell(t, text, data)
		}
		if text, ok := written(t, "dotenv", s3); ok {
			seeDotenv(t, text, data)
		}
		if text, ok := written(t, "aws", s3); ok {
			seeAWS(t, text, data)
		}
		for _, format := range []string{"rclone", "s3cmd"} {
			if text, ok := written(t, format, s3); ok {
				seeSection(t, text, value)
			}
		}
		if text, ok := written(t, "mc", s3); ok {
			var alias struct{ SecretKey string }
			if err := json.Unmarshal([]byte(text), &alias); err != nil || alias.SecretKey != value {
				t.Errorf("mc: %v, secret %q of %q", err, alias.SecretKey, value)
			}
		}
		seeApplications(t, s3, value)
		google := keyGrant("PRIVATE_KEY="+value, "CLIENT_EMAIL="+value)
		if text, ok := written(t, "rclone", google); ok {
			seeGoogle(t, text, value)
		}
		if text, ok := written(t, "az", azureGrant("AZURE_STORAGE_SAS_TOKEN="+endpoint+"?"+value)); ok {
			if lines := strings.Split(strings.TrimPrefix(text, "# "), "\n"); len(lines) > 3 || strings.Count(text, ";") != 1 {
				t.Errorf("az: %q", text)
			}
		}
		if text, ok := written(t, "rclone", azureGrant("AZURE_STORAGE_SAS_TOKEN="+endpoint+"?"+value)); ok {
			seeSection(t, text, "")
		}
	})
}

// written returns the output of a format for a grant. ok is false if the format rejects it.
func written(t *testing.T, format string, one formats.Grant) (text string, ok bool) {
	t.Helper()
	var out bytes.Buffer
	err := formats.Write(&out, format, []formats.Grant{one}, formats.Options{})
	if err != nil && out.Len() > 0 {
		t.Errorf("%s wrote something and failed: %v", format, err)
	}
	return out.String(), err == nil
}

// seeShell evaluates the text in a shell, in an empty directory in which an injected command would leave a file.
func seeShell(t *testing.T, text string, data map[string]string) {
	t.Helper()
	dir := t.TempDir()
	cmd := exec.CommandContext(t.Context(), "/bin/sh", "-c", `eval "$(cat)"; /usr/bin/env -0`)
	cmd.Dir, cmd.Env, cmd.Stdin = dir, []string{"PATH=/usr/bin:/bin"}, strings.NewReader(text)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("the shell: %v\n%s", err, text)
	}
	for pair := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		name, value, _ := strings.Cut(pair, "=")
		if slices.Contains([]string{"PATH", "PWD", "_", "OLDPWD", "SHLVL"}, name) {
			continue
		}
		if want, known := data[name]; !known || want != value {
			t.Errorf("the shell has %s=%q, want %q", name, value, want)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("a command ran: %v %v", left, err)
	}
}

// seeDotenv parses the subset of the .env format on which all parsers agree.
func seeDotenv(t *testing.T, text string, data map[string]string) {
	t.Helper()
	line := regexp.MustCompile(`^([A-Z0-9_]+)=(?:([\w./:@%+=,-]+)|'([^'\\]*)')\n`)
	for text != "" {
		match := line.FindStringSubmatch(text)
		if match == nil {
			t.Fatalf("this is no line: %q", text)
		}
		if got := match[2] + match[3]; got != data[match[1]] {
			t.Errorf("%s is %q, want %q", match[1], got, data[match[1]])
		}
		text = text[len(match[0]):]
	}
}

// seeAWS reads a profile with the AWS SDK.
func seeAWS(t *testing.T, text string, data map[string]string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := config.LoadSharedConfigProfile(t.Context(), "photos", func(o *config.LoadSharedConfigOptions) {
		o.ConfigFiles, o.CredentialsFiles = []string{file}, []string{}
	})
	if err != nil {
		t.Fatalf("AWS's SDK: %v\n%s", err, text)
	}
	if data["AWS_SECRET_ACCESS_KEY"] != "" && got.Credentials.SecretAccessKey != data["AWS_SECRET_ACCESS_KEY"] || got.CredentialProcess != "" || got.RoleARN != "" {
		t.Errorf("AWS's SDK reads %q of %q", got.Credentials.SecretAccessKey, data["AWS_SECRET_ACCESS_KEY"])
	}
	seeSection(t, text, data["AWS_SECRET_ACCESS_KEY"])
}

// seeSection checks that there is one section with one line for each key, and that one line contains the secret.
func seeSection(t *testing.T, text, secret string) {
	t.Helper()
	var keys []string
	for line := range strings.Lines(text) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), " =")
		switch {
		case len(keys) == 0 && strings.HasPrefix(line, "# "), len(keys) == 0 && strings.HasPrefix(line, "["):
			continue
		case !ok || slices.Contains(keys, key) || !regexp.MustCompile(`^ ?[a-z_3 ]+$`).MatchString(key):
			t.Fatalf("%q is not to be in\n%s", line, text)
		case strings.HasPrefix(key, "secret") && value != " "+secret:
			t.Errorf("the secret is %q, want %q", value, secret)
		}
		keys = append(keys, key)
	}
	if strings.Count("\n"+text, "\n[") != 1 {
		t.Errorf("there is not one section:\n%s", text)
	}
}

func seeGoogle(t *testing.T, text, value string) {
	t.Helper()
	seeSection(t, text, "")
	_, file, _ := strings.Cut(text, "service_account_credentials = ")
	var key struct {
		PrivateKey string `json:"private_key"`
	}
	if err := json.Unmarshal([]byte(file), &key); err != nil || key.PrivateKey != value {
		t.Errorf("the key file: %v, %q of %q", err, key.PrivateKey, value)
	}
}
