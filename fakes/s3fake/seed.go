// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/fakes/internal/awserr"
	"github.com/cooper-cosi/cooper/fakes/internal/seedobject"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/eksapi"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/s3api"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/sqsapi"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/store"
)

// seed is the initial contents of a server.
type seed struct {
	// Policies are managed policies.
	Policies []struct {
		Name     string          `json:"name"`
		Document json.RawMessage `json:"document"`
	} `json:"policies"`
	Users []struct {
		Name            string `json:"name"`
		AccessKeyID     string `json:"accessKeyID"`
		SecretAccessKey string `json:"secretAccessKey"`
		// Policy is the document of an inline policy; Policies are the ARNs of managed policies.
		Policy   json.RawMessage `json:"policy"`
		Policies []string        `json:"policies"`
	} `json:"users"`
	Buckets []struct {
		Name       string `json:"name"`
		Versioning bool   `json:"versioning"`
		// Policy is a bucket policy.
		Policy  json.RawMessage     `json:"policy"`
		Objects []seedobject.Object `json:"objects"`
	} `json:"buckets"`
}

// Seed creates the policies, users, buckets and objects in a YAML or JSON document; see docs/howto/use-the-fakes.md for the
// format. Existing ones are not changed.
func (s *Server) Seed(raw []byte) error {
	var seed seed
	if err := yaml.UnmarshalStrict(raw, &seed); err != nil {
		return fmt.Errorf("read the seed: %w", err)
	}
	held := s.state()
	for _, p := range seed.Policies {
		_, err := held.account.CreatePolicy(iam.NewPolicy{Name: p.Name, Path: "/", Document: string(p.Document)})
		if err != nil && awserr.From(err).Code != "EntityAlreadyExists" {
			return fmt.Errorf("policy %s of the seed: %w", p.Name, err)
		}
	}
	if err := held.seedUsers(seed); err != nil {
		return err
	}
	for _, b := range seed.Buckets {
		if err := held.s3.Seed(b.Name, b.Versioning, b.Policy); err != nil && !errors.Is(err, store.ErrBucketExists) {
			return fmt.Errorf("bucket %s of the seed: %w", b.Name, err)
		}
		for _, o := range b.Objects {
			if err := held.s3.SeedObject(b.Name, o); err != nil {
				return fmt.Errorf("object %s of bucket %s of the seed: %w", o.Name, b.Name, err)
			}
		}
	}
	return nil
}

func (s *state) seedUsers(seed seed) error {
	for _, u := range seed.Users {
		if _, err := s.account.Identity(iam.KindUser, u.Name); err == nil {
			continue
		}
		if u.AccessKeyID == "" || u.SecretAccessKey == "" {
			return fmt.Errorf("user %s of the seed: set accessKeyID and secretAccessKey", u.Name)
		}
		if err := s.importUser(ImportedUser{Name: u.Name, Credentials: Credentials{u.AccessKeyID, u.SecretAccessKey}, Policy: string(u.Policy)}); err != nil {
			return err
		}
		for _, arn := range u.Policies {
			if err := s.account.Attach(iam.KindUser, u.Name, arn); err != nil {
				return fmt.Errorf("user %s of the seed: %w", u.Name, err)
			}
		}
	}
	return nil
}

// ImportedUser is a user with a given access key.
type ImportedUser struct {
	Name string
	Credentials
	// Policy is the document of an inline policy, or "" for none.
	Policy string
	// Account is the 12-digit number of another account that the user belongs to, or "" for the served account. A user
	// of another account has access only if both its own Policy and the bucket's policy allow it.
	Account string
}

// ImportUser adds an IAM user with a given access key. AWS does not support this; it is for tests of software with
// fixed credentials.
func (s *Server) ImportUser(u ImportedUser) error { return s.state().importUser(u) }

func (s *state) importUser(u ImportedUser) error {
	if u.Account != "" {
		return s.importGuest(u)
	}
	if _, err := s.account.CreateUser(iam.NewUser{Name: u.Name, Path: "/"}); err != nil {
		return fmt.Errorf("import user %s: %w", u.Name, err)
	}
	if err := s.account.ImportKey(u.Name, u.AccessKeyID, u.SecretAccessKey); err != nil {
		return fmt.Errorf("import the access key of user %s: %w", u.Name, err)
	}
	if u.Policy == "" {
		return nil
	}
	if err := s.account.PutInline(iam.KindUser, u.Name, "imported", u.Policy); err != nil {
		return fmt.Errorf("import the policy of user %s: %w", u.Name, err)
	}
	return nil
}

func (s *state) importGuest(u ImportedUser) error {
	g := iam.Guest{Account: u.Account, Name: u.Name, KeyID: u.AccessKeyID, Secret: iam.Secret(u.SecretAccessKey), Policy: u.Policy}
	if err := s.account.ImportGuest(g); err != nil {
		return fmt.Errorf("import user %s of account %s: %w", u.Name, u.Account, err)
	}
	return nil
}

// Operations returns the names of all implemented operations. Those of S3 come first. Names of IAM, STS and EKS
// operations have the form "service:Action".
func (s *Server) Operations() []string {
	return slices.Concat(s3api.Operations(), s.state().iam.Operations(), eksapi.Operations(), sqsapi.Operations())
}
