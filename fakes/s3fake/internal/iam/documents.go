// SPDX-License-Identifier: Apache-2.0

package iam

import (
	"strings"
	"sync"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iampolicy"
)

// denyAll replaces an attached policy that no longer exists, which IAM prevents.
const denyAll = `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Action":"*","Resource":"*"}]}`

// parsedCache spares parsing a policy on every request. Documents are immutable, so their text is the key.
type parsedCache struct {
	mu   sync.Mutex
	docs map[string]*iampolicy.Document
}

// maxParsed bounds the cache; past it the cache starts over.
const maxParsed = 4096

func (c *parsedCache) get(raw string) (*iampolicy.Document, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if d := c.docs[raw]; d != nil {
		return d, nil
	}
	d, err := iampolicy.ParseIdentity(raw)
	if err != nil {
		return nil, err
	}
	if c.docs == nil || len(c.docs) >= maxParsed {
		c.docs = map[string]*iampolicy.Document{}
	}
	c.docs[raw] = d
	return d, nil
}

func (a *Account) document(raw string) (*iampolicy.Document, error) { return a.parsed.get(raw) }

// awsPolicies returns the AWS managed policies that S3 users attach, by name ("AWS managed policies" in the AWS
// Managed Policy Reference Guide), reduced to the implemented services.
func awsPolicies() map[string]string {
	return map[string]string{
		"AdministratorAccess":    `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"*","Resource":"*"}]}`,
		"AmazonS3FullAccess":     `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:*","s3-object-lambda:*"],"Resource":"*"}]}`,
		"AmazonS3ReadOnlyAccess": `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["s3:Get*","s3:List*","s3:Describe*","s3-object-lambda:Get*","s3-object-lambda:List*"],"Resource":"*"}]}`,
		"IAMFullAccess":          `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"iam:*","Resource":"*"}]}`,
		"IAMReadOnlyAccess":      `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["iam:GenerateCredentialReport","iam:GenerateServiceLastAccessedDetails","iam:Get*","iam:List*","iam:SimulateCustomPolicy","iam:SimulatePrincipalPolicy"],"Resource":"*"}]}`,
		"PowerUserAccess":        `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","NotAction":["iam:*","organizations:*","account:*"],"Resource":"*"},{"Effect":"Allow","Action":["iam:CreateServiceLinkedRole","iam:DeleteServiceLinkedRole","iam:ListRoles"],"Resource":"*"}]}`,
		"ReadOnlyAccess":         `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["eks:Describe*","eks:List*","iam:Generate*","iam:Get*","iam:List*","iam:Simulate*","kms:Describe*","kms:Get*","kms:List*","s3:DescribeJob","s3:Get*","s3:List*","sts:GetAccessKeyInfo","sts:GetCallerIdentity","sts:GetSessionToken"],"Resource":"*"}]}`,
		"AWSDenyAll":             denyAll,
		"AWSLambdaExecute":       `{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["logs:*"],"Resource":"arn:aws:logs:*:*:*"},{"Effect":"Allow","Action":["s3:GetObject","s3:PutObject"],"Resource":"arn:aws:s3:::*"}]}`,
	}
}

// awsName is the name in the ARN of an AWS managed policy, "" for another ARN.
func (a *Account) awsName(arn string) string {
	name, _ := strings.CutPrefix(arn, "arn:"+a.Partition+":iam::aws:policy/")
	if name == arn {
		return ""
	}
	return name
}

func (a *Account) awsManaged(arn string) bool {
	_, ok := awsPolicies()[a.awsName(arn)]
	return ok
}

// managedDocument is the text of a managed policy's default version.
func (a *Account) managedDocument(arn string) string {
	if doc, ok := awsPolicies()[a.awsName(arn)]; ok {
		return doc
	}
	p := a.policies[arn]
	if p == nil {
		return denyAll
	}
	for _, v := range p.Versions {
		if v.ID == p.Default {
			return v.Document
		}
	}
	return denyAll
}
