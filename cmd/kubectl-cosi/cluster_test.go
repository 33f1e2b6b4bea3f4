// SPDX-License-Identifier: Apache-2.0

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/testing/docstest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

func TestMain(m *testing.M) { testenv.Main(m) }

// A printed is the output and exit code of a run.
type printed struct {
	code        int
	out, errOut string
}

// cosi runs `kubectl cosi` with a kubeconfig.
func cosi(t *testing.T, kubeconfig string, args ...string) printed {
	t.Helper()
	streams, _, out, errOut := genericiooptions.NewTestIOStreams()
	code := run(t.Context(), append([]string{"--kubeconfig", kubeconfig}, args...), streams)
	return printed{code: code, out: out.String(), errOut: errOut.String()}
}

// expect fails unless the program exited with the code and printed all the words.
func (p printed) expect(t *testing.T, code int, words ...string) {
	t.Helper()
	if p.code != code {
		t.Errorf("exit code: want %d, got %d", code, p.code)
	}
	all := p.out + p.errOut
	for _, word := range words {
		if !strings.Contains(strings.Join(strings.Fields(all), " "), word) {
			t.Errorf("it does not say %q", word)
		}
	}
	if t.Failed() {
		t.Logf("it printed\n%s", all)
	}
}

// sample is a system with classes of its driver.
type sample struct {
	*systemtest.System

	driver string
	// admin and tenant are kubeconfigs. The tenant has the role edit in the namespace.
	admin, tenant string
}

func newSample(t *testing.T, env *testenv.Env) sample {
	t.Helper()
	driver, part := systemtest.NewDriver(t, memdriver.Options{})
	s := sample{System: systemtest.StartOn(t, env, system.Options{Drivers: []system.Driver{part}}), driver: driver.Name()}
	s.Create(
		&cosiapi.BucketClass{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}, Spec: cosiapi.BucketClassSpec{DriverName: s.driver, DeletionPolicy: cosiapi.DeletionPolicyDelete}},
		&cosiapi.BucketAccessClass{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}, Spec: cosiapi.BucketAccessClassSpec{DriverName: s.driver}},
		&rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "anna"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "edit"},
			Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "anna-" + s.Namespace}},
		})
	anna := env.User("anna-" + s.Namespace)
	s.admin, s.tenant = env.Kubeconfig(env.Config(), s.Namespace), env.Kubeconfig(anna, s.Namespace)
	env.Eventually("the role edit counts", func(ctx context.Context) error {
		c := env.ClientFor(anna)
		return errors.Join(c.List(ctx, &cosiapi.BucketClaimList{}, client.InNamespace(s.Namespace)), c.List(ctx, &cosiapi.BucketAccessList{}, client.InNamespace(s.Namespace)))
	})
	return s
}

func (s sample) claim(name, class string) *cosiapi.BucketClaim {
	return &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: class, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
}

func (s sample) access(name, secret string) *cosiapi.BucketAccess {
	return &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		Spec: cosiapi.BucketAccessSpec{BucketAccessClassName: s.Namespace, Protocol: cosiapi.ProtocolS3, BucketClaims: []cosiapi.BucketClaimAccess{{
			BucketClaimName: "photos", AccessSecretName: secret, AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
		}}},
	}
}

// provision creates a claim and an access and waits until they are ready.
func (s sample) provision() *cosiapi.BucketClaim {
	claim, access := s.claim("photos", s.Namespace), s.access("photos", "photos-secret")
	s.Create(claim, access)
	s.WaitCondition(claim, cosiapi.ConditionProvisioned)
	s.WaitCondition(access, cosiapi.ConditionProvisioned)
	return claim
}

// TestWhatIsProvisioned also verifies that a tenant without permission to read Buckets and Leases is told so,
// and that no output contains a Secret value.
func TestWhatIsProvisioned(t *testing.T) {
	t.Parallel()
	s := newSample(t, testenv.Start(t, testenv.Options{}))
	claim := s.provision()
	cosi(t, s.tenant, "status").expect(t, 0,
		"BucketClaim/photos Provisioned", "BucketAccess/photos Provisioned", "Secret/photos-secret Filled", "Unreadable", "You are not allowed to read Buckets")
	cosi(t, s.tenant, "status", "access/photos", "claim/photos").expect(t, 0, "Driver/"+s.driver+" Unreadable", "You are not allowed to read its Lease")
	all := cosi(t, s.admin, "status", "-A")
	all.expect(t, all.code, s.Namespace+"/photos Provisioned", "Bucket/"+claim.Status.BoundBucketName+" Provisioned", "NoLease")
	cosi(t, s.admin, "status", "bucket/"+claim.Status.BoundBucketName, "-n", "default").expect(t, 0, "BucketClaim/photos Provisioned", "Secret/photos-secret")
	cosi(t, s.tenant, "status", "-A").expect(t, 1, "forbidden")
	cosi(t, s.tenant, "status", "-n", "default").expect(t, 1, "forbidden")
	cosi(t, s.tenant, "status", "bucket/"+claim.Status.BoundBucketName).expect(t, 1, "Unreadable")
	cosi(t, s.tenant, "__complete", "status", "claim/").expect(t, 0, "claim/photos")
	cosi(t, s.admin, "__complete", "status", "bucket/").expect(t, 0, "bucket/"+claim.Status.BoundBucketName)
	for _, subcommand := range []string{"env", "test", "rotate"} {
		cosi(t, s.tenant, "__complete", subcommand, "").expect(t, 0, "access/photos :4")
		if got := cosi(t, s.tenant, "__complete", subcommand, "access/photos", ""); strings.Contains(got.out, "photos") {
			t.Errorf("%s offers a second access: %s", subcommand, got.out)
		}
	}

	secret := &corev1.Secret{}
	if err := s.Client().Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "photos-secret"}, secret); err != nil {
		t.Fatal(err)
	}
	const long = 12 // shorter values may appear elsewhere
	seen := 0
	for _, format := range []string{"", "wide", "json", "yaml", "dot"} {
		got := cosi(t, s.tenant, "status", "-o", format)
		got.expect(t, 0, "photos-secret")
		for key, value := range secret.Data {
			if (strings.Contains(key, "KEY") || strings.Contains(key, "SECRET")) && len(value) >= long {
				seen++
				if strings.Contains(got.out, string(value)) {
					t.Errorf("-o %s shows the value of %s", format, key)
				}
			}
		}
	}
	if seen == 0 {
		t.Error("no value of the Secret was looked for")
	}
}

// TestWhatIsWrong makes common mistakes of users and administrators and verifies that they are reported.
func TestWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := newSample(t, testenv.Start(t, testenv.Options{}))
	s.provision()
	nobody := "nobody-" + s.Namespace + ".example.com"
	s.Create(
		&cosiapi.BucketClass{ObjectMeta: metav1.ObjectMeta{Name: "nobody-" + s.Namespace}, Spec: cosiapi.BucketClassSpec{DriverName: nobody, DeletionPolicy: cosiapi.DeletionPolicyDelete}},
		s.claim("nobody", "nobody-"+s.Namespace), s.claim("classless", "no-such-class"),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "password"}, StringData: map[string]string{"password": "of-somebody"}},
		s.access("taken", "password"))
	reason := func(name, reason string) {
		t.Helper()
		s.Env.Eventually(name+" has the reason "+reason, func(context.Context) error {
			if got := cosi(t, s.tenant, "status", name); !strings.Contains(got.out, reason) {
				return fmt.Errorf("it printed\n%s%s", got.out, got.errOut)
			}
			return nil
		})
	}
	for _, tc := range []struct {
		name, reason string
		code         int
		words        []string
	}{
		{"claim/classless", "WaitingForClass", 3, []string{`Waiting for BucketClass "no-such-class" to exist.`, "→ Compare the name with kubectl get bucketclasses"}},
		{"claim/nobody", "WaitingForBucket", 3, []string{nobody}},
		{"access/taken", "SecretTaken", 4, []string{"was not created for this BucketAccess", "→ If the Secret is not in use, delete it", "Secret/password Taken"}},
		{"claim/absent", "NotFound", 4, []string{"It does not exist.", "→ Create it"}},
	} {
		reason(tc.name, tc.reason)
		cosi(t, s.tenant, "status", tc.name).expect(t, tc.code, tc.words...)
	}
	cosi(t, s.admin, "status", "claim/nobody").expect(t, 3, "Driver/"+nobody+" NotInstalled", "The Lease does not exist, so no process has ever held it")
	cosi(t, s.admin, "drivers").expect(t, 0, nobody+" NotInstalled - - BucketClass/nobody-"+s.Namespace)
	cosi(t, s.tenant, "drivers").expect(t, 0, s.driver+" Unreadable")
	cosi(t, s.admin, "doctor").expect(t, 1, `FAIL Driver "`+nobody+`" of BucketClass/nobody-`+s.Namespace, "An administrator must install the driver", "look Objects in namespace")
	cosi(t, s.tenant, "doctor").expect(t, 0, "you are not allowed to get, list bucketclasses", "ClusterRole cosi-view-classes", "Only an administrator can check which implementation installed it", "you are not allowed to read it")
	cosi(t, s.tenant, "status", "pod/a").expect(t, 2, `"pod/a" is not one of claim/NAME`)
	cosi(t, s.tenant, "status", "-o", "xml").expect(t, 2, "is not one of wide, json, yaml, dot")
}

// TestDoctor uses a private control plane, first without and then with problems.
func TestDoctor(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "a control plane of its own; TestWhatIsWrong runs doctor, too")
	env := testenv.Start(t, testenv.Options{Private: true})
	s := newSample(t, env)
	s.provision()
	hold := func(name string, age time.Duration) {
		t.Helper()
		lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: deploy.SystemNamespace, Name: name}}
		if err := client.IgnoreAlreadyExists(s.Client().Create(t.Context(), lease.DeepCopy())); err != nil {
			t.Fatal(err)
		}
		testenv.Change(env, lease, func(l *coordinationv1.Lease) {
			l.Spec.HolderIdentity, l.Spec.LeaseDurationSeconds = ptr.To("somebody"), ptr.To[int32](15)
			l.Spec.RenewTime = ptr.To(metav1.NewMicroTime(time.Now().Add(-age)))
		})
	}
	// There is no leader election in this process.
	cosi(t, s.admin, "doctor").expect(t, 0, "look Controller: it has run, but its Lease has no holder", "look Driver", "Its sidecar has run, but its Lease has no holder")
	hold(cosiapi.ControllerLeaseName, 0)
	hold(cosiapi.LeaseNameFor(s.driver), 0)
	cosi(t, s.admin, "doctor").expect(t, 0,
		"ok CustomResourceDefinitions: all 5 of v1alpha2 are served and are Cooper's.", "ok Clocks", "ok Your permissions",
		`ok Controller: "somebody" holds its Lease.`, "its sidecar runs", "ok Driver names", "ok Deletions in", "none of 3 failed.")
	cosi(t, s.admin, "drivers").expect(t, 0, s.driver+" Running somebody")
	for _, subcommand := range []string{"doctor", "drivers"} {
		s.golden(t, subcommand, cosi(t, s.admin, subcommand).out)
	}

	hold(cosiapi.ControllerLeaseName, time.Hour)
	hold(cosiapi.LeaseNameFor(s.driver), -time.Hour)
	clash := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: deploy.SystemNamespace, Name: "clash"}, Reason: "DriverNameTaken", Message: "The driver name belongs to another deployment.",
		InvolvedObject: corev1.ObjectReference{Kind: "Lease", Namespace: deploy.SystemNamespace, Name: "cosi-driver-a"},
	}
	s.Create(clash)
	cosi(t, s.admin, "doctor").expect(t, 1,
		"FAIL Controller: Lease", "has not renewed it since", "ahead of the API server", `Lease "cosi-system/cosi-driver-a": The driver name belongs to another deployment.`)
}

// golden compares the output of a subcommand with a file in testdata, in which names and times are replaced
// by placeholders.
func (s sample) golden(t *testing.T, subcommand, out string) {
	t.Helper()
	text := strings.NewReplacer(s.driver, "DRIVER", s.Namespace, "NAMESPACE").Replace(out)
	text = regexp.MustCompile(`-?\d+(\.\d+)?(ms|µs|s)\b`).ReplaceAllString(text, "TIME")
	text = regexp.MustCompile(` {2,}`).ReplaceAllString(text, "  ") // column widths depend on the names
	docstest.CurrentPage(t, "cmd/kubectl-cosi/testdata/"+subcommand+".txt", func(string) []byte { return []byte(text) })
}

// TestWatch watches a claim while it is provisioned.
func TestWatch(t *testing.T) {
	t.Parallel()
	s := newSample(t, testenv.Start(t, testenv.Options{}))
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	out := &shared{}
	ended := make(chan int, 1)
	go func() {
		ended <- run(ctx, []string{"--kubeconfig", s.tenant, "status", "--watch"}, genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: io.Discard})
	}()
	says := func(word string) {
		t.Helper()
		s.Env.Eventually("it shows "+word, func(context.Context) error {
			if !strings.Contains(out.String(), word) {
				return fmt.Errorf("it printed\n%s", out)
			}
			return nil
		})
	}
	says("There are no BucketClaims")
	s.provision()
	says("Filled")
	if n := strings.Count(out.String(), "There are no"); n != 1 {
		t.Errorf("it reports %d times that there are no objects", n)
	}
	stop()
	if code := <-ended; code != 0 {
		t.Errorf("exit code after the end: %d", code)
	}
}

// shared is a buffer that is safe for concurrent use.
type shared struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (s *shared) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.Write(p)
}

func (s *shared) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}
