// SPDX-License-Identifier: Apache-2.0

package azurefake_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
)

// BenchmarkSmallBlobs writes and reads blobs of 4 KiB with the official client, at the fake and at Azurite if that is
// installed: an operation is one of both.
func BenchmarkSmallBlobs(b *testing.B) {
	stores := map[string]func(testing.TB) blobService{"azurefake": serveFake, "azurite": startAzurite}
	for _, name := range []string{"azurefake", "azurite"} {
		b.Run(name, func(b *testing.B) { smallBlobs(b, stores[name](b)) })
	}
}

func serveFake(t testing.TB) blobService {
	t.Helper()
	server, err := azurefake.New(azurefake.Options{})
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
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
