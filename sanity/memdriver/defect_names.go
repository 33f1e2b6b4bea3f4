// SPDX-License-Identifier: Apache-2.0

package memdriver

import "slices"

// The defects, by the part of the driver they are in.
const (
	// ListensElsewhere: the driver binds another path than COSI_ENDPOINT.
	ListensElsewhere Defect = "binds another path than COSI_ENDPOINT"
	// AcceptsTCP: the driver runs on when COSI_ENDPOINT is no UNIX socket.
	AcceptsTCP Defect = "runs on when COSI_ENDPOINT is no UNIX socket"
	// AcceptsAnySuffix: the driver listens on a path that does not end with .sock.
	AcceptsAnySuffix Defect = "listens on a path that does not end with .sock"
	// HangsWithoutEndpoint: the driver runs on silently without COSI_ENDPOINT.
	HangsWithoutEndpoint Defect = "runs on silently without COSI_ENDPOINT"
	// NoProvisioner: the driver serves Identity only.
	NoProvisioner Defect = "serves Identity only"
	// NeighbourFile: the driver keeps a lock file beside the socket.
	NeighbourFile Defect = "keeps a lock file beside the socket"
	// KeepsStaleSocket: the driver does not remove a stale socket before listening.
	KeepsStaleSocket Defect = "does not remove a stale socket before listening"
	// FailsOnTerminate: the driver exits with 3 after SIGTERM.
	FailsOnTerminate Defect = "exits with 3 after SIGTERM"
	// LeavesSocket: the driver leaves its socket behind after SIGTERM.
	LeavesSocket Defect = "leaves its socket behind after SIGTERM"
	// OpenSocket: the driver makes the socket writable for everybody.
	OpenSocket Defect = "makes the socket writable for everybody"
	// EndsWithClient: the driver ends with its first client.
	EndsWithClient Defect = "ends with its first client"
	// ShortensPath: the driver binds another path when the given one is too long.
	ShortensPath Defect = "binds another path when the given one is too long"
	// LogsToFile: the driver logs to a file.
	LogsToFile Defect = "logs to a file"
	// LogsSecrets: the driver logs answers unredacted.
	LogsSecrets Defect = "logs answers unredacted"
	// ReservedVariable: the driver reads a variable of its own with the prefix COSI_.
	ReservedVariable Defect = "reads a variable of its own with the prefix COSI_"
	// LeaksDescriptors: the driver leaks a descriptor with every call.
	LeaksDescriptors Defect = "leaks a descriptor with every call"
	// CatchesUnknownMethods: the driver answers unknown methods with Internal.
	CatchesUnknownMethods Defect = "answers unknown methods with Internal"
	// EmptyMessages: the driver refuses without a message.
	EmptyMessages Defect = "refuses without a message"
	// StatusDetails: the driver attaches details to refusals.
	StatusDetails Defect = "attaches details to refusals"
	// OddCodes: the driver refuses some revokes with a code of its own.
	OddCodes Defect = "refuses some revokes with a code of its own"
	// VagueRefusals: the driver does not name the field it refuses.
	VagueRefusals Defect = "does not name the field it refuses"
	// AcceptsUnknownEnums: the driver does not check enum values.
	AcceptsUnknownEnums Defect = "does not check enum values"
	// OversizedAnswer: the driver answers an endpoint of 3000 bytes.
	OversizedAnswer Defect = "answers an endpoint of 3000 bytes"
	// AcceptsUnknownParameters: the driver ignores parameters it does not know.
	AcceptsUnknownParameters Defect = "ignores parameters it does not know"
	// AcceptsOversizedParameters: the driver does not look at parameters at all.
	AcceptsOversizedParameters Defect = "does not look at parameters at all"
	// RefusesUnknownFields: the driver refuses fields it does not know.
	RefusesUnknownFields Defect = "refuses fields it does not know"
	// LoginIsInternal: the driver reports a refused login as Internal.
	LoginIsInternal Defect = "reports a refused login as Internal"
	// TerminalWhenDown: the driver reports a backend that is down as InvalidArgument.
	TerminalWhenDown Defect = "reports a backend that is down as InvalidArgument"
	// SecretInMessage: the driver puts the secret of an account into a status message.
	SecretInMessage Defect = "puts the secret of an account into a status message"
	// BusyIsInternal: the driver answers a second call for one ID with Internal.
	BusyIsInternal Defect = "answers a second call for one ID with Internal"
	// NoName: the driver answers no name.
	NoName Defect = "answers no name"
	// LongName: the driver answers a name of more than 63 characters.
	LongName Defect = "answers a name of more than 63 characters"
	// BadName: the driver answers a name with an underscore.
	BadName Defect = "answers a name with an underscore"
	// OneLabelName: the driver answers a name that is no domain name.
	OneLabelName Defect = "answers a name that is no domain name"
	// NameCountsCalls: the driver answers another name every time.
	NameCountsCalls Defect = "answers another name every time"
	// NoProtocols: the driver answers no protocol.
	NoProtocols Defect = "answers no protocol"
	// UnknownProtocol: the driver answers the protocol UNKNOWN beside its own.
	UnknownProtocol Defect = "answers the protocol UNKNOWN beside its own"
	// RepeatedProtocol: the driver answers a protocol twice.
	RepeatedProtocol Defect = "answers a protocol twice"
	// InfoNeedsBackend: the driver asks the backend before it says who it is.
	InfoNeedsBackend Defect = "asks the backend before it says who it is"
	// NoBucketID: the driver answers no bucket ID.
	NoBucketID Defect = "answers no bucket ID"
	// AcceptsEmptyName: the driver makes a bucket ID of an empty name.
	AcceptsEmptyName Defect = "makes a bucket ID of an empty name"
	// RandomIDs: the driver appends random text to bucket IDs.
	RandomIDs Defect = "appends random text to bucket IDs"
	// TruncatesNames: the driver cuts names to 27 characters for the bucket ID.
	TruncatesNames Defect = "cuts names to 27 characters for the bucket ID"
	// TruncatesLongNames: the driver cuts names to 200 characters for the bucket ID.
	TruncatesLongNames Defect = "cuts names to 200 characters for the bucket ID"
	// OddCharacters: the driver puts a colon into bucket IDs.
	OddCharacters Defect = "puts a colon into bucket IDs"
	// RestartChangesIDs: the driver makes other bucket IDs after a restart.
	RestartChangesIDs Defect = "makes other bucket IDs after a restart"
	// CreatesInPhaseOne: the driver creates the bucket with its ID.
	CreatesInPhaseOne Defect = "creates the bucket with its ID"
	// AcceptsInvalidParameters: the driver does not check parameter values of buckets.
	AcceptsInvalidParameters Defect = "does not check parameter values of buckets"
	// AcceptsAnyProtocol: the driver does not check the protocols of a new bucket.
	AcceptsAnyProtocol Defect = "does not check the protocols of a new bucket"
	// EmptyProtocolsIsInternal: the driver answers Internal when no protocols are asked for.
	EmptyProtocolsIsInternal Defect = "answers Internal when no protocols are asked for"
	// NeedsProtocols: the driver refuses an empty list of protocols without saying so.
	NeedsProtocols Defect = "refuses an empty list of protocols without saying so"
	// NoBucketInfo: the driver answers a creation without info.
	NoBucketInfo Defect = "answers a creation without info"
	// CreateAcceptsEmptyID: the driver creates a bucket without an ID.
	CreateAcceptsEmptyID Defect = "creates a bucket without an ID"
	// SecondCreateFails: the driver answers AlreadyExists for its own bucket.
	SecondCreateFails Defect = "answers AlreadyExists for its own bucket"
	// MovingEndpoint: the driver describes a bucket differently when it exists already.
	MovingEndpoint Defect = "describes a bucket differently when it exists already"
	// SecondBucketOnRepeat: the driver makes another bucket when a creation is repeated.
	SecondBucketOnRepeat Defect = "makes another bucket when a creation is repeated"
	// OnlyFirstProtocol: the driver supports only its first protocol whatever is asked for.
	OnlyFirstProtocol Defect = "supports only its first protocol whatever is asked for"
	// NeverComparesParameters: the driver does not compare parameters with those of the existing bucket.
	NeverComparesParameters Defect = "does not compare parameters with those of the existing bucket"
	// ChangesBeforeComparing: the driver takes over the parameters of a request it then refuses.
	ChangesBeforeComparing Defect = "takes over the parameters of a request it then refuses"
	// OffersMoreThanItSays: the driver describes a protocol that DriverGetInfo does not name.
	OffersMoreThanItSays Defect = "describes a protocol that DriverGetInfo does not name"
	// CreatesBeforeChecking: the driver creates the bucket before it checks parameters.
	CreatesBeforeChecking Defect = "creates the bucket before it checks parameters"
	// CreateAcceptsAnyProtocol: the driver checks protocols in phase 1 only.
	CreateAcceptsAnyProtocol Defect = "checks protocols in phase 1 only"
	// HalfCreated: the driver leaves a cancelled creation in a state it takes for a foreign bucket.
	HalfCreated Defect = "leaves a cancelled creation in a state it takes for a foreign bucket"
	// NeedsGeneratedInMemory: the driver creates only buckets whose ID this process generated.
	NeedsGeneratedInMemory Defect = "creates only buckets whose ID this process generated"
	// CredentialInInfo: the driver answers an endpoint with user and password.
	CredentialInInfo Defect = "answers an endpoint with user and password"
	// ForgetsStyleAndScheme: the driver answers an endpoint without scheme, and an unknown style.
	ForgetsStyleAndScheme Defect = "answers an endpoint without scheme, and an unknown style"
	// PublicBuckets: the driver makes buckets that anybody can read.
	PublicBuckets Defect = "makes buckets that anybody can read"
	// AdoptsForeign: the driver takes over a bucket of somebody else.
	AdoptsForeign Defect = "takes over a bucket of somebody else"
	// GetWithoutInfo: the driver describes an existing bucket without info.
	GetWithoutInfo Defect = "describes an existing bucket without info"
	// MissingIsInternal: the driver answers Internal for a missing bucket.
	MissingIsInternal Defect = "answers Internal for a missing bucket"
	// GetAcceptsEmptyID: the driver looks for a bucket without an ID.
	GetAcceptsEmptyID Defect = "looks for a bucket without an ID"
	// GetIgnoresParameters: the driver does not compare parameters with those of the bucket it finds.
	GetIgnoresParameters Defect = "does not compare parameters with those of the bucket it finds"
	// GetAcceptsAnyProtocol: the driver does not check protocols when it finds a bucket.
	GetAcceptsAnyProtocol Defect = "does not check protocols when it finds a bucket"
	// GetAdopts: the driver makes something in the backend when it finds a bucket.
	GetAdopts Defect = "makes something in the backend when it finds a bucket"
	// FindsOnlyItsOwn: the driver does not find a bucket it did not make.
	FindsOnlyItsOwn Defect = "does not find a bucket it did not make"
	// NegativeCache: the driver remembers that a bucket was missing.
	NegativeCache Defect = "remembers that a bucket was missing"
	// FindsDeletedBuckets: the driver finds buckets it has deleted.
	FindsDeletedBuckets Defect = "finds buckets it has deleted"
	// GetDescribesOtherwise: the driver describes a bucket otherwise than its creation did.
	GetDescribesOtherwise Defect = "describes a bucket otherwise than its creation did"
	// DeleteDoesNothing: the driver answers OK to a deletion and deletes nothing.
	DeleteDoesNothing Defect = "answers OK to a deletion and deletes nothing"
	// MissingDeleteFails: the driver answers Internal when the bucket to delete is missing.
	MissingDeleteFails Defect = "answers Internal when the bucket to delete is missing"
	// SecondDeleteFails: the driver answers NotFound when a bucket is deleted twice.
	SecondDeleteFails Defect = "answers NotFound when a bucket is deleted twice"
	// DeleteAcceptsEmptyID: the driver deletes a bucket without an ID.
	DeleteAcceptsEmptyID Defect = "deletes a bucket without an ID"
	// ParsesIDs: the driver refuses to delete an ID it cannot parse.
	ParsesIDs Defect = "refuses to delete an ID it cannot parse"
	// DeletesByPrefix: the driver deletes every bucket whose ID begins with the given one.
	DeletesByPrefix Defect = "deletes every bucket whose ID begins with the given one"
	// DeleteCache: the driver remembers what it deleted and does not look again.
	DeleteCache Defect = "remembers what it deleted and does not look again"
	// ForgetsOnRestart: the driver deletes only buckets this process knows.
	ForgetsOnRestart Defect = "deletes only buckets this process knows"
	// DeleteIsStrict: the driver refuses to delete with a parameter it does not know.
	DeleteIsStrict Defect = "refuses to delete with a parameter it does not know"
	// LiveAccessIsInternal: the driver answers Internal when a bucket to delete is still granted.
	LiveAccessIsInternal Defect = "answers Internal when a bucket to delete is still granted"
	// EmptiesByHalf: the driver removes objects of a bucket it then refuses to delete.
	EmptiesByHalf Defect = "removes objects of a bucket it then refuses to delete"
	// NoAccountID: the driver answers no account ID.
	NoAccountID Defect = "answers no account ID"
	// AcceptsEmptyAccountName: the driver makes an account ID of an empty name.
	AcceptsEmptyAccountName Defect = "makes an account ID of an empty name"
	// RandomAccountIDs: the driver appends random text to account IDs.
	RandomAccountIDs Defect = "appends random text to account IDs"
	// TruncatesAccountNames: the driver cuts names to 200 characters for the account ID.
	TruncatesAccountNames Defect = "cuts names to 200 characters for the account ID"
	// RestartChangesAccountIDs: the driver makes other account IDs after a restart.
	RestartChangesAccountIDs Defect = "makes other account IDs after a restart"
	// GrantsInPhaseOne: the driver makes the account with its ID.
	GrantsInPhaseOne Defect = "makes the account with its ID"
	// AcceptsNoBuckets: the driver makes an access to no bucket.
	AcceptsNoBuckets Defect = "makes an access to no bucket"
	// AcceptsAnyAuthentication: the driver does not check the authentication type.
	AcceptsAnyAuthentication Defect = "does not check the authentication type"
	// AcceptsNoServiceAccount: the driver does not need the name of a service account.
	AcceptsNoServiceAccount Defect = "does not need the name of a service account"
	// OutOfRangeForOne: the driver answers OutOfRange for a mode it does not support.
	OutOfRangeForOne Defect = "answers OutOfRange for a mode it does not support"
	// MultiBucketIsInvalid: the driver answers InvalidArgument where it should say OutOfRange.
	MultiBucketIsInvalid Defect = "answers InvalidArgument where it should say OutOfRange"
	// AccessByAnyProtocol: the driver does not check the protocol of an access.
	AccessByAnyProtocol Defect = "does not check the protocol of an access"
	// AcceptsNoMode: the driver makes an access without any access mode.
	AcceptsNoMode Defect = "makes an access without any access mode"
	// AcceptsRepeatedBuckets: the driver takes the same bucket twice.
	AcceptsRepeatedBuckets Defect = "takes the same bucket twice"
	// UnsupportedModeIsUnimplemented: the driver answers Unimplemented for WriteOnly.
	UnsupportedModeIsUnimplemented Defect = "answers Unimplemented for WriteOnly"
	// NeverComparesAccounts: the driver does not compare a grant with the existing account.
	NeverComparesAccounts Defect = "does not compare a grant with the existing account"
	// AcceptsInvalidAccessParameters: the driver does not check parameter values of accesses.
	AcceptsInvalidAccessParameters Defect = "does not check parameter values of accesses"
	// ExtraProtocolInGrant: the driver describes a granted bucket by a second protocol.
	ExtraProtocolInGrant Defect = "describes a granted bucket by a second protocol"
	// ForgetsRegion: the driver answers a grant by S3 without the region.
	ForgetsRegion Defect = "answers a grant by S3 without the region"
	// LocalTimeExpiry: the driver writes the expiry of an Azure token in its own form.
	LocalTimeExpiry Defect = "writes the expiry of an Azure token in its own form"
	// HalfHMAC: the driver answers a GCS secret without its ID.
	HalfHMAC Defect = "answers a GCS secret without its ID"
	// RepeatsBucketInAnswer: the driver describes a granted bucket twice.
	RepeatsBucketInAnswer Defect = "describes a granted bucket twice"
	// GrantAcceptsEmptyID: the driver makes an account without an ID.
	GrantAcceptsEmptyID Defect = "makes an account without an ID"
	// SecondGrantFails: the driver answers AlreadyExists for its own account.
	SecondGrantFails Defect = "answers AlreadyExists for its own account"
	// SecondKeyOnRepeat: the driver makes one more key with every repeated grant.
	SecondKeyOnRepeat Defect = "makes one more key with every repeated grant"
	// RotatesOnRepeat: the driver replaces the key with every repeated grant.
	RotatesOnRepeat Defect = "replaces the key with every repeated grant"
	// DeadKeyOnRepeat: the driver answers a repeated grant with a key that no longer works.
	DeadKeyOnRepeat Defect = "answers a repeated grant with a key that no longer works"
	// SecondAccountOnRepeat: the driver makes one more account with every repeated grant.
	SecondAccountOnRepeat Defect = "makes one more account with every repeated grant"
	// SecretForServiceAccount: the driver answers a static secret for a service account.
	SecretForServiceAccount Defect = "answers a static secret for a service account"
	// AccountBeforeBucket: the driver makes the account before it looks for the bucket.
	AccountBeforeBucket Defect = "makes the account before it looks for the bucket"
	// MissingBucketIsTerminal: the driver answers InvalidArgument when a bucket to grant is missing.
	MissingBucketIsTerminal Defect = "answers InvalidArgument when a bucket to grant is missing"
	// GrantsNothing: the driver makes an account without any permission.
	GrantsNothing Defect = "makes an account without any permission"
	// CannotList: the driver grants no reading at all.
	CannotList Defect = "grants no reading at all"
	// IgnoresReadOnly: the driver grants writing where ReadOnly was asked.
	IgnoresReadOnly Defect = "grants writing where ReadOnly was asked"
	// IgnoresWriteOnly: the driver grants reading where WriteOnly was asked.
	IgnoresWriteOnly Defect = "grants reading where WriteOnly was asked"
	// IgnoresMetadataModes: the driver grants writing object metadata always.
	IgnoresMetadataModes Defect = "grants writing object metadata always"
	// RefusesOpenModes: the driver insists on every access mode.
	RefusesOpenModes Defect = "insists on every access mode"
	// GrantsEverywhere: the driver grants access to all buckets.
	GrantsEverywhere Defect = "grants access to all buckets"
	// GrantsAdministration: the driver grants administration of the bucket with access to its objects.
	GrantsAdministration Defect = "grants administration of the bucket with access to its objects"
	// GrantsFirstBucketOnly: the driver grants only the first of several buckets.
	GrantsFirstBucketOnly Defect = "grants only the first of several buckets"
	// DerivedSecrets: the driver derives secrets from the account ID.
	DerivedSecrets Defect = "derives secrets from the account ID"
	// LostPolicyUpdate: the driver writes policies back without a lock.
	LostPolicyUpdate Defect = "writes policies back without a lock"
	// HalfGranted: the driver takes a grant that was cancelled for a foreign account.
	HalfGranted Defect = "takes a grant that was cancelled for a foreign account"
	// AccountsInMemory: the driver knows only accounts this process granted.
	AccountsInMemory Defect = "knows only accounts this process granted"
	// GrantsOnlyItsOwn: the driver grants access only to buckets it made.
	GrantsOnlyItsOwn Defect = "grants access only to buckets it made"
	// RotationKeepsNothing: the driver drops the previous key when it rotates.
	RotationKeepsNothing Defect = "drops the previous key when it rotates"
	// KeepsAllKeys: the driver drops no key when it rotates.
	KeepsAllKeys Defect = "drops no key when it rotates"
	// RevokeKeepsKeys: the driver answers OK to a revoke and revokes nothing.
	RevokeKeepsKeys Defect = "answers OK to a revoke and revokes nothing"
	// RevokeForgetsKeys: the driver removes the account and leaves its keys.
	RevokeForgetsKeys Defect = "removes the account and leaves its keys"
	// RevokeKeepsPolicy: the driver leaves the account in the policies of buckets.
	RevokeKeepsPolicy Defect = "leaves the account in the policies of buckets"
	// UnknownAccountFails: the driver answers Internal for an account it does not know.
	UnknownAccountFails Defect = "answers Internal for an account it does not know"
	// UngrantedAccountFails: the driver answers Internal for an account that was never granted.
	UngrantedAccountFails Defect = "answers Internal for an account that was never granted"
	// SecondRevokeFails: the driver answers NotFound when an account is revoked twice.
	SecondRevokeFails Defect = "answers NotFound when an account is revoked twice"
	// RevokeAcceptsEmptyID: the driver revokes an account without an ID.
	RevokeAcceptsEmptyID Defect = "revokes an account without an ID"
	// RevokeClearsPolicy: the driver removes all accounts from the policy of the bucket.
	RevokeClearsPolicy Defect = "removes all accounts from the policy of the bucket"
	// RevokeDeletesObjects: the driver deletes the objects of the bucket with the access.
	RevokeDeletesObjects Defect = "deletes the objects of the bucket with the access"
	// RevokeNeedsBucket: the driver cannot revoke when the bucket is gone.
	RevokeNeedsBucket Defect = "cannot revoke when the bucket is gone"
	// RevokesFirstBucketOnly: the driver revokes only the first of several buckets.
	RevokesFirstBucketOnly Defect = "revokes only the first of several buckets"
	// RevokeCache: the driver remembers what it revoked and does not look again.
	RevokeCache Defect = "remembers what it revoked and does not look again"
	// RevokeIsStrict: the driver refuses to revoke with a parameter it does not know.
	RevokeIsStrict Defect = "refuses to revoke with a parameter it does not know"
)

// All returns every defect, in a fixed order.
func All() []Defect {
	all := []Defect{
		ListensElsewhere,
		AcceptsTCP,
		AcceptsAnySuffix,
		HangsWithoutEndpoint,
		NoProvisioner,
		NeighbourFile,
		KeepsStaleSocket,
		FailsOnTerminate,
		LeavesSocket,
		OpenSocket,
		EndsWithClient,
		ShortensPath,
		LogsToFile,
		LogsSecrets,
		ReservedVariable,
		LeaksDescriptors,
		CatchesUnknownMethods,
		EmptyMessages,
		StatusDetails,
		OddCodes,
		VagueRefusals,
		AcceptsUnknownEnums,
		OversizedAnswer,
		AcceptsUnknownParameters,
		AcceptsOversizedParameters,
		RefusesUnknownFields,
		LoginIsInternal,
		TerminalWhenDown,
		SecretInMessage,
		BusyIsInternal,
		NoName,
		LongName,
		BadName,
		OneLabelName,
		NameCountsCalls,
		NoProtocols,
		UnknownProtocol,
		RepeatedProtocol,
		InfoNeedsBackend,
		NoBucketID,
		AcceptsEmptyName,
		RandomIDs,
		TruncatesNames,
		TruncatesLongNames,
		OddCharacters,
		RestartChangesIDs,
		CreatesInPhaseOne,
		AcceptsInvalidParameters,
		AcceptsAnyProtocol,
		EmptyProtocolsIsInternal,
		NeedsProtocols,
		NoBucketInfo,
		CreateAcceptsEmptyID,
		SecondCreateFails,
		MovingEndpoint,
		SecondBucketOnRepeat,
		OnlyFirstProtocol,
		NeverComparesParameters,
		ChangesBeforeComparing,
		OffersMoreThanItSays,
		CreatesBeforeChecking,
		CreateAcceptsAnyProtocol,
		HalfCreated,
		NeedsGeneratedInMemory,
		CredentialInInfo,
		ForgetsStyleAndScheme,
		PublicBuckets,
		AdoptsForeign,
		GetWithoutInfo,
		MissingIsInternal,
		GetAcceptsEmptyID,
		GetIgnoresParameters,
		GetAcceptsAnyProtocol,
		GetAdopts,
		FindsOnlyItsOwn,
		NegativeCache,
		FindsDeletedBuckets,
		GetDescribesOtherwise,
		DeleteDoesNothing,
		MissingDeleteFails,
		SecondDeleteFails,
		DeleteAcceptsEmptyID,
		ParsesIDs,
		DeletesByPrefix,
		DeleteCache,
		ForgetsOnRestart,
		DeleteIsStrict,
		LiveAccessIsInternal,
		EmptiesByHalf,
		NoAccountID,
		AcceptsEmptyAccountName,
		RandomAccountIDs,
		TruncatesAccountNames,
		RestartChangesAccountIDs,
		GrantsInPhaseOne,
		AcceptsNoBuckets,
		AcceptsAnyAuthentication,
		AcceptsNoServiceAccount,
		OutOfRangeForOne,
		MultiBucketIsInvalid,
		AccessByAnyProtocol,
		AcceptsNoMode,
		AcceptsRepeatedBuckets,
		UnsupportedModeIsUnimplemented,
		NeverComparesAccounts,
		AcceptsInvalidAccessParameters,
		ExtraProtocolInGrant,
		ForgetsRegion,
		LocalTimeExpiry,
		HalfHMAC,
		RepeatsBucketInAnswer,
		GrantAcceptsEmptyID,
		SecondGrantFails,
		SecondKeyOnRepeat,
		RotatesOnRepeat,
		DeadKeyOnRepeat,
		SecondAccountOnRepeat,
		SecretForServiceAccount,
		AccountBeforeBucket,
		MissingBucketIsTerminal,
		GrantsNothing,
		CannotList,
		IgnoresReadOnly,
		IgnoresWriteOnly,
		IgnoresMetadataModes,
		RefusesOpenModes,
		GrantsEverywhere,
		GrantsAdministration,
		GrantsFirstBucketOnly,
		DerivedSecrets,
		LostPolicyUpdate,
		HalfGranted,
		AccountsInMemory,
		GrantsOnlyItsOwn,
		RotationKeepsNothing,
		KeepsAllKeys,
		RevokeKeepsKeys,
		RevokeForgetsKeys,
		RevokeKeepsPolicy,
		UnknownAccountFails,
		UngrantedAccountFails,
		SecondRevokeFails,
		RevokeAcceptsEmptyID,
		RevokeClearsPolicy,
		RevokeDeletesObjects,
		RevokeNeedsBucket,
		RevokesFirstBucketOnly,
		RevokeCache,
		RevokeIsStrict,
	}
	slices.Sort(all)
	return all
}
