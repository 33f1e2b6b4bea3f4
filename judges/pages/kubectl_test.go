// SPDX-License-Identifier: Apache-2.0

package pages_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/sanity/memdriver"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

// sample is a system with classes of its driver.
type sample struct {
	*systemtest.System

	program string
}

func newSample(t *testing.T) sample {
	t.Helper()
	driver, part := systemtest.NewDriver(t, memdriver.Options{})
	s := sample{System: systemtest.Start(t, system.Options{Drivers: []system.Driver{part}}), program: build(t, "kubectl-cosi")}
	s.Create(
		&cosiapi.BucketClass{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}, Spec: cosiapi.BucketClassSpec{DriverName: driver.Name(), DeletionPolicy: cosiapi.DeletionPolicyDelete}},
		&cosiapi.BucketAccessClass{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}, Spec: cosiapi.BucketAccessClassSpec{DriverName: driver.Name()}})
	return s
}

// user returns a user with a role in the namespace.
func (s sample) user(name, role string) *rest.Config {
	user := name + "-" + s.Namespace
	s.Create(&rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: user}},
	})
	config := s.Env.User(user)
	s.Env.Eventually("the role "+role+" counts", func(ctx context.Context) error {
		c := s.Env.ClientFor(config)
		return errors.Join(c.List(ctx, &cosiapi.BucketClaimList{}, client.InNamespace(s.Namespace)), c.List(ctx, &cosiapi.BucketAccessList{}, client.InNamespace(s.Namespace)))
	})
	return config
}

func (s sample) claim(namespace, name string) *cosiapi.BucketClaim {
	return &cosiapi.BucketClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       cosiapi.BucketClaimSpec{BucketClassName: s.Namespace, Protocols: []cosiapi.Protocol{cosiapi.ProtocolS3}},
	}
}

// provision creates a claim and an access and waits until they are ready.
func (s sample) provision() *cosiapi.BucketClaim {
	claim := s.claim(s.Namespace, "photos")
	access := &cosiapi.BucketAccess{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "photos"},
		Spec: cosiapi.BucketAccessSpec{BucketAccessClassName: s.Namespace, Protocol: cosiapi.ProtocolS3, BucketClaims: []cosiapi.BucketClaimAccess{{
			BucketClaimName: "photos", AccessSecretName: "photos-secret", AccessModes: cosiapi.BucketAccessModes{ObjectData: cosiapi.BucketAccessModeReadWrite},
		}}},
	}
	s.Create(claim, access)
	s.WaitCondition(claim, cosiapi.ConditionProvisioned)
	s.WaitCondition(access, cosiapi.ConditionProvisioned)
	return claim
}

// served runs `kubectl cosi ui` until the test ends and returns the URL, with the token, that it prints.
func (s sample) served(t *testing.T, user *rest.Config, args ...string) string {
	t.Helper()
	return start(t, `(http://\S+)`, s.program, append([]string{"--kubeconfig", s.Env.Kubeconfig(user, s.Namespace), "ui"}, args...)...)
}

// TestThePageShowsWhatATenantMayRead opens the page as a user who may edit a namespace, and as one who may
// view it without Secrets. It then removes the permissions while the browser shows the page.
func TestThePageShowsWhatATenantMayRead(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "it needs a browser; TestWhatIsProvisioned in cmd/kubectl-cosi reads as a tenant, too")
	browser, complaints := startBrowser(t)
	s := newSample(t)
	anna, vera := s.user("anna", "edit"), s.user("vera", "view")
	claim := s.provision()
	s.Create(s.claim(s.Env.Namespace(), "of-others"))
	box := func(kind, name string) string { return fmt.Sprintf(`a[id="%s/%s/%s"]`, kind, s.Namespace, name) }
	claimBox, secretBox := box("BucketClaim", "photos"), box("Secret", "photos-secret")
	whole := func() string { return ask(browser, t, chromedp.OuterHTML("html")) }

	address := s.served(t, anna)
	bare, _, _ := strings.Cut(address, "?")
	stranger, _ := startBrowser(t)
	must(stranger, t, chromedp.Navigate(bare))
	if text := ask(stranger, t, chromedp.OuterHTML("html")); !strings.Contains(text, "it contains the token") || strings.Contains(text, "photos") {
		t.Errorf("without the token the page says %s", text)
	}

	t.Log("a user with the role edit")
	must(browser, t, chromedp.Navigate(address), chromedp.WaitVisible(claimBox), chromedp.WaitVisible(`a[id="Bucket//`+claim.Status.BoundBucketName+`"] span.unknown`))
	must(browser, t, chromedp.Click(secretBox), chromedp.WaitVisible("section table"))
	all := whole()
	if !strings.Contains(all, "You are not allowed to read Buckets") || strings.Contains(all, "of-others") {
		t.Errorf("the page shows unreadable objects, or does not report them: %s", all)
	}
	secret := &corev1.Secret{}
	if err := s.Client().Get(t.Context(), client.ObjectKey{Namespace: s.Namespace, Name: "photos-secret"}, secret); err != nil {
		t.Fatal(err)
	}
	for _, key := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"} {
		if value := string(secret.Data[key]); value == "" || !strings.Contains(all, key) || strings.Contains(all, value) {
			t.Errorf("the page lacks the name of %s, or shows its value", key)
		}
	}

	t.Log("a user with the role view")
	must(browser, t, chromedp.Navigate(s.served(t, vera)), chromedp.WaitVisible(secretBox+" span.unknown"))
	if all := whole(); strings.Contains(all, "AWS_ACCESS_KEY_ID") {
		t.Errorf("the page shows the content of a Secret: %s", all)
	}
	must(browser, t, chromedp.Navigate(s.served(t, vera, "--all-namespaces")), chromedp.WaitVisible("p.problem"))
	if all := whole(); !strings.Contains(all, "forbidden") || strings.Contains(all, "photos") || strings.Contains(all, "of-others") {
		t.Errorf("the page of all namespaces says %s", all)
	}

	t.Log("a user who loses permissions")
	must(browser, t, chromedp.Navigate(bare), chromedp.WaitVisible(claimBox))
	s.Env.Delete(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "anna"}})
	must(browser, t, chromedp.WaitNotPresent(claimBox), chromedp.WaitVisible("p.problem"))
	if all := whole(); !strings.Contains(all, "forbidden") {
		t.Errorf("the page does not say that anna may read nothing: %s", all)
	}
	complaints.none(t)
}
