// SPDX-License-Identifier: Apache-2.0

package access

import (
	"slices"
	"strings"
)

// Operation is an operation of the Blob service, named as in its API reference.
type Operation string

// The operations.
const (
	GetServiceProperties   Operation = "GetBlobServiceProperties"
	SetServiceProperties   Operation = "SetBlobServiceProperties"
	GetServiceStats        Operation = "GetBlobServiceStats"
	PreflightBlobRequest   Operation = "PreflightBlobRequest"
	ListContainers         Operation = "ListContainers"
	GetAccountInformation  Operation = "GetAccountInformation"
	GetUserDelegationKey   Operation = "GetUserDelegationKey"
	BlobBatch              Operation = "BlobBatch"
	CreateContainer        Operation = "CreateContainer"
	GetContainerProperties Operation = "GetContainerProperties"
	SetContainerMetadata   Operation = "SetContainerMetadata"
	RestoreContainer       Operation = "RestoreContainer"
	DeleteContainer        Operation = "DeleteContainer"
	LeaseContainer         Operation = "LeaseContainer"
	GetContainerACL        Operation = "GetContainerACL"
	SetContainerACL        Operation = "SetContainerACL"
	ListBlobs              Operation = "ListBlobs"
	FindBlobs              Operation = "FindBlobsByTags"
	FindBlobsInContainer   Operation = "FindBlobsByTagsInContainer"
	PutBlob                Operation = "PutBlob"
	PutBlock               Operation = "PutBlock"
	PutBlockList           Operation = "PutBlockList"
	GetBlockList           Operation = "GetBlockList"
	AppendBlock            Operation = "AppendBlock"
	PutPage                Operation = "PutPage"
	GetPageRanges          Operation = "GetPageRanges"
	AppendBlobSeal         Operation = "AppendBlobSeal"
	GetBlob                Operation = "GetBlob"
	GetBlobProperties      Operation = "GetBlobProperties"
	GetBlobMetadata        Operation = "GetBlobMetadata"
	SetBlobMetadata        Operation = "SetBlobMetadata"
	SetBlobProperties      Operation = "SetBlobProperties"
	SetBlobTier            Operation = "SetBlobTier"
	SnapshotBlob           Operation = "SnapshotBlob"
	CopyBlob               Operation = "CopyBlob"
	AbortCopyBlob          Operation = "AbortCopyBlob"
	UndeleteBlob           Operation = "UndeleteBlob"
	LeaseBlob              Operation = "LeaseBlob"
	GetBlobTags            Operation = "GetBlobTags"
	SetBlobTags            Operation = "SetBlobTags"
	DeleteBlob             Operation = "DeleteBlob"
	DeleteBlobVersion      Operation = "DeleteBlobVersion"
	// Unknown is the operation of a request that matches no other operation.
	Unknown Operation = "Unknown"
)

// need is the permission that an operation requires: any one letter of each field.
type need struct {
	// resource is the signed resource type of an account SAS: s, c or o; "" for an operation that no account SAS allows.
	resource string
	// account and service are the permissions of an account SAS and of a service or user delegation SAS; "" allows none.
	account, service string
	// action is the operation's name in Azure role-based access control: a data action for blobs, and a control plane
	// action for containers and keys.
	action string
}

// isData reports whether an action is one that the DataActions of a role allow.
func isData(action string) bool { return strings.HasPrefix(action, actionBlobs) }

const (
	actionService    = "Microsoft.Storage/storageAccounts/blobServices/"
	actionContainers = actionService + "containers/"
	actionBlobs      = actionContainers + "blobs/"
	actionAdd        = actionBlobs + "add/action"
	actionDelegation = actionService + "generateUserDelegationKey/action"
)

// adds reports whether the permission to add blobs is sufficient for the operation. "Permissions for calling data
// operations" allows this if nothing is overwritten.
func adds(op Operation) bool {
	return op == PutBlob || op == AppendBlock || op == SnapshotBlob || op == CopyBlob
}

// Operations returns the names of all operations in order.
func Operations() []string {
	out := []string{string(Unknown)}
	for op := range needed {
		out = append(out, string(op))
	}
	slices.Sort(out)
	return out
}

// needed follows "Create an account SAS", "Create a service SAS" and "Authorize with Microsoft Entra ID" of the
// storage REST reference.
var needed = map[Operation]need{
	GetServiceProperties:   {"s", "r", "", actionService + "read"},
	SetServiceProperties:   {"s", "w", "", actionService + "write"},
	GetServiceStats:        {"s", "r", "", actionService + "read"},
	PreflightBlobRequest:   {}, // without credentials
	ListContainers:         {"s", "l", "", actionContainers + "read"},
	GetAccountInformation:  {"sco", "racwdlup", "racwdl", actionContainers + "read"},
	GetUserDelegationKey:   {"", "", "", actionDelegation},
	BlobBatch:              {"sco", accountOrder, permissionOrder, actionContainers + "write"},
	CreateContainer:        {"c", "cw", "", actionContainers + "write"},
	GetContainerProperties: {"c", "r", "", actionContainers + "read"},
	SetContainerMetadata:   {"c", "w", "", actionContainers + "write"},
	RestoreContainer:       {"c", "w", "", actionContainers + "write"},
	DeleteContainer:        {"c", "d", "", actionContainers + "delete"},
	LeaseContainer:         {"c", "w", "", actionContainers + "write"},
	GetContainerACL:        {"", "", "", actionContainers + "getAcl/action"},
	SetContainerACL:        {"", "", "", actionContainers + "setAcl/action"},
	ListBlobs:              {"c", "l", "l", actionBlobs + "read"},
	FindBlobs:              {"o", "f", "", actionBlobs + "filter/action"},
	FindBlobsInContainer:   {"c", "f", "f", actionBlobs + "filter/action"},
	PutBlob:                {"o", "cw", "cw", actionBlobs + "write"},
	PutBlock:               {"o", "w", "w", actionBlobs + "write"},
	PutBlockList:           {"o", "w", "w", actionBlobs + "write"},
	GetBlockList:           {"o", "r", "r", actionBlobs + "read"},
	AppendBlock:            {"o", "aw", "aw", actionBlobs + "write"},
	PutPage:                {"o", "w", "w", actionBlobs + "write"},
	GetPageRanges:          {"o", "r", "r", actionBlobs + "read"},
	AppendBlobSeal:         {"o", "w", "w", actionBlobs + "write"},
	GetBlob:                {"o", "r", "r", actionBlobs + "read"},
	GetBlobProperties:      {"o", "r", "r", actionBlobs + "read"},
	GetBlobMetadata:        {"o", "r", "r", actionBlobs + "read"},
	SetBlobMetadata:        {"o", "w", "w", actionBlobs + "write"},
	SetBlobProperties:      {"o", "w", "w", actionBlobs + "write"},
	SetBlobTier:            {"o", "w", "w", actionBlobs + "write"},
	SnapshotBlob:           {"o", "cw", "cw", actionBlobs + "write"},
	CopyBlob:               {"o", "cw", "cw", actionBlobs + "write"},
	AbortCopyBlob:          {"o", "w", "w", actionBlobs + "write"},
	UndeleteBlob:           {"o", "w", "w", actionBlobs + "write"},
	LeaseBlob:              {"o", "w", "w", actionBlobs + "write"},
	GetBlobTags:            {"o", "t", "t", actionBlobs + "tags/read"},
	SetBlobTags:            {"o", "t", "t", actionBlobs + "tags/write"},
	DeleteBlob:             {"o", "d", "d", actionBlobs + "delete"},
	DeleteBlobVersion:      {"o", "x", "x", actionBlobs + "deleteBlobVersion/action"},
}
