// SPDX-License-Identifier: Apache-2.0

package controlplane

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"time"
)

// DefaultAuditPolicy records the user, verb and object of requests, without bodies. It omits requests of the
// API server and its controllers.
const DefaultAuditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived, ResponseStarted]
rules:
- level: None
  users: ["system:apiserver", "system:kube-controller-manager"]
- level: None
  nonResourceURLs: ["*"]
- level: Metadata
`

// AuditEvent is one request, as the API server recorded it after its response.
type AuditEvent struct {
	User, UserAgent string
	// Verb is get, list, watch, create, update, patch, delete or deletecollection.
	Verb string
	// Group is the API group; the core group is empty. Resource is the plural name, such as "secrets".
	// Subresource is, for example, "status" or "finalizers", or empty.
	Group, Resource, Subresource, Namespace, Name string
	// Code is the HTTP status of the response.
	Code int
	// Time is when the request arrived, Answered when its response was complete.
	Time, Answered time.Time
}

// AuditFilter selects events. An empty field matches all.
type AuditFilter struct {
	User, Namespace string
	Verbs           []string
	Resources       []string
	// WritesOnly excludes reads and rejected writes.
	WritesOnly bool
	// From is an earlier result of AuditEnd. Earlier records are not read.
	From int64
}

// Matches reports whether the filter selects the event.
func (f AuditFilter) Matches(e AuditEvent) bool {
	return (f.User == "" || f.User == e.User) &&
		(f.Namespace == "" || f.Namespace == e.Namespace) &&
		(len(f.Verbs) == 0 || slices.Contains(f.Verbs, e.Verb)) &&
		(len(f.Resources) == 0 || slices.Contains(f.Resources, e.Resource)) &&
		(!f.WritesOnly || e.wrote())
}

func (e AuditEvent) wrote() bool {
	return slices.Contains([]string{"create", "update", "patch", "delete", "deletecollection"}, e.Verb) && e.Code < 300
}

// AuditEvents returns the recorded requests that f selects, oldest first. The API server records a request
// shortly after its response, so use Until to wait for the event of a recent response.
func (c *ControlPlane) AuditEvents(f AuditFilter) ([]AuditEvent, error) {
	if c.auditLog == "" {
		return nil, errors.New("read the audit log: this control plane has none; start the control plane with Options.Audit")
	}
	file, err := os.Open(c.auditLog)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the audit log: %w", err)
	}
	defer func() { _ = file.Close() }() // opened for reading
	if f.From > 0 {
		// A partial line at that offset belongs to an earlier record.
		if _, err := file.Seek(f.From-1, io.SeekStart); err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
	}
	lines := bufio.NewReader(file)
	if f.From > 0 {
		if _, err := lines.ReadBytes('\n'); err != nil && !errors.Is(err, io.EOF) {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
	}
	return readAudit(lines, f)
}

// AuditEnd returns the current length of the audit log in bytes, for AuditFilter.From.
func (c *ControlPlane) AuditEnd() int64 {
	info, err := os.Stat(c.auditLog)
	if err != nil {
		return 0 // not created yet
	}
	return info.Size()
}

// readAudit reads complete lines; the last line may be incomplete.
func readAudit(lines *bufio.Reader, f AuditFilter) ([]AuditEvent, error) {
	var selected []AuditEvent
	for {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return selected, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read the audit log: %w", err)
		}
		if !f.mayMatch(line) {
			continue
		}
		event, err := parseAudit(line)
		if err != nil {
			return nil, err
		}
		if f.Matches(event) {
			selected = append(selected, event)
		}
	}
}

// mayMatch looks for the names in the raw line, because parsing all lines of a long log takes seconds.
func (f AuditFilter) mayMatch(line []byte) bool {
	for _, name := range []string{f.User, f.Namespace} {
		if name != "" && !bytes.Contains(line, []byte(`"`+name+`"`)) {
			return false
		}
	}
	return true
}

// parseAudit reads the required fields of an audit.k8s.io/v1 Event.
func parseAudit(line []byte) (AuditEvent, error) {
	var e struct {
		Verb      string `json:"verb"`
		UserAgent string `json:"userAgent"`
		User      struct {
			Username string `json:"username"`
		} `json:"user"`
		ObjectRef struct {
			Group       string `json:"apiGroup"`
			Resource    string `json:"resource"`
			Subresource string `json:"subresource"`
			Namespace   string `json:"namespace"`
			Name        string `json:"name"`
		} `json:"objectRef"`
		ResponseStatus struct {
			Code int `json:"code"`
		} `json:"responseStatus"`
		RequestReceivedTimestamp time.Time `json:"requestReceivedTimestamp"`
		StageTimestamp           time.Time `json:"stageTimestamp"`
	}
	if err := json.Unmarshal(line, &e); err != nil {
		return AuditEvent{}, fmt.Errorf("parse an event of the audit log: %w", err)
	}
	return AuditEvent{
		User: e.User.Username, UserAgent: e.UserAgent, Verb: e.Verb,
		Group: e.ObjectRef.Group, Resource: e.ObjectRef.Resource, Subresource: e.ObjectRef.Subresource,
		Namespace: e.ObjectRef.Namespace, Name: e.ObjectRef.Name,
		Code: e.ResponseStatus.Code, Time: e.RequestReceivedTimestamp, Answered: e.StageTimestamp,
	}, nil
}
