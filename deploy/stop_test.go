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

// TestADriverOutlivesItsSidecar sees that Kubernetes starts each driver before its sidecar and stops it after, and gives
// both the time. The Pods of the charts are the same, says TestChartsAreWhatKustomizeIs.
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
			// What a call came to is written down within 30 s, and a driver that nobody calls any more ends within 8.
			needs := sidecar.DefaultDeadline + 30*time.Second + 8*time.Second
			if has := time.Duration(*pod.TerminationGracePeriodSeconds) * time.Second; has < needs {
				t.Errorf("sidecar and driver have %v to stop, and may need %v", has, needs)
			}
		})
	}
}

// TestDriverAndSidecarShareTheirSocketAlone sees that a driver can put no file where its sidecar looks for one, such as the
// certificate of its metrics in /tmp. The Pods of the charts are the same, says TestChartsAreWhatKustomizeIs.
func TestDriverAndSidecarShareTheirSocketAlone(t *testing.T) {
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

// TestADriverDoesNotFillTheNode sees that what a Pod of a driver writes to the node's disk has a limit: each volume, and all
// together with the logs. The Pods of the charts are the same, says TestChartsAreWhatKustomizeIs.
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
			t.Errorf("%s: what the driver writes has no limit", file)
		}
		// Without a request, the limit would be one, and many a node has not so much to give away.
		if request, said := driver.Requests[corev1.ResourceEphemeralStorage]; !said || !request.IsZero() {
			t.Errorf("%s: the driver reserves disk", file)
		}
	}
}
