// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/policy"
)

// callerRecord is the stored form of an upload's caller.
type callerRecord struct {
	Name    string   `json:"name"`
	UID     string   `json:"uid,omitempty"`
	Members []string `json:"members"`
}

func recordCaller(c identity.Caller) callerRecord { return callerRecord{c.Name, c.UID, c.Members} }

func (r callerRecord) caller() identity.Caller {
	return identity.Caller{Caller: policy.Caller{Members: r.Members, UID: r.UID}, Name: r.Name}
}
