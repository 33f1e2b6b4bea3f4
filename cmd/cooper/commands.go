// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/pflag"

	"github.com/cooper-cosi/cooper/cmd/cooper/internal/rundir"
	"github.com/cooper-cosi/cooper/cmd/cooper/internal/up"
	"github.com/cooper-cosi/cooper/docs/tutorial"
)

// downTimeout bounds the wait of `cooper down`.
const downTimeout = time.Minute

// sampleNamespace is the namespace of the sample. It holds nothing else and can be deleted.
const sampleNamespace = "tutorial"

// upDirectory is the help text of --data in commands that look for a running system.
const upDirectory = "directory of the system, as passed to cooper up; empty means the default"

// replaceCRDs is the help text of --replace-crds in all commands.
const replaceCRDs = "allow Cooper's CRDs to replace foreign v1alpha2 CRDs, whose objects then lose fields"

// directory defines --data with the given usage and returns a function that resolves it. keep is true if the
// user named a directory.
func directory(flags *pflag.FlagSet, usage string) func() (dir rundir.Dir, keep bool, err error) {
	data := flags.String("data", "", usage)
	return func() (rundir.Dir, bool, error) {
		path, keep := *data, true
		if path == "" {
			var err error
			if path, err = rundir.Default(); err != nil {
				return rundir.Dir{}, false, err
			}
			keep = false
		}
		dir, err := rundir.At(path)
		return dir, keep, err
	}
}

func prepareUp(flags *pflag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	where := directory(flags, "directory in which state persists between runs; empty starts an empty system in the user's cache directory")
	o := up.Options{}
	flags.IntVar(&o.APIPort, "api-port", 0, "port of the Kubernetes API on 127.0.0.1; 0 means a free one")
	flags.IntVar(&o.S3Port, "s3-port", 0, "port of the fake S3 and IAM on 127.0.0.1; 0 means a free one")
	flags.IntVar(&o.PagePort, "page-port", 0, "port of the status page on 127.0.0.1; 0 means a free one")
	otherPorts(flags, &o)
	flags.StringVar(&o.Namespace, "namespace", sampleNamespace, "namespace of the sample")
	flags.DurationVar(&o.SampleTimeout, "sample-timeout", sampleTimeout, "timeout for provisioning the sample")
	flags.BoolVar(&o.ReplaceCRDs, "replace-crds", false, replaceCRDs)
	manifests := flags.String("manifests", "", "file or directory to apply instead of the tutorial's manifests")
	empty := flags.Bool("no-sample", false, "apply no manifests")
	return func(ctx context.Context, stdout, stderr io.Writer) error {
		o.Out, o.Progress = stdout, stderr
		var err error
		if o.Dir, o.Keep, err = where(); err != nil {
			return err
		}
		if o.Manifests, err = manifestFiles(*manifests, *empty); err != nil {
			return err
		}
		return up.Run(ctx, o)
	}
}

func prepareEnv(flags *pflag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	where := directory(flags, upDirectory)
	namespace := flags.String("namespace", "", "namespace of the access Secret; empty means the sample's")
	secret := flags.String("secret", "", "name of the access Secret; empty means the first one of the sample")
	administrator := flags.Bool("store-administrator", false, "print the root credential of the S3 store instead")
	return func(ctx context.Context, stdout, stderr io.Writer) error {
		dir, _, err := where()
		if err != nil {
			return err
		}
		if *administrator && *secret != "" {
			return errors.New("--store-administrator and --secret are mutually exclusive")
		}
		return up.Environment(ctx, up.EnvironmentOptions{
			Dir: dir, Namespace: *namespace, Secret: *secret, StoreAdministrator: *administrator,
			Granted: os.Getenv(up.GrantedVariable), Out: stdout, Notes: stderr,
		})
	}
}

func prepareDown(flags *pflag.FlagSet) func(context.Context, io.Writer, io.Writer) error {
	where := directory(flags, upDirectory)
	return func(ctx context.Context, _, stderr io.Writer) error {
		dir, _, err := where()
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(ctx, downTimeout)
		defer cancel()
		return up.Down(ctx, dir, stderr)
	}
}

// manifestFiles returns the manifests to apply, or nil if there are none.
func manifestFiles(path string, none bool) (fs.FS, error) {
	switch {
	case none && path != "":
		return nil, errors.New("--manifests and --no-sample are mutually exclusive")
	case none:
		return nil, nil //nolint:nilnil // none was requested
	case path == "":
		return tutorial.Manifests, nil
	}
	stat, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("--manifests: %w", err)
	}
	if stat.IsDir() {
		return os.DirFS(path), nil
	}
	return single{os.DirFS(filepath.Dir(path)), filepath.Base(path)}, nil
}

// single is a file system that exposes one file of another file system.
type single struct {
	fs.FS

	name string
}

// Glob implements fs.GlobFS. It returns the one file for every pattern.
func (s single) Glob(string) ([]string, error) { return []string{s.name}, nil } //nolint:unparam // required by the interface
