// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// The parameters the driver knows.
const (
	parameterTier  = "tier"
	parameterForce = "deleteNonEmpty"
	parameterNote  = "note"

	tierHot  = "hot"
	tierCold = "cold"
)

// Options configure a Driver.
type Options struct {
	// Store is the storage system behind the driver.
	Store *Store
	// Profile is what the driver offers. The zero value is the default profile.
	Profile Profile
	// Defects are the mistakes the driver makes.
	Defects Defects
	// Log receives one line for every call. Nil: none.
	Log *slog.Logger
}

// Driver implements both services of the contract. It remembers nothing that its store does not
// hold, unless a defect makes it.
type Driver struct {
	cosi.UnimplementedIdentityServer
	cosi.UnimplementedProvisionerServer

	store   *Store
	profile Profile
	defects Defects
	log     *slog.Logger

	mu     sync.Mutex
	busy   map[string]chan struct{} // by ID; closed when a second call has met the first
	memory map[string]string
	calls  int
}

// New returns a driver on a store.
func New(options Options) *Driver {
	d := &Driver{
		store: options.Store, profile: options.Profile, defects: options.Defects, log: options.Log,
		busy: map[string]chan struct{}{}, memory: map[string]string{},
	}
	if d.store == nil {
		d.store = NewStore("")
	}
	if d.profile.Name == "" {
		d.profile = Wide()
	}
	if d.log == nil {
		d.log = slog.New(slog.DiscardHandler)
	}
	return d
}

func (d *Driver) has(defect Defect) bool { return d.defects[defect] }

// lock reserves an ID; a second call for it is told to come back, and met is closed.
func (d *Driver) lock(id string) (met <-chan struct{}, unlock func(), err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if first, busy := d.busy[id]; busy {
		select {
		case <-first:
		default:
			close(first)
		}
		// Grants are quick here, and would meet each other by chance.
		if d.has(BusyIsInternal) && strings.HasPrefix(id, "bucket ") {
			return nil, nil, status.Errorf(codes.Internal, "%s is busy", id)
		}
		return nil, nil, status.Errorf(codes.Aborted, "another call for %s is running; repeat this one", id)
	}
	first := make(chan struct{})
	d.busy[id] = first
	return first, func() {
		d.mu.Lock()
		defer d.mu.Unlock()
		delete(d.busy, id)
	}, nil
}

// remember and recall are for defects that keep state in the process.
func (d *Driver) remember(key, value string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.memory[key] = value
}

func (d *Driver) recall(key string) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	_, found := d.memory[key]
	return found
}

// fromStore gives an error of the store its code; errors with a code pass.
func (d *Driver) fromStore(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, errDown) && d.has(TerminalWhenDown):
		return status.Error(codes.InvalidArgument, err.Error())
	case errors.Is(err, errDown):
		return status.Error(codes.Unavailable, err.Error())
	case errors.Is(err, errRefused) && d.has(LoginIsInternal):
		return status.Error(codes.Internal, err.Error())
	case errors.Is(err, errRefused):
		return status.Error(codes.Unauthenticated, err.Error())
	case errors.Is(err, context.Canceled):
		return status.Error(codes.Canceled, err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return status.Error(codes.DeadlineExceeded, err.Error())
	}
	if _, hasCode := status.FromError(err); hasCode {
		return err
	}
	return status.Error(codes.Internal, err.Error())
}

// DriverGetInfo implements cosi.IdentityServer.
func (d *Driver) DriverGetInfo(context.Context, *cosi.DriverGetInfoRequest) (*cosi.DriverGetInfoResponse, error) {
	if d.has(InfoNeedsBackend) {
		if err := d.store.driver(func(*state) error { return nil }); err != nil {
			return nil, d.fromStore(err)
		}
	}
	d.mu.Lock()
	d.calls++
	calls := d.calls
	d.mu.Unlock()
	return d.info(calls), nil
}

// info is the response to the n-th call.
func (d *Driver) info(calls int) *cosi.DriverGetInfoResponse {
	info := &cosi.DriverGetInfoResponse{Name: d.profile.Name, KeepsDisallowedAccessModes: !d.has(UnawareOfDisallowedModes)}
	for _, protocol := range d.profile.Protocols {
		info.SupportedProtocols = append(info.SupportedProtocols, &cosi.ObjectProtocol{Type: protocol})
	}
	switch {
	case d.has(NoName):
		info.Name = ""
	case d.has(LongName):
		info.Name = strings.Repeat("memory.", 9) + "example"
	case d.has(BadName):
		info.Name = "memory_driver.example.com"
	case d.has(OneLabelName):
		info.Name = "memory"
	case d.has(NameCountsCalls):
		info.Name = fmt.Sprintf("memory-%d.example.com", calls)
	}
	switch {
	case d.has(NoProtocols):
		info.SupportedProtocols = nil
	case d.has(UnknownProtocol):
		info.SupportedProtocols = append(info.SupportedProtocols, &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_UNKNOWN})
	case d.has(RepeatedProtocol):
		info.SupportedProtocols = append(info.SupportedProtocols, info.GetSupportedProtocols()[0])
	}
	return info
}

// check refuses a request that breaks the rules of its fields.
func (d *Driver) check(request proto.Message) error {
	err := cosi.ValidateRequest(request)
	if err == nil {
		return nil
	}
	var field *cosi.FieldError
	if errors.As(err, &field) && d.overlooks(request, field) {
		return nil
	}
	if d.has(VagueRefusals) {
		return status.Error(codes.InvalidArgument, "bad request")
	}
	return status.Error(codes.InvalidArgument, err.Error())
}

// overlooks reports whether a defect makes the driver accept a broken field.
func (d *Driver) overlooks(request proto.Message, field *cosi.FieldError) bool {
	name, required := field.Field, field.Problem == "is required"
	if found := strings.Contains(name, "["); found && strings.HasSuffix(name, "bucket_id") && strings.Contains(field.Problem, "repeats") {
		return d.has(AcceptsRepeatedBuckets)
	}
	if strings.HasPrefix(field.Problem, "gives no access mode") {
		return d.has(AcceptsNoMode)
	}
	if name == "parameters" {
		return d.has(AcceptsOversizedParameters)
	}
	if strings.Contains(field.Problem, "unknown value") {
		return d.has(AcceptsUnknownEnums)
	}
	switch request.(type) {
	case *cosi.DriverGenerateBucketIdRequest:
		return required && d.has(AcceptsEmptyName)
	case *cosi.DriverCreateBucketRequest:
		return required && d.has(CreateAcceptsEmptyID)
	case *cosi.DriverGetBucketRequest:
		return required && d.has(GetAcceptsEmptyID)
	case *cosi.DriverDeleteBucketRequest:
		return required && name == "bucket_id" && d.has(DeleteAcceptsEmptyID)
	case *cosi.DriverGenerateBucketAccessIdRequest:
		return required && name == "account_name" && d.has(AcceptsEmptyAccountName) ||
			required && name == "buckets" && d.has(AcceptsNoBuckets) ||
			strings.HasPrefix(field.Problem, "is required with") && d.has(AcceptsNoServiceAccount)
	case *cosi.DriverGrantBucketAccessRequest:
		return required && name == "account_id" && d.has(GrantAcceptsEmptyID) ||
			strings.HasPrefix(field.Problem, "is required with") && d.has(AcceptsNoServiceAccount)
	case *cosi.DriverRevokeBucketAccessRequest:
		return required && name == "account_id" && d.has(RevokeAcceptsEmptyID)
	default:
		return false
	}
}

// checkBucketParameters refuses what the driver does not know.
func (d *Driver) checkBucketParameters(parameters map[string]string) error {
	for key, value := range parameters {
		switch key {
		case parameterTier:
			if value != tierHot && value != tierCold && !d.has(AcceptsInvalidParameters) {
				return status.Errorf(codes.InvalidArgument, "parameter %s: %q is neither %s nor %s", key, value, tierHot, tierCold)
			}
		case parameterForce:
		default:
			if !d.has(AcceptsUnknownParameters) && !d.has(AcceptsOversizedParameters) {
				return status.Errorf(codes.InvalidArgument, "parameter %q is not known; known are %s and %s", key, parameterTier, parameterForce)
			}
		}
	}
	return nil
}

func (d *Driver) checkProtocols(protocols []*cosi.ObjectProtocol) error {
	for _, protocol := range protocols {
		if !slices.Contains(d.profile.Protocols, protocol.GetType()) && !d.has(AcceptsUnknownEnums) {
			return status.Errorf(codes.InvalidArgument, "protocols: %s is not supported; supported are %v", protocol.GetType(), d.profile.Protocols)
		}
	}
	return nil
}

// idOf makes an ID of a name: the name itself, or its hash.
func (d *Driver) idOf(name string) string {
	switch {
	case d.has(RandomIDs):
		return name + "-" + randomText(8)
	case d.has(TruncatesNames) && len(name) > 27:
		return name[:27]
	case d.has(TruncatesLongNames) && len(name) > 200:
		return name[:200]
	case d.has(OddCharacters):
		return name + ":1"
	}
	if cosi.ValidateBucketID(name) == nil {
		return name
	}
	sum := sha256.Sum256([]byte(name))
	return hex.EncodeToString(sum[:])
}
