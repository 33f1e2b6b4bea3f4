// SPDX-License-Identifier: Apache-2.0

package binaries

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"context"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"

	"github.com/cooper-cosi/cooper/internal/testing/processtest"
)

// soon is a limit for requests that are never answered, late one for requests that are.
const soon, late = 50 * time.Millisecond, time.Minute

// published configures the contents of a download site.
type published struct {
	// versions are the versions of the archives, without the v.
	versions []string
	// content is the content of all archives. Nil means programs of the archive's version.
	content []byte
	// checksum replaces the checksum of all archives.
	checksum string
	// index and archives replace the HTTP handlers.
	index, archives http.HandlerFunc
}

// mirror is a local download site.
type mirror struct {
	server *httptest.Server
	// requests counts all requests, downloads those of archives.
	requests, downloads atomic.Int32
}

func (p published) start(t *testing.T) *mirror {
	t.Helper()
	m := &mirror{}
	archives, lines := map[string][]byte{}, "releases:\n"
	mux := http.NewServeMux()
	m.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		m.requests.Add(1)
		mux.ServeHTTP(w, r)
	}))
	t.Cleanup(m.server.Close)
	for _, version := range p.versions {
		name, content := "envtest-v"+version+"-"+runtime.GOOS+"-"+runtime.GOARCH+".tar.gz", p.content
		if content == nil {
			content = packed(t, version)
		}
		sum := sha512.Sum512(content)
		checksum := hex.EncodeToString(sum[:])
		if p.checksum != "" {
			checksum = p.checksum
		}
		archives["/"+name] = content
		lines += fmt.Sprintf("  v%s:\n    %s:\n      hash: %s\n      selfLink: %s/%s\n", version, name, checksum, m.server.URL, name)
	}
	if p.index == nil {
		p.index = func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(lines)) }
	}
	if p.archives == nil {
		p.archives = func(w http.ResponseWriter, r *http.Request) {
			http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(archives[r.URL.Path]))
		}
	}
	mux.HandleFunc("GET /index.yaml", p.index)
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			m.downloads.Add(1)
		}
		p.archives(w, r)
	})
	return m
}

func (m *mirror) site() site {
	return site{index: m.server.URL + "/index.yaml", answer: late, stall: late}
}

// packed returns an archive in envtest's format, with programs that only print their version.
func packed(t *testing.T, version string) []byte {
	t.Helper()
	var content bytes.Buffer
	compressed := gzip.NewWriter(&content)
	files := tar.NewWriter(compressed)
	for _, name := range archived {
		text := script(name, version)
		header := tar.Header{Name: "controller-tools/envtest/" + name, Mode: 0o755, Size: int64(len(text))}
		wantNoError(t, files.WriteHeader(&header))
		if _, err := files.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	wantNoError(t, errors.Join(files.Close(), compressed.Close()))
	return content.Bytes()
}

// unanswered handles a request by waiting until the client gives up.
func unanswered(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// half sends the first of two bytes in response to GET, and then calls follows.
func half(follows http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Length", "2")
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte("1"))
			w.(http.Flusher).Flush()
			follows(w, r)
		}
	}
}

// bareMachine simulates a machine without a go command, programs and store. It returns the directories of the
// store and of Cooper's cache, which contains a controller manager.
func bareMachine(t *testing.T) (stored, cache string) {
	t.Helper()
	root := t.TempDir()
	t.Setenv("PATH", filepath.Join(root, "path"))
	t.Setenv("HOME", root)
	t.Setenv("XDG_DATA_HOME", filepath.Join(root, "data"))
	t.Setenv("TMPDIR", filepath.Join(root, "tmp"))
	t.Setenv("KUBEBUILDER_ASSETS", "")
	t.Setenv("ENVTEST_INSTALLED_ONLY", "")
	stored, cache = filepath.Join(root, "data", "kubebuilder-envtest", "k8s"), filepath.Join(root, "cache")
	if runtime.GOOS == "darwin" {
		stored = filepath.Join(root, "Library", "Application Support", "io.kubebuilder.envtest", "k8s")
	}
	t.Cleanup(func() { // the store makes its directories read-only
		dirs, _ := filepath.Glob(filepath.Join(stored, "*"))
		for _, dir := range dirs {
			if err := os.Chmod(dir, 0o700); err != nil {
				t.Error(err)
			}
		}
	})
	wantNoError(t, os.Mkdir(filepath.Join(root, "tmp"), 0o700))
	dir, err := controllerManager().Dir(cache)
	wantNoError(t, err)
	install(t, dir, versionsOf("v1.37.2", ControllerManager))
	return stored, cache
}

func inStore(stored, version string) string {
	return filepath.Join(stored, version+"-"+runtime.GOOS+"-"+runtime.GOARCH)
}

func TestDownload(t *testing.T) {
	tests := map[string]struct {
		site published
		// installed are the programs in the store, of version 1.37.4.
		installed []string
		// built are the programs that an earlier call has built.
		built []string
		env   map[string]string
		// answer and stall are the limits of the site; 0 means late.
		answer, stall time.Duration
		// want is the release in the store that is used. wantBuilt means that only built programs are used.
		want      string
		wantBuilt bool
		wantSaid  []string
		// silent means that the site gets no request.
		silent bool
	}{
		"takes the newest patch of our minor release": {
			site:     published{versions: []string{"1.36.9", "1.37.0", "1.37.4", "1.37.3", "1.38.0"}},
			want:     "1.37.4",
			wantSaid: []string{"downloading kube-apiserver, etcd, kubectl v1.37.4 to", "once", "using kube-apiserver and etcd from"},
		},
		"takes an older minor release if ours is not there": {
			site: published{versions: []string{"1.35.0", "1.36.2", "1.38.0"}}, want: "1.36.2",
		},
		"replaces a release in the store that is incomplete": {
			site: published{versions: []string{"1.37.4"}}, installed: []string{APIServer, Etcd}, want: "1.37.4",
			wantSaid: []string{"not using", "there is no executable kubectl", "downloading"},
		},
		"uses a release in the store": {
			site: published{versions: []string{"1.37.5"}}, installed: archived, want: "1.37.4", silent: true,
		},
		"uses the binaries of a previous call": {
			site: published{versions: []string{"1.37.4"}}, built: archived, wantBuilt: true, silent: true,
		},
		"does not download where setup-envtest may not": {
			site: published{versions: []string{"1.37.4"}}, env: map[string]string{"ENVTEST_INSTALLED_ONLY": "true"}, silent: true,
		},
		"refuses a wrong checksum": {
			site:     published{versions: []string{"1.37.4"}, checksum: strings.Repeat("0", 128)},
			wantSaid: []string{"cannot download Kubernetes: checksum mismatch for envtest-v1.37.4"},
		},
		"refuses a broken transfer": {
			site:     published{versions: []string{"1.37.4"}, archives: half(func(http.ResponseWriter, *http.Request) {})},
			wantSaid: []string{"cannot download Kubernetes: ", "unexpected EOF"},
		},
		"gives up a transfer that stalls": {
			site: published{versions: []string{"1.37.4"}, archives: half(unanswered)}, stall: soon,
			wantSaid: []string{"cannot download Kubernetes: received no data for 50ms"},
		},
		"gives up a site that does not answer": {
			site: published{index: unanswered}, answer: soon,
			wantSaid: []string{"cannot download Kubernetes: no response within 50ms"},
		},
		"gives up a host of archives that does not answer": {
			site: published{versions: []string{"1.37.4"}, archives: unanswered}, answer: soon,
			wantSaid: []string{"cannot download Kubernetes: no response within 50ms"},
		},
		"reports a site that fails": {
			site:     published{index: http.NotFound},
			wantSaid: []string{"cannot download Kubernetes: unable to get index", "404"},
		},
		"reports a site without a release that will do": {
			site:     published{versions: []string{"1.31.0", "1.38.0"}},
			wantSaid: []string{"cannot download Kubernetes: ", "lists no release for " + runtime.GOOS + "/" + runtime.GOARCH},
		},
		"refuses an archive that is none": {
			site:     published{versions: []string{"1.37.4"}, content: []byte("no archive")},
			wantSaid: []string{"cannot download Kubernetes: unpack envtest-v1.37.4-" + runtime.GOOS + "-" + runtime.GOARCH + ".tar.gz: unable to start un-gz-ing"},
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			stored, cache := bareMachine(t)
			for name, value := range tc.env {
				t.Setenv(name, value)
			}
			if tc.installed != nil {
				install(t, inStore(stored, "1.37.4"), versionsOf("v1.37.4", tc.installed...))
			}
			builtDir, err := controlPlane().Dir(cache)
			wantNoError(t, err)
			if tc.built != nil {
				install(t, builtDir, versionsOf("v1.37.2", tc.built...))
			}
			m := tc.site.start(t)
			from := m.site()
			from.answer, from.stall = cmp.Or(tc.answer, late), cmp.Or(tc.stall, late)
			var said bytes.Buffer
			got, err := find(t.Context(), Options{CacheDir: cache, Progress: &said}, from)
			wantParts(t, said.String(), tc.wantSaid...)
			if asked := m.requests.Load(); (asked == 0) != tc.silent {
				t.Errorf("the site got %d requests", asked)
			}
			processtest.RequireEmptyDir(t, os.Getenv("TMPDIR"))
			dir := inStore(stored, tc.want)
			switch {
			case tc.wantBuilt:
				dir = builtDir
			case tc.want == "":
				if err == nil {
					t.Fatal("no error, want the one of a build without Go")
				}
				wantParts(t, err.Error(), "cannot build control-plane", "no go command found")
				nothingIn(t, stored)
				return
			}
			wantPaths(t, got, err, dir, cache)
		})
	}
}

// nothingIn checks that the store contains no release and no part of one.
func nothingIn(t *testing.T, stored string) {
	t.Helper()
	if found, err := filepath.Glob(filepath.Join(stored, "*")); len(found) > 0 || err != nil {
		t.Errorf("the store has %q (%v)", found, err)
	}
}

// TestDownloadsAtTheSameTime starts a second call during the download of the first, which completes once the
// second one waits.
func TestDownloadsAtTheSameTime(t *testing.T) { //nolint:paralleltest // bareMachine sets environment variables
	stored, cache := bareMachine(t)
	downloading, waiting, content := make(chan struct{}), make(chan struct{}), packed(t, "1.37.4")
	m := published{versions: []string{"1.37.4"}, archives: func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			close(downloading)
			<-waiting
		}
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(content))
	}}.start(t)
	type result struct {
		paths Paths
		err   error
	}
	results := make(chan result, 2)
	call := func(progress io.Writer) {
		paths, err := find(t.Context(), Options{CacheDir: cache, Progress: progress}, m.site())
		results <- result{paths, err}
	}
	go call(io.Discard)
	<-downloading
	go call(writerFunc(sync.OnceFunc(func() { close(waiting) })))
	for range 2 {
		r := <-results
		wantPaths(t, r.paths, r.err, inStore(stored, "1.37.4"), cache)
	}
	if n := m.downloads.Load(); n != 1 {
		t.Errorf("%d downloads, want 1", n)
	}
}

func TestDownloadOfAnOfflineMachine(t *testing.T) { //nolint:paralleltest // bareMachine sets environment variables
	_, cache := bareMachine(t)
	m := published{}.start(t)
	m.server.Close()
	var said bytes.Buffer
	_, err := find(t.Context(), Options{CacheDir: cache, Progress: &said}, m.site())
	if err == nil {
		t.Fatal("no error, want the one of a build without Go")
	}
	wantParts(t, said.String(), "cannot download Kubernetes: ", "connection refused", "building kube-apiserver, etcd, kubectl v1.37.2, once")
}

func TestEndOfTheContextEndsTheDownload(t *testing.T) { //nolint:paralleltest // bareMachine sets environment variables
	stored, cache := bareMachine(t)
	ctx, cancel := context.WithCancel(t.Context())
	m := published{versions: []string{"1.37.4"}, archives: half(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		unanswered(w, r)
	})}.start(t)
	var said bytes.Buffer
	_, err := find(ctx, Options{CacheDir: cache, Progress: &said}, m.site())
	if !errors.Is(err, context.Canceled) {
		t.Errorf("%v, want canceled", err)
	}
	if strings.Contains(said.String(), "cannot download") || strings.Contains(said.String(), "building") {
		t.Errorf("said %q of a download that the user ended", said.String())
	}
	nothingIn(t, stored)
	processtest.RequireEmptyDir(t, os.Getenv("TMPDIR"))
}

func wantPaths(t *testing.T, got Paths, err error, dir, cache string) {
	t.Helper()
	manager, dirErr := controllerManager().Dir(cache)
	want := Paths{
		APIServer: filepath.Join(dir, APIServer), Etcd: filepath.Join(dir, Etcd), Kubectl: filepath.Join(dir, Kubectl),
		ControllerManager: filepath.Join(manager, ControllerManager),
	}
	if diff := gocmp.Diff(want, got); diff != "" || err != nil || dirErr != nil {
		t.Errorf("%v, %v\n%s", err, dirErr, diff)
	}
}
