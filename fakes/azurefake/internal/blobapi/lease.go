// SPDX-License-Identifier: Apache-2.0

package blobapi

import (
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"

	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/azerr"
	"github.com/cooper-cosi/cooper/fakes/azurefake/internal/store"
)

// leaseResponse is the response to a lease action.
type leaseResponse struct {
	status int
	id     string
	// left is the number of seconds until a broken lease ends, or -1 for other actions.
	left int
}

// lease performs the action that the headers name.
func (c *Call) lease(l store.Lease) (store.Lease, leaseResponse, error) {
	now, h := c.api.Now(), c.r.Header
	id := c.leaseID()
	switch h.Get("X-Ms-Lease-Action") {
	case "acquire":
		return acquire(l, h, now)
	case "renew":
		if id == "" {
			return l, leaseResponse{}, azerr.MissingHeader
		}
		next, err := l.Renew(id, now)
		return next, leaseResponse{http.StatusOK, id, -1}, err
	case "change":
		proposed, err := proposedID(h, false)
		if id == "" || err != nil {
			return l, leaseResponse{}, azerr.MissingHeader
		}
		next, err := l.Change(id, proposed, now)
		return next, leaseResponse{http.StatusOK, proposed, -1}, err
	case "release":
		if id == "" {
			return l, leaseResponse{}, azerr.MissingHeader
		}
		next, err := l.Release(id, now)
		return next, leaseResponse{http.StatusOK, "", -1}, err
	case "break":
		period, err := breakPeriod(h)
		if err != nil {
			return l, leaseResponse{}, err
		}
		next, left, err := l.Break(period, now)
		return next, leaseResponse{http.StatusAccepted, "", left}, err
	case "":
		return l, leaseResponse{}, azerr.MissingHeader
	}
	return l, leaseResponse{}, azerr.InvalidHeaderValue
}

func acquire(l store.Lease, h http.Header, now time.Time) (store.Lease, leaseResponse, error) {
	value := h.Get("X-Ms-Lease-Duration")
	if value == "" {
		return l, leaseResponse{}, azerr.MissingHeader
	}
	seconds, err := strconv.Atoi(value)
	if err != nil || (seconds != -1 && (seconds < 15 || seconds > 60)) {
		return l, leaseResponse{}, azerr.InvalidHeaderValue
	}
	id, err := proposedID(h, true)
	if err != nil {
		return l, leaseResponse{}, err
	}
	next, err := l.Acquire(id, time.Duration(seconds)*time.Second, now)
	return next, leaseResponse{http.StatusCreated, id, -1}, err
}

func proposedID(h http.Header, optional bool) (string, error) {
	id := h.Get("X-Ms-Proposed-Lease-Id")
	if id == "" {
		if optional {
			return uuid.NewString(), nil
		}
		return "", azerr.MissingHeader
	}
	if _, err := uuid.Parse(id); err != nil {
		return "", azerr.InvalidHeaderValue
	}
	return id, nil
}

func breakPeriod(h http.Header) (*time.Duration, error) {
	value := h.Get("X-Ms-Lease-Break-Period")
	if value == "" {
		return nil, nil
	}
	seconds, err := strconv.Atoi(value)
	if err != nil || seconds < 0 || seconds > 60 {
		return nil, azerr.InvalidHeaderValue
	}
	d := time.Duration(seconds) * time.Second
	return &d, nil
}

func (a leaseResponse) write(w http.ResponseWriter, etag string, modified time.Time) {
	setState(w, etag, modified)
	setUnlessEmpty(w, "X-Ms-Lease-Id", a.id)
	if a.left >= 0 {
		w.Header().Set("X-Ms-Lease-Time", strconv.Itoa(a.left))
	}
	w.WriteHeader(a.status)
}

func (c *Call) leaseContainer(w http.ResponseWriter) error {
	var response leaseResponse
	found, err := c.api.Store.ChangeContainer(c.Target.Account, c.Target.Container, func(found *store.Container) error {
		err := c.fulfilled(stateOfContainer(*found), false)
		if err != nil {
			return err
		}
		found.Lease, response, err = c.lease(found.Lease)
		return err
	})
	if err != nil {
		return err
	}
	response.write(w, found.ETag, found.Modified)
	return nil
}

func (c *Call) leaseBlob(w http.ResponseWriter) error {
	var response leaseResponse
	var current *store.Blob
	err := c.api.Store.Change(c.ref(), func(e *store.Change) error {
		if e.Current == nil {
			return azerr.BlobNotFound
		}
		current = e.Current
		err := c.fulfilled(stateOf(current), false)
		if err == nil {
			err = online(current)
		}
		if err != nil {
			return err
		}
		e.Lease, response, err = c.lease(e.Lease)
		return err
	})
	if err != nil {
		return err
	}
	response.write(w, current.ETag, current.Modified)
	return nil
}

func (c *Call) ref() store.Ref {
	return store.Ref{Account: c.Target.Account, Container: c.Target.Container, Name: c.Target.Blob}
}
