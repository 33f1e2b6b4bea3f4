// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"google.golang.org/grpc"

	cosi "github.com/cooper-cosi/cooper/proto"
	"github.com/cooper-cosi/cooper/sanity"
)

// Launcher starts the driver inside this process, behind a real socket. A new instance has the
// store of the one before and nothing else, as after a restart of a process.
type Launcher struct {
	Store   *Store
	Profile Profile
	Defects Defects
	// NewServer is that of Program: another driver as this process.
	NewServer func() (*grpc.Server, error)
}

// Launch implements sanity.Launcher.
func (l Launcher) Launch(ctx context.Context, launch sanity.Launch) (sanity.Instance, error) {
	// The instance outlives the call that starts it, until it is killed or terminated.
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	i := &instance{cancel: cancel, done: make(chan struct{})}
	i.program = &Program{
		Driver:      Options{Store: l.Store, Profile: l.Profile, Defects: l.Defects},
		Environment: launch.Environment, Arguments: launch.Arguments, Directory: launch.Directory, Output: launch.Stdout,
		NewServer: l.NewServer,
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

// Outside is what an administrator and the machine room do to a store.
type Outside struct{ Store *Store }

// BucketID implements sanity.Fixture: buckets have their names as IDs.
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
		s.Buckets[name] = newBucket(owner, map[string]string{parameterTier: tierHot})
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

// Config returns the configuration of the suite for a store with every hook, and without a
// target.
func Config(store *Store, profile Profile) sanity.Config {
	outside := Outside{Store: store}
	probers := map[cosi.ObjectProtocol_Type]sanity.Prober{}
	for _, protocol := range profile.Protocols {
		probers[protocol] = Prober{Store: store}
	}
	contract := sanity.V1Alpha2
	if profile.V1Alpha1 {
		contract = sanity.V1Alpha1
	}
	return sanity.Config{
		Contract: contract,
		Params: sanity.Params{
			Bucket:        map[string]string{parameterTier: tierHot},
			Incompatible:  map[string]string{parameterTier: tierCold},
			Invalid:       map[string]string{parameterTier: "lukewarm"},
			Access:        map[string]string{parameterNote: "made by a test"},
			InvalidAccess: map[string]string{parameterNote: "invalid"},
		},
		Authentication: slices.Clone(profile.Authentication),
		ServiceAccount: sanity.ServiceAccount{Name: "app", Namespace: "default"},
		Rotation:       true,
		NonEmptyDelete: "refuse",
		Probers:        maps.Clone(probers),
		Inventory:      func(context.Context) ([]sanity.Resource, error) { return store.Inventory() },
		Fixture:        outside,
		Backend:        outside,
	}
}
