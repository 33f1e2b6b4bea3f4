// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"

	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// A kind is what an entry describes.
type kind string

const (
	bucketKind  kind = "bucket"
	accountKind kind = "account"
)

// named is the store's name of the entry of a bucket or account that the adapter creates.
func (k kind) named(name string) string { return string(k) + " " + name }

// owned is the store's name of the entry that records to which name a driver's ID belongs. The entry of an imported
// bucket has no name, but the request of the import. That of a bucket from before the adapter has neither.
func (k kind) owned(id string) string { return string(k) + "-id " + id }

// maxDriverID is the maximum length of a driver's ID in bytes. The name of its entry must fit into the store's limit.
const maxDriverID = cosi.MaxIDLength - len(accountKind+"-id ")

// An entry is the stored state of a bucket or account. In the store it is one secret, because it contains the
// credential.
type entry[Q, A proto.Message] struct {
	// name is the requested name, or empty for an import.
	name string
	// request is the first request. It is repeated if the driver's ID is needed and unknown.
	request Q
	// id is the driver's ID, or empty while it is unknown. The ID's owned entry is written before.
	id string
	// buckets are the driver's IDs of an account's buckets, in the order of the request.
	buckets []string
	// response is the response that repeated requests get, or nil while there is no valid one.
	response A

	// key is the name in the store, version the version there, which is empty for a new entry.
	key, version string
}

type (
	bucketEntry  = entry[*cosi.DriverCreateBucketRequest, *cosi.DriverCreateBucketResponse]
	accountEntry = entry[*cosi.DriverGrantBucketAccessRequest, *cosi.DriverGrantBucketAccessResponse]
)

// stored is the stored form of an entry.
type stored struct {
	Name     string          `json:"name,omitempty"`
	Request  json.RawMessage `json:"request,omitempty"`
	ID       string          `json:"id,omitempty"`
	Buckets  []string        `json:"buckets,omitempty"`
	Response json.RawMessage `json:"response,omitempty"`
}

// stateID is the public half of the credential that holds an entry.
const stateID = "state"

// readEntry returns the entry with a key, or nil.
func readEntry[Q, A proto.Message](ctx context.Context, store credentials.Store, key string) (*entry[Q, A], error) {
	kept, err := store.Get(ctx, key)
	if errors.Is(err, credentials.ErrNotFound) {
		return nil, nil //nolint:nilnil // none is not an error
	}
	if err != nil {
		return nil, credentials.StoreError(key, err)
	}
	state, e := stored{}, &entry[Q, A]{key: key, version: kept.Version}
	err = json.Unmarshal([]byte(kept.Current.Secret.Reveal()), &state)
	if err == nil {
		e.name, e.id, e.buckets = state.Name, state.ID, state.Buckets
		err = errors.Join(decode(state.Request, &e.request), decode(state.Response, &e.response))
	}
	if err != nil { // without the texts of the parsers, which quote their input
		return nil, credentials.StoreError(key, fmt.Errorf("%w: it is not an entry of this adapter", credentials.ErrCorrupt))
	}
	return e, nil
}

// writeEntry stores an entry. It returns Aborted if another process has changed it since it was read. The note makes the
// version of each write unique, because a directory derives it from the content.
func writeEntry[Q, A proto.Message](ctx context.Context, store credentials.Store, e *entry[Q, A]) error {
	request, err := encode(e.request)
	response, invalid := encode(e.response)
	data, failed := json.Marshal(stored{Name: e.name, Request: request, ID: e.id, Buckets: e.buckets, Response: response})
	if err := errors.Join(err, invalid, failed); err != nil {
		return driverkit.Internal("the adapter cannot encode its entry %s", e.key)
	}
	kept, err := store.Put(ctx, credentials.Entry{
		Account: e.key, Version: e.version, Current: credentials.Credential{ID: stateID, Secret: cosi.NewSecret(string(data))},
		Notes: map[string]string{"write": rand.Text()},
	})
	if err != nil {
		return credentials.StoreError(e.key, err)
	}
	e.version = kept.Version
	return nil
}

func encode(message proto.Message) (json.RawMessage, error) {
	if !message.ProtoReflect().IsValid() {
		return nil, nil
	}
	return protojson.Marshal(message) //nolint:wrapcheck // the caller replaces it
}

func decode[M proto.Message](data json.RawMessage, into *M) error {
	if len(data) == 0 {
		return nil
	}
	message, ok := (*into).ProtoReflect().New().Interface().(M)
	if !ok {
		return fmt.Errorf("%T has another type", *into)
	}
	*into = message
	return protojson.UnmarshalOptions{DiscardUnknown: true}.Unmarshal(data, message) //nolint:wrapcheck // the caller replaces it
}

// drop deletes the entry with a key. A missing entry is success.
func (a *Adapter) drop(ctx context.Context, key string) error {
	if err := a.store.Delete(ctx, key); err != nil {
		return credentials.StoreError(key, err)
	}
	return nil
}

// dropRefused deletes a new entry if the driver refused its request, and returns the driver's error.
func (a *Adapter) dropRefused(ctx context.Context, key string, refusal error) error {
	if !refused(refusal) {
		return refusal
	}
	if err := a.drop(ctx, key); err != nil {
		return err
	}
	return refusal
}

func (a *Adapter) bucket(ctx context.Context, key string) (*bucketEntry, error) {
	return readEntry[*cosi.DriverCreateBucketRequest, *cosi.DriverCreateBucketResponse](ctx, a.store, key)
}

func (a *Adapter) account(ctx context.Context, key string) (*accountEntry, error) {
	return readEntry[*cosi.DriverGrantBucketAccessRequest, *cosi.DriverGrantBucketAccessResponse](ctx, a.store, key)
}

// bucketWithID returns the entry of an ID that an adapter generated, or nil. It fails if the entry is lost.
func (a *Adapter) bucketWithID(ctx context.Context, id string) (*bucketEntry, error) {
	name, _ := nameOf(id)
	e, err := a.bucket(ctx, bucketKind.named(name))
	if err == nil && e == nil {
		err = a.checkStore(ctx, id)
	}
	return e, err
}

// accountWithID is bucketWithID for accounts.
func (a *Adapter) accountWithID(ctx context.Context, id string) (*accountEntry, error) {
	name, _ := nameOf(id)
	e, err := a.account(ctx, accountKind.named(name))
	if err == nil && e == nil {
		err = a.checkStore(ctx, id)
	}
	return e, err
}

// errTaken is the detail of an error for a driver's ID that belongs to another name.
var errTaken = errors.New("the driver's ID belongs to another name")

// claim records that a driver's ID belongs to a name, before the ID is stored in the entry of that name. If the ID
// belongs to another name or to an import, the error wraps errTaken: deleting one of the two would delete the data of
// both.
func (a *Adapter) claim(ctx context.Context, k kind, id, name string) error {
	owner, err := a.bucket(ctx, k.owned(id))
	switch {
	case err != nil:
		return err
	case owner == nil:
		return writeEntry(ctx, a.store, &bucketEntry{key: k.owned(id), name: name})
	case owner.name == name:
		return nil
	case owner.name == "":
		return driverkit.AlreadyExists("the vendor's driver returned %s %q for %q, but it was imported, or created before the adapter was installed. An administrator must check the driver", k, id, name).WithDetail(errTaken)
	default: // without the other name, because the user of this one reads the message
		return driverkit.AlreadyExists("the vendor's driver returned %s %q for %q, but had returned it for another name before. An administrator must check the driver", k, id, name).WithDetail(errTaken)
	}
}

// owns reports whether a driver's ID belongs to a name. After a deletion at the backend it belongs to none.
func (a *Adapter) owns(ctx context.Context, k kind, id, name string) (bool, error) {
	owner, err := a.bucket(ctx, k.owned(id))
	return owner != nil && owner.name == name, err
}

// checkNotOwned returns an error if the adapter created the bucket or account with this driver's ID, which can then
// be deleted only by the adapter's ID.
func (a *Adapter) checkNotOwned(ctx context.Context, k kind, id string) error {
	owner, err := a.bucket(ctx, k.owned(id))
	if err != nil || owner == nil || owner.name == "" {
		return err
	}
	prefix, err := a.prefix(ctx)
	if err != nil {
		return err
	}
	return driverkit.FailedPrecondition("%s %q of the vendor's driver is not deleted, because it is in use by ID %s%s", k, id, prefix, owner.name)
}

// nothing reports whether an attempt to find a driver's ID shows that there is nothing to delete for the name.
func nothing(err error) bool { return refused(err) || errors.Is(err, errTaken) }
