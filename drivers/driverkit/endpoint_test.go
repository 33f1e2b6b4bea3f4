// SPDX-License-Identifier: Apache-2.0

package driverkit_test

import (
	"context"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/drivertest"
	cosi "github.com/cooper-cosi/cooper/proto"
)

func TestSocketPath(t *testing.T) {
	t.Parallel()
	long := "/" + strings.Repeat("d", 102)
	tests := map[string]struct{ endpoint, want, err string }{
		"a socket":       {"unix:///run/cosi/driver.sock", "/run/cosi/driver.sock", ""},
		"not clean":      {"unix:///run//cosi/../driver.sock", "/run/driver.sock", ""},
		"107 bytes":      {"unix://" + long[:102] + ".sock", long[:102] + ".sock", ""},
		"not set":        {"", "", "no endpoint is set; use unix:///path/to/driver.sock"},
		"TCP":            {"tcp://:9000", "", `"tcp://:9000" is not a UNIX socket address; use unix:///path/to/driver.sock`},
		"only a path":    {"/run/d.sock", "", `"/run/d.sock" is not a UNIX socket address; use unix:///path/to/driver.sock`},
		"one slash":      {"unix:/run/d.sock", "", `"unix:/run/d.sock" is not a UNIX socket address; use unix:///path/to/driver.sock`},
		"a relative one": {"unix://run/d.sock", "", `"unix://run/d.sock" has no absolute path; use unix:///path/to/driver.sock (three slashes)`},
		"no .sock":       {"unix:///run/d", "", `"unix:///run/d" does not end with a name and .sock; use unix:///path/to/driver.sock`},
		"only .sock":     {"unix:///run/.sock", "", `"unix:///run/.sock" does not end with a name and .sock; use unix:///path/to/driver.sock`},
		"108 bytes": {
			"unix://" + long + ".sock", "",
			"the path has 108 bytes, but the kernel allows 107 for a socket; use a shorter directory: " + long + ".sock",
		},
		"a zero byte": {"unix:///a\x00b.sock", "", `"unix:///a\x00b.sock" contains a zero byte; use unix:///path/to/driver.sock`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := driverkit.SocketPath(test.endpoint)
			if got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
			wantError(t, err, test.err)
		})
	}
}

func wantError(t *testing.T, err error, want string) {
	t.Helper()
	got := ""
	if err != nil {
		got = err.Error()
	}
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func serveError(t *testing.T, driver driverkit.Driver, options driverkit.Options) error {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	options.Logger = slog.New(slog.DiscardHandler)
	return driverkit.Serve(ctx, driver, options)
}

func TestSocketInTheWay(t *testing.T) {
	t.Parallel()
	t.Run("a driver that serves is not pushed aside", func(t *testing.T) {
		t.Parallel()
		client := drivertest.Serve(t, &stub{}, driverkit.Options{})
		if _, err := client.DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{}); err != nil {
			t.Fatal(err)
		}
		path := strings.TrimPrefix(client.Endpoint, "unix://")
		wantError(t, serveError(t, &stub{}, driverkit.Options{Endpoint: client.Endpoint}),
			"another process already serves "+path+"; stop it, or use another path")
	})
	t.Run("a file that is no socket is kept", func(t *testing.T) {
		t.Parallel()
		endpoint := drivertest.Endpoint(t)
		path := strings.TrimPrefix(endpoint, "unix://")
		mustSucceed(t, os.WriteFile(path, []byte("kept"), 0o600))
		wantError(t, serveError(t, &stub{}, driverkit.Options{Endpoint: endpoint}),
			path+" exists and is not a socket; remove it, or use another path")
		if content, err := os.ReadFile(path); err != nil || string(content) != "kept" {
			t.Errorf("the file now holds %q, %v", content, err)
		}
	})
	t.Run("the socket of a dead process is replaced", func(t *testing.T) {
		t.Parallel()
		endpoint := drivertest.Endpoint(t)
		listener, err := net.Listen("unix", strings.TrimPrefix(endpoint, "unix://"))
		mustSucceed(t, err)
		listener.(*net.UnixListener).SetUnlinkOnClose(false)
		mustSucceed(t, listener.Close())
		client := drivertest.Serve(t, &stub{}, driverkit.Options{Endpoint: endpoint})
		if _, err := client.DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{}); err != nil {
			t.Error(err)
		}
	})
}

func TestSocketMode(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ asked, want os.FileMode }{
		"by default owner and group": {0, 0o660},
		"only the owner":             {0o600, 0o600},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := filepath.Join(filepath.Dir(strings.TrimPrefix(drivertest.Endpoint(t), "unix://")), "new")
			client := drivertest.Serve(t, &stub{}, driverkit.Options{
				Endpoint: "unix://" + directory + "/driver.sock", SocketMode: test.asked,
			})
			if _, err := client.DriverGetInfo(t.Context(), &cosi.DriverGetInfoRequest{}); err != nil {
				t.Fatal(err)
			}
			entries, err := os.ReadDir(directory)
			if err != nil || len(entries) != 1 {
				t.Fatalf("the directory holds %v, %v; want only the socket", entries, err)
			}
			found, err := entries[0].Info()
			if err != nil || found.Mode().Perm() != test.want {
				t.Errorf("mode %v, %v; want %v", found.Mode(), err, test.want)
			}
		})
	}
	wantError(t, serveError(t, &stub{}, driverkit.Options{Endpoint: drivertest.Endpoint(t), SocketMode: 0o666}),
		"socket mode 0666 allows users other than the owner and group to connect; use 0660 or 0600")
}

func TestServeRefusesABadDeclaration(t *testing.T) {
	t.Parallel()
	const prefix = "the driver's Info is not valid: "
	tests := map[string]struct {
		change func(*driverkit.Info)
		want   string
	}{
		"no name":               {func(i *driverkit.Info) { i.Name = "" }, "name is required"},
		"no protocol":           {func(i *driverkit.Info) { i.Protocols = nil }, "supported_protocols is required"},
		"a misspelled protocol": {func(i *driverkit.Info) { i.Protocols[0] = "s3" }, "supported_protocols[0] is required"},
		"a misspelled authentication type": {
			func(i *driverkit.Info) { i.AuthTypes = []driverkit.AuthType{"key"} }, `unknown authentication type "key"`,
		},
		"a misspelled mode": {
			func(i *driverkit.Info) { i.Modes.ObjectData[0] = "rw" }, `unknown access mode "rw"`,
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info := (&stub{}).Info()
			test.change(&info)
			driver := &stub{info: func() driverkit.Info { return info }}
			wantError(t, serveError(t, driver, driverkit.Options{Endpoint: drivertest.Endpoint(t)}), prefix+test.want)
		})
	}
}
