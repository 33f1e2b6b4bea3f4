// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"context"
	"fmt"
	"slices"
	"sync"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
)

// Launcher starts the driver inside this process, on a real socket. As after a restart of a process, a new instance
// shares only the store with the previous instance.
type Launcher struct{ Driver Options }

// Launch implements sanity.Launcher.
func (l Launcher) Launch(ctx context.Context, launch sanity.Launch) (sanity.Instance, error) {
	// The instance outlives the call that starts it, until it is killed or terminated.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	i := &instance{cancel: cancel, done: make(chan struct{})}
	i.program = &Program{
		Driver:      l.Driver,
		Environment: launch.Environment, Arguments: launch.Arguments, Directory: launch.Directory, Output: launch.Stdout,
	}
	go func() {
		defer close(i.done)
		code := i.program.Run(ctx)
		i.mu.Lock()
		i.code = code
		i.mu.Unlock()
	}()
	return i, nil
}

// instance is a running Program.
type instance struct {
	program *Program
	cancel  context.CancelFunc
	done    chan struct{}

	mu   sync.Mutex
	code int
}

// Kill implements sanity.Instance.
func (i *instance) Kill() error {
	i.program.mu.Lock()
	i.program.killed = true
	i.program.mu.Unlock()
	i.cancel()
	<-i.done
	return nil
}

// Terminate implements sanity.Instance.
func (i *instance) Terminate() error {
	i.cancel()
	return nil
}

// Done implements sanity.Instance.
func (i *instance) Done() <-chan struct{} { return i.done }

// ExitCode implements sanity.Instance.
func (i *instance) ExitCode() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.code
}

// Usage implements sanity.Usage.
func (i *instance) Usage() (map[string]int, error) {
	i.program.mu.Lock()
	defer i.program.mu.Unlock()
	return map[string]int{"open files": 3 + i.program.leaked}, nil
}

// OpenFiles implements sanity.Usage.
func (i *instance) OpenFiles() ([]string, error) {
	i.program.mu.Lock()
	defer i.program.mu.Unlock()
	return slices.Clone(i.program.files), nil
}

// Outside changes a store from outside the driver, as an administrator or a failure would.
type Outside struct{ Store *Store }

// BucketID implements sanity.Fixture. The IDs of buckets are their names.
func (Outside) BucketID(name string) string { return name }

// MakeBucket implements sanity.Fixture.
func (o Outside) MakeBucket(_ context.Context, name string) error { return o.make(name, ownerAdmin) }

// RemoveBucket implements sanity.Fixture.
func (o Outside) RemoveBucket(_ context.Context, name string) error {
	return o.Store.admin(func(s *state) error {
		delete(s.Buckets, name)
		return nil
	})
}

// TakeName implements sanity.ForeignFixture.
func (o Outside) TakeName(_ context.Context, bucketID string) error {
	return o.make(bucketID, ownerOther)
}

// FreeName implements sanity.ForeignFixture.
func (o Outside) FreeName(ctx context.Context, bucketID string) error {
	return o.RemoveBucket(ctx, bucketID)
}

func (o Outside) make(name, owner string) error {
	return o.Store.admin(func(s *state) error {
		if s.Buckets[name] != nil {
			return fmt.Errorf("bucket %s exists", name)
		}
		all := []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_S3, cosi.ObjectProtocol_AZURE, cosi.ObjectProtocol_GCS}
		s.Buckets[name] = newBucket(owner, all, map[string]string{parameterTier: tierHot})
		s.Buckets[name].Ready = true
		return nil
	})
}

// Can implements sanity.Backend.
func (Outside) Can(sanity.Fault) bool { return true }

// Break implements sanity.Backend.
func (o Outside) Break(_ context.Context, fault sanity.Fault) error { return o.set(fault, true) }

// Mend implements sanity.Backend.
func (o Outside) Mend(_ context.Context, fault sanity.Fault) error { return o.set(fault, false) }

func (o Outside) set(fault sanity.Fault, broken bool) error {
	return o.Store.admin(func(s *state) error {
		s.Faults[fault] = broken
		return nil
	})
}

// Config returns the configuration of the suite, with every hook, for a driver with the given store and defects.
// options must come from Wide, Narrow or Old.
func Config(store *Store, options Options, defects ...Defect) sanity.Config {
	options.Store, options.Defects = store, With(defects...)
	outside, driver := Outside{Store: store}, New(options)
	probers := map[cosi.ObjectProtocol_Type]sanity.Prober{}
	for _, protocol := range driver.supported() {
		probers[protocol] = Prober{Store: store}
	}
	contract := sanity.V1Alpha2
	if options.Speaks == V1alpha1 {
		contract = sanity.V1Alpha1
	}
	return sanity.Config{
		Launcher: Launcher{Driver: options},
		Contract: contract,
		Params: sanity.Params{
			Bucket:        map[string]string{parameterTier: tierHot},
			Incompatible:  map[string]string{parameterTier: tierCold},
			Invalid:       map[string]string{parameterTier: "lukewarm"},
			Changed:       map[string]string{parameterLimit: "5"},
			Access:        map[string]string{parameterNote: noteTest},
			InvalidAccess: map[string]string{parameterNote: "invalid"},
		},
		Authentication: slices.Clone(driver.options.Authentication),
		ServiceAccount: sanity.ServiceAccount{Name: "app", Namespace: "default"},
		Rotation:       true,
		NonEmptyDelete: "refuse",
		Probers:        probers,
		Inventory:      func(context.Context) ([]sanity.Resource, error) { return store.Inventory() },
		Fixture:        outside,
		Backend:        outside,
	}
}
