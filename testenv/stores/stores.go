// SPDX-License-Identifier: Apache-2.0

// Package stores finds and builds the object stores of others that tests compare with: MinIO, versitygw and
// fake-gcs-server. They are built from their Go modules and run as processes; nothing of theirs is imported. Find looks
// for a program that is there, Build builds it; go run ./hack/stores builds all.
//
// Ceph is none of these: StartCeph runs the programs that the distribution has.
package stores

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"

	"github.com/cooper-cosi/cooper/testenv/gobuild"
)

// Store is a program that comes from a Go module.
type Store struct {
	// Variable is the environment variable that names another executable.
	Variable string
	// Package is the import path of the main package; its last element is the executable's name.
	Package string
	// Version is the module's version. A newer one is another directory in the cache.
	Version string
}

// MinIO is MinIO's server. Its repository was archived after this commit.
func MinIO() Store {
	return Store{Variable: "MINIO", Package: "github.com/minio/minio", Version: "v0.0.0-20260212201848-7aac2a2c5b7c"}
}

// VersityGW is the gateway of Versity, which also contains a test suite for S3 and IAM servers.
func VersityGW() Store {
	return Store{Variable: "VERSITYGW", Package: "github.com/versity/versitygw/cmd/versitygw", Version: "v1.8.0"}
}

// FakeGCSServer is an emulator of Cloud Storage without accounts.
func FakeGCSServer() Store {
	return Store{Variable: "FAKE_GCS_SERVER", Package: "github.com/fsouza/fake-gcs-server", Version: "v1.56.1"}
}

// All are the stores that there are.
func All() []Store { return []Store{MinIO(), VersityGW(), FakeGCSServer()} }

// Name is the name of the executable.
func (s Store) Name() string { return path.Base(s.Package) }

// Find returns the executable that the store's variable names, or else the one that Build made. The error of a store
// that is not there says how to get it and is an fs.ErrNotExist.
func (s Store) Find() (string, error) {
	if named := os.Getenv(s.Variable); named != "" {
		return executable(named, "correct or unset "+s.Variable)
	}
	built, err := s.path()
	if err != nil {
		return "", err
	}
	return executable(built, "`go run ./hack/stores` builds it, or "+s.Variable+" can name an executable")
}

func executable(file, advice string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("no %s: %w; %s", filepath.Base(file), err, advice)
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("%s is not an executable: %w; %s", file, fs.ErrInvalid, advice)
	}
	return file, nil
}

// path is where Build puts the executable.
func (s Store) path() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("cannot tell where %s is kept: %w; set HOME or XDG_CACHE_HOME", s.Name(), err)
	}
	return filepath.Join(cache, "cooper", "stores", s.Version, s.Name()), nil
}

// Build returns what Find finds, building it first if it is not there; progress shows how far that is. An unfinished
// build leaves nothing that a later Find would take for an executable.
func (s Store) Build(ctx context.Context, progress *gobuild.Progress) (string, error) {
	found, err := s.Find()
	if err == nil || !errors.Is(err, fs.ErrNotExist) || os.Getenv(s.Variable) != "" {
		return found, err
	}
	target, err := s.path()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
		return "", fmt.Errorf("cannot keep %s: %w", s.Name(), err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(target), "build-")
	if err != nil {
		return "", fmt.Errorf("cannot build %s: %w", s.Name(), err)
	}
	defer os.RemoveAll(tmp)
	progress.Say("building %s %s from source, once for this machine", s.Name(), s.Version)
	if err := gobuild.Install(ctx, tmp, s.Package, s.Version, progress); err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(tmp, s.Name()), target); err != nil {
		return "", fmt.Errorf("cannot finish the build of %s: %w", s.Name(), err)
	}
	return target, nil
}
