// SPDX-License-Identifier: Apache-2.0

package ctrlmanager

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
)

// defaultRenewDeadline is the default of controller-runtime.
const defaultRenewDeadline = 10 * time.Second

// Identity returns a name for this instance as holder of a Lease: the host name and a random suffix.
func Identity() (string, error) {
	host, err := os.Hostname()
	if err != nil {
		return "", fmt.Errorf("get the host name for the identity in the Lease: %w", err)
	}
	return host + "_" + string(uuid.NewUUID()), nil
}

// A lock calls lost if this instance was the leader and then reads another holder from the Lease. Without it,
// client-go would continue to renew until RenewDeadline, and two instances would be active at the same time.
type lock struct {
	resourcelock.Interface

	lost   func(error)
	leader atomic.Bool
}

// Get implements resourcelock.Interface.
func (l *lock) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	record, raw, err := l.Interface.Get(ctx)
	if err == nil && l.leader.Load() && record.HolderIdentity != "" && record.HolderIdentity != l.Identity() {
		l.lost(fmt.Errorf("leader election lost: Lease %s is held by %s", l.Describe(), record.HolderIdentity))
	}
	return record, raw, err //nolint:wrapcheck // the election recognizes a missing Lease by this error
}

// Create implements resourcelock.Interface.
func (l *lock) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.written(record, l.Interface.Create(ctx, record))
}

// Update implements resourcelock.Interface.
func (l *lock) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	return l.written(record, l.Interface.Update(ctx, record))
}

// written records the holder of a record that was written if err is nil. It returns err.
func (l *lock) written(record resourcelock.LeaderElectionRecord, err error) error {
	if err == nil {
		l.leader.Store(record.HolderIdentity == l.Identity())
	}
	return err
}

// elect replaces the lock in the options by one that calls lost when another instance holds the Lease. The caller must
// pass the manager to the returned function, because the lock emits Events through it.
func elect(config *rest.Config, o *ctrl.Options, lost func(error)) (bind func(ctrl.Manager), err error) {
	recorder := &recorder{}
	bind = func(mgr ctrl.Manager) {
		recorder.EventRecorder = mgr.GetEventRecorderFor("leader-election") //nolint:staticcheck // client-go's locks take no other kind
	}
	if !o.LeaderElection {
		return bind, nil
	}
	inner := o.LeaderElectionResourceLockInterface
	if inner == nil {
		identity, err := Identity()
		if err != nil {
			return nil, err
		}
		inner, err = resourcelock.NewFromKubeconfig(resourcelock.LeasesResourceLock, o.LeaderElectionNamespace, o.LeaderElectionID,
			resourcelock.ResourceLockConfig{Identity: identity, EventRecorder: recorder}, config, ptr.Deref(o.RenewDeadline, defaultRenewDeadline))
		if err != nil {
			return nil, fmt.Errorf("create the lock for the Lease: %w", err)
		}
	}
	o.LeaderElectionResourceLockInterface = &lock{Interface: inner, lost: lost}
	return bind, nil
}

// recorder is empty until the manager exists, which is before the election starts.
type recorder struct{ resourcelock.EventRecorder }
