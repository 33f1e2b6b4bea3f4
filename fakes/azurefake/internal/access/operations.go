// SPDX-License-Identifier: Apache-2.0

package access

// Operation is a call of the Blob service by the name that its API reference gives it.
type Operation string

// The operations.
const (
	ListContainers         Operation = "ListContainers"
	GetAccountInformation  Operation = "GetAccountInformation"
	GetUserDelegationKey   Operation = "GetUserDelegationKey"
	CreateContainer        Operation = "CreateContainer"
	GetContainerProperties Operation = "GetContainerProperties"
	SetContainerMetadata   Operation = "SetContainerMetadata"
	DeleteContainer        Operation = "DeleteContainer"
	LeaseContainer         Operation = "LeaseContainer"
	GetContainerACL        Operation = "GetContainerACL"
	SetContainerACL        Operation = "SetContainerACL"
	ListBlobs              Operation = "ListBlobs"
	PutBlob                Operation = "PutBlob"
	PutBlock               Operation = "PutBlock"
	PutBlockList           Operation = "PutBlockList"
	GetBlockList           Operation = "GetBlockList"
	AppendBlock            Operation = "AppendBlock"
	AppendBlobSeal         Operation = "AppendBlobSeal"
	GetBlob                Operation = "GetBlob"
	GetBlobProperties      Operation = "GetBlobProperties"
	GetBlobMetadata        Operation = "GetBlobMetadata"
	SetBlobMetadata        Operation = "SetBlobMetadata"
	SetBlobProperties      Operation = "SetBlobProperties"
	SetBlobTier            Operation = "SetBlobTier"
	SnapshotBlob           Operation = "SnapshotBlob"
	CopyBlob               Operation = "CopyBlob"
	LeaseBlob              Operation = "LeaseBlob"
	GetBlobTags            Operation = "GetBlobTags"
	SetBlobTags            Operation = "SetBlobTags"
	DeleteBlob             Operation = "DeleteBlob"
	DeleteBlobVersion      Operation = "DeleteBlobVersion"
	// Unknown is a request that is none of these.
	Unknown Operation = "Unknown"
)

// need is what an operation asks of a caller: any one letter of each field.
type need struct {
	// resource is the signed resource type of an account SAS: s, c or o; "" for an operation that no account SAS allows.
	resource string
	// account and service are the permissions of an account SAS and of a service or user delegation SAS; "" allows none.
	account, service string
	// action is the data action of Azure's role-based access control.
	action string
}

const (
	actionContainers = "Microsoft.Storage/storageAccounts/blobServices/containers/"
	actionBlobs      = actionContainers + "blobs/"
	actionDelegation = "Microsoft.Storage/storageAccounts/blobServices/generateUserDelegationKey/action"
)

// needs follows "Create an account SAS", "Create a service SAS" and "Authorize with Microsoft Entra ID" of the
// storage REST reference.
func needs(op Operation) need {
	table := map[Operation]need{
		ListContainers:         {"s", "l", "", actionContainers + "read"},
		GetAccountInformation:  {"sco", "racwdlup", "racwdl", actionContainers + "read"},
		GetUserDelegationKey:   {"", "", "", actionDelegation},
		CreateContainer:        {"c", "cw", "", actionContainers + "write"},
		GetContainerProperties: {"c", "r", "", actionContainers + "read"},
		SetContainerMetadata:   {"c", "w", "", actionContainers + "write"},
		DeleteContainer:        {"c", "d", "", actionContainers + "delete"},
		LeaseContainer:         {"c", "w", "", actionContainers + "write"},
		GetContainerACL:        {"", "", "", actionContainers + "getAcl/action"},
		SetContainerACL:        {"", "", "", actionContainers + "setAcl/action"},
		ListBlobs:              {"c", "l", "l", actionBlobs + "read"},
		PutBlob:                {"o", "cw", "cw", actionBlobs + "write"},
		PutBlock:               {"o", "w", "w", actionBlobs + "write"},
		PutBlockList:           {"o", "w", "w", actionBlobs + "write"},
		GetBlockList:           {"o", "r", "r", actionBlobs + "read"},
		AppendBlock:            {"o", "aw", "aw", actionBlobs + "write"},
		AppendBlobSeal:         {"o", "w", "w", actionBlobs + "write"},
		GetBlob:                {"o", "r", "r", actionBlobs + "read"},
		GetBlobProperties:      {"o", "r", "r", actionBlobs + "read"},
		GetBlobMetadata:        {"o", "r", "r", actionBlobs + "read"},
		SetBlobMetadata:        {"o", "w", "w", actionBlobs + "write"},
		SetBlobProperties:      {"o", "w", "w", actionBlobs + "write"},
		SetBlobTier:            {"o", "w", "w", actionBlobs + "write"},
		SnapshotBlob:           {"o", "cw", "cw", actionBlobs + "write"},
		CopyBlob:               {"o", "cw", "cw", actionBlobs + "write"},
		LeaseBlob:              {"o", "w", "w", actionBlobs + "write"},
		GetBlobTags:            {"o", "t", "t", actionBlobs + "tags/read"},
		SetBlobTags:            {"o", "t", "t", actionBlobs + "tags/write"},
		DeleteBlob:             {"o", "d", "d", actionBlobs + "delete"},
		DeleteBlobVersion:      {"o", "x", "x", actionBlobs + "deleteBlobVersion/action"},
	}
	return table[op]
}

// Role is a role definition by the name and ID that Azure gives it.
type Role struct {
	Name, ID string
	// Actions are patterns of data actions: a trailing * matches the rest.
	Actions []string
}

// Roles are the built-in roles that are about blobs.
func Roles() []Role {
	return []Role{
		{"Storage Blob Data Owner", "b7e6dc6d-f1e8-4753-8033-0f276bb0955b", []string{actionContainers + "*", actionDelegation}},
		{"Storage Blob Data Contributor", "ba92f5b4-2d11-453d-a403-e96b0029c9fe", []string{
			actionContainers + "read", actionContainers + "write", actionContainers + "delete", actionDelegation,
			actionBlobs + "read", actionBlobs + "write", actionBlobs + "delete", actionBlobs + "add/action", actionBlobs + "move/action",
		}},
		{"Storage Blob Data Reader", "2a2b9908-6ea1-4ae2-8e65-a410df84e7d1", []string{actionContainers + "read", actionBlobs + "read", actionDelegation}},
		{"Storage Blob Delegator", "db58b8e5-c6ad-4a2d-8342-4190687cbf4a", []string{actionDelegation}},
	}
}
