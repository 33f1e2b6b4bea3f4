// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/conditions"
	"github.com/cooper-cosi/cooper/testenv/controlplane"
)

const (
	// creators is how many users create at a time in a burst.
	creators = 8
	// patience is how long a step may take.
	patience = 15 * time.Minute
)

// A result is how long the claims and accesses of a step took.
type result struct {
	took             time.Duration
	spans            []span // of single pairs
	claims, accesses []time.Duration
	floors           map[int][]time.Duration // by the number of writes; of single pairs only
}

// A span is from the creation of a pair until it was seen to be ready.
type span struct{ began, ended time.Time }

// prepare creates the classes and waits until a first pair is served.
func (s *system) prepare(ctx context.Context) error {
	err := errors.Join(
		s.create(ctx, &cosiapi.BucketClass{
			ObjectMeta: metav1.ObjectMeta{Name: "bench"},
			Spec:       cosiapi.BucketClassSpec{DriverName: driverName, DeletionPolicy: cosiapi.DeletionPolicyDelete},
		}),
		s.create(ctx, &cosiapi.BucketAccessClass{
			ObjectMeta: metav1.ObjectMeta{Name: "bench"}, Spec: cosiapi.BucketAccessClassSpec{DriverName: driverName},
		}))
	if err != nil {
		return err
	}
	_, err = s.pairs(ctx, step{name: "warm", pairs: 1, single: true})
	return err
}

// createPair creates a claim and its access, which waits for the claim if it is
// to be single, and says when it asked for each.
func (s *system) createPair(ctx context.Context, seen *sightings, name string, single bool) (made, asked time.Time, err error) {
	claim, access := pair(name)
	made = time.Now()
	if err := s.create(ctx, claim); err != nil {
		return made, asked, err
	}
	if single {
		if err := seen.wait(ctx, "claim "+name); err != nil {
			return made, asked, err
		}
	}
	asked = time.Now()
	return made, asked, s.create(ctx, access)
}

// pairs creates the pairs of a step and waits for all of them.
func (s *system) pairs(ctx context.Context, of step) (result, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	seen, err := s.observe(ctx)
	if err != nil {
		return result{}, err
	}
	prefix := strings.ReplaceAll(of.name, " ", "-")
	began := time.Now()
	group, inGroup := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	if of.single {
		group.SetLimit(1)
	}
	var mu sync.Mutex
	var all result
	for i := range of.pairs {
		group.Go(func() error {
			name := fmt.Sprintf("%s-%d", prefix, i)
			made, asked, err := s.createPair(inGroup, seen, name, of.single)
			if err != nil {
				return err
			}
			mu.Lock()
			seen.created["claim "+name], seen.created["access "+name] = made, asked
			mu.Unlock()
			if !of.single {
				return nil
			}
			if err := seen.wait(inGroup, "access "+name); err != nil {
				return err
			}
			ended := time.Now()
			mu.Lock()
			defer mu.Unlock()
			all.spans = append(all.spans, span{began: made, ended: ended})
			return s.floors(inGroup, &all, name)
		})
	}
	if err := group.Wait(); err != nil {
		return result{}, fmt.Errorf("create the pairs: %w", err)
	}
	for name, made := range seen.created {
		if err := seen.wait(ctx, name); err != nil {
			return result{}, err
		}
		took := seen.at(name).Sub(made)
		if strings.HasPrefix(name, "claim ") {
			all.claims = append(all.claims, took)
		} else {
			all.accesses = append(all.accesses, took)
		}
	}
	all.took = time.Since(began)
	return all, nil
}

func pair(name string) (*cosiapi.BucketClaim, *cosiapi.BucketAccess) {
	meta := metav1.ObjectMeta{Namespace: namespace, Name: name}
	claim := &cosiapi.BucketClaim{
		ObjectMeta: meta,
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: "bench", Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
	access := &cosiapi.BucketAccess{
		ObjectMeta: meta,
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: "bench", Protocol: cosiapi.ProtocolS3,
			BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: name, AccessSecretName: name,
				AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
			}},
		},
	}
	return claim, access
}

// sightings are when objects were first seen to be provisioned.
type sightings struct {
	created map[string]time.Time

	mu      sync.Mutex
	when    map[string]time.Time
	changed chan struct{}
}

// observe watches claims and accesses until ctx ends.
func (s *system) observe(ctx context.Context) (*sightings, error) {
	seen := &sightings{created: map[string]time.Time{}, when: map[string]time.Time{}, changed: make(chan struct{})}
	for kind, list := range map[string]client.ObjectList{"claim ": &cosiapi.BucketClaimList{}, "access ": &cosiapi.BucketAccessList{}} {
		w, err := s.client.Watch(ctx, list, client.InNamespace(namespace))
		if err != nil {
			return nil, fmt.Errorf("watch %T: %w", list, err)
		}
		go func() {
			for event := range w.ResultChan() {
				seen.note(kind, event)
			}
		}()
		context.AfterFunc(ctx, w.Stop)
	}
	return seen, nil
}

func (v *sightings) note(kind string, event watch.Event) {
	now := time.Now()
	var conds []metav1.Condition
	var name string
	switch o := event.Object.(type) {
	case *cosiapi.BucketClaim:
		conds, name = o.Status.Conditions, o.Name
	case *cosiapi.BucketAccess:
		conds, name = o.Status.Conditions, o.Name
	}
	if !conditions.Is(conds, cosiapi.ConditionProvisioned, metav1.ConditionTrue) {
		return
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, known := v.when[kind+name]; !known {
		v.when[kind+name] = now
		close(v.changed)
		v.changed = make(chan struct{})
	}
}

func (v *sightings) at(name string) time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.when[name]
}

func (v *sightings) wait(ctx context.Context, name string) error {
	for {
		v.mu.Lock()
		_, there := v.when[name]
		changed := v.changed
		v.mu.Unlock()
		if there {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("the %s is not provisioned: %w", name, ctx.Err())
		}
	}
}

func quantile(all []time.Duration, q float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(all))
	return sorted[int(q*float64(len(sorted)-1))].Round(roundTo)
}

// restarted asserts that a sidecar that starts again makes neither writes nor
// calls when all is in order.
func (s *system) restarted(ctx context.Context) error {
	before, err := s.settledRequests(ctx)
	if err != nil {
		return err
	}
	if err := s.end("sidecar"); err != nil {
		return err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return err
	}
	if err := s.launchSidecar(address); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	accesses := &cosiapi.BucketAccessList{}
	if err := s.client.List(ctx, accesses, client.InNamespace(namespace)); err != nil {
		return fmt.Errorf("list accesses: %w", err)
	}
	var text string
	err = controlplane.Until(ctx, func(ctx context.Context) error {
		now, err := s.requests()
		if err != nil {
			return err
		}
		if n := now.secretReads - before.secretReads; n < len(accesses.Items) {
			return fmt.Errorf("it has looked at %d of %d Secrets", n, len(accesses.Items))
		}
		text, err = scrape(ctx, "http://"+address+"/metrics")
		return err
	})
	if err != nil {
		return fmt.Errorf("the restarted sidecar: %w", err)
	}
	after, err := s.settledRequests(ctx)
	if err != nil {
		return err
	}
	calls := 0
	for line := range strings.SplitSeq(text, "\n") {
		if strings.HasPrefix(line, "cosi_sidecar_operation_duration_seconds_count") && !strings.Contains(line, "DriverGetInfo") {
			calls++
		}
	}
	cost := after.minus(before)
	fmt.Printf("\na restarted sidecar over %d pairs: %d writes, %d kinds of calls\n", len(accesses.Items), cost.writes(), calls)
	return nil
}

func freeAddress(ctx context.Context) (string, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("free port: %w", err)
	}
	return listener.Addr().String(), listener.Close()
}

func scrape(ctx context.Context, url string) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", fmt.Errorf("metrics: %w", err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("metrics: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // only read
	body, err := io.ReadAll(response.Body)
	return string(body), err
}
