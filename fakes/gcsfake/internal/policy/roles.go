// SPDX-License-Identifier: Apache-2.0

package policy

import (
	"maps"
	"slices"
	"strings"
)

var (
	multipart   = []string{"storage.multipartUploads.abort", "storage.multipartUploads.create", "storage.multipartUploads.list", "storage.multipartUploads.listParts"}
	hmacKeys    = []string{"storage.hmacKeys.create", "storage.hmacKeys.delete", "storage.hmacKeys.get", "storage.hmacKeys.list", "storage.hmacKeys.update"}
	bucketRead  = []string{"storage.buckets.get", "storage.objects.list", "storage.multipartUploads.list"}
	objectWrite = []string{
		"storage.objects.create", "storage.objects.delete", "storage.objects.restore", "storage.objects.setRetention",
		"storage.multipartUploads.abort", "storage.multipartUploads.create", "storage.multipartUploads.listParts",
	}
	bucketControl = []string{"storage.buckets.update", "storage.buckets.getIamPolicy", "storage.buckets.setIamPolicy", "storage.buckets.enableObjectRetention"}
	objectUser    = []string{
		"storage.objects.create", "storage.objects.delete", "storage.objects.get", "storage.objects.list", "storage.objects.move", "storage.objects.restore",
		"storage.objects.update", "storage.managedFolders.list",
	}
	objectControl = []string{"storage.objects.getIamPolicy", "storage.objects.setIamPolicy", "storage.objects.overrideUnlockedRetention", "storage.objects.setRetention"}
	accounts      = []string{
		"iam.serviceAccounts.create", "iam.serviceAccounts.delete", "iam.serviceAccounts.disable", "iam.serviceAccounts.enable",
		"iam.serviceAccounts.get", "iam.serviceAccounts.list", "iam.serviceAccounts.undelete", "iam.serviceAccounts.update",
	}
	accountPolicy = []string{"iam.serviceAccounts.getIamPolicy", "iam.serviceAccounts.setIamPolicy"}
	accountKeys   = []string{
		"iam.serviceAccountKeys.create", "iam.serviceAccountKeys.delete", "iam.serviceAccountKeys.disable", "iam.serviceAccountKeys.enable",
		"iam.serviceAccountKeys.get", "iam.serviceAccountKeys.list",
	}
	roleAdmin     = []string{"iam.roles.create", "iam.roles.delete", "iam.roles.get", "iam.roles.list", "iam.roles.update"}
	projectPolicy = []string{"resourcemanager.projects.get", "resourcemanager.projects.getIamPolicy", "resourcemanager.projects.setIamPolicy"}
	allBuckets    = slices.Concat([]string{"storage.buckets.create", "storage.buckets.delete", "storage.buckets.get", "storage.buckets.list"}, bucketControl)
)

// predefined maps Google's predefined roles to their permissions. It contains only permissions that an implemented
// operation requires ("IAM roles for Cloud Storage", "Basic roles", "IAM roles and permissions index").
var predefined = sets(map[string][]string{
	"roles/storage.admin":        slices.Concat(allBuckets, objectUser, objectControl, multipart),
	"roles/storage.bucketViewer": {"storage.buckets.get", "storage.buckets.list"},
	"roles/storage.objectAdmin":  slices.Concat(objectUser, objectControl, multipart),
	"roles/storage.objectUser":   slices.Concat(objectUser, multipart),
	"roles/storage.objectViewer": {"storage.managedFolders.list", "storage.objects.get", "storage.objects.list"},
	"roles/storage.objectCreator": {
		"storage.objects.create", "storage.multipartUploads.abort", "storage.multipartUploads.create", "storage.multipartUploads.listParts",
	},
	"roles/storage.hmacKeyAdmin":       hmacKeys,
	"roles/storage.legacyBucketReader": bucketRead,
	"roles/storage.legacyBucketWriter": slices.Concat(bucketRead, objectWrite),
	"roles/storage.legacyBucketOwner":  slices.Concat(bucketRead, objectWrite, bucketControl),
	"roles/storage.legacyObjectReader": {"storage.objects.get"},
	"roles/storage.legacyObjectOwner":  slices.Concat([]string{"storage.objects.get", "storage.objects.update"}, objectControl),

	"roles/iam.serviceAccountAdmin":    slices.Concat(accounts, accountPolicy),
	"roles/iam.serviceAccountCreator":  {"iam.serviceAccounts.create", "iam.serviceAccounts.get", "iam.serviceAccounts.list"},
	"roles/iam.serviceAccountDeleter":  {"iam.serviceAccounts.delete", "iam.serviceAccounts.get", "iam.serviceAccounts.list"},
	"roles/iam.serviceAccountViewer":   {"iam.serviceAccounts.get", "iam.serviceAccounts.getIamPolicy", "iam.serviceAccounts.list", "iam.serviceAccountKeys.get", "iam.serviceAccountKeys.list"},
	"roles/iam.serviceAccountKeyAdmin": slices.Concat(accountKeys, []string{"iam.serviceAccounts.get", "iam.serviceAccounts.list"}),
	"roles/iam.serviceAccountTokenCreator": {
		"iam.serviceAccounts.get", "iam.serviceAccounts.getAccessToken", "iam.serviceAccounts.list", "iam.serviceAccounts.signBlob", "iam.serviceAccounts.signJwt",
	},
	"roles/iam.workloadIdentityUser": {"iam.serviceAccounts.get", "iam.serviceAccounts.getAccessToken", "iam.serviceAccounts.list"},
	"roles/iam.roleAdmin":            roleAdmin,
	"roles/iam.roleViewer":           {"iam.roles.get", "iam.roles.list"},

	"roles/resourcemanager.projectIamAdmin":   projectPolicy,
	"roles/serviceusage.serviceUsageConsumer": {"serviceusage.services.use"},
	"roles/billing.projectManager":            {"resourcemanager.projects.createBillingAssignment"},
	"roles/browser":                           {"resourcemanager.projects.get", "resourcemanager.projects.getIamPolicy"},

	// The basic roles reach objects only through the bindings that every new bucket has for projectOwner and the others.
	"roles/viewer": {
		"storage.buckets.list", "resourcemanager.projects.get", "iam.serviceAccounts.get", "iam.serviceAccounts.list",
		"iam.serviceAccountKeys.get", "iam.serviceAccountKeys.list", "iam.roles.get", "iam.roles.list",
	},
	"roles/editor": slices.Concat([]string{
		"storage.buckets.create", "storage.buckets.delete", "storage.buckets.list", "resourcemanager.projects.get",
		"iam.roles.get", "iam.roles.list", "serviceusage.services.use",
	}, hmacKeys, accounts, accountKeys),
	"roles/owner": slices.Concat([]string{
		"storage.buckets.create", "storage.buckets.delete", "storage.buckets.list", "serviceusage.services.use", "resourcemanager.projects.createBillingAssignment",
	}, hmacKeys, accounts, accountPolicy, accountKeys, roleAdmin, projectPolicy),
})

func sets(lists map[string][]string) map[string]map[string]bool {
	out := make(map[string]map[string]bool, len(lists))
	for role, list := range lists {
		out[role] = map[string]bool{}
		for _, p := range list {
			out[role][p] = true
		}
	}
	return out
}

// Predefined reports whether a predefined role includes a permission. known is false if there is no such role.
func Predefined(role, permission string) (granted, known bool) {
	set, known := predefined[role]
	return set[permission], known
}

// PredefinedRoles returns the names of the predefined roles, in order.
func PredefinedRoles() []string { return slices.Sorted(maps.Keys(predefined)) }

// PermissionsOf returns the permissions of a predefined role, in order, or nil if there is no such role.
func PermissionsOf(role string) []string { return slices.Sorted(maps.Keys(predefined[role])) }

// Permissions returns the permissions of all predefined roles, in order.
func Permissions() []string {
	all := map[string]bool{}
	for _, set := range predefined {
		maps.Copy(all, set)
	}
	return slices.Sorted(maps.Keys(all))
}

// OnlyOnBuckets reports whether a role cannot be granted on a project.
func OnlyOnBuckets(role string) bool { return strings.HasPrefix(role, "roles/storage.legacy") }

// OnlyOnProjects reports whether a role cannot be granted on a bucket because it contains no Cloud Storage
// permissions.
func OnlyOnProjects(role string) bool {
	set, known := predefined[role]
	if !known {
		return false
	}
	for p := range set {
		if strings.HasPrefix(p, "storage.buckets.") || strings.HasPrefix(p, "storage.objects.") {
			return role == "roles/owner" || role == "roles/editor" || role == "roles/viewer"
		}
	}
	return true
}
