// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/remote"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/store"
	"sigs.k8s.io/controller-runtime/tools/setup-envtest/versions"
	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/testenv/gobuild"
)

// installedOnlyVariable is the environment variable of setup-envtest that forbids downloads.
const installedOnlyVariable = "ENVTEST_INSTALLED_ONLY"

// archived are the programs in an archive of envtest.
var archived = []string{APIServer, Etcd, Kubectl}

// A site publishes archives of envtest.
type site struct {
	// index is the URL of the list of archives with their checksums. Empty means that of setup-envtest.
	index string
	// answer limits the total time of the requests before the download, so that a blocked network costs no
	// more.
	answer time.Duration
	// stall limits how long a download may receive no data.
	stall time.Duration
}

// publicSite is the site of setup-envtest.
var publicSite = site{answer: 2 * time.Second, stall: 10 * time.Second}

// archive is a release of envtest for this platform.
type archive struct {
	item     store.Item
	checksum versions.PlatformItem
	size     int64 // in bytes; 0 if unknown
}

// download adds a release to the store of setup-envtest and returns its programs by name. One process per
// cache directory downloads at a time. Others wait and use the stored release.
func (s site) download(ctx context.Context, cache string, progress *gobuild.Progress) (map[string]string, error) {
	root, err := store.DefaultStoreDir()
	if err != nil {
		return nil, fmt.Errorf("find the store of setup-envtest: %w", err)
	}
	client := &remote.HTTPClient{Log: logr.Discard(), IndexURL: cmp.Or(s.index, remote.DefaultIndexURL)}
	chosen, err := s.choose(ctx, client)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	release, err := gobuild.Lock(ctx, filepath.Join(cache, "envtest.lock"), func(holder string) {
		progress.Say("waiting for %s, which is downloading Kubernetes", holder)
	})
	if err != nil {
		return nil, err
	}
	defer release()
	installed := store.NewAt(root)
	dir, err := installed.Path(chosen.item)
	if err != nil {
		return nil, fmt.Errorf("find a release in the store of setup-envtest: %w", err)
	}
	if found, err := inDirectory(ctx, dir, archived...); err == nil {
		return found, nil
	}
	progress.Say("downloading %s v%s to %s (only once)", strings.Join(archived, ", "), chosen.item.Version, root)
	if err := s.add(ctx, client, installed, chosen, progress); err != nil {
		return nil, err
	}
	return inDirectory(ctx, dir, archived...)
}

// choose returns the newest release for this platform, from Oldest up to the minor version of Version.
func (s site) choose(ctx context.Context, client *remote.HTTPClient) (archive, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, s.answer, fmt.Errorf("no response within %v", s.answer))
	defer cancel()
	releases, err := client.ListVersions(ctx)
	if err != nil {
		return archive{}, orCause(ctx, err)
	}
	platform := versions.Platform{OS: runtime.GOOS, Arch: runtime.GOARCH}
	for _, r := range releases { // newest first
		if of := releaseOf(r.Version); compare(of, parseRelease(Version)) > 0 || compare(of, parseRelease(Oldest)) < 0 {
			continue
		}
		for _, checksum := range r.Platforms {
			if checksum.Platform != platform {
				continue
			}
			chosen := archive{item: store.Item{Version: r.Version, Platform: platform}, checksum: checksum}
			chosen.size, err = size(ctx, client.IndexURL, chosen.item)
			return chosen, orCause(ctx, err)
		}
	}
	return archive{}, fmt.Errorf("%s lists no release for %s between %s and %s", client.IndexURL, platform, Oldest, Version)
}

// add downloads an archive, verifies its checksum and unpacks it into the store.
func (s site) add(ctx context.Context, client remote.Client, to *store.Store, a archive, progress *gobuild.Progress) (err error) {
	file, err := os.CreateTemp("", "cooper-*-"+a.item.Platform.ArchiveName(a.item.Version))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	arriving, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := time.AfterFunc(s.stall, func() { cancel(fmt.Errorf("received no data for %v", s.stall)) })
	defer idle.Stop()
	shown := progress.StartTransfer("download", a.size)
	received := writerFunc(func() { idle.Reset(s.stall) })
	err = client.GetVersion(arriving, a.item.Version, a.checksum, io.MultiWriter(file, shown, received))
	shown.End(err)
	if err != nil {
		return orCause(arriving, err)
	}
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	quiet := logr.NewContext(ctx, logr.Discard())
	if err := to.Initialize(quiet); err != nil {
		return fmt.Errorf("create the store of setup-envtest: %w", err)
	}
	if err := to.Add(quiet, a.item, file); err != nil {
		return fmt.Errorf("unpack %s: %w", a.item.Platform.ArchiveName(a.item.Version), err)
	}
	return nil
}

// size requests the size of an archive, which setup-envtest does not return. This is also the first request
// to the host of the archives, which may differ from that of the index.
func size(ctx context.Context, index string, item store.Item) (int64, error) {
	listed, err := request(ctx, http.MethodGet, index)
	if err != nil {
		return 0, err
	}
	defer listed.Body.Close()
	text, err := io.ReadAll(listed.Body)
	if err != nil {
		return 0, err
	}
	var all remote.Index
	if err := yaml.Unmarshal(text, &all); err != nil {
		return 0, fmt.Errorf("parse %s: %w", index, err)
	}
	link := all.Releases["v"+item.Version.String()][item.Platform.ArchiveName(item.Version)].SelfLink
	archive, err := request(ctx, http.MethodHead, link)
	if err != nil {
		return 0, err
	}
	if err := archive.Body.Close(); err != nil || archive.StatusCode != http.StatusOK {
		return 0, err // only the progress bar needs the size
	}
	return max(0, archive.ContentLength), nil
}

func request(ctx context.Context, method, url string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, url, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("create a request to the download site: %w", err)
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, fmt.Errorf("call the download site: %w", err)
	}
	return response, nil
}

// orCause returns the cause of the end of ctx if it has ended, and otherwise err.
func orCause(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return context.Cause(ctx) //nolint:wrapcheck // an error of this file, or the caller's cause
	}
	return err
}

// writerFunc is an io.Writer that calls the function on each write and discards the data.
type writerFunc func()

func (f writerFunc) Write(content []byte) (int, error) {
	f()
	return len(content), nil
}
