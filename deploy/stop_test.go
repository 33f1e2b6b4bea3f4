// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/sidecar"
)

// TestADriverOutlivesItsSidecar verifies that Kubernetes starts each driver before its sidecar and stops it
// afterwards, with enough time for both. TestChartsMatchKustomize covers the Pods of the charts.
func TestADriverOutlivesItsSidecar(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("drivers/*/deployment.yaml")
	if err != nil || len(files) != 4 {
		t.Fatalf("want four drivers, got %q, %v", files, err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var deployment appsv1.Deployment
			if err := yaml.UnmarshalStrict(content, &deployment); err != nil {
				t.Fatal(err)
			}
			pod := deployment.Spec.Template.Spec
			if diff := cmp.Diff([]string{"driver", "sidecar"}, append(names(pod.InitContainers), names(pod.Containers)...)); diff != "" || len(pod.Containers) != 1 {
				t.Fatalf("containers (-want +got):\n%s", diff)
			}
			driver := pod.InitContainers[0]
			if driver.RestartPolicy == nil || *driver.RestartPolicy != corev1.ContainerRestartPolicyAlways {
				t.Error("the driver has to end before the sidecar begins")
			}
			if driver.StartupProbe == nil {
				t.Error("the sidecar begins before the driver listens")
			}
			// The result of a call is stored within 30 s, and an idle driver exits within 8 s.
			needs := sidecar.DefaultDeadline + 30*time.Second + 8*time.Second
			if has := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; has < needs {
				t.Errorf("sidecar and driver have %v to stop, and may need %v", has, needs)
			}
		})
	}
}

// TestDriverAndSidecarShareOnlyTheirSocket verifies that a driver cannot create files that its sidecar
// reads, such as the certificate of its metrics in /tmp. TestChartsMatchKustomize covers the Pods of the
// charts.
func TestDriverAndSidecarShareOnlyTheirSocket(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("drivers/*/deployment.yaml")
	if err != nil || len(files) != 4 {
		t.Fatalf("want four drivers, got %q, %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var deployment appsv1.Deployment
		if err := yaml.UnmarshalStrict(content, &deployment); err != nil {
			t.Fatal(err)
		}
		pod := deployment.Spec.Template.Spec
		var shared []string
		for _, mount := range pod.InitContainers[0].VolumeMounts {
			if slices.ContainsFunc(pod.Containers[0].VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == mount.Name }) {
				shared = append(shared, mount.Name)
			}
		}
		if diff := cmp.Diff([]string{"socket"}, shared); diff != "" {
			t.Errorf("%s: volumes of both (-want +got):\n%s", file, diff)
		}
	}
}

func names(containers []corev1.Container) []string {
	found := make([]string, 0, len(containers))
	for _, container := range containers {
		found = append(found, container.Name)
	}
	return found
}

// TestADriverDoesNotFillTheNode verifies that the disk usage of a driver's Pod is limited, for each volume
// and in total with the logs. TestChartsMatchKustomize covers the Pods of the charts.
func TestADriverDoesNotFillTheNode(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("drivers/*/deployment.yaml")
	if err != nil || len(files) != 4 {
		t.Fatalf("want four drivers, got %q, %v", files, err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var deployment appsv1.Deployment
		if err := yaml.UnmarshalStrict(content, &deployment); err != nil {
			t.Fatal(err)
		}
		pod := deployment.Spec.Template.Spec
		for _, volume := range pod.Volumes {
			if volume.EmptyDir != nil && volume.EmptyDir.SizeLimit.IsZero() {
				t.Errorf("%s: the volume %s has no limit", file, volume.Name)
			}
		}
		driver := pod.InitContainers[0].Resources
		if driver.Limits.StorageEphemeral().IsZero() {
			t.Errorf("%s: the driver's ephemeral storage has no limit", file)
		}
		// Without a request, the request would equal the limit, which is more than many nodes can allocate.
		if request, said := driver.Requests[corev1.ResourceEphemeralStorage]; !said || !request.IsZero() {
			t.Errorf("%s: the driver reserves disk", file)
		}
	}
}
