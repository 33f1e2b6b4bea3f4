// SPDX-License-Identifier: Apache-2.0

package rest

import (
	"net/http"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/identity"
)

// unserved lists the methods of the discovery documents that the fake does not implement. It rejects them explicitly,
// so that clients do not mistake a 404 for a missing object.
const unserved = `
	GET    /storage/v1/b/{bucket}/o/{object}/iam                     storage.objects.getIamPolicy
	PUT    /storage/v1/b/{bucket}/o/{object}/iam                     storage.objects.setIamPolicy
	GET    /storage/v1/b/{bucket}/o/{object}/iam/testPermissions     storage.objects.testIamPermissions
	GET    /storage/v1/b/{bucket}/o/{object}/viewFullContext         storage.objects.viewFullContext
	POST   /storage/v1/b/{bucket}/o/bulkRestore                      storage.objects.bulkRestore
	POST   /storage/v1/b/{bucket}/o/watch                            storage.objects.watchAll
	POST   /storage/v1/b/{bucket}/relocate                           storage.buckets.relocate
	POST   /storage/v1/b/{bucket}/restore                            storage.buckets.restore
	GET    /storage/v1/b/{bucket}/channels                           storage.buckets.listChannels
	POST   /storage/v1/channels/stop                                 storage.channels.stop
	GET    /storage/v1/b/{bucket}/operations                         storage.buckets.operations.list
	GET    /storage/v1/b/{bucket}/operations/{operation}             storage.buckets.operations.get
	POST   /storage/v1/b/{bucket}/operations/{operation}/cancel      storage.buckets.operations.cancel
	POST   /storage/v1/b/{bucket}/operations/{operation}/advanceRelocateBucket storage.buckets.operations.advanceRelocateBucket
	GET    /storage/v1/b/{bucket}/folders                            storage.folders.list
	POST   /storage/v1/b/{bucket}/folders                            storage.folders.insert
	GET    /storage/v1/b/{bucket}/folders/{folder}                   storage.folders.get
	DELETE /storage/v1/b/{bucket}/folders/{folder}                   storage.folders.delete
	POST   /storage/v1/b/{bucket}/folders/{folder}/deleteRecursive   storage.folders.deleteRecursive
	POST   /storage/v1/b/{bucket}/folders/{folder}/renameTo/folders/{to} storage.folders.rename
	POST   /storage/v1/b/{bucket}/managedFolders                     storage.managedFolders.insert
	GET    /storage/v1/b/{bucket}/managedFolders/{folder}            storage.managedFolders.get
	PATCH  /storage/v1/b/{bucket}/managedFolders/{folder}            storage.managedFolders.update
	DELETE /storage/v1/b/{bucket}/managedFolders/{folder}            storage.managedFolders.delete
	GET    /storage/v1/b/{bucket}/managedFolders/{folder}/iam        storage.managedFolders.getIamPolicy
	PUT    /storage/v1/b/{bucket}/managedFolders/{folder}/iam        storage.managedFolders.setIamPolicy
	GET    /storage/v1/b/{bucket}/managedFolders/{folder}/iam/testPermissions storage.managedFolders.testIamPermissions
	GET    /storage/v1/b/{bucket}/notificationConfigs                storage.notifications.list
	POST   /storage/v1/b/{bucket}/notificationConfigs                storage.notifications.insert
	GET    /storage/v1/b/{bucket}/notificationConfigs/{notification} storage.notifications.get
	DELETE /storage/v1/b/{bucket}/notificationConfigs/{notification} storage.notifications.delete
	GET    /storage/v1/b/{bucket}/anywhereCaches                     storage.anywhereCaches.list
	POST   /storage/v1/b/{bucket}/anywhereCaches                     storage.anywhereCaches.insert
	GET    /storage/v1/b/{bucket}/anywhereCaches/{cache}             storage.anywhereCaches.get
	PATCH  /storage/v1/b/{bucket}/anywhereCaches/{cache}             storage.anywhereCaches.update
	POST   /storage/v1/b/{bucket}/anywhereCaches/{cache}/disable     storage.anywhereCaches.disable
	POST   /storage/v1/b/{bucket}/anywhereCaches/{cache}/pause       storage.anywhereCaches.pause
	POST   /storage/v1/b/{bucket}/anywhereCaches/{cache}/resume      storage.anywhereCaches.resume
	GET    /storage/v1/b/{bucket}/rapidCaches                        storage.rapidCaches.list
	POST   /storage/v1/b/{bucket}/rapidCaches                        storage.rapidCaches.insert
	GET    /storage/v1/b/{bucket}/rapidCaches/{cache}                storage.rapidCaches.get
	PATCH  /storage/v1/b/{bucket}/rapidCaches/{cache}                storage.rapidCaches.update
	POST   /storage/v1/b/{bucket}/rapidCaches/{cache}/disable        storage.rapidCaches.disable
	PUT    /v1/projects/{project}/serviceAccounts/{account}          iam.projects.serviceAccounts.update
	POST   /v1/projects/{project}/serviceAccounts/{account}:generateIdToken iamcredentials.projects.serviceAccounts.generateIdToken
	GET    /v1/projects/{project}/serviceAccounts/{account}/allowedLocations iamcredentials.projects.serviceAccounts.getAllowedLocations
	POST   /v1/projects/{project}/roles/{role}:undelete              iam.projects.roles.undelete
	POST   /v1/roles:queryGrantableRoles                             iam.roles.queryGrantableRoles
	POST   /v1/permissions:queryTestablePermissions                  iam.permissions.queryTestablePermissions
`

func unservedRoutes() []route {
	var out []route
	for line := range strings.Lines(strings.TrimSpace(unserved)) {
		f := strings.Fields(line)
		level := identity.Read
		if strings.HasPrefix(f[1], "/v1/") {
			level = identity.Cloud
		}
		out = append(out, route{f[0], f[1], f[2], level, (*Call).notServed})
	}
	return out
}

// notServed handles an operation in the table above.
func (c *Call) notServed(http.ResponseWriter) error {
	return gcserr.Unimplemented.Say("This fake does not support %s.", c.Operation)
}

// checkUniform rejects access control lists where uniform access excludes them.
func (c *Call) checkUniform(uniform bool) error {
	if !uniform {
		return nil
	}
	return gcserr.Invalid.Say("Cannot use ACL API to update bucket policy when uniform bucket-level access is enabled. Read more at https://cloud.google.com/storage/docs/uniform-bucket-level-access")
}
