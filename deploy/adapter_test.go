// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestAdapterOfTheChartMatchesKustomize compares the values of the adapter with the components that add it.
func TestAdapterOfTheChartMatchesKustomize(t *testing.T) {
	t.Parallel()
	for values, components := range map[string][]string{
		"adapter.enabled=true":                            {"adapter"},
		"adapter.enabled=true,adapter.kubernetesAPI=true": {"adapter", "adapter-kubernetes-api"},
	} {
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			same(t, withComponents(t, components...), render(t, "cosi-driver", "cosi-driver-s3", "--set", values))
		})
	}
}

// TestAdapterDisablesPeriodicRegrants verifies that the sidecar of an adapter repeats no grants unless the user sets the
// interval. A flag overrides the variable.
func TestAdapterDisablesPeriodicRegrants(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		values string
		want   []string
	}{
		"with the adapter":                    {"adapter.enabled=true", []string{"0"}},
		"with the adapter and the user's":     {"adapter.enabled=true,sidecar.env[0].name=COOPER_REGRANT_INTERVAL,sidecar.env[0].value=72h", []string{"72h"}},
		"without the adapter":                 {"adapter.enabled=false", nil},
		"without the adapter, but the user's": {"sidecar.env[0].name=COOPER_REGRANT_INTERVAL,sidecar.env[0].value=72h", []string{"72h"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, variable := range deployment(t, "--set", tc.values).Spec.Template.Spec.Containers[0].Env {
				if variable.Name == "COOPER_REGRANT_INTERVAL" {
					got = append(got, variable.Value)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("interval (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPortOfTheKubernetesAPI verifies that the adapter serves the API at the address of the driver's variables.
func TestPortOfTheKubernetesAPI(t *testing.T) {
	t.Parallel()
	for values, want := range map[string]map[string]string{
		"adapter.kubernetesAPI=true": {
			"COOPER_KUBERNETES_API_ADDRESS": "127.0.0.1:6443", "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "6443",
		},
		"adapter.kubernetesAPI=true,adapter.kubernetesAPIPort=9391": {
			"COOPER_KUBERNETES_API_ADDRESS": "127.0.0.1:9391", "KUBERNETES_SERVICE_HOST": "127.0.0.1", "KUBERNETES_SERVICE_PORT": "9391",
		},
		"adapter.kubernetesAPI=false": {},
	} {
		t.Run(values, func(t *testing.T) {
			t.Parallel()
			got := map[string]string{}
			for _, container := range deployment(t, "--set", "adapter.enabled=true,"+values).Spec.Template.Spec.InitContainers {
				for _, variable := range container.Env {
					if strings.HasPrefix(variable.Name, "KUBERNETES_") || variable.Name == "COOPER_KUBERNETES_API_ADDRESS" {
						got[variable.Name] = variable.Value
					}
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("variables (-want +got):\n%s", diff)
			}
		})
	}
}

// deployment renders the Deployment of a driver.
func deployment(t *testing.T, args ...string) appsv1.Deployment {
	t.Helper()
	var d appsv1.Deployment
	rendered := render(t, "cosi-driver", "vendor", args...)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(rendered["Deployment vendor/vendor"], &d); err != nil {
		t.Fatal(err)
	}
	return d
}

// withComponents renders the S3 driver with components of this directory.
func withComponents(t *testing.T, components ...string) objects {
	t.Helper()
	dir := t.TempDir()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	here, err = filepath.Rel(dir, here) // Kustomize requires relative paths
	if err != nil {
		t.Fatal(err)
	}
	text := fmt.Sprintf("resources: [%s/drivers/s3]\ncomponents:\n", here)
	for _, component := range components {
		text += fmt.Sprintf("  - %s/components/%s\n", here, component)
	}
	if err := os.WriteFile(filepath.Join(dir, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kustomize(t, dir)
}

// TestAdapterSeparatesTheDriver verifies which volumes each container mounts: the driver reaches neither the
// sidecar, its credential store and its token, nor the Secrets and keys of the adapter. The adapter starts
// before the driver, once it has written the files that the driver needs.
func TestAdapterSeparatesTheDriver(t *testing.T) {
	t.Parallel()
	pod := deployment(t, "--set", "adapter.enabled=true,adapter.kubernetesAPI=true,adapter.keySecret=keys,driver.secrets=null",
		"--set-json", `adapter.secrets=[{"namespace":"rook-ceph","name":"admin","secretName":"vendor"}]`).Spec.Template.Spec
	got := map[string][]string{}
	for _, container := range append(pod.InitContainers, pod.Containers...) {
		for _, mount := range container.VolumeMounts {
			got[container.Name] = append(got[container.Name], mount.Name+" "+mount.MountPath)
		}
	}
	const account = "/var/run/secrets/kubernetes.io/serviceaccount"
	want := map[string][]string{
		"adapter": {
			"kubernetes-api /var/lib/cosi-kubernetes", "adapter-secret-0 /etc/cosi/secrets/rook-ceph/admin", "socket /var/lib/cosi",
			"driver-socket /var/lib/cosi-driver", "adapter-keys /etc/cosi/keys",
		},
		"driver":  {"kubernetes-api " + account, "driver-socket /var/lib/cosi", "config /etc/cosi/config", "driver-tmp /tmp"},
		"sidecar": {"socket /var/lib/cosi", "token " + account, "tmp /tmp"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("mounts (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"adapter", "driver"}, names(pod.InitContainers)); diff != "" {
		t.Fatalf("order of the containers (-want +got):\n%s", diff)
	}
	adapter := pod.InitContainers[0]
	if adapter.StartupProbe == nil || adapter.RestartPolicy == nil || *adapter.RestartPolicy != corev1.ContainerRestartPolicyAlways {
		t.Error("the driver starts before the adapter has written its files")
	}
	if diff := cmp.Diff(pod.Containers[0].SecurityContext, adapter.SecurityContext); diff != "" {
		t.Errorf("security context (-sidecar +adapter):\n%s", diff)
	}
	if *pod.AutomountServiceAccountToken {
		t.Error("all containers have the token of the account")
	}
}
