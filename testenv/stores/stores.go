// SPDX-License-Identifier: Apache-2.0

// Package stores finds and builds the third-party object stores that tests use: MinIO, versitygw,
// fake-gcs-server and SeaweedFS. They are built from their Go modules and run as processes; their code is not
// imported. Find returns an existing program, Build builds it if necessary, and go run ./hack/stores builds all
// except SeaweedFS.
//
// Ceph is an exception: StartCeph runs the Ceph programs of the Linux distribution's packages.
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

// Store is a store program that is built from a Go module.
type Store struct {
	// Variable is the environment variable that names another executable.
	Variable string
	// Package is the import path of the main package. Its last element is the name of the executable.
	Package string
	// Version is the module's version. Each version has its own directory in the cache.
	Version string
	// Module, if set, is the path of the module. Set it for a module with replace directives, which go install
	// rejects.
	Module string
}

// MinIO returns the MinIO server. This version is the last commit of its archived repository.
func MinIO() Store {
	return Store{Variable: "MINIO", Package: "github.com/minio/minio", Version: "v0.0.0-20260212201848-7aac2a2c5b7c"}
}

// VersityGW returns the Versity gateway, which also contains a test suite for S3 and IAM servers.
func VersityGW() Store {
	return Store{Variable: "VERSITYGW", Package: "github.com/versity/versitygw/cmd/versitygw", Version: "v1.8.0"}
}

// FakeGCSServer returns fake-gcs-server, an emulator of Cloud Storage without accounts.
func FakeGCSServer() Store {
	return Store{Variable: "FAKE_GCS_SERVER", Package: "github.com/fsouza/fake-gcs-server", Version: "v1.56.1"}
}

// SeaweedFS returns SeaweedFS 4.53. Its build takes longer than those of all others together, so All does not
// include it, and only the soak uses it.
func SeaweedFS() Store {
	return Store{
		Variable: "SEAWEEDFS", Package: "github.com/seaweedfs/seaweedfs/weed", Version: "v0.0.0-20261109003541-7506e5f91cd6",
		Module: "github.com/seaweedfs/seaweedfs",
	}
}

// All returns the stores that CI requires.
func All() []Store { return []Store{MinIO(), VersityGW(), FakeGCSServer()} }

// Name is the name of the executable.
func (s Store) Name() string { return path.Base(s.Package) }

// Find returns the executable that the store's environment variable names. If the variable is not set, Find
// returns the executable that Build has built. If the executable does not exist, the error wraps
// fs.ErrNotExist and says how to get it.
func (s Store) Find() (string, error) {
	if named := os.Getenv(s.Variable); named != "" {
		return executable(named, "correct or unset "+s.Variable)
	}
	built, err := s.path()
	if err != nil {
		return "", err
	}
	return executable(built, "build it with `go run ./hack/stores -only "+s.Name()+"`, or set "+s.Variable+" to an executable")
}

func executable(file, advice string) (string, error) {
	info, err := os.Stat(file)
	if err != nil {
		return "", fmt.Errorf("cannot find %s: %w; %s", filepath.Base(file), err, advice)
	}
	if !info.Mode().IsRegular() || info.Mode()&0o111 == 0 {
		return "", fmt.Errorf("%s is not an executable: %w; %s", file, fs.ErrInvalid, advice)
	}
	return file, nil
}

// path returns the path at which Build puts the executable.
func (s Store) path() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find the cache directory of %s: %w; set HOME or XDG_CACHE_HOME", s.Name(), err)
	}
	return filepath.Join(cache, "cooper", "stores", s.Version, s.Name()), nil
}

// Build returns the same executable as Find, and builds it first if it does not exist. progress shows the
// build. After an interrupted build, Find does not return an incomplete executable.
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
		return "", fmt.Errorf("cannot create the directory for %s: %w", s.Name(), err)
	}
	tmp, err := os.MkdirTemp(filepath.Dir(target), "build-")
	if err != nil {
		return "", fmt.Errorf("cannot build %s: %w", s.Name(), err)
	}
	defer os.RemoveAll(tmp)
	progress.Say("building %s %s from source (only once on this machine)", s.Name(), s.Version)
	if s.Module == "" {
		err = gobuild.Install(ctx, tmp, s.Package, s.Version, progress)
	} else {
		err = gobuild.BuildModule(ctx, tmp, s.Package, s.Module, s.Version, progress)
	}
	if err != nil {
		return "", err
	}
	if err := os.Rename(filepath.Join(tmp, s.Name()), target); err != nil {
		return "", fmt.Errorf("cannot finish the build of %s: %w", s.Name(), err)
	}
	return target, nil
}
