// SPDX-License-Identifier: Apache-2.0

package memdriver

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// Options configure a Driver. The zero value is a driver for S3 with an empty store.
type Options struct {
	// Name is the driver's name. Default "memory.cooper.dev".
	Name string
	// Revision is the revision in the response to DriverGetInfo. Default empty.
	Revision string
	// Protocols that the driver supports. Default S3.
	Protocols []cosi.ObjectProtocol_Type
	// Authentication types that the driver supports. Default both.
	Authentication []cosi.AuthenticationType_Type
	// SingleBucket makes the driver refuse access to several buckets with OUT_OF_RANGE.
	SingleBucket bool
	// Parameters lists the known parameters of buckets with their allowed values. An empty list of values allows all
	// values. For unknown parameters the driver returns INVALID_ARGUMENT. Nil allows every parameter.
	Parameters map[string][]string
	// Changeable lists the parameters that can be changed on an existing bucket. Default none.
	Changeable []string
	// AccessParameters lists the known parameters of accesses in the same form.
	AccessParameters map[string][]string
	// Speaks is the generation of the contract that the driver implements. Default KEP-1979.
	Speaks Generation
	// NamesAsIDs makes a driver of an older generation use the requested names as IDs. By default it adds prefixes.
	NamesAsIDs bool
	// StaticPrefix is the prefix of the IDs of buckets that exist although the driver did not create them. Default none.
	StaticPrefix string
	// ServerOptions are passed to every gRPC server of the driver. Their interceptors wrap the driver's own, so a test
	// can observe the calls. Default none.
	ServerOptions []grpc.ServerOption
	// Store is the storage system of the driver. Default an empty one in memory.
	Store *Store
	// Defects are the mistakes that the driver makes. Default none.
	Defects Defects
	// Log receives one line for every call. Default none.
	Log *slog.Logger
}

// Driver implements both services of the contract. Buckets and accounts are in its Store. The Driver itself keeps only
// the record of calls, the scripted faults and hooks, and the state of defects. It is safe for concurrent use.
type Driver struct {
	cosi.UnimplementedIdentityServer
	cosi.UnimplementedProvisionerServer

	options Options
	store   *Store
	record  recorder
	script  script
	hooks   hooks

	mu     sync.Mutex
	info   *cosi.DriverGetInfoResponse
	memory map[string]string
	calls  int
}

// New returns a driver that uses the store in options.
func New(options Options) *Driver {
	if options.Name == "" {
		options.Name = "memory.cooper.dev"
	}
	if len(options.Protocols) == 0 {
		options.Protocols = []cosi.ObjectProtocol_Type{cosi.ObjectProtocol_S3}
	}
	if len(options.Authentication) == 0 {
		options.Authentication = []cosi.AuthenticationType_Type{cosi.AuthenticationType_KEY, cosi.AuthenticationType_SERVICE_ACCOUNT}
	}
	if options.Store == nil {
		options.Store = NewStore("")
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	info := &cosi.DriverGetInfoResponse{Name: options.Name, Revision: options.Revision, ChangeableBucketParameters: options.Changeable}
	for _, protocol := range options.Protocols {
		info.SupportedProtocols = append(info.SupportedProtocols, &cosi.ObjectProtocol{Type: protocol})
	}
	return &Driver{options: options, store: options.Store, info: info, memory: map[string]string{}}
}

// Store returns the driver's storage system.
func (d *Driver) Store() *Store { return d.store }

// SetInfo changes the response to DriverGetInfo, like a restart with another configuration. The other calls also use
// the changed list of protocols.
func (d *Driver) SetInfo(change func(*cosi.DriverGetInfoResponse)) {
	d.mu.Lock()
	defer d.mu.Unlock()
	change(d.info)
}

// Name returns the current name in the response to DriverGetInfo.
func (d *Driver) Name() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.info.GetName()
}

// supported returns the protocols in the response to DriverGetInfo.
func (d *Driver) supported() []cosi.ObjectProtocol_Type {
	d.mu.Lock()
	defer d.mu.Unlock()
	return types(d.info.GetSupportedProtocols())
}

func types(protocols []*cosi.ObjectProtocol) []cosi.ObjectProtocol_Type {
	var out []cosi.ObjectProtocol_Type
	for _, protocol := range protocols {
		out = append(out, protocol.GetType())
	}
	return out
}

func (d *Driver) has(defect Defect) bool { return d.options.Defects[defect] }

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

// fromStore adds the gRPC code to an error of the store; errors with a code are unchanged.
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
	defer d.mu.Unlock()
	d.calls++
	info := proto.CloneOf(d.info)
	info.KeepsDisallowedAccessModes = !d.has(UnawareOfDisallowedModes)
	d.spoilIdentity(info)
	return info, nil
}

// spoilIdentity applies the defects that change the response to DriverGetInfo. The caller holds d.mu.
func (d *Driver) spoilIdentity(info *cosi.DriverGetInfoResponse) {
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
		info.Name = fmt.Sprintf("memory-%d.example.com", d.calls)
	}
	switch {
	case d.has(NoProtocols):
		info.SupportedProtocols = nil
	case d.has(UnknownProtocol):
		info.SupportedProtocols = append(info.SupportedProtocols, &cosi.ObjectProtocol{Type: cosi.ObjectProtocol_UNKNOWN})
	case d.has(RepeatedProtocol):
		info.SupportedProtocols = append(info.SupportedProtocols, info.GetSupportedProtocols()[0])
	}
}

// check returns an error for a request that violates the rules of its fields.
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

// overlooks reports whether a defect makes the driver accept an invalid field.
func (d *Driver) overlooks(request proto.Message, field *cosi.FieldError) bool {
	name, required := field.Field, field.Problem == "is required"
	if found := strings.Contains(name, "["); found && strings.HasSuffix(name, "bucket_id") && strings.Contains(field.Problem, "repeats") {
		return d.has(AcceptsRepeatedBuckets)
	}
	if d.options.Speaks == V1alpha1 && name == "account_id" && !required {
		return true // v1alpha1 does not restrict the characters of an ID
	}
	if strings.HasPrefix(field.Problem, "has no access mode") {
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

// checkBucketParameters returns an error for unknown parameters.
func (d *Driver) checkBucketParameters(parameters map[string]string) error {
	return checkParameters(d.options.Parameters, parameters,
		d.has(AcceptsUnknownParameters) || d.has(AcceptsOversizedParameters), d.has(AcceptsInvalidParameters))
}

// checkParameters returns an error for unknown parameters, unless unknown is set, and for values that are not
// allowed, unless invalid is set.
func checkParameters(known map[string][]string, parameters map[string]string, unknown, invalid bool) error {
	if known == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(parameters)) {
		allowed, found := known[key]
		switch value := parameters[key]; {
		case !found && !unknown:
			return status.Errorf(codes.InvalidArgument, "unknown parameter %q; this driver supports: %s",
				key, strings.Join(slices.Sorted(maps.Keys(known)), ", "))
		case len(allowed) > 0 && !slices.Contains(allowed, value) && !invalid:
			return status.Errorf(codes.InvalidArgument, "parameter %s is %q, but must be one of: %s", key, value, strings.Join(allowed, ", "))
		}
	}
	return nil
}

func (d *Driver) checkProtocols(protocols []*cosi.ObjectProtocol) error {
	supported := d.supported()
	for _, protocol := range protocols {
		if !slices.Contains(supported, protocol.GetType()) && !d.has(AcceptsUnknownEnums) {
			return status.Errorf(codes.InvalidArgument, "protocols: %s is not supported; this driver supports %v", protocol.GetType(), supported)
		}
	}
	return nil
}

// idOf returns the ID for a name: the name itself or its hash.
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
