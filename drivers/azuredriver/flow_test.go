// SPDX-License-Identifier: Apache-2.0

package azuredriver_test

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/uuid"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/drivers/azuredriver"
	"github.com/cooper-cosi/cooper/drivers/driverkit"
	"github.com/cooper-cosi/cooper/fakes/azurefake"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sidecar"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

// startSystem runs controller, sidecar and the driver with a configuration.
func startSystem(t *testing.T, env *testenv.Env, options azuredriver.Options) (*systemtest.System, string) {
	t.Helper()
	config := &options.Config
	config.DriverName = "azure-" + uuid.NewString()[:8] + ".example.com"
	driver, err := azuredriver.New(options)
	wantNoError(t, err)
	serve := func(ctx context.Context, endpoint string) error {
		return driverkit.Serve(ctx, driver, driverkit.Options{Endpoint: endpoint})
	}
	s := systemtest.StartOn(t, env, system.Options{
		Drivers: []system.Driver{{Name: config.DriverName, Serve: serve}},
		Connect: sidecar.ConnectOptions{InfoInterval: 50 * time.Millisecond},
	})
	return s, config.DriverName
}

// objects are a claim and an access to it, and the name of the Secret.
type objects struct {
	claim  *cosiapi.BucketClaim
	access *cosiapi.BucketAccess
	secret *corev1.Secret
}

func createObjects(s *systemtest.System, driver string, authentication cosiapi.AuthenticationType, account string) objects {
	class := &cosiapi.BucketClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec: cosiapi.BucketClassSpec{
			DriverName: driver, DeletionPolicy: cosiapi.DeletionPolicyDelete, Parameters: map[string]string{"deleteNonEmpty": "true"},
		},
	}
	accessClass := &cosiapi.BucketAccessClass{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace},
		Spec:       cosiapi.BucketAccessClassSpec{DriverName: driver, AuthenticationType: authentication},
	}
	made := objects{
		claim: &cosiapi.BucketClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "photos"},
			Spec:       cosiapi.BucketClaimSpec{BucketClassName: class.Name, Protocols: []cosiapi.Protocol{cosiapi.ProtocolAzure}},
		},
		secret: &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "photos"}},
	}
	made.access = &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "shop"},
		Spec: cosiapi.BucketAccessSpec{
			BucketAccessClassName: accessClass.Name, Protocol: cosiapi.ProtocolAzure, ServiceAccountName: account,
			BucketClaims: []cosiapi.BucketClaimAccess{{
				BucketClaimName: made.claim.Name, AccessSecretName: made.secret.Name,
				AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
			}},
		},
	}
	s.Create(class, accessClass, made.claim, made.access)
	s.WaitCondition(made.claim, cosiapi.ConditionProvisioned)
	s.WaitCondition(made.access, cosiapi.ConditionProvisioned)
	return made
}

// sas is the token in the Secret.
func (o objects) sas(t *testing.T, s *systemtest.System) string {
	t.Helper()
	wantNoError(t, s.Client().Get(t.Context(), client.ObjectKeyFromObject(o.secret), o.secret))
	return string(o.secret.Data["AZURE_STORAGE_SAS_TOKEN"])
}

// TestTheSecretFollowsTheAccountKey replaces the key of a storage account under a running system: the workload's token
// stops, and a working one arrives in its Secret without anybody asking.
func TestTheSecretFollowsTheAccountKey(t *testing.T) {
	t.Parallel()
	t.Run("from a file", func(t *testing.T) {
		t.Parallel()
		server := startFake(t, azurefake.Options{Deletion: -1})
		file := filepath.Join(t.TempDir(), "key")
		key, _ := server.Keys(mainAccount)
		wantNoError(t, os.WriteFile(file, []byte(key), 0o600))
		config := azuredriver.Config{Backends: map[string]azuredriver.BackendConfig{
			mainAccount: {Endpoint: server.URL(), Credentials: azuredriver.CredentialsConfig{AccountKeyFile: file}},
		}}
		followKey(t, server, azuredriver.Options{Config: config}, http.DefaultClient, func(key string) { wantNoError(t, os.WriteFile(file, []byte(key), 0o600)) })
	})
	t.Run("from Azure Resource Manager", func(t *testing.T) {
		t.Parallel()
		now := &clock{}
		m := startManaged(t, "key1")
		followKey(t, m.server, azuredriver.Options{Config: m.config, Now: now.Now}, m.trusted, func(string) { now.advance(time.Hour) })
	})
}

// followKey replaces key1; notice lets the driver know.
func followKey(t *testing.T, server *azurefake.Server, options azuredriver.Options, trusted *http.Client, notice func(key string)) {
	t.Helper()
	s, driver := startSystem(t, testenv.Start(t, testenv.Options{}), options)
	made := createObjects(s, driver, cosiapi.AuthenticationTypeKey, "")
	workload := (&keyless{trusted: trusted}).workload
	former := made.sas(t, s)
	wantNoError(t, upload(t.Context(), workload(t, former), "a"))

	key, err := server.RegenerateKey(mainAccount, "key1")
	wantNoError(t, err)
	wantRefused(t, "the former token", upload(t.Context(), workload(t, former), "a"), "AuthenticationFailed")
	notice(key)
	next := former
	s.Env.Eventually("another token in the Secret", func(context.Context) error {
		if next = made.sas(t, s); next == former {
			return errors.New("it is the former one")
		}
		return nil
	})
	wantNoError(t, upload(t.Context(), workload(t, next), "b"))
	s.Delete(made.access)
	wantRefused(t, "the next token after the access is deleted", list(t.Context(), workload(t, next)), "AuthenticationFailed")
	s.Delete(made.claim)
}

// TestServiceAccountThroughTheSystem tests the complete flow: a BucketAccess for a service account passes through
// controller, sidecar and driver, and the pod then stores a blob with only its token.
func TestServiceAccountThroughTheSystem(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "other tests use such accounts without the other components")
	c := newCluster(t)
	before := inventory(t, c.server)
	s, driver := startSystem(t, c.env, azuredriver.Options{Config: c.config})
	shop := c.pod(t, s.Namespace, "shop")
	made := createObjects(s, driver, cosiapi.AuthenticationTypeServiceAccount, "shop")
	if token := made.sas(t, s); token != "" {
		t.Error("the Secret holds a token")
	}
	if got := string(made.secret.Data["AZURE_STORAGE_ACCOUNT"]); got != mainAccount {
		t.Errorf("the Secret names the account %q", got)
	}
	wantNoError(t, s.Client().Get(t.Context(), client.ObjectKeyFromObject(made.access), made.access))
	account, bucket := made.access.Status.AccountID, made.access.Status.AccessedBuckets[0].BucketID
	mine := shop.container(t, account, bucket, entraAudience)
	wantRefused(t, "the pod", upload(t.Context(), mine, "key"), "")
	other := c.pod(t, s.Namespace, "other")
	wantRefused(t, "another pod", upload(t.Context(), other.container(t, account, bucket, entraAudience), "key"), "AADSTS700213")
	s.Delete(made.access)
	wantRefused(t, "the pod after the access is deleted", upload(t.Context(), mine, "key"), "InvalidAuthenticationInfo")
	s.Delete(made.claim)
	if after := inventory(t, c.server); len(after.Principals) != len(before.Principals) || len(after.Assignments) != len(before.Assignments) {
		t.Errorf("left are principals %v and assignments %v", after.Principals, after.Assignments)
	}
}
