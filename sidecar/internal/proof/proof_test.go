// SPDX-License-Identifier: Apache-2.0

package proof_test

import (
	"sync"
	"testing"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/cooper-cosi/cooper/sidecar/internal/proof"
	"github.com/cooper-cosi/cooper/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// Two sidecars of one driver have one key, also when both make it, and what
// another driver's proves, or another object, proves nothing.
func TestProof(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	options := proof.Options{Client: env.Client, Live: env.Client, Namespace: env.Namespace(), Driver: "a.example.com", Log: logr.Discard()}
	keys := []*proof.Key{proof.New(options), proof.New(options)}
	proofs := make([]string, len(keys))
	var both sync.WaitGroup
	for i := range keys {
		both.Go(func() {
			var err error
			if proofs[i], err = keys[i].Prove(t.Context(), "uid", "text"); err != nil {
				t.Error(err)
			}
		})
	}
	both.Wait()
	options.Driver = "b.example.com"
	for name, tc := range map[string]struct {
		key         *proof.Key
		proof, text string
		uid         types.UID
		want        bool
	}{
		"what it proved itself":        {keys[0], proofs[0], "text", "uid", true},
		"what its twin proved":         {keys[0], proofs[1], "text", "uid", true},
		"another text":                 {keys[0], proofs[0], "other", "uid", false},
		"another object":               {keys[0], proofs[0], "text", "other", false},
		"an object that is not stored": {keys[0], proofs[0], "text", "", false},
		"no proof":                     {keys[0], "", "text", "uid", false},
		"the proof of another driver":  {proof.New(options), proofs[0], "text", "uid", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := tc.key.Proves(t.Context(), tc.proof, tc.uid, tc.text)
			if err != nil || got != tc.want {
				t.Errorf("want %v, got %v, %v", tc.want, got, err)
			}
		})
	}
}

// Without a key nothing is proven, and that is said once.
func TestNoKey(t *testing.T) {
	t.Parallel()
	for name, prepare := range map[string]func(env *testenv.Env, o *proof.Options){
		"the sidecar does not know its namespace": func(_ *testenv.Env, o *proof.Options) { o.Namespace = "" },
		"the key is damaged": func(env *testenv.Env, o *proof.Options) {
			env.Create(&corev1.Secret{
				ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: proof.SecretPrefix + o.Driver}, Data: map[string][]byte{"key": []byte("short")},
			})
		},
		"the owner is no namespace of the cluster, but a project of Compose": func(_ *testenv.Env, o *proof.Options) { o.Namespace = "compose" },
		"the sidecar may read no Secrets": func(env *testenv.Env, o *proof.Options) {
			nobody := env.ClientFor(env.User("nobody"))
			o.Client, o.Live = nobody, client.Reader(nobody)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			env, said := testenv.Start(t, testenv.Options{}), 0
			o := proof.Options{
				Client: env.Client, Live: env.Client, Namespace: env.Namespace(), Driver: "a.example.com",
				Log: funcr.New(func(string, string) { said++ }, funcr.Options{}),
			}
			prepare(env, &o)
			key := proof.New(o)
			for range 2 {
				made, err := key.Prove(t.Context(), "uid", "text")
				if err != nil || made != "" {
					t.Errorf("want no proof, got %q, %v", made, err)
				}
				if proven, err := key.Proves(t.Context(), "", "uid", "text"); err != nil || proven {
					t.Errorf("want nothing proven, got %v, %v", proven, err)
				}
			}
			if said != 1 {
				t.Errorf("want it said once, got %d times", said)
			}
		})
	}
}
