// SPDX-License-Identifier: Apache-2.0

package iamapi

import (
	"net/http"
	"slices"
	"strings"

	"github.com/cooper-cosi/cooper/fakes/internal/accept"
	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
)

// linkedServices are services that AWS was recorded to create service-linked roles for, without .amazonaws.com.
const linkedServices = `
accountdiscovery.ssm acm appmesh autoscaling autoscaling-plans backup batch cassandra.application-autoscaling cks.kms
cloudtrail codestar-notifications config connect dms dms-fleet-advisor docdb-elastic ec2-instance-connect
ec2.application-autoscaling ecr ecs eks eks-connector eks-fargate eks-nodegroup elasticache elasticbeanstalk
elasticfilesystem elasticloadbalancing email.cognito-idp emr-containers emrwal fis grafana imagebuilder
iotmanagedintegrations kafka kafkaconnect lakeformation lex lexv2 lightsail m2 memorydb mq mrk.kms notifications
observability.aoss opensearchservice ops.apigateway ops.emr-serverless opsdatasync.ssm opsinsights.ssm
pullthroughcache.ecr ram rds redshift replication.cassandra replication.ecr repository.sync.codeconnections
resource-explorer-2 rolesanywhere s3-outposts ses shield ssm ssm-incidents ssm-quicksetup sso vpcorigin.cloudfront waf
wafv2
`

// suffixedServices are those of them whose roles can have a suffix.
var suffixedServices = []string{"autoscaling", "connect", "lexv2"}

func linkedOperations() map[string]operation {
	return map[string]operation{"CreateServiceLinkedRole": {
		resource: func(c *call) string {
			return c.account.ARN("role", "/aws-service-role/"+c.Form.Get("AWSServiceName")+"/", "AWSServiceRole")
		},
		run:        createLinkedRole,
		parameters: accept.Names("AWSServiceName", "CustomSuffix", "Description"),
	}}
}

// createLinkedRole rejects every request: as AWS does for services without such roles, and as not implemented for others,
// because the fake does not have their services.
func createLinkedRole(c *call) (any, error) {
	name, err := c.name("AWSServiceName", 128)
	if err != nil {
		return nil, err
	}
	service, _ := strings.CutSuffix(name, ".amazonaws.com")
	switch {
	case !slices.Contains(strings.Fields(linkedServices), service):
		return nil, invalidInput("Cannot find Service Linked Role template for " + name)
	case c.Form.Has("CustomSuffix") && !slices.Contains(suffixedServices, service):
		return nil, invalidInput("Custom suffix is not allowed for " + name)
	}
	return nil, awserr.Newf(http.StatusNotImplemented, "NotImplemented", "The service-linked role of %s is not supported by this fake.", name)
}

func invalidInput(message string) *awserr.Error {
	return awserr.New(http.StatusBadRequest, "InvalidInput", message)
}
