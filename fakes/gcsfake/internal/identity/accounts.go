// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"cmp"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

const accountDomain = ".iam.gserviceaccount.com"

// accountID is the documented form: 6 to 30 characters, a letter first, no hyphen last.
var accountID = regexp.MustCompile(`^[a-z][-a-z0-9]{4,28}[a-z0-9]$`)

// The lengths that names and texts may have ("projects.serviceAccounts" in the IAM API reference), in bytes.
const (
	maxDisplayName = 100
	maxDescription = 256
)

// CreateAccount adds a service account to a project.
func (d *Directory) CreateAccount(project, id, displayName, description string) (Account, error) {
	switch {
	case !accountID.MatchString(id):
		return Account{}, gcserr.Invalid.Say("The account ID %q does not have a length between 6 and 30 or does not match [a-z]([-a-z0-9]*[a-z0-9]).", id)
	case len(displayName) > maxDisplayName:
		return Account{}, gcserr.Invalid.Say("The display name is too long: at most %d bytes are allowed.", maxDisplayName)
	case len(description) > maxDescription:
		return Account{}, gcserr.Invalid.Say("The description is too long: at most %d bytes are allowed.", maxDescription)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.project(project)
	if p == nil {
		return Account{}, noProject(project)
	}
	a := Account{Project: p.ID, Email: id + "@" + p.ID + accountDomain, UniqueID: digits(21), DisplayName: displayName, Description: description}
	if d.accounts[a.Email] != nil {
		return Account{}, gcserr.New(http.StatusConflict, "alreadyExists", "Conflict", "Service account "+id+" already exists within project projects/"+p.ID+".")
	}
	n := 0
	for _, other := range d.accounts {
		if other.Project == p.ID {
			n++
		}
	}
	if n >= MaxAccounts {
		return Account{}, gcserr.RateLimit.Say("Maximum number of service accounts on project reached.")
	}
	if err := d.keep(tableAccounts, a.Email, &a); err != nil {
		return Account{}, err
	}
	d.accounts[a.Email] = &a
	return a, nil
}

// Account returns a service account by email or unique ID. The account must be in the project, unless project is "-".
func (d *Directory) Account(project, name string) (Account, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	a := d.account(name)
	if p := d.project(project); a == nil || (project != "-" && (p == nil || p.ID != a.Project)) {
		return Account{}, noAccount(name)
	}
	return *a, nil
}

func noAccount(name string) error {
	return gcserr.New(http.StatusNotFound, "notFound", "NotFound", "Unknown service account: "+name)
}

func (d *Directory) account(name string) *Account {
	if a := d.accounts[name]; a != nil {
		return a
	}
	if strings.Contains(name, "@") {
		return nil
	}
	for _, a := range d.accounts {
		if a.UniqueID == name {
			return a
		}
	}
	return nil
}

// Accounts returns the service accounts of a project, ordered by email. If project is "", it returns those of all
// projects.
func (d *Directory) Accounts(project string) []Account {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var out []Account
	for _, a := range d.accounts {
		if project == "" || a.Project == project {
			out = append(out, *a)
		}
	}
	slices.SortFunc(out, func(a, b Account) int { return cmp.Compare(a.Email, b.Email) })
	return out
}

// UpdateAccount calls change with a copy of a service account and stores the copy unless change returns an error.
func (d *Directory) UpdateAccount(email string, change func(*Account) error) (Account, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.accounts[email]
	if a == nil {
		return Account{}, noAccount(email)
	}
	next := *a
	if err := change(&next); err != nil {
		return Account{}, err
	}
	if len(next.DisplayName) > maxDisplayName || len(next.Description) > maxDescription {
		return Account{}, gcserr.Invalid.Say("The display name or the description is too long.")
	}
	if err := d.keep(tableAccounts, email, &next); err != nil {
		return Account{}, err
	}
	d.accounts[email] = &next
	return next, nil
}

// DeletedAccount is a deleted service account that can still be restored.
type DeletedAccount struct {
	Account Account   `json:"account"`
	At      time.Time `json:"at"`
}

// undeletable is how long an account can be brought back ("Undelete a service account").
const undeletable = 30 * 24 * time.Hour

// DeleteAccount deletes a service account with its keys. Its HMAC keys become invalid. Bindings that contain the
// account remain, and show it as a deleted member.
func (d *Directory) DeleteAccount(email string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	a := d.accounts[email]
	if a == nil {
		return noAccount(email)
	}
	gone := &DeletedAccount{Account: *a, At: d.now()}
	c := journal.Begin(d.journal)
	c.Delete(tableAccounts, email)
	c.Put(tableDeleted, a.UniqueID, gone)
	var keys []*Key
	for _, k := range d.keys {
		if k.Email == email {
			keys = append(keys, k)
			c.Delete(tableKeys, k.ID)
		}
	}
	if _, ok := d.secrets[systemKey(a)]; ok {
		c.Delete(tableSecrets, systemKey(a))
	}
	if err := c.Commit(); err != nil {
		return err
	}
	delete(d.accounts, email)
	delete(d.secrets, systemKey(a))
	d.deleted[a.UniqueID] = gone
	for _, k := range keys {
		delete(d.keys, k.ID)
	}
	return nil
}

// UndeleteAccount restores a deleted service account. The account has the same unique ID, so bindings apply to it
// again, but its keys are not restored.
func (d *Directory) UndeleteAccount(project, uniqueID string) (Account, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	gone, p := d.deleted[uniqueID], d.project(project)
	if gone == nil || d.now().Sub(gone.At) > undeletable || (project != "-" && (p == nil || p.ID != gone.Account.Project)) {
		return Account{}, noAccount(uniqueID)
	}
	a := gone.Account
	if d.accounts[a.Email] != nil {
		return Account{}, gcserr.New(http.StatusConflict, "alreadyExists", "Conflict", "Service account "+a.Email+" cannot be restored: a new account has the same email.")
	}
	c := journal.Begin(d.journal)
	c.Delete(tableDeleted, uniqueID)
	c.Put(tableAccounts, a.Email, &a)
	if err := c.Commit(); err != nil {
		return Account{}, err
	}
	delete(d.deleted, uniqueID)
	d.accounts[a.Email] = &a
	return a, nil
}
