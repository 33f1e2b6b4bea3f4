// SPDX-License-Identifier: Apache-2.0

package azurefakecmd_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/cooper-cosi/cooper/fakes/azurefake/azurefakecmd"
	"github.com/cooper-cosi/cooper/fakes/internal/fakecmd/fakecmdtest"
)

const (
	// wellKnown is the documented key of Azurite's account.
	wellKnown = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
	key1      = "a2V5MQ=="
	key2      = "a2V5Mg=="
)

func startLike(t *testing.T, environment ...string) child {
	t.Helper()
	return child{fakecmdtest.StartIn(t, environment, "--like", "azurite", "--queue-listen", "127.0.0.1:0", "--table-listen", "127.0.0.1:0")}
}

// TestLikeAzurite creates a container again directly after its deletion, with the well-known key.
func TestLikeAzurite(t *testing.T) {
	t.Parallel()
	c := startLike(t)
	c.WaitFor(t, "Azurite Blob service is successfully listening at http://127.0.0.1:")
	if got := c.Env["AZURE_STORAGE_KEY"]; got != wellKnown {
		t.Errorf("the key is %s", got)
	}
	for range 2 {
		if _, err := c.container(t, "photos").Create(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		if _, err := c.container(t, "photos").Delete(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
	}
}

// service returns the URL of a service from the line that tools wait for.
func (c child) service(name string) string {
	for line := range c.Env {
		if url, ok := strings.CutPrefix(line, "Azurite "+name+" service is successfully listening at "); ok {
			return url
		}
	}
	return ""
}

// TestOtherServices calls the services of Azurite that the fake does not have.
func TestOtherServices(t *testing.T) {
	t.Parallel()
	c := startLike(t)
	for service, want := range map[string]string{
		"Queue": "<Message>This fake does not support Queue Storage.\n",
		"Table": `"value":"This fake does not support Table Storage."`,
	} {
		fakecmdtest.RequireResponse(t, http.MethodPut, c.service(service)+"/devstoreaccount1/tasks", http.StatusBadRequest, want)
	}
}

func TestAccountsOfAzurite(t *testing.T) {
	t.Parallel()
	c := startLike(t, "AZURITE_ACCOUNTS=first:"+key1+":"+key2+";second:"+key2)
	endpoint := strings.TrimSuffix(c.Env["AZURE_STORAGE_BLOB_ENDPOINT"], "/first")
	for name, one := range map[string]struct{ account, key string }{
		"key1 of the first account":  {"first", key1},
		"key2 of the first account":  {"first", key2},
		"key1 of the second account": {"second", key2},
	} {
		credential, err := container.NewSharedKeyCredential(one.account, one.key)
		if err != nil {
			t.Fatal(err)
		}
		client, err := container.NewClientWithSharedKeyCredential(endpoint+"/"+one.account+"/"+strings.ReplaceAll(name, " ", "-"), credential, nil)
		if err == nil {
			_, err = client.Create(t.Context(), nil)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestDefaultKey checks when the account has Azurite's public key.
func TestDefaultKey(t *testing.T) {
	t.Parallel()
	kept := t.TempDir()
	own := startChild(t, "--key", key1, "--data", kept)
	own.Stop(t)
	for name, test := range map[string]struct {
		args []string
		want func(key string) bool
	}{
		"on a loopback address":               {nil, func(key string) bool { return key == wellKnown }},
		"on all addresses":                    {[]string{"--listen", "0.0.0.0:0"}, func(key string) bool { return key != wellKnown }},
		"of another account":                  {[]string{"--account", "other"}, func(key string) bool { return key != wellKnown }},
		"of a directory with an account":      {[]string{"--data", kept}, func(key string) bool { return key == key1 }},
		"of a new directory":                  {[]string{"--data", t.TempDir()}, func(key string) bool { return key == wellKnown }},
		"like Azurite, on all addresses":      {[]string{"--like", "azurite", "--queue-listen", "", "--table-listen", "", "--listen", "0.0.0.0:0"}, func(key string) bool { return key == wellKnown }},
		"like Azurite, with a key of its own": {[]string{"--like", "azurite", "--queue-listen", "", "--table-listen", "", "--key", key2}, func(key string) bool { return key == key2 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if key := startChild(t, test.args...).Env["AZURE_STORAGE_KEY"]; !test.want(key) {
				t.Errorf("the key is %s", key)
			}
		})
	}
}

func TestBadAccounts(t *testing.T) {
	t.Parallel()
	public := t.TempDir()
	startChild(t, "--data", public).Stop(t)
	for name, test := range map[string]struct {
		args []string
		want string
	}{
		"a third key":                   {[]string{"--account", "first:a:b:c"}, "it must be NAME, NAME:KEY1 or NAME:KEY1:KEY2"},
		"two places for one key":        {[]string{"--account", "first:" + key1, "--key", key2}, "cannot be used if --account contains a key"},
		"a second key that is no key":   {[]string{"--account", "first:" + key1 + ":%%%"}, "the key is not base64"},
		"the place of another fake":     {[]string{"--like", "minio"}, "this fake can be like azurite"},
		"Azurite's key in --data":       {[]string{"--data", public, "--listen", "0.0.0.0:0"}, "has Azurite's public key"},
		"an address without a port":     {[]string{"--queue-listen", "nowhere"}, "listen for Queue Storage"},
		"a directory that is not there": {[]string{"--seed-dir", "/nowhere"}, "read --seed-dir"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := fakecmdtest.Command(azurefakecmd.Prepare).Run(t.Context(), append([]string{"--listen", "127.0.0.1:0"}, test.args...), io.Discard)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got %v, want %q", err, test.want)
			}
		})
	}
}

func TestSeedDir(t *testing.T) {
	t.Parallel()
	c := startChild(t, "--seed-dir", fakecmdtest.SeedDir(t))
	out, err := c.container(t, "photos").NewBlobClient("cats/tom.txt").DownloadStream(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(out.Body)
	if err != nil || string(raw) != "meow" || !strings.HasPrefix(*out.ContentType, "text/plain") {
		t.Errorf("got %q of type %s: %v", raw, *out.ContentType, err)
	}
}
