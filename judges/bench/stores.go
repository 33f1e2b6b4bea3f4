// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/fsouza/fake-gcs-server/fakestorage"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/fakes/gcsfake"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/testenv/stores"
)

// place is the address of a store with a credential.
type place struct{ URL, ID, Secret string }

// A store is a store to measure.
type store struct {
	name string
	// peer is a third-party store. It may be slow, so it is filled only for a limited time.
	peer  bool
	start func(context.Context) (*process, error)
	dial  func(place) (protocol, error)
}

// errMissing means that a program is not installed.
var errMissing = errors.New("the program of the store is not installed")

// all returns the stores by cloud, the fake of this repository first.
func all() []store {
	return []store{
		{"s3fake", false, own("s3fake"), newS3},
		{"gofakes3", true, own("gofakes3"), newS3},
		{"versitygw", true, program(found(stores.VersityGW()), place{ID: access, Secret: secret}, nil, func(address, dir string) []string {
			return []string{"--port", address, "--access", access, "--secret", secret, "--quiet", "--keep-alive", "posix", "--sidecar", sub(dir, "meta"), sub(dir, "data")}
		}), newS3},
		{"MinIO", true, program(found(stores.MinIO()), place{ID: access, Secret: secret}, []string{"MINIO_ROOT_USER=" + access, "MINIO_ROOT_PASSWORD=" + secret, "MINIO_BROWSER=off", "MINIO_CI_CD=1"}, func(address, dir string) []string {
			return []string{"server", "--quiet", "--address", address, "--certs-dir", sub(dir, "certs"), sub(dir, "data")}
		}), newS3},
		{"azurefake", false, own("azurefake"), newAzure},
		{"Azurite", true, program(azurite, place{ID: azuriteAccount, Secret: azuriteKey}, nil, func(address, _ string) []string {
			host, port, _ := strings.Cut(address, ":")
			return []string{"--blobHost", host, "--blobPort", port, "--inMemoryPersistence", "--skipApiVersionCheck", "--disableTelemetry", "--silent"}
		}), newAzure},
		{"gcsfake", false, own("gcsfake"), newGCS},
		{"fake-gcs-server", true, own("fake-gcs-server"), newGCS},
	}
}

// Credentials of the peers. Azurite's account is fixed and documented.
const (
	access         = "benchbenchbench"
	secret         = "benchbenchbenchbench"
	azuriteAccount = "devstoreaccount1"
	azuriteKey     = "Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsuFq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw=="
)

// found returns the command of a store that go run ./hack/stores has built.
func found(s stores.Store) func(context.Context) ([]string, error) {
	return func(context.Context) ([]string, error) {
		path, err := s.Find()
		if err != nil {
			return nil, fmt.Errorf("%w: %w", errMissing, err)
		}
		return []string{path}, nil
	}
}

// azurite returns the command of Azurite, after installing it if necessary.
func azurite(ctx context.Context) ([]string, error) {
	install := exec.CommandContext(ctx, "bash", "../hack/npm.sh", "azurite")
	install.Stderr = os.Stderr
	out, err := install.Output()
	if err != nil {
		return nil, fmt.Errorf("%w, and its installation with bash ../hack/npm.sh azurite failed: %w", errMissing, err)
	}
	return []string{"node", filepath.Join(strings.TrimSpace(string(out)), "azurite", "dist", "src", "blob", "main.js")}, nil
}

// sub creates a directory that a program expects.
func sub(dir, name string) string {
	path := filepath.Join(dir, name)
	_ = os.Mkdir(path, 0o700) // the program reports if it is missing
	return path
}

// serveMark makes this program act as the named store until its input is closed.
const serveMark = "COOPER_BENCH_FAKES_SERVE"

// serve runs a built-in store and prints its place.
func serve(name string, in io.Reader, out io.Writer) error {
	at, closeStore, err := open(name)
	if err != nil {
		return err
	}
	if err = json.NewEncoder(out).Encode(at); err == nil { //nolint:gosec // the key of a fake, for the parent process
		_, err = io.Copy(io.Discard, in)
	}
	return errors.Join(err, closeStore())
}

func open(name string) (place, func() error, error) {
	switch name {
	case "s3fake":
		s, err := s3fake.New(s3fake.Options{})
		if err != nil {
			return place{}, nil, err
		}
		return place{"", s.Root().AccessKeyID, s.Root().SecretAccessKey}.of(s)
	case "azurefake":
		s, err := azurefake.New(azurefake.Options{})
		if err != nil {
			return place{}, nil, err
		}
		key, _ := s.Keys(azurefake.DefaultAccount)
		return place{"", azurefake.DefaultAccount, key}.of(s)
	case "gcsfake":
		s, err := gcsfake.New(gcsfake.Options{})
		if err != nil {
			return place{}, nil, err
		}
		token, err := s.Token(s.AdminEmail(""))
		if err != nil {
			return place{}, nil, errors.Join(err, s.Close())
		}
		return place{Secret: token}.of(s)
	case "fake-gcs-server":
		s, err := fakestorage.NewServerWithOptions(fakestorage.Options{Scheme: "http"})
		if err != nil {
			return place{}, nil, err
		}
		return place{URL: s.URL()}, func() error { s.Stop(); return nil }, nil
	case "gofakes3":
		s := httptest.NewServer(gofakes3.New(s3mem.New()).Server())
		return place{s.URL, "any", "thing"}, func() error { s.Close(); return nil }, nil
	}
	return place{}, nil, fmt.Errorf("%s=%s: no such store", serveMark, name)
}

// fake is the common interface of all fakes.
type fake interface {
	Start() error
	URL() string
	Close() error
}

// of starts a fake and returns its place.
func (p place) of(s fake) (place, func() error, error) {
	if err := s.Start(); err != nil {
		return place{}, nil, errors.Join(err, s.Close())
	}
	p.URL = s.URL()
	return p, s.Close, nil
}
