// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"encoding/xml"
	"net/http"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
)

// unconfiguredOperations read or delete resources that no role or user of this fake has, such as MFA devices, because the
// operations that create them are not implemented. The fake responds as IAM does if there are none. Terraform's provider
// for AWS lists the instance profiles of a role before it deletes the role. Before it deletes a user with force_destroy,
// it calls all others except GetLoginProfile.
func unconfiguredOperations() map[string]operation {
	noProfile := on((*call).userName, noLoginProfile)
	return map[string]operation{
		"ListInstanceProfilesForRole": {resource: roleARN, run: on((*call).roleName, none("InstanceProfiles", iam.KindRole)), parameters: pageParameters.With("RoleName")},

		"ListMFADevices":          {resource: userARN, run: on((*call).userName, none("MFADevices", iam.KindUser)), parameters: pageParameters.With("UserName")},
		"ListSSHPublicKeys":       {resource: userARN, run: on((*call).userName, none("SSHPublicKeys", iam.KindUser)), parameters: pageParameters.With("UserName")},
		"ListSigningCertificates": {resource: userARN, run: on((*call).userName, none("Certificates", iam.KindUser)), parameters: pageParameters.With("UserName")},
		"ListVirtualMFADevices":   {resource: prefixARN("mfa"), run: listVirtualMFADevices, parameters: pageParameters.With("AssignmentStatus")},
		// The response is not a page, as recorded from AWS.
		"ListServiceSpecificCredentials": {resource: userARN, run: on((*call).userName, listServiceCredentials), parameters: accept.Names("UserName")},

		"GetLoginProfile":    {resource: userARN, run: noProfile, parameters: accept.Names("UserName")},
		"DeleteLoginProfile": {resource: userARN, run: noProfile, parameters: accept.Names("UserName")},
	}
}

// emptyList is a list with any name and without items.
type emptyList struct{ XMLName xml.Name }

func emptyListOf(name string) emptyList { return emptyList{XMLName: xml.Name{Local: name}} }

// none returns an empty list if the role or user exists.
func none(list string, kind iam.Kind) func(*call, string) (any, error) {
	return func(c *call, name string) (any, error) {
		if _, err := c.account.Identity(kind, name); err != nil {
			return nil, err
		}
		return emptyPage(c, list)
	}
}

func emptyPage(c *call, list string) (any, error) {
	_, p, err := paginate(c, []string(nil), func(s string) string { return s })
	return struct {
		Items emptyList
		page
	}{emptyListOf(list), p}, err
}

func listVirtualMFADevices(c *call) (any, error) { return emptyPage(c, "VirtualMFADevices") }

func listServiceCredentials(c *call, user string) (any, error) {
	_, err := c.account.Identity(iam.KindUser, user)
	return struct{ Items emptyList }{emptyListOf("ServiceSpecificCredentials")}, err
}

func noLoginProfile(c *call, user string) (any, error) {
	if _, err := c.account.Identity(iam.KindUser, user); err != nil {
		return nil, err
	}
	return nil, awserr.Newf(http.StatusNotFound, "NoSuchEntity", "Login Profile for User %s cannot be found.", user)
}
