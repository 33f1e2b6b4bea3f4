// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/sas"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/faketest"
)

// BenchmarkSmallBlobs writes and reads blobs of 4 KiB, at the fake and at Azurite if that is installed: an operation is
// one of both. The official client works in the same process as the fake and takes most of its time to build and sign
// requests; the plain one sends the same requests with a signature made before.
func BenchmarkSmallBlobs(b *testing.B) {
	stores := map[string]func(testing.TB) blobService{"azurefake": serveFake, "azurite": startAzurite}
	for _, client := range []string{"official", "plain"} {
		for _, name := range []string{"azurefake", "azurite"} {
			b.Run(client+"/"+name, func(b *testing.B) {
				if client == "plain" {
					plainBlobs(b, stores[name](b))
					return
				}
				smallBlobs(b, stores[name](b))
			})
		}
	}
}

// plainBlobs uses net/http and a signature for the container.
func plainBlobs(b *testing.B, s blobService) {
	b.Helper()
	name := fmt.Sprintf("bench-%d", b.N)
	c, err := container.NewClientWithSharedKeyCredential(s.url+"/"+name, s.cred, &container.ClientOptions{ClientOptions: noRetry()})
	if err != nil {
		b.Fatal(err)
	}
	if _, err := c.Create(b.Context(), nil); err != nil {
		b.Fatal(err)
	}
	query, err := sas.BlobSignatureValues{ContainerName: name, Permissions: "rcw", ExpiryTime: time.Now().UTC().Add(time.Hour)}.SignWithSharedKey(s.cred)
	if err != nil {
		b.Fatal(err)
	}
	content, base, signature := strings.Repeat("0123456789abcdef", 256), s.url+"/"+name+"/blob-", "?"+query.Encode()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	var n atomic.Int64
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			address := base + strconv.FormatInt(n.Add(1), 10) + signature
			if err := errors.Join(ask(b, client, http.MethodPut, address, content), ask(b, client, http.MethodGet, address, "")); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func ask(b *testing.B, client *http.Client, method, address, body string) error {
	b.Helper()
	r, err := http.NewRequestWithContext(b.Context(), method, address, strings.NewReader(body))
	if err != nil {
		return err
	}
	r.Header.Set("X-Ms-Version", "2021-12-02")
	if method == http.MethodPut {
		r.Header.Set("X-Ms-Blob-Type", "BlockBlob")
	}
	response, err := client.Do(r)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.Discard, response.Body)
	if response.StatusCode >= http.StatusMultipleChoices {
		err = fmt.Errorf("%s returned %s", method, response.Status)
	}
	return errors.Join(err, response.Body.Close())
}

func serveFake(t testing.TB) blobService {
	t.Helper()
	server := faketest.Start(t, azurefake.New, azurefake.Options{})
	key, _ := server.Keys(azurefake.DefaultAccount)
	cred, err := container.NewSharedKeyCredential(azurefake.DefaultAccount, key)
	if err != nil {
		t.Fatal(err)
	}
	return blobService{server.AccountURL(azurefake.DefaultAccount), cred}
}

func smallBlobs(b *testing.B, s blobService) {
	b.Helper()
	options := noRetry()
	options.Transport = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 64}}
	c, err := container.NewClientWithSharedKeyCredential(fmt.Sprintf("%s/bench-%d", s.url, b.N), s.cred, &container.ClientOptions{ClientOptions: options})
	if err != nil {
		b.Fatal(err)
	}
	ctx := b.Context()
	if _, err := c.Create(ctx, nil); err != nil {
		b.Fatal(err)
	}
	content := strings.Repeat("0123456789abcdef", 256)
	var n atomic.Int64
	b.SetParallelism(8)
	b.ResetTimer()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			blob := c.NewBlockBlobClient(fmt.Sprintf("blob-%d", n.Add(1)))
			if _, err := blob.Upload(ctx, readSeekCloser(content), nil); err != nil {
				b.Error(err)
				return
			}
			out, err := blob.DownloadStream(ctx, nil)
			if err != nil {
				b.Error(err)
				return
			}
			if _, err := io.Copy(io.Discard, out.Body); err != nil {
				b.Error(err)
			}
			_ = out.Body.Close()
		}
	})
}
