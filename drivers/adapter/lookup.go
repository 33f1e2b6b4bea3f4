// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/cooper-cosi/cooper/drivers/adapter/kubeapi"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// Bucket returns the bucket with a name or a driver's ID, for the Kubernetes API of the driver. For a bucket without
// an entry, it returns the parameters of a running call.
func (a *Adapter) Bucket(ctx context.Context, name string) (kubeapi.Bucket, bool, error) {
	e, err := a.bucket(ctx, bucketKind.named(name))
	if e == nil && err == nil {
		e, err = a.bucket(ctx, bucketKind.owned(name))
	}
	if e != nil && e.name != "" && e.request == nil {
		e, err = a.bucket(ctx, bucketKind.named(e.name))
	}
	if err != nil {
		return kubeapi.Bucket{}, false, err
	}
	found := kubeapi.Bucket{Name: name, ID: name, Driver: a.driver.name}
	if e == nil || e.request == nil {
		parameters, calls, err := a.running.parameters(name)
		found.Parameters = parameters
		return found, calls, err
	}
	found.ID, found.Parameters = e.id, e.request.GetParameters()
	for _, protocol := range e.request.GetProtocols() {
		found.Protocols = append(found.Protocols, protocolNames[protocol.GetType()])
	}
	return found, true, nil
}

// protocolNames are the names in v1alpha1.
var protocolNames = map[cosi.ObjectProtocol_Type]string{
	cosi.ObjectProtocol_S3: "S3", cosi.ObjectProtocol_AZURE: "Azure", cosi.ObjectProtocol_GCS: "GCP",
}

// running has the calls that are running, by the driver's IDs of their buckets. Its zero value is ready for use.
type running struct {
	mu    sync.Mutex
	calls map[string][]*call
}

// A call is a running call of the driver.
type call struct{ parameters map[string]string }

// begin records a call for these buckets, and end removes it.
func (r *running) begin(buckets []string, parameters map[string]string) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = map[string][]*call{}
	}
	started := &call{maps.Clone(parameters)}
	for _, bucket := range buckets {
		r.calls[bucket] = append(r.calls[bucket], started)
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, bucket := range buckets {
			r.calls[bucket] = slices.DeleteFunc(r.calls[bucket], func(c *call) bool { return c == started })
			if len(r.calls[bucket]) == 0 {
				delete(r.calls, bucket)
			}
		}
	}
}

// parameters returns the parameters of the calls for a bucket, and whether there is one. It fails if they differ.
func (r *running) parameters(bucket string) (map[string]string, bool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls[bucket]
	if len(calls) == 0 {
		return nil, false, nil
	}
	for _, other := range calls[1:] {
		if !maps.Equal(other.parameters, calls[0].parameters) {
			return nil, false, fmt.Errorf("calls with different parameters are running for bucket %q; the driver must read it again later", bucket)
		}
	}
	return calls[0].parameters, true, nil
}
