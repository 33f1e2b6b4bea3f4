// SPDX-License-Identifier: Apache-2.0

package rgw

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"

	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/drivers/driverkit/credentials"
	"github.com/cooper-cosi/cooper/drivers/s3driver/internal/apierror"
	cosi "github.com/cooper-cosi/cooper/proto"
)

// keysOf manages the keys of one user. The IDs of the keys are their marks.
type keysOf struct {
	*Users

	user  string
	found []key
	// changed means that the user was changed and has therefore lost its policy.
	changed bool
}

// List implements credentials.ReadableKeys. Keys that were created manually have no mark.
func (k *keysOf) List(context.Context) ([]credentials.ReadableKey, error) {
	var keys []credentials.ReadableKey
	for _, one := range k.found {
		mark, _ := credentials.ParseMark(one.ID)
		keys = append(keys, credentials.ReadableKey{Credential: one.credential(), Mark: mark})
	}
	return keys, nil
}

// Create implements credentials.ReadableKeys. The gateway generates the secret. A secret chosen by the driver would
// be part of the request's URL, and would appear in the logs of proxies.
func (k *keysOf) Create(ctx context.Context, mark credentials.Mark) (credentials.Credential, error) {
	k.changed = true
	answer, err := k.call(ctx, http.MethodPut, "CreateKey", url.Values{
		"key": {""}, "uid": {k.user}, "access-key": {string(mark)}, "generate-key": {"true"},
	})
	if err != nil {
		return credentials.Credential{}, err
	}
	var all []key
	if err := json.Unmarshal(answer, &all); err != nil {
		return credentials.Credential{}, fmt.Errorf("read the keys of user %s: %w", k.user, err)
	}
	made := slices.IndexFunc(all, func(one key) bool { return one.ID == string(mark) && one.Secret != "" })
	if made < 0 {
		return credentials.Credential{}, driverkit.Unavailable("user %s has a new key, which reads do not return yet; the driver tries again", k.user)
	}
	return all[made].credential(), nil
}

// Remove implements credentials.ReadableKeys.
func (k *keysOf) Remove(ctx context.Context, id string) error {
	k.changed = true
	_, err := k.call(ctx, http.MethodDelete, "DeleteKey", url.Values{"key": {""}, "uid": {k.user}, "access-key": {id}})
	if apierror.Is(err, "InvalidAccessKeyId") { // the key does not exist
		return nil
	}
	return err
}

func (k key) credential() credentials.Credential {
	return credentials.Credential{ID: k.ID, Secret: cosi.NewSecret(k.Secret)}
}
