// SPDX-License-Identifier: Apache-2.0

package sanity

import (
	"slices"
	"strings"

	cosi "github.com/cooper-cosi/cooper/proto"
)

// lacks returns why a case with these needs is not applicable, or "" if it is.
func (s *suite) lacks(needs []Need) string {
	for _, need := range needs {
		if reason := s.lacking(need); reason != "" {
			return reason
		}
	}
	return ""
}

// noForeignBucket is why a case about a bucket with another owner is not applicable.
const noForeignBucket = "there is no fixture hook for a bucket of another owner (hooks.takeName)"

func (s *suite) lacking(need Need) string {
	_, missing := s.missingProtocol()
	foreign, isForeign := s.config.Fixture.(interface{ CanTakeNames() bool })
	_, canTake := s.config.Fixture.(ForeignFixture)
	canTake = canTake && (!isForeign || foreign.CanTakeNames())
	conditions := map[Need]struct {
		met    bool
		reason string
	}{
		NeedProcess:         {s.config.Launcher != nil, "the target is a running driver, which the suite cannot stop and start"},
		NeedDataPlane:       {s.probed(), "credentials are not tested: dataPlane is disabled, or no prober supports a protocol of the driver"},
		NeedInventory:       {s.config.Inventory != nil, "there is no inventory hook (hooks.inventory)"},
		NeedFixture:         {s.config.Fixture != nil, "there is no fixture hook (hooks.makeBucket)"},
		NeedForeignBucket:   {canTake, noForeignBucket},
		NeedBackendFaults:   {s.canBreak(BackendDown), "there is no hook to stop the backend (hooks.break)"},
		NeedRefusedLogin:    {s.canBreak(LoginRefused), "there is no hook to let the backend reject the driver's credentials (hooks.break)"},
		NeedIncompatible:    {s.config.Params.Incompatible != nil, "no incompatible parameters are configured (parameters.incompatible)"},
		NeedInvalid:         {s.config.Params.Invalid != nil, "no invalid parameters are configured (parameters.invalid)"},
		NeedInvalidAccess:   {s.config.Params.InvalidAccess != nil, "no invalid access parameters are configured (parameters.invalidAccess)"},
		NeedS3:              {slices.Contains(s.offered(), cosi.ObjectProtocol_S3), "the driver does not support protocol S3"},
		NeedAzure:           {slices.Contains(s.offered(), cosi.ObjectProtocol_AZURE), "the driver does not support protocol AZURE"},
		NeedGCS:             {slices.Contains(s.offered(), cosi.ObjectProtocol_GCS), "the driver does not support protocol GCS"},
		NeedMissingProtocol: {missing, "the driver supports every protocol"},
		NeedKey:             {s.authenticates(cosi.AuthenticationType_KEY), "the configuration declares that the driver does not support authentication type KEY"},
		NeedOwnCredential:   {!s.config.SharedCredential, "the configuration declares that the store has no accounts and all accesses have the same credential"},
		NeedServiceAccount:  {s.authenticates(cosi.AuthenticationType_SERVICE_ACCOUNT), "the configuration does not declare that the driver supports authentication type SERVICE_ACCOUNT (authentication)"},
		NeedRotation:        {s.config.Rotation, "the configuration does not declare that the driver supports the field rotation (rotation)"},
		NeedUsage:           {s.hasUsage(), "the open files of the driver's process cannot be read"},
		NeedNonEmptyPolicy:  {s.config.NonEmptyDelete != "", "the configuration does not declare how the driver handles a bucket that contains data (nonEmptyDelete)"},
		NeedKeptModes:       {s.info.GetKeepsDisallowedAccessModes(), "DriverGetInfo does not announce that the driver enforces disallowed access modes (keeps_disallowed_access_modes)"},
		NeedCreation:        {!s.config.CreatesNothing, "the configuration declares that the driver creates no buckets and uses existing ones"},
		NeedChangeable:      {len(s.info.GetChangeableBucketParameters()) > 0 && s.config.Params.Changed != nil, "DriverGetInfo lists no changeable parameters (changeable_bucket_parameters), or no changed ones are configured (parameters.changed)"},
		NeedUnkeptModes:     {!s.info.GetKeepsDisallowedAccessModes(), "DriverGetInfo announces that the driver enforces disallowed access modes, which ACC-GRT-031 (MUST) tests"},
	}
	if c, known := conditions[need]; !known || !c.met {
		return c.reason
	}
	return ""
}

func (s *suite) probed() bool {
	return slices.ContainsFunc(s.offered(), func(p cosi.ObjectProtocol_Type) bool { return s.config.Probers[p] != nil })
}

func (s *suite) canBreak(fault Fault) bool {
	return s.config.Backend != nil && s.config.Backend.Can(fault)
}

func (s *suite) authenticates(by cosi.AuthenticationType_Type) bool {
	return slices.Contains(s.authentication(), by)
}

func (s *suite) hasUsage() bool {
	_, can := s.driver.running().(Usage)
	return can
}

// String returns the name of the need in --list and --explain.
func (n Need) String() string {
	names := map[Need]string{
		NeedProcess: "process", NeedDataPlane: "data plane", NeedInventory: "inventory", NeedFixture: "fixture",
		NeedForeignBucket: "foreign bucket", NeedBackendFaults: "backend faults", NeedRefusedLogin: "refused login",
		NeedIncompatible: "incompatible parameters", NeedInvalid: "invalid parameters", NeedInvalidAccess: "invalid access parameters",
		NeedS3: "S3", NeedAzure: "Azure", NeedGCS: "GCS", NeedMissingProtocol: "an unsupported protocol", NeedKey: "KEY",
		NeedOwnCredential:  "own credentials",
		NeedServiceAccount: "SERVICE_ACCOUNT", NeedRotation: "rotation", NeedUsage: "process usage", NeedNonEmptyPolicy: "declared non-empty delete",
		NeedKeptModes: "disallowed modes announced", NeedUnkeptModes: "disallowed modes not announced",
		NeedCreation: "creation of buckets", NeedChangeable: "changeable parameters",
	}
	return names[n]
}

func needNames(needs []Need) string {
	names := make([]string, len(needs))
	for i, need := range needs {
		names[i] = need.String()
	}
	return strings.Join(names, ", ")
}
