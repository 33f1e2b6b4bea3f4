// SPDX-License-Identifier: Apache-2.0

package identity

import (
	"cmp"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"encoding/pem"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/cooper-cosi/cooper/fakes/gcsfake/internal/gcserr"
	"github.com/cooper-cosi/cooper/fakes/internal/journal"
)

// Key contains the public key of a service account key.
type Key struct {
	ID    string `json:"id"`
	Email string `json:"email"`
	// Public is the public key in PKIX form.
	Public   []byte    `json:"public"`
	Created  time.Time `json:"created"`
	Disabled bool      `json:"disabled,omitempty"`
	// Origin is GOOGLE_PROVIDED or USER_PROVIDED.
	Origin string `json:"origin"`
	// System marks a key whose private key never leaves the service. signBlob and signJwt use it.
	System bool `json:"system,omitempty"`
}

// PublicKey returns the key that verifies signatures.
func (k *Key) PublicKey() (*rsa.PublicKey, error) {
	pub, err := x509.ParsePKIXPublicKey(k.Public)
	if err != nil {
		return nil, fmt.Errorf("read the public key: %w", err)
	}
	key, ok := pub.(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("the public key is a %T, not an RSA key", pub)
	}
	return key, nil
}

const keyBits = 2048

// CreateKey creates a key and returns the private key as PEM (PKCS #8). The directory does not store the private key.
func (d *Directory) CreateKey(email string) (Key, []byte, error) {
	public, private, err := newKey()
	if err != nil {
		return Key{}, nil, err
	}
	k := Key{Email: email, Public: public, Origin: "GOOGLE_PROVIDED"}
	if err := d.addKey(&k); err != nil {
		return Key{}, nil, err
	}
	return k, pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: private}), nil
}

// newKey generates a key pair. The public key is in PKIX form, the private key in PKCS #8 form.
func newKey() (public, private []byte, err error) {
	key, err := rsa.GenerateKey(rand.Reader, keyBits)
	if err != nil {
		return nil, nil, fmt.Errorf("generate a key: %w", err)
	}
	if private, err = x509.MarshalPKCS8PrivateKey(key); err != nil {
		return nil, nil, fmt.Errorf("encode a key: %w", err)
	}
	if public, err = x509.MarshalPKIXPublicKey(&key.PublicKey); err != nil {
		return nil, nil, fmt.Errorf("encode a key: %w", err)
	}
	return public, private, nil
}

// UploadKey adds a key whose private key only the client has. certificate is the X.509 certificate of the key as PEM.
func (d *Directory) UploadKey(email string, certificate []byte) (Key, error) {
	block, _ := pem.Decode(certificate)
	if block == nil {
		return Key{}, gcserr.Invalid.Say("The public key data is not a certificate in PEM.")
	}
	parsed, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return Key{}, gcserr.Invalid.Say("The public key data is not an X.509 certificate.")
	}
	if _, ok := parsed.PublicKey.(*rsa.PublicKey); !ok {
		return Key{}, gcserr.Invalid.Say("The public key is not an RSA key.")
	}
	k := Key{Email: email, Public: parsed.RawSubjectPublicKeyInfo, Origin: "USER_PROVIDED"}
	return k, d.addKey(&k)
}

// systemKey returns the name of the secret that contains the private key of an account's system key.
func systemKey(a *Account) string { return "system-key/" + a.UniqueID }

// Sign signs a message with the account's system key, whose private key never leaves the service. It creates the key
// on first use.
func (d *Directory) Sign(a Account, message []byte) (keyID string, signature []byte, err error) {
	raw, err := d.Secret(systemKey(&a), func() ([]byte, error) {
		public, private, err := newKey()
		if err != nil {
			return nil, err
		}
		return private, d.addKey(&Key{Email: a.Email, Public: public, Origin: "GOOGLE_PROVIDED", System: true})
	})
	if err != nil {
		return "", nil, err
	}
	parsed, err := x509.ParsePKCS8PrivateKey(raw)
	if err != nil {
		return "", nil, fmt.Errorf("read a key: %w", err)
	}
	key, ok := parsed.(*rsa.PrivateKey)
	if !ok {
		return "", nil, fmt.Errorf("the key of %s is a %T, not an RSA key", a.Email, parsed)
	}
	for _, k := range d.SigningKeys(a.Email) {
		if k.System {
			keyID = k.ID
		}
	}
	sum := sha256.Sum256(message)
	signature, err = rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
	if err != nil {
		return "", nil, fmt.Errorf("sign: %w", err)
	}
	return keyID, signature, nil
}

func (d *Directory) addKey(k *Key) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.accounts[k.Email] == nil {
		return noAccount(k.Email)
	}
	n := 0
	for _, other := range d.keys {
		if other.Email == k.Email && !other.System {
			n++
		}
	}
	if n >= MaxKeys && !k.System {
		return gcserr.FailedPrecondition
	}
	var id [20]byte
	_, _ = rand.Read(id[:]) // never fails: crypto/rand ends the process instead
	k.ID, k.Created = hex.EncodeToString(id[:]), d.now().Truncate(time.Second)
	if err := d.keep(tableKeys, k.ID, k); err != nil {
		return err
	}
	d.keys[k.ID] = k
	return nil
}

// Key returns a key of a service account.
func (d *Directory) Key(email, id string) (Key, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	k := d.keys[id]
	if k == nil || k.Email != email {
		return Key{}, gcserr.New(http.StatusNotFound, "notFound", "NotFound", "Service account key does not exist.")
	}
	return *k, nil
}

// Keys returns the user-managed keys of a service account in the order of their creation.
func (d *Directory) Keys(email string) []Key {
	return slices.DeleteFunc(d.SigningKeys(email), func(k Key) bool { return k.System })
}

// SigningKeys returns all keys whose signatures are valid for a service account, in the order of their creation.
func (d *Directory) SigningKeys(email string) []Key {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var out []Key
	for _, k := range d.keys {
		if k.Email == email {
			out = append(out, *k)
		}
	}
	slices.SortFunc(out, func(a, b Key) int { return cmp.Or(a.Created.Compare(b.Created), cmp.Compare(a.ID, b.ID)) })
	return out
}

// SetKeyDisabled enables or disables a key.
func (d *Directory) SetKeyDisabled(email, id string, disabled bool) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.keys[id]
	if k == nil || k.Email != email || k.System {
		return gcserr.New(http.StatusNotFound, "notFound", "NotFound", "Service account key does not exist.")
	}
	next := *k
	next.Disabled = disabled
	if err := d.keep(tableKeys, id, &next); err != nil {
		return err
	}
	d.keys[id] = &next
	return nil
}

// DeleteKey deletes a key. Tokens that were issued for the key remain valid ("Delete service account keys").
func (d *Directory) DeleteKey(email, id string) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	if k := d.keys[id]; k == nil || k.Email != email || k.System {
		return gcserr.New(http.StatusNotFound, "notFound", "NotFound", "Service account key does not exist.")
	}
	if err := d.journal.Append(journal.Delete(tableKeys, id)); err != nil {
		return err
	}
	delete(d.keys, id)
	return nil
}

// The states of an HMAC key.
const (
	Active   = "ACTIVE"
	Inactive = "INACTIVE"
	Deleted  = "DELETED"
)

// HMACKey is an HMAC key of a service account.
type HMACKey struct {
	AccessID string    `json:"accessId"`
	Secret   string    `json:"secret"`
	Project  string    `json:"project"`
	Email    string    `json:"email"`
	UID      string    `json:"uid"`
	State    string    `json:"state"`
	Created  time.Time `json:"created"`
	Updated  time.Time `json:"updated"`
	Sequence int       `json:"sequence"`
}

// ETag returns the etag of the key. It differs after every change.
func (k *HMACKey) ETag() string {
	return base64.StdEncoding.EncodeToString(fmt.Appendf(nil, "%s%d", k.AccessID[len(k.AccessID)-4:], k.Sequence))
}

const (
	accessIDLength = 61
	secretLength   = 30
)

// CreateHMAC creates an HMAC key for a service account in a project.
func (d *Directory) CreateHMAC(project, email string) (HMACKey, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.project(project)
	if p == nil {
		return HMACKey{}, noProject(project)
	}
	a := d.accounts[email]
	if a == nil {
		return HMACKey{}, gcserr.NotFound.Say("Service account %s not found.", email)
	}
	if a.Project != p.ID {
		return HMACKey{}, gcserr.Invalid.Say("The service account %s does not belong to project %s.", email, p.ID)
	}
	n := 0
	for _, k := range d.hmac {
		if k.Email == email && k.UID == a.UniqueID && k.State != Deleted {
			n++
		}
	}
	if n >= MaxHMACKeys {
		return HMACKey{}, gcserr.RateLimit.Say("Maximum number of HMAC keys for the service account reached: %d.", MaxHMACKeys)
	}
	var raw [40]byte
	_, _ = rand.Read(raw[:]) // never fails: crypto/rand ends the process instead
	now := d.now()
	k := &HMACKey{
		AccessID: ("GOOG1E" + base32.StdEncoding.EncodeToString(raw[:]))[:accessIDLength], Project: p.ID, Email: email, UID: a.UniqueID,
		State: Active, Created: now, Updated: now,
	}
	_, _ = rand.Read(raw[:]) // as above
	k.Secret = base64.StdEncoding.EncodeToString(raw[:secretLength])
	if err := d.keep(tableHMAC, k.AccessID, k); err != nil {
		return HMACKey{}, err
	}
	d.hmac[k.AccessID] = k
	return *k, nil
}

// HMAC returns an HMAC key of a project by its access ID.
func (d *Directory) HMAC(project, accessID string) (HMACKey, error) {
	d.mu.RLock()
	defer d.mu.RUnlock()
	k := d.hmac[accessID]
	if p := d.project(project); k == nil || p == nil || p.ID != k.Project {
		return HMACKey{}, noHMAC(accessID)
	}
	return *k, nil
}

func noHMAC(accessID string) error {
	return gcserr.NotFound.Say("Access ID not found in project: %s", accessID)
}

// HMACKeys returns the HMAC keys of a project, or of all projects for "", ordered by access ID. If email is not "",
// it returns only those of that service account.
func (d *Directory) HMACKeys(project, email string, deleted bool) []HMACKey {
	d.mu.RLock()
	defer d.mu.RUnlock()
	var out []HMACKey
	for _, k := range d.hmac {
		if (project == "" || k.Project == project) && (email == "" || k.Email == email) && (deleted || k.State != Deleted) {
			out = append(out, *k)
		}
	}
	slices.SortFunc(out, func(a, b HMACKey) int { return cmp.Compare(a.AccessID, b.AccessID) })
	return out
}

// SetHMACState changes the state of an HMAC key. etag must be "" or the current etag.
func (d *Directory) SetHMACState(accessID, state, etag string) (HMACKey, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	k := d.hmac[accessID]
	switch {
	case k == nil:
		return HMACKey{}, noHMAC(accessID)
	case etag != "" && etag != k.ETag():
		return HMACKey{}, gcserr.Precondition
	case k.State == Deleted:
		return HMACKey{}, gcserr.Invalid.Say("A deleted HMAC key cannot be changed.")
	case state == Deleted && k.State == Active:
		return HMACKey{}, gcserr.Invalid.Say("Cannot delete keys in ACTIVE state.")
	}
	next := *k
	next.State, next.Updated = state, d.now()
	next.Sequence++
	if err := d.keep(tableHMAC, accessID, &next); err != nil {
		return HMACKey{}, err
	}
	d.hmac[accessID] = &next
	return next, nil
}
