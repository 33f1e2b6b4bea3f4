// SPDX-License-Identifier: Apache-2.0

package containers_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

// service is a service in compose.yaml.
type service struct {
	Image       string            `json:"image"`
	Command     []string          `json:"command"`
	Environment map[string]string `json:"environment"`
	ReadOnly    bool              `json:"read_only"`
	CapDrop     []string          `json:"cap_drop"`
	Tmpfs       []string          `json:"tmpfs"`
	Volumes     []string          `json:"volumes"`
}

// TestComposeRunsWhatPodsRun compares compose.yaml with the Pods in deploy/: arguments, environment, mounts
// and limits. Intended differences are listed here with the reasons.
func TestComposeRunsWhatPodsRun(t *testing.T) {
	t.Parallel()
	var compose struct {
		Services map[string]service `json:"services"`
	}
	readYAML(t, filepath.Join(root, "compose.yaml"), &compose)
	for name, at := range map[string]struct{ file, container string }{
		"controller":    {"controller/deployment.yaml", "controller"},
		"sidecar-s3":    {"drivers/s3/deployment.yaml", "sidecar"},
		"sidecar-azure": {"drivers/azure/deployment.yaml", "sidecar"},
		"sidecar-gcs":   {"drivers/gcs/deployment.yaml", "sidecar"},
		"driver-s3":     {"drivers/s3/deployment.yaml", "driver"},
		"driver-azure":  {"drivers/azure/deployment.yaml", "driver"},
		"driver-gcs":    {"drivers/gcs/deployment.yaml", "driver"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var deployment appsv1.Deployment
			readYAML(t, filepath.Join(root, "deploy", at.file), &deployment)
			containers := slices.Concat(deployment.Spec.Template.Spec.InitContainers, deployment.Spec.Template.Spec.Containers)
			index := slices.IndexFunc(containers, func(c corev1.Container) bool { return c.Name == at.container })
			if index < 0 {
				t.Fatalf("%s has no container %s", at.file, at.container)
			}
			same(t, compose.Services[name], containers[index])
		})
	}
}

// TestComposeFormat verifies that Debian's docker-compose 1.29 can read compose.yaml.
func TestComposeFormat(t *testing.T) {
	t.Parallel()
	var compose map[string]any
	readYAML(t, filepath.Join(root, "compose.yaml"), &compose)
	for key := range compose {
		if key != "services" && key != "volumes" && !strings.HasPrefix(key, "x-") {
			t.Errorf("docker-compose 1.29 does not know %q at the top of compose.yaml", key)
		}
	}
}

// differs reports whether a variable intentionally differs, with the reason.
func differs(variable string) bool {
	switch variable {
	case "KUBECONFIG", // Pods use their service account token
		"GOMEMLIMIT",                      // a field of the Pod
		"COOPER_METRICS_SECURE",           // Compose does not publish these ports
		"COOPER_OWNER",                    // name of the Deployment or of the Compose project
		"COOPER_CONFIG",                   // a ConfigMap; compose.yaml configures one backend by variables
		"COOPER_CREDENTIAL_STORE",         // the sidecar's store; compose.yaml uses a volume
		"COOPER_CREDENTIAL_STORE_ADDRESS": // likewise
		return true
	}
	_, _, configuration := strings.Cut(variable, "_DRIVER_")
	return configuration && !strings.HasPrefix(variable, "COOPER_")
}

func same(t *testing.T, composed service, pod corev1.Container) {
	t.Helper()
	if diff := cmp.Diff(pod.Args, composed.Command); diff != "" {
		t.Errorf("arguments (-Pod +compose):\n%s", diff)
	}
	environment := map[string]string{}
	for _, variable := range pod.Env {
		environment[variable.Name] = variable.Value
	}
	drop := func(variable, _ string) bool { return differs(variable) }
	maps.DeleteFunc(environment, drop)
	maps.DeleteFunc(composed.Environment, drop)
	if diff := cmp.Diff(environment, composed.Environment); diff != "" {
		t.Errorf("environment (-Pod +compose):\n%s", diff)
	}
	security := pod.SecurityContext
	if composed.ReadOnly != *security.ReadOnlyRootFilesystem || !slices.Equal(composed.CapDrop, []string{"ALL"}) || len(security.Capabilities.Drop) != 1 {
		t.Errorf("limits: %+v in the Pod, %+v in compose.yaml", security, composed)
	}
	mounted := func(directory string) bool {
		return slices.ContainsFunc(pod.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == directory })
	}
	if !mounted("/tmp") || len(composed.Tmpfs) != 1 {
		t.Error("/tmp is not writable in both")
	}
	socket := slices.ContainsFunc(composed.Volumes, func(v string) bool { return strings.HasSuffix(v, ":/var/lib/cosi") })
	if mounted("/var/lib/cosi") != socket {
		t.Errorf("the socket's directory: %v in the Pod, %v in compose.yaml", mounted("/var/lib/cosi"), socket)
	}
}

func readYAML(t *testing.T, file string, into any) {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.Unmarshal(content, into); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
}
