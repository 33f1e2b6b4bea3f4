// SPDX-License-Identifier: Apache-2.0

package main

import (
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/cooper-cosi/cooper/deploy"
	"github.com/cooper-cosi/cooper/internal/freeport"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv"
)

// TestMetricsAreForWhoMayReadThem runs a controller with the permissions of deploy/ and requests its metrics
// anonymously, as an unauthorized account, and as an authorized account.
func TestMetricsAreForWhoMayReadThem(t *testing.T) {
	t.Parallel()
	env := testenv.Start(t, testenv.Options{})
	env.ApplyClusterRoles()
	namespace := env.Namespace()
	bind := func(role string, subject rbacv1.Subject) {
		env.Create(&rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role + ":" + namespace + ":" + subject.Name}, Subjects: []rbacv1.Subject{subject},
			RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		})
	}
	for _, role := range []string{deploy.ControllerRole, deploy.MetricsAuthRole} {
		bind(role, rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "User", Name: namespace})
	}
	for _, account := range []string{"nobody", "prometheus"} {
		env.Create(&corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: account}})
	}
	bind(deploy.MetricsReaderRole, rbacv1.Subject{Kind: "ServiceAccount", Namespace: namespace, Name: "prometheus"})

	metrics, health := freeport.ForTest(t).Address(), freeport.ForTest(t).Address()
	process := processtest.StartProgram(t, []string{
		"KUBECONFIG=" + env.Kubeconfig(env.User(namespace), namespace), "COOPER_NAMESPACES=" + namespace,
		"COOPER_METRICS_ADDRESS=" + metrics, "COOPER_METRICS_SECURE=true", "COOPER_HEALTH_ADDRESS=" + health,
	}, "--leader-elect=false")
	process.AwaitPage("http://"+health+"/readyz", http.StatusOK, "ok")
	process.AwaitAddress(metrics) // served by another process, possibly later
	for name, tc := range map[string]struct {
		token  string
		status int
		text   string
	}{
		"no token":                    {"", http.StatusUnauthorized, ""},
		"an unknown token":            {"not-a-token", http.StatusInternalServerError, ""},
		"an account without the role": {tokenOf(t, env, namespace, "nobody"), http.StatusForbidden, ""},
		"an account with the role":    {tokenOf(t, env, namespace, "prometheus"), http.StatusOK, "workqueue_work_duration_seconds"},
	} {
		status, text := getSecurely(t, "https://"+metrics+"/metrics", tc.token)
		if status != tc.status || !strings.Contains(text, tc.text) || status != http.StatusOK && strings.Contains(text, "workqueue_work_duration_seconds") {
			t.Errorf("%s: want status %d with %q, got %d:\n%s", name, tc.status, tc.text, status, text)
		}
	}
}

func tokenOf(t *testing.T, env *testenv.Env, namespace, account string) string {
	t.Helper()
	clients, err := kubernetes.NewForConfig(env.Config())
	if err != nil {
		t.Fatal(err)
	}
	token, err := clients.CoreV1().ServiceAccounts(namespace).CreateToken(t.Context(), account, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return token.Status.Token
}

// getSecurely requests a page over TLS without verifying the certificate.
func getSecurely(t *testing.T, url, token string) (status int, text string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}} // self-signed certificate
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	content, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(content)
}
