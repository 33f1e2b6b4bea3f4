// SPDX-License-Identifier: Apache-2.0

package fault

import (
	"strings"
	"sync"
	"time"
)

// Call is one recorded call. The client may not have received a response.
type Call struct {
	// Seq numbers the calls of a recorder from 1 in the order of their arrival.
	Seq int `json:"seq"`
	// Start is when the call arrived, and Duration how long it took.
	Start    time.Time     `json:"start"`
	Duration time.Duration `json:"duration"`
	// Operation is the name of the operation, for example PutObject.
	Operation string `json:"operation"`
	// Resource is the resource of the call, for example bucket/key.
	Resource string `json:"resource,omitempty"`
	// Principal is the caller, if the fake could determine it.
	Principal string `json:"principal,omitempty"`
	RequestID string `json:"requestId,omitempty"`
	// Status is the HTTP or gRPC status of the response, or 0 if there was none.
	Status int `json:"status"`
	// Code is the error code of the response, or "" for success.
	Code string `json:"code,omitempty"`
	// Fault is the name of the rule that affected the call, or "" if none did.
	Fault string `json:"fault,omitempty"`
	// Performed is false if a fault prevented the call from having an effect.
	Performed bool `json:"performed"`
}

// maxCalls and maxText limit the memory of a recorder. It discards the oldest calls first, and truncates texts of more than
// maxText bytes. Names of existing objects are shorter, but clients without credentials can send longer ones.
const (
	maxCalls = 100000
	maxText  = 5 << 10
)

// Recorder records calls. The zero value is ready to use.
type Recorder struct {
	mu    sync.Mutex
	seq   int
	calls []Call
}

// Begin assigns a number to a call. The caller completes it with End.
func (r *Recorder) Begin(now time.Time) Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.seq++
	return Call{Seq: r.seq, Start: now, Performed: true}
}

// End records a call.
func (r *Recorder) End(c Call, now time.Time) {
	c.Duration = now.Sub(c.Start)
	for _, text := range []*string{&c.Operation, &c.Resource, &c.Principal} {
		*text = strings.Clone((*text)[:min(len(*text), maxText)]) // a part of the request would keep all of it in memory
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.calls) >= maxCalls {
		r.calls = append(r.calls[:0:0], r.calls[maxCalls/2:]...)
	}
	r.calls = append(r.calls, c)
}

// Calls returns the recorded calls in the order in which they ended.
func (r *Recorder) Calls() []Call {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Call(nil), r.calls...)
}

// Reset clears the recorded calls.
func (r *Recorder) Reset() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = nil
}
