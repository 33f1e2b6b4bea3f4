// SPDX-License-Identifier: Apache-2.0

package iampolicy

import (
	"slices"
	"strings"
)

// s3Keys are the condition keys of Amazon S3 for general purpose buckets ("Condition keys for Amazon S3" in the
// Service Authorization Reference), in lower case. Keys with a list apply only to these actions.
var s3Keys = map[string][]string{
	"s3:prefix":    {"s3:listbucket", "s3:listbucketversions"},
	"s3:delimiter": {"s3:listbucket", "s3:listbucketversions"},
	"s3:max-keys":  {"s3:listbucket", "s3:listbucketversions"},
	"s3:x-amz-acl": {"s3:putobject", "s3:putobjectacl", "s3:putobjectversionacl", "s3:putbucketacl", "s3:createbucket"},
	"s3:versionid": {
		"s3:getobjectversion", "s3:deleteobjectversion", "s3:getobjectversionacl", "s3:putobjectversionacl",
		"s3:getobjectversiontagging", "s3:putobjectversiontagging", "s3:deleteobjectversiontagging", "s3:getobjectversionattributes",
		"s3:getobjectversiontorrent", "s3:restoreobject", "s3:getobjectversionforreplication",
	},
	"s3:authtype": nil, "s3:signatureage": nil, "s3:signatureversion": nil, "s3:tlsversion": nil, "s3:resourceaccount": nil,
	"s3:x-amz-content-sha256": nil, "s3:x-amz-copy-source": nil, "s3:x-amz-grant-full-control": nil, "s3:x-amz-grant-read": nil,
	"s3:x-amz-grant-read-acp": nil, "s3:x-amz-grant-write": nil, "s3:x-amz-grant-write-acp": nil, "s3:x-amz-metadata-directive": nil,
	"s3:x-amz-object-ownership": nil, "s3:x-amz-server-side-encryption": nil, "s3:x-amz-server-side-encryption-aws-kms-key-id": nil,
	"s3:x-amz-server-side-encryption-customer-algorithm": nil, "s3:x-amz-storage-class": nil, "s3:x-amz-website-redirect-location": nil,
	"s3:locationconstraint": nil, "s3:if-match": nil, "s3:if-none-match": nil, "s3:objectcreationoperation": nil,
	"s3:object-lock-legal-hold": nil, "s3:object-lock-mode": nil, "s3:object-lock-remaining-retention-days": nil,
	"s3:object-lock-retain-until-date": nil, "s3:requestobjecttagkeys": nil, "s3:dataaccesspointaccount": nil,
	"s3:dataaccesspointarn": nil, "s3:accesspointnetworkorigin": nil, "s3:inventoryaccessibleoptionalfields": nil,
	"s3:accessgrantsinstancearn": nil, "s3:destinationregion": nil, "s3:isreplicationpauserequest": nil, "s3:x-amz-bucket-namespace": nil,
}

// globalKeys are the AWS global condition context keys, in lower case. Keys that end in '/' take a tag name.
var globalKeys = []string{
	"aws:calledvia", "aws:calledviafirst", "aws:calledvialast", "aws:currenttime", "aws:epochtime", "aws:federatedprovider",
	"aws:multifactorauthage", "aws:multifactorauthpresent", "aws:principalaccount", "aws:principalarn", "aws:principalisawsservice",
	"aws:principalorgid", "aws:principalorgpaths", "aws:principalservicename", "aws:principalservicenameslist", "aws:principaltag/",
	"aws:principaltype", "aws:referer", "aws:requestedregion", "aws:requesttag/", "aws:resourceaccount", "aws:resourceorgid",
	"aws:resourceorgpaths", "aws:resourcetag/", "aws:securetransport", "aws:sourceaccount", "aws:sourcearn", "aws:sourceidentity",
	"aws:sourceip", "aws:sourceorgid", "aws:sourceorgpaths", "aws:sourceowner", "aws:sourcevpc", "aws:sourcevpcarn", "aws:sourcevpce", "aws:tagkeys",
	"aws:tokenissuetime", "aws:useragent", "aws:userid", "aws:username", "aws:viaawsservice", "aws:vpceaccount", "aws:vpceorgid",
	"aws:vpceorgpaths", "aws:vpcsourceip", "aws:ec2instancesourcevpc", "aws:ec2instancesourceprivateipv4", "aws:issessionrevoked",
}

// validKey accepts global keys and S3 keys.
func validKey(key string) bool {
	lower := strings.ToLower(key)
	if _, ok := s3Keys[lower]; ok {
		return true
	}
	for _, tagged := range []string{"s3:existingobjecttag/", "s3:requestobjecttag/", "s3:buckettag/", "s3:accesspointtag/"} {
		if strings.HasPrefix(lower, tagged) && lower != tagged {
			return true
		}
	}
	return slices.ContainsFunc(globalKeys, func(g string) bool {
		if strings.HasSuffix(g, "/") {
			return strings.HasPrefix(lower, g) && lower != g
		}
		return lower == g
	})
}

// keyApplies reports whether a key can occur in requests for the action. An action with wildcards applies if one of
// the actions that it matches does.
func keyApplies(key, action string) bool {
	actions := s3Keys[strings.ToLower(key)]
	if actions == nil {
		return true
	}
	return slices.ContainsFunc(actions, func(a string) bool { return Match(strings.ToLower(action), a) })
}
