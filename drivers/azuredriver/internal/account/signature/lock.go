// SPDX-License-Identifier: Apache-2.0

package signature

import (
	"context"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"

	"github.com/cooper-cosi/cooper/drivers/azuredriver/internal/apierror"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

const (
	// leaseSeconds is the shortest lease that Azure grants. A lease of a crashed process expires after this time.
	leaseSeconds = 15
	// leaseWait is how long to wait for another holder. It exceeds the lifetime of a lease left behind by a crash.
	leaseWait = 20 * time.Second
	// firstPause and lastPause are the shortest and longest pause between attempts to acquire a lease.
	firstPause = 50 * time.Millisecond
	lastPause  = time.Second
	// releaseTimeout limits the release, which also happens after the call has ended.
	releaseTimeout = 5 * time.Second
)

// acquire acquires the lease of a container, and waits while another process holds it.
func (m *Manager) acquire(ctx context.Context, name string) (*lease.ContainerClient, error) {
	client, err := lease.NewContainerClient(m.container(name), nil)
	if err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeout(ctx, leaseWait)
	defer cancel()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		_, err := client.AcquireLease(ctx, leaseSeconds, nil)
		if !apierror.Is(err, "LeaseAlreadyPresent") {
			return client, err
		}
		timer := time.NewTimer(pause)
		select {
		case <-timer.C:
		case <-waiting.Done():
			timer.Stop()
			return nil, driverkit.Aborted("container %s: another process is changing its access policies; the driver tries again", name).WithDetail(err)
		}
	}
}

// release releases the lease, even if the call was canceled. A lease that is not released expires.
func release(ctx context.Context, held *lease.ContainerClient) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
	defer cancel()
	_, _ = held.ReleaseLease(ctx, nil)
}
