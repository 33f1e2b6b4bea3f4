// SPDX-License-Identifier: Apache-2.0

package s3driver

import (
	"regexp"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
)

// plainName is a proposed name that stores take as it is: without dots, which end the name of the
// backend in an ID and break TLS with virtual addressing.
var plainName = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?$`)

// bucketNames is the rule of S3 ("Bucket naming rules").
func bucketNames() driverkit.NameRule {
	return driverkit.NameRule{Min: 3, Max: 63, Pattern: plainName}
}

// maxAccountName is the longest IAM user name ("IAM and AWS STS quotas").
const maxAccountName = 64

func accountNames() driverkit.NameRule {
	return driverkit.NameRule{Min: 3, Max: maxAccountName, Pattern: plainName}
}
