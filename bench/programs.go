// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// programs adds to the bare floor the costs that are unavoidable with two programs. The KEP separates a
// controller, which must not call a driver, from a sidecar, which must not read a claim. Each change that one
// of them or the user waits for therefore arrives through a watch, so the client waits at these places for a
// watch event of its write. It calls the driver in two phases, writes the binding where the KEP requires it,
// concurrently with the objects that the claim waits for, and reads a class live before an irreversible step. Independent
// operations run concurrently.
type programs struct {
	seen *sightings
	// driver is nil unless it is the bench's own, because other drivers may have other requirements.
	driver cosi.ProvisionerClient
	// asides are the writes that are not waited for until finished.
	asides errgroup.Group
}

// newPrograms returns a function that creates the programs of a pair. They are valid until ctx ends.
func (s *system) newPrograms(ctx context.Context) (func() *programs, error) {
	seen, err := s.observeFloor(ctx)
	if err != nil {
		return nil, err
	}
	var driver cosi.ProvisionerClient
	if of := s.drivers[0]; s.what.servesOurs() && of.counts() {
		conn, err := grpc.NewClient("unix://"+of.socket, grpc.WithTransportCredentials(insecure.NewCredentials()))
		if err != nil {
			return nil, fmt.Errorf("connect to the driver of the floor: %w", err)
		}
		context.AfterFunc(ctx, func() { _ = conn.Close() })
		driver = cosi.NewProvisionerClient(conn)
	}
	return func() *programs { return &programs{seen: seen, driver: driver} }, nil
}

// shown waits for the watch event of the last write.
func (p *floorPair) shown(k kind, object client.Object) write {
	return func(ctx context.Context, _ client.Client) error {
		if p.programs == nil {
			return nil
		}
		_, err := p.programs.seen.await(ctx, sighting{
			kind: k, fact: fact(object.GetResourceVersion()), of: pair{namespace: object.GetNamespace(), name: object.GetName()},
		})
		return err
	}
}

// together performs writes concurrently. In the bare floor they are sequential.
func (p *floorPair) together(all ...write) write {
	return func(ctx context.Context, c client.Client) error {
		var group errgroup.Group
		if p.programs == nil {
			group.SetLimit(1)
		}
		for _, one := range all {
			group.Go(func() error { return one(ctx, c) })
		}
		return group.Wait()
	}
}

// read reads an object live.
func (p *floorPair) read(object client.Object) write {
	key := client.ObjectKeyFromObject(object)
	into := object.DeepCopyObject().(client.Object)
	return func(ctx context.Context, c client.Client) error {
		if p.programs == nil {
			return nil
		}
		return c.Get(ctx, key, into)
	}
}

// aside starts a write in the background. finished waits for it.
func (p *floorPair) aside(one write) write {
	return func(ctx context.Context, c client.Client) error {
		if p.programs != nil {
			p.programs.asides.Go(func() error { return one(ctx, c) })
		}
		return nil
	}
}

func (p *floorPair) finished() write {
	return func(context.Context, client.Client) error {
		if p.programs == nil {
			return nil
		}
		return p.programs.asides.Wait()
	}
}

// call calls the driver.
func (p *floorPair) call(rpc func(context.Context, cosi.ProvisionerClient, *floorPair) error) write {
	return func(ctx context.Context, _ client.Client) error {
		if p.programs == nil || p.programs.driver == nil {
			return nil
		}
		return rpc(ctx, p.programs.driver, p)
	}
}

func generateBucketID(ctx context.Context, driver cosi.ProvisionerClient, p *floorPair) error {
	_, err := driver.DriverGenerateBucketId(ctx, &cosi.DriverGenerateBucketIdRequest{Name: p.bucket.Name, Protocols: []*cosi.ObjectProtocol{s3()}})
	return err
}

func createBucket(ctx context.Context, driver cosi.ProvisionerClient, p *floorPair) error {
	_, err := driver.DriverCreateBucket(ctx, &cosi.DriverCreateBucketRequest{BucketId: p.bucket.Name, Protocols: []*cosi.ObjectProtocol{s3()}})
	return err
}

func generateAccountID(ctx context.Context, driver cosi.ProvisionerClient, p *floorPair) error {
	_, err := driver.DriverGenerateBucketAccessId(ctx, &cosi.DriverGenerateBucketAccessIdRequest{
		AccountName: p.access.Name, Protocol: s3(), AuthenticationType: key(), Buckets: p.accessed(),
	})
	return err
}

func grantAccess(ctx context.Context, driver cosi.ProvisionerClient, p *floorPair) error {
	_, err := driver.DriverGrantBucketAccess(ctx, &cosi.DriverGrantBucketAccessRequest{
		AccountId: p.access.Name, Protocol: s3(), AuthenticationType: key(), Buckets: p.accessed(),
	})
	return err
}

func s3() *cosi.ObjectProtocol { return &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_S3} }

func key() *cosi.AuthenticationType {
	return &cosi.AuthenticationType{Type: cosi.AuthenticationType_KEY}
}

func (p *floorPair) accessed() []*cosi.AccessedBucket {
	readWrite := &cosi.AccessMode{Mode: cosi.AccessMode_READ_WRITE}
	return []*cosi.AccessedBucket{{BucketId: p.bucket.Name, ObjectDataAccessMode: readWrite}}
}
