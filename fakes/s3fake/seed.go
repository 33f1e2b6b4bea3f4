// SPDX-License-Identifier: Apache-2.0

package s3fake

import (
	"fmt"
	"slices"

	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/eksapi"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/iam"
	"github.com/cooper-cosi/cooper/fakes/s3fake/internal/s3api"
)

// ImportedUser is a user whose credentials were chosen elsewhere.
type ImportedUser struct {
	Name string
	Credentials
	// Policy is the document of an inline policy, "" for none.
	Policy string
	// Account is the 12-digit number of another account that the user belongs to, "" for the served one. Such a user
	// has access to what both its own Policy and the bucket's policy allow.
	Account string
}

// ImportUser adds an IAM user with given credentials. AWS cannot do that; it serves tests of software that comes
// with fixed credentials.
func (s *Server) ImportUser(u ImportedUser) error {
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

func (s *Server) importGuest(u ImportedUser) error {
	g := iam.Guest{Account: u.Account, Name: u.Name, KeyID: u.AccessKeyID, Secret: iam.Secret(u.SecretAccessKey), Policy: u.Policy}
	if err := s.account.ImportGuest(g); err != nil {
		return fmt.Errorf("import user %s of account %s: %w", u.Name, u.Account, err)
	}
	return nil
}

// Operations returns the names of all served operations in order, those of IAM and STS as "service:Action".
func (s *Server) Operations() []string {
	return slices.Concat(s3api.Operations(), s.iam.Operations(), eksapi.Operations())
}
