// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"maps"
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
	if e == nil {
		parameters, calls := a.running.parameters(name)
		found.Parameters = parameters
		return found, calls, nil
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

// running has the parameters of the calls that are running, by the driver's IDs of their buckets. Its zero value is
// ready for use.
type running struct {
	mu    sync.Mutex
	calls map[string][]map[string]string
}

// begin records a call for these buckets, and end removes it.
func (r *running) begin(buckets []string, parameters map[string]string) (end func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.calls == nil {
		r.calls = map[string][]map[string]string{}
	}
	for _, bucket := range buckets {
		r.calls[bucket] = append(r.calls[bucket], maps.Clone(parameters))
	}
	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, bucket := range buckets {
			if r.calls[bucket] = r.calls[bucket][1:]; len(r.calls[bucket]) == 0 {
				delete(r.calls, bucket)
			}
		}
	}
}

// parameters returns the parameters of the last call for a bucket, and whether there is one.
func (r *running) parameters(bucket string) (map[string]string, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	calls := r.calls[bucket]
	if len(calls) == 0 {
		return nil, false
	}
	return calls[len(calls)-1], true
}
