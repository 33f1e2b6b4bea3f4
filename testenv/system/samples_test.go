// SPDX-License-Identifier: Apache-2.0

package system_test

import (
	"context"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	cosiapi "github.com/cooper-cosi/cooper/api/v1alpha2"
	"github.com/cooper-cosi/cooper/fakes/faketest"
	"github.com/cooper-cosi/cooper/fakes/s3fake"
	"github.com/cooper-cosi/cooper/internal/credstore"
	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/internal/testing/processtest"
	"github.com/cooper-cosi/cooper/testenv"
	"github.com/cooper-cosi/cooper/testenv/system"
	"github.com/cooper-cosi/cooper/testenv/system/cloudstest"
	"github.com/cooper-cosi/cooper/testenv/system/systemtest"
)

// samples returns the directories of deploy/samples except the one with the classes.
func samples(t *testing.T) []string {
	t.Helper()
	entries, err := os.ReadDir("../../deploy/samples")
	wantNoError(t, err)
	var folders []string
	for _, entry := range entries {
		if entry.IsDir() && entry.Name() != "classes" {
			folders = append(folders, entry.Name())
		}
	}
	if len(folders) == 0 {
		t.Fatal("there are no samples")
	}
	return folders
}

// TestSamples applies each sample to an API server with a running COSI system. It verifies that the accesses
// are granted, that the restricted Pod Security Standard admits the Pods, and that the Pods find the Secret
// keys that they name.
func TestSamples(t *testing.T) {
	t.Parallel()
	fulltest.Only(t, "TestCooperDoesWhatTheReadmePromises in cmd/cooper applies the manifests of the tutorial")
	env := testenv.Start(t, testenv.Options{Private: true}) // isolated because classes and driver name are fixed
	s := systemtest.StartOn(t, env, system.Options{Drivers: []system.Driver{cloudstest.S3(t, faketest.Start(t, s3fake.New, s3fake.Options{}), credstore.NewMemory())}})
	strict := client.WithFieldValidation(s.Client(), metav1.FieldValidationStrict)
	restrict(t, s)
	applySample(t, s, strict, "classes")
	for _, folder := range samples(t) {
		t.Run(folder, func(t *testing.T) {
			t.Parallel()
			secrets, pods := map[string]map[string][]byte{}, []corev1.PodSpec{}
			for _, object := range applySample(t, s, strict, folder) {
				switch object.GetKind() {
				case "BucketClaim":
					s.WaitCondition(&cosiapi.BucketClaim{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: object.GetName()}}, cosiapi.ConditionProvisioned)
				case "BucketAccess":
					maps.Copy(secrets, delivered(t, s, object.GetName()))
				case "Secret":
					secrets[object.GetName()] = dataOf(t, s, object.GetName())
				default:
					pods = append(pods, podsOf(t, object)...)
				}
			}
			if len(pods) == 0 || len(secrets) == 0 {
				t.Fatalf("the sample has %d Pods and %d Secrets", len(pods), len(secrets))
			}
			for _, pod := range pods {
				one := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, GenerateName: "sample-"}, Spec: *pod.DeepCopy()}
				if err := strict.Create(t.Context(), one, client.DryRunAll); err != nil {
					t.Errorf("the Pod is not let in: %v", err)
				}
				seePod(t, pod, secrets)
				runPod(t, pod, secrets)
			}
		})
	}
}

// restrict enforces the Pod Security Standard "restricted" in the namespace, and creates the default service
// account, which no controller creates here.
func restrict(t *testing.T, s *systemtest.System) {
	t.Helper()
	testenv.Change(s.Env, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: s.Namespace}}, func(n *corev1.Namespace) {
		n.Labels["pod-security.kubernetes.io/enforce"] = "restricted"
	})
	err := s.Client().Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "default"}})
	if client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
}

// applySample creates the objects of a directory.
func applySample(t *testing.T, s *systemtest.System, c client.Client, folder string) []*unstructured.Unstructured {
	t.Helper()
	files, err := filepath.Glob("../../deploy/samples/" + folder + "/*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("sample %s: %d manifests, %v", folder, len(files), err)
	}
	var all []*unstructured.Unstructured
	for _, file := range files {
		text, err := os.ReadFile(file)
		wantNoError(t, err)
		objects, err := system.ParseManifest(text)
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		for _, object := range objects {
			if folder != "classes" {
				object.SetNamespace(s.Namespace)
			}
			if err := c.Create(t.Context(), object); err != nil {
				t.Fatalf("%s: %s %q: %v", file, object.GetKind(), object.GetName(), err)
			}
		}
		all = append(all, objects...)
	}
	return all
}

// delivered waits until an access is granted and returns the data of its Secrets.
func delivered(t *testing.T, s *systemtest.System, name string) map[string]map[string][]byte {
	t.Helper()
	access := &cosiapi.BucketAccess{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name}}
	s.WaitCondition(access, cosiapi.ConditionProvisioned)
	secrets := map[string]map[string][]byte{}
	for _, claim := range access.Spec.BucketClaims {
		secrets[claim.AccessSecretName] = dataOf(t, s, claim.AccessSecretName)
	}
	return secrets
}

func dataOf(t *testing.T, s *systemtest.System, secret string) map[string][]byte {
	t.Helper()
	found := &corev1.Secret{}
	wantNoError(t, s.Client().Get(context.WithoutCancel(t.Context()), client.ObjectKey{Namespace: s.Namespace, Name: secret}, found))
	return found.Data
}

// podsOf returns the Pods that an object defines.
func podsOf(t *testing.T, object *unstructured.Unstructured) []corev1.PodSpec {
	t.Helper()
	read := func(into any) {
		wantNoError(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, into))
	}
	switch object.GetKind() {
	case "Pod":
		var pod corev1.Pod
		read(&pod)
		return []corev1.PodSpec{pod.Spec}
	case "Job":
		var job batchv1.Job
		read(&job)
		return []corev1.PodSpec{job.Spec.Template.Spec}
	case "CronJob":
		var job batchv1.CronJob
		read(&job)
		return []corev1.PodSpec{job.Spec.JobTemplate.Spec.Template.Spec}
	default:
		return nil
	}
}

var (
	// keyName matches a key of an access Secret.
	keyName = regexp.MustCompile(`\b(?:(?:AWS|COSI)_[A-Z0-9_]+|BUCKET_NAME)\b`)
	// expanded matches a variable that Kubernetes expands.
	expanded = regexp.MustCompile(`\$\(([A-Z][A-Z0-9_]*)\)`)
	// exact matches an image with a pinned version.
	exact = regexp.MustCompile(`^[a-z0-9.]+/[a-z0-9./-]+:v?\d+\.\d+\.\d+$`)
)

// seePod checks that each Secret and key that a Pod names exists.
func seePod(t *testing.T, pod corev1.PodSpec, secrets map[string]map[string][]byte) {
	t.Helper()
	mounted := map[string][]byte{}
	for _, volume := range pod.Volumes {
		if volume.Secret == nil {
			continue
		}
		maps.Copy(mounted, secretOf(t, secrets, volume.Secret.SecretName))
	}
	for _, container := range pod.Containers {
		if !exact.MatchString(container.Image) {
			t.Errorf("image %q: want a registry, a name and a version of three numbers", container.Image)
		}
		variables := map[string]bool{}
		for _, from := range container.EnvFrom {
			for key := range secretOf(t, secrets, from.SecretRef.Name) {
				variables[key] = true
			}
		}
		var text []string
		for _, variable := range container.Env {
			if variable.ValueFrom != nil {
				from := variable.ValueFrom.SecretKeyRef
				if _, ok := secretOf(t, secrets, from.Name)[from.Key]; !ok {
					t.Errorf("Secret %q has no key %s", from.Name, from.Key)
				}
			}
			text = append(text, variable.Value)
			variables[variable.Name] = true
		}
		text = append(append(text, container.Command...), container.Args...)
		for _, match := range expanded.FindAllStringSubmatch(strings.Join(text, "\n"), -1) {
			if !variables[match[1]] {
				t.Errorf("$(%s) is no variable of container %q", match[1], container.Name)
			}
		}
		for _, key := range keyName.FindAllString(strings.Join(text, "\n"), -1) {
			if _, ok := mounted[key]; !ok && !variables[key] {
				t.Errorf("container %q names %s, which is neither a variable (%q) nor a file", container.Name, key, slices.Sorted(maps.Keys(variables)))
			}
		}
	}
}

// secretOf returns the data of a Secret that COSI delivered or that the sample contains.
func secretOf(t *testing.T, secrets map[string]map[string][]byte, name string) map[string][]byte {
	t.Helper()
	data, ok := secrets[name]
	if !ok || len(data) == 0 {
		t.Errorf("Secret %q is not delivered", name)
	}
	return data
}

// tools are the client programs by the last part of the image name, each with a command that always works.
var tools = map[string][]string{"restic": {"restic", "version"}, "aws-cli": {"aws", "--version"}, "rclone": {"rclone", "version"}}

// runPod runs the containers' commands with the clients of this machine and the Pod's variables and volumes.
// An endless loop runs once.
func runPod(t *testing.T, pod corev1.PodSpec, secrets map[string]map[string][]byte) {
	t.Helper()
	for _, container := range pod.Containers {
		image, _, _ := strings.Cut(path.Base(container.Image), ":")
		tool, ok := tools[image]
		if !ok {
			t.Fatalf("image %q: which client is in it?", container.Image)
		}
		t.Run(container.Name, func(t *testing.T) {
			sh := processtest.NewShell(t, tool[0])
			if out, err := sh.Run(tool[0], tool[1]); err != nil {
				t.Skipf("%s does not run: %v %s", tool[0], err, out)
			}
			// Each word is replaced at most once, so that replacements are not replaced again.
			here := []string{"while true", "for once in yes", "sleep 60", "true"}
			for _, mount := range container.VolumeMounts {
				here = append(here, mount.MountPath, mounted(t, pod, mount.Name, secrets))
			}
			values := map[string]string{}
			for _, from := range container.EnvFrom {
				for key, value := range secrets[from.SecretRef.Name] {
					values[key] = string(value)
				}
			}
			for _, variable := range container.Env {
				if variable.ValueFrom != nil {
					from := variable.ValueFrom.SecretKeyRef
					values[variable.Name] = string(secrets[from.Name][from.Key])
					continue
				}
				text := strings.NewReplacer(here...).Replace(variable.Value)
				values[variable.Name] = expanded.ReplaceAllStringFunc(text, func(name string) string { return values[name[2:len(name)-1]] })
			}
			for name, value := range values {
				here = append(here, "$("+name+")", value)
				sh.Set(name + "=" + value)
			}
			command := append(slices.Clone(container.Command), container.Args...)
			if len(container.Command) == 0 {
				command = append([]string{tool[0]}, command...)
			}
			for i, word := range command {
				command[i] = strings.NewReplacer(here...).Replace(word)
				if strings.Contains(command[i], "while ") {
					t.Fatalf("the sample has a loop that this test does not know to end: %s", word)
				}
			}
			sh.Must(command[0], command[1:]...)
		})
	}
}

// mounted returns a directory with the contents of a volume.
func mounted(t *testing.T, pod corev1.PodSpec, volume string, secrets map[string]map[string][]byte) string {
	t.Helper()
	dir := t.TempDir()
	files := map[string][]byte{"file": []byte("of the volume")}
	for _, v := range pod.Volumes {
		if v.Name == volume && v.Secret != nil {
			files = secrets[v.Secret.SecretName]
		}
	}
	for name, data := range files {
		wantNoError(t, os.WriteFile(filepath.Join(dir, name), data, 0o600))
	}
	return dir
}
