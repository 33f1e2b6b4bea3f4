// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/internal/testing/browsertest"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv"
)

// served runs `kubectl cosi ui` until the test ends and returns the URL, with the token, that it prints.
func served(t *testing.T, s sample, kubeconfig string, args ...string) string {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	out, ended := &shared{}, make(chan int, 1)
	go func() {
		streams := genericiooptions.IOStreams{In: strings.NewReader(""), Out: out, ErrOut: io.Discard}
		ended <- run(ctx, append([]string{"--kubeconfig", kubeconfig, "ui"}, args...), streams)
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("exit code after the end: %d", code)
		}
	})
	address := ""
	s.Env.Eventually("the page is served", func(context.Context) error {
		address = regexp.MustCompile(`http://\S+`).FindString(out.String())
		if address == "" {
			return fmt.Errorf("it printed %q", out)
		}
		return nil
	})
	return address
}

// TestThePageShowsWhatATenantMayRead opens the page as a user who may edit a namespace, and as one who may
// view it without Secrets. It then removes the permissions while the browser shows the page.
func TestThePageShowsWhatATenantMayRead(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "it needs a browser; TestWhatIsProvisioned reads as a tenant, too")
	browser, complaints := browsertest.Start(t)
	s := newSample(t, testenv.Start(t, testenv.Options{}))
	claim := s.provision()
	elsewhere := s.claim("of-others", s.Namespace)
	elsewhere.Namespace = s.Env.Namespace()
	s.Create(elsewhere, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "vera"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects:   []rbacv1.Subject{{Kind: "User", APIGroup: rbacv1.GroupName, Name: "vera-" + s.Namespace}},
	})
	vera := s.Env.User("vera-" + s.Namespace)
	s.Env.Eventually("the role view counts", func(ctx context.Context) error {
		c := s.Env.ClientFor(vera)
		return errors.Join(c.List(ctx, &cosiapi.BucketClaimList{}, client.InNamespace(s.Namespace)), c.List(ctx, &cosiapi.BucketAccessList{}, client.InNamespace(s.Namespace)))
	})
	box := func(kind, name string) string { return fmt.Sprintf(`a[id="%s/%s/%s"]`, kind, s.Namespace, name) }
	claimBox, secretBox := box("BucketClaim", "photos"), box("Secret", "photos-secret")
	whole := func() string { return browsertest.Ask(browser, t, chromedp.OuterHTML("html")) }

	address := served(t, s, s.tenant)
	bare, _, _ := strings.Cut(address, "?")
	stranger, _ := browsertest.Start(t)
	browsertest.Must(stranger, t, chromedp.Navigate(bare))
	if text := browsertest.Ask(stranger, t, chromedp.OuterHTML("html")); !strings.Contains(text, "it contains the token") || strings.Contains(text, "photos") {
		t.Errorf("without the token the page shows %s", text)
	}

	t.Log("a user with the role edit")
	browsertest.Must(browser, t, chromedp.Navigate(address), chromedp.WaitVisible(claimBox), chromedp.WaitVisible(`a[id="Bucket//`+claim.Status.BoundBucketName+`"] text.unknown`))
	browsertest.Must(browser, t, chromedp.Click(secretBox), chromedp.WaitVisible("section table"))
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
	browsertest.Must(browser, t, chromedp.Navigate(served(t, s, s.Env.Kubeconfig(vera, s.Namespace))), chromedp.WaitVisible(secretBox+" text.unknown"))
	if all := whole(); strings.Contains(all, "AWS_ACCESS_KEY_ID") {
		t.Errorf("the page shows the content of a Secret: %s", all)
	}
	browsertest.Must(browser, t, chromedp.Navigate(served(t, s, s.Env.Kubeconfig(vera, s.Namespace), "--all-namespaces")), chromedp.WaitVisible("p.problem"))
	if all := whole(); !strings.Contains(all, "forbidden") || strings.Contains(all, "photos") || strings.Contains(all, "of-others") {
		t.Errorf("the page of all namespaces shows %s", all)
	}

	t.Log("a user who loses permissions")
	browsertest.Must(browser, t, chromedp.Navigate(bare), chromedp.WaitVisible(claimBox))
	s.Env.Delete(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "anna"}})
	browsertest.Must(browser, t, chromedp.WaitNotPresent(claimBox), chromedp.WaitVisible("p.problem"))
	if all := whole(); !strings.Contains(all, "forbidden") {
		t.Errorf("the page does not say that anna may read nothing: %s", all)
	}
	complaints.None(t)
}
