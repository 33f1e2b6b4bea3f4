// SPDX-License-Identifier: Apache-2.0

package deploy_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/yaml"

	"github.com/cooper-cosi/cooper/internal/testing/fulltest"
	"github.com/cooper-cosi/cooper/testenv/controlplane/binaries"
)

// builtHelm builds Helm once for all tests.
var builtHelm = sync.OnceValues(func() (string, error) {
	var problems bytes.Buffer
	cmd := exec.Command("bash", "../hack/helm.sh") // shared, so not bound to one test's context
	cmd.Stderr = &problems
	path, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("build Helm: %w\n%s", err, &problems)
	}
	return strings.TrimSpace(string(path)), nil
})

// helm runs Helm and returns its output. An error includes its message. In the short tier it skips the test.
func helm(t *testing.T, args ...string) (string, error) {
	t.Helper()
	fulltest.Only(t, "it needs Helm, which takes minutes to build")
	path, err := builtHelm()
	if err != nil {
		t.Fatal(err)
	}
	var problems bytes.Buffer
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = append(os.Environ(), "HELM_CACHE_HOME="+t.TempDir(), "HELM_CONFIG_HOME="+t.TempDir(), "HELM_DATA_HOME="+t.TempDir())
	cmd.Stderr = &problems
	out, err := cmd.Output()
	if err != nil {
		return string(out), fmt.Errorf("helm %s: %w\n%s%s", strings.Join(args, " "), err, &problems, out)
	}
	return string(out), nil
}

// render renders a chart as a release with the chart's name in a namespace.
func render(t *testing.T, chart, namespace string, args ...string) objects {
	t.Helper()
	release := chart
	if chart == "cosi-driver" {
		release = namespace
	}
	out, err := helm(t, append([]string{"template", release, "charts/" + chart, "--namespace", namespace}, args...)...)
	if err != nil {
		t.Fatal(err)
	}
	return parse(t, out)
}

// TestChartsRefuseOlderKubernetes renders for the last patch of the newest unsupported minor version.
func TestChartsRefuseOlderKubernetes(t *testing.T) {
	t.Parallel()
	for _, chart := range []string{"cosi-controller", "cosi-driver"} {
		if _, err := helm(t, "template", chart, "charts/"+chart, "--kube-version", "v1.31.99"); err == nil || !strings.Contains(err.Error(), "incompatible with Kubernetes") {
			t.Errorf("%s: got %v, want a refusal", chart, err)
		}
	}
}

// kustomize renders the manifests of kubectl apply -k.
func kustomize(t *testing.T, directory string) objects {
	t.Helper()
	programs, err := binaries.Find(t.Context(), binaries.Options{})
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), programs.Kubectl, "kustomize", directory).CombinedOutput()
	if err != nil {
		t.Fatalf("kubectl kustomize %s: %v\n%s", directory, err, out)
	}
	return parse(t, string(out))
}

// objects are the objects of manifests, by kind, namespace and name.
type objects map[string]map[string]any

func parse(t *testing.T, manifests string) objects {
	t.Helper()
	found := objects{}
	decoder := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(manifests), 4096)
	for {
		object := unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("%v in\n%s", err, manifests)
		}
		if len(object.Object) == 0 {
			continue
		}
		key := object.GetKind() + " " + object.GetNamespace() + "/" + object.GetName()
		if found[key] != nil {
			t.Errorf("%s is there twice", key)
		}
		found[key] = object.Object
	}
}

// drivers returns the drivers with manifests, and the arguments to install their chart.
func drivers() map[string][]string {
	return map[string][]string{
		"s3":            nil,
		"azure":         {"--values", "charts/cosi-driver/azure.yaml"},
		"gcs":           {"--values", "charts/cosi-driver/gcs.yaml"},
		"static":        {"--values", "charts/cosi-driver/static.yaml"},
		"s3-namespaced": {"--set", "namespaces={team-a}"},
	}
}

func TestChartsPassTheLinter(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"cosi-controller":        {"charts/cosi-controller"},
		"cosi-driver":            {"charts/cosi-driver"},
		"cosi-driver for Azure":  {"charts/cosi-driver", "--values", "charts/cosi-driver/azure.yaml"},
		"cosi-driver for GCS":    {"charts/cosi-driver", "--values", "charts/cosi-driver/gcs.yaml"},
		"cosi-driver for static": {"charts/cosi-driver", "--values", "charts/cosi-driver/static.yaml"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := helm(t, append([]string{"lint", "--strict"}, args...)...); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestChartsMatchKustomize compares the charts with kubectl apply -k. All intended differences are listed
// here.
func TestChartsMatchKustomize(t *testing.T) {
	t.Parallel()
	t.Run("controller", func(t *testing.T) {
		t.Parallel()
		same(t, kustomize(t, "."), render(t, "cosi-controller", "cosi-system"))
	})
	for driver, args := range drivers() {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			namespace := "cosi-driver-" + strings.TrimSuffix(driver, "-namespaced")
			same(t, kustomize(t, "drivers/"+driver), render(t, "cosi-driver", namespace, args...))
		})
	}
}

// TestMonitoringOfTheChartMatchesKustomize compares the optional monitoring objects.
func TestMonitoringOfTheChartMatchesKustomize(t *testing.T) {
	t.Parallel()
	kustomized := kustomize(t, "monitoring")
	chart := render(t, "cosi-controller", "cosi-system", "--set", "metrics.prometheusRule.enabled=true,metrics.dashboard.enabled=true")
	for key := range chart {
		if kustomized[key] == nil {
			delete(chart, key) // compared by TestChartsMatchKustomize
		}
	}
	if len(kustomized) != 2 {
		t.Errorf("want rules and a dashboard, got %d objects", len(kustomized))
	}
	same(t, kustomized, chart)
}

func same(t *testing.T, kustomized, chart objects) {
	t.Helper()
	for key := range kustomized {
		if strings.HasPrefix(key, "Namespace ") {
			delete(kustomized, key) // Helm creates the namespace of a release itself
		}
	}
	for key, object := range chart {
		if strings.HasPrefix(key, "Job ") && strings.HasSuffix(key, "-uninstall") {
			delete(chart, key) // Kustomize has no hooks
			continue
		}
		labels := []string{"app.kubernetes.io/managed-by", "app.kubernetes.io/version", "helm.sh/chart"}
		if object["kind"] != "Deployment" { // in the handwritten manifests, only Deployments have labels
			labels = append(labels, "app.kubernetes.io/name", "app.kubernetes.io/part-of")
		}
		without(object, labels, "metadata", "labels")
		without(object, []string{"helm.sh/resource-policy"}, "metadata", "annotations") // on CRDs
	}
	if diff := cmp.Diff(plain(t, kustomized), plain(t, chart)); diff != "" {
		t.Errorf("-kustomize +chart:\n%s", diff)
	}
}

// hash matches the suffix that Kustomize appends to the name of a ConfigMap so that Pods are replaced when it
// changes. The chart adds an annotation to the Pods instead.
var hash = regexp.MustCompile(`(cosi-driver-[0-9a-z]+)-[0-9a-z]{10}\b`)

// without removes entries of a mapping in an object, and the mapping if it becomes empty.
func without(object map[string]any, names []string, mapping ...string) {
	for _, name := range names {
		unstructured.RemoveNestedField(object, append(slices.Clone(mapping), name)...)
	}
	if left, _, err := unstructured.NestedMap(object, mapping...); err == nil && len(left) == 0 {
		unstructured.RemoveNestedField(object, mapping...)
	}
}

// plain returns the objects without the parts that Helm and Kustomize generate differently.
func plain(t *testing.T, all objects) objects {
	t.Helper()
	found := objects{}
	for key, object := range all {
		switch object["kind"] {
		case "Deployment":
			without(object, []string{"cooper.dev/config"}, "spec", "template", "metadata", "annotations")
		case "ConfigMap":
			// The comment about other places with the driver's name applies only to Kustomize.
			data := object["data"].(map[string]any)
			if config, ok := data["config.yaml"].(string); ok {
				data["config.yaml"] = strings.Replace(config, "   # also in lease.yaml and rbac.yaml", "", 1)
			}
		}
		text, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		var same map[string]any
		if err := yaml.Unmarshal(hash.ReplaceAll(text, []byte("$1")), &same); err != nil {
			t.Fatal(err)
		}
		found[hash.ReplaceAllString(key, "$1")] = same
	}
	return found
}

// TestChartsInAnotherNamespace verifies that no rule, binding or expression refers to the default namespace.
func TestChartsInAnotherNamespace(t *testing.T) {
	t.Parallel()
	for name, rendered := range map[string]objects{
		"controller": render(t, "cosi-controller", "storage"),
		"driver":     render(t, "cosi-driver", "stores", "--set", "systemNamespace=storage"),
	} {
		found := false
		for key, object := range rendered {
			text, err := yaml.Marshal(object)
			if err != nil {
				t.Fatal(err)
			}
			if strings.Contains(string(text), "cosi-system") {
				t.Errorf("%s: %s is still about cosi-system:\n%s", name, key, text)
			}
			found = found || strings.Contains(string(text), "name: COOPER_LEADER_NAMESPACE\n          value: storage")
		}
		if !found {
			t.Errorf("%s: the program is not told where the Leases are", name)
		}
	}
}

// TestNetworkPoliciesKnowPortsByNumber requires port numbers, because not every network plugin resolves named
// ports of init containers.
func TestNetworkPoliciesKnowPortsByNumber(t *testing.T) {
	t.Parallel()
	for from, manifests := range map[string]objects{
		"the controller": kustomize(t, "."), "cosi-obc": kustomize(t, "obc"), "the driver": kustomize(t, "drivers/s3"),
		"the chart of the controller": render(t, "cosi-controller", "cosi-system"), "the chart of the driver": render(t, "cosi-driver", "cosi-driver-s3"),
	} {
		found := 0
		for key, object := range manifests {
			if object["kind"] != "NetworkPolicy" {
				continue
			}
			rules, _, _ := unstructured.NestedSlice(object, "spec", "ingress")
			for _, rule := range rules {
				ports, _ := rule.(map[string]any)["ports"].([]any)
				for _, port := range ports {
					found++
					if name, isName := port.(map[string]any)["port"].(string); isName {
						t.Errorf("%s: %s lets in to the port %q", from, key, name)
					}
				}
			}
		}
		if found == 0 {
			t.Errorf("%s: no port is let in", from)
		}
	}
}

// TestNetworkPolicyOfADriverCanBeClosed verifies that values can set the destinations of every rule.
func TestNetworkPolicyOfADriverCanBeClosed(t *testing.T) {
	t.Parallel()
	const to = `.to=[{"ipBlock":{"cidr":"192.0.2.0/24"}}]`
	closed := render(t, "cosi-driver", "cosi-driver-s3", "--set-json", "networkPolicy.apiServer"+to,
		"--set-json", "networkPolicy.backend"+to, "--set-json", "networkPolicy.dns"+to)["NetworkPolicy cosi-driver-s3/cosi-driver-s3"]
	rules, _, _ := unstructured.NestedSlice(closed, "spec", "egress")
	if len(rules) != 3 {
		t.Fatalf("want rules for the API server, the backend and names, got %v", rules)
	}
	for _, rule := range rules {
		if rule.(map[string]any)["to"] == nil {
			t.Errorf("this leads anywhere: %v", rule)
		}
	}
}

// TestDriverMetricsNeedListedClients verifies that clients of a driver's unencrypted metrics must be
// listed explicitly.
func TestDriverMetricsNeedListedClients(t *testing.T) {
	t.Parallel()
	const policy = "NetworkPolicy cosi-driver-s3/cosi-driver-s3"
	port := func(number float64) any { return map[string]any{"protocol": "TCP", "port": number} }
	from := []any{map[string]any{"podSelector": map[string]any{}}}
	for name, tc := range map[string]struct {
		rendered objects
		want     map[string]any
	}{
		"Kustomize, without clients": {kustomize(t, "drivers/s3"), map[string]any{"ports": []any{port(8080)}}},
		"the chart":                  {render(t, "cosi-driver", "cosi-driver-s3"), map[string]any{"ports": []any{port(8080)}}},
		"the chart with a client": {
			render(t, "cosi-driver", "cosi-driver-s3", "--set-json", `networkPolicy.metricsFrom=[{"podSelector":{}}]`),
			map[string]any{"ports": []any{port(8080), port(8082)}, "from": from},
		},
	} {
		rules, _, _ := unstructured.NestedSlice(tc.rendered[policy], "spec", "ingress")
		if diff := cmp.Diff([]any{tc.want}, rules); diff != "" {
			t.Errorf("%s: allowed clients (-want +got):\n%s", name, diff)
		}
	}
}

// TestThirdPartyDriver renders a third-party driver with its own command and probes and a writable root
// file system.
func TestThirdPartyDriver(t *testing.T) {
	t.Parallel()
	rendered := render(t, "cosi-driver", "vendor", "--set", "driver.command={/driver,serve},driver.securityContext.readOnlyRootFilesystem=false",
		"--set-json", `driver.probes={"startupProbe":{"grpc":{"port":9090}}}`)
	containers, _, _ := unstructured.NestedSlice(rendered["Deployment vendor/vendor"], "spec", "template", "spec", "initContainers")
	driver := containers[0].(map[string]any)
	got := map[string]any{}
	for _, name := range []string{"command", "securityContext", "startupProbe", "livenessProbe", "readinessProbe"} {
		if value, found := driver[name]; found {
			got[name] = value
		}
	}
	want := map[string]any{
		"command": []any{"/driver", "serve"}, "startupProbe": map[string]any{"grpc": map[string]any{"port": float64(9090)}},
		"securityContext": map[string]any{
			"allowPrivilegeEscalation": false, "readOnlyRootFilesystem": false, "capabilities": map[string]any{"drop": []any{"ALL"}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("the container of the driver (-want +got):\n%s", diff)
	}
}

// TestTwoReleasesOfOneName verifies that two releases of the same name in two namespaces have no object in
// common.
func TestTwoReleasesOfOneName(t *testing.T) {
	t.Parallel()
	for name, args := range map[string][]string{
		"everywhere": {"--set", "watchSecrets=true"}, "in some namespaces": {"--set", "watchSecrets=true,namespaces={team-a}"},
	} {
		one := render(t, "cosi-driver", "one", append(args, "--set", "fullnameOverride=store,driver.name=a.example.com,driver.config=")...)
		other := render(t, "cosi-driver", "other", append(args, "--set", "fullnameOverride=store,driver.name=b.example.com,driver.config=")...)
		for key := range one {
			if other[key] != nil {
				t.Errorf("%s: both have %s", name, key)
			}
		}
	}
}

// TestNamesThatLookLikeNumbers verifies that names consisting of digits are rendered as strings.
func TestNamesThatLookLikeNumbers(t *testing.T) {
	t.Parallel()
	const set = "fullnameOverride=10,serviceAccount.name=11,priorityClassName=12"
	monitored := `metrics={"certSecret":"1","tlsConfig":{"insecureSkipVerify":false},"serviceMonitor":{"enabled":true},` +
		`"podMonitor":{"enabled":true,"authorization":{"type":"Bearer"}}}`
	for chart, args := range map[string][]string{
		"cosi-controller": {},
		"cosi-driver":     {"--set-string", "systemNamespace=13,namespaces={14},driver.secrets[0].name=15,driver.secrets[0].secretName=16,driver.secrets[0].mountPath=/a"},
	} {
		for key, object := range render(t, chart, "1", append(args, "--set-string", set, "--set-json", monitored)...) {
			for _, found := range numbers("", object) {
				if strings.HasSuffix(strings.ToLower(found), "name") || strings.HasSuffix(found, ".namespace") {
					t.Errorf("%s: %s of %s is a number", chart, found, key)
				}
			}
		}
	}
}

// numbers returns the paths of numbers in a value.
func numbers(path string, value any) []string {
	var found []string
	switch value := value.(type) {
	case int64, float64:
		return []string{path}
	case map[string]any:
		for name, below := range value {
			found = append(found, numbers(path+"."+name, below)...)
		}
	case []any:
		for _, below := range value {
			found = append(found, numbers(path, below)...)
		}
	}
	return found
}

// TestChartsRefuseValues checks the messages for invalid values.
func TestChartsRefuseValues(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ chart, set, want string }{
		"an unknown value":                              {"cosi-driver", "driver.confg=x", "'confg' not allowed"},
		"an unknown value at the top":                   {"cosi-controller", "replica=1", "'replica' not allowed"},
		"a word for a number":                           {"cosi-controller", "replicas=two", "got string, want integer"},
		"a negative number of Pods":                     {"cosi-driver", "replicas=-1", "at '/replicas': minimum"},
		"an invalid pull policy":                        {"cosi-driver", "sidecar.image.pullPolicy=Sometimes", "at '/sidecar/image/pullPolicy': value must be one of"},
		"an invalid digest":                             {"cosi-controller", "image.digest=latest", "at '/image/digest'"},
		"an image without a name":                       {"cosi-driver", "driver.image.repository=", "at '/driver/image/repository': minLength"},
		"a driver's name in capitals":                   {"cosi-driver", "driver.name=S3", "at '/driver/name'"},
		"a Secret without a mount path":                 {"cosi-driver", "driver.secrets[0].name=a", "missing properties 'secretName', 'mountPath'"},
		"an invalid port":                               {"cosi-driver", "networkPolicy.backend.ports={70000}", "at '/networkPolicy/backend/ports/0': maximum"},
		"no port of the API server":                     {"cosi-controller", "networkPolicy.apiServer.ports=[]", "at '/networkPolicy/apiServer/ports': minItems"},
		"a role that is not a string":                   {"cosi-driver", "serviceAccount.annotations.role=1", "at '/serviceAccount/annotations/role'"},
		"two names for the driver":                      {"cosi-driver", "driver.name=other.example.com", `driver.name is "other.example.com", but driverName in driver.config is s3.cooper.dev`},
		"no name for the driver":                        {"cosi-driver", "driver.config=", "driver.name: set the name of the driver"},
		"a configuration that is not YAML":              {"cosi-driver", "driver.config=}{", "driver.config is not YAML"},
		"a PodMonitor without a token":                  {"cosi-controller", "metrics.podMonitor.enabled=true", "metrics.podMonitor.authorization: secure metrics need the token"},
		"a grace period that is too short":              {"cosi-driver", "terminationGracePeriodSeconds=97", "sidecar.rpcTimeoutSeconds (60) plus 38"},
		"a timeout that is too long for it":             {"cosi-driver", "sidecar.rpcTimeoutSeconds=83", "sidecar.rpcTimeoutSeconds (83) plus 38"},
		"the timeout as a flag":                         {"cosi-driver", "sidecar.args={--rpc-timeout=5m}", "set sidecar.rpcTimeoutSeconds instead of --rpc-timeout"},
		"the timeout as a variable":                     {"cosi-driver", "sidecar.env[0].name=COOPER_RPC_TIMEOUT", "set sidecar.rpcTimeoutSeconds instead of --rpc-timeout"},
		"Prometheus' token without verification":        {"cosi-driver", "metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor: Prometheus would send its own token"},
		"an adapter without a store":                    {"cosi-driver", "adapter.enabled=true,credentialStore=false", "adapter.enabled: set credentialStore: true"},
		"Secrets that no driver can read":               {"cosi-driver", "adapter.enabled=true,adapter.secrets[0].namespace=a,adapter.secrets[0].name=b,adapter.secrets[0].secretName=c", "adapter.secrets: set adapter.kubernetesAPI: true"},
		"an unknown probe":                              {"cosi-driver", "driver.probes.firstProbe.exec.command={a}", "invalid propertyName 'firstProbe'"},
		"the same for the controller":                   {"cosi-controller", "metrics.serviceMonitor.enabled=true", "metrics.serviceMonitor: Prometheus would send its own token"},
		"the same with a certificate":                   {"cosi-driver", "metrics.serviceMonitor.enabled=true,metrics.certSecret=a", "metrics.serviceMonitor: Prometheus would send its own token"},
		"the same with verification but no certificate": {"cosi-driver", "metrics.serviceMonitor.enabled=true,metrics.tlsConfig.insecureSkipVerify=false", "metrics.serviceMonitor: Prometheus would send its own token"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := "--set"
			if strings.HasSuffix(tc.set, "=[]") { // --set would take it for a string
				set = "--set-json"
			}
			_, err := helm(t, "template", "try", "charts/"+tc.chart, set, tc.set)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("--set %s: want %q, got %v", tc.set, tc.want, err)
			}
		})
	}
}

// others returns non-default values for both charts, in JSON.
func others() map[string]string {
	const (
		text    = `"other"`
		entries = `{"a":"b"}`
		items   = `[{"name":"other"}]`
		rules   = `[{"podSelector":{}}]`
	)
	return map[string]string{
		"adapter.enabled": `true`, "contract": `"upstream-v1alpha2"`, "keySecret": text, "kubernetesAPI": `true`, "kubernetesAPIPort": `9391`,
		"adapter.secrets":  `[{"namespace":"a","name":"b","secretName":"c"}]`,
		"fullnameOverride": text, "replicas": `3`, "imagePullSecrets": items, "crds.install": `false`, "volumes": items, "volumeMounts": items,
		"args": `["--other"]`, "env": items, "resources": entries, "serviceAccount.create": `false`, "serviceAccount.name": text, "serviceAccount.annotations": entries,
		"image.repository": text, "image.tag": text, "image.digest": `"sha256:` + strings.Repeat("0", 64) + `"`, "image.pullPolicy": `"Never"`,
		"metrics.secure": `false`, "metrics.certSecret": text, "metrics.tlsConfig": entries, "metrics.serviceMonitor.enabled": `true`,
		"metrics.serviceMonitor.labels": entries, "metrics.serviceMonitor.authorization": entries, "metrics.podMonitor.enabled": `true`, "metrics.podMonitor.labels": entries,
		"metrics.podMonitor.authorization": entries, "metrics.prometheusRule.enabled": `true`,
		"metrics.prometheusRule.labels": entries, "metrics.dashboard.enabled": `true`, "metrics.dashboard.labels": entries, "networkPolicy.enabled": `false`, "networkPolicy.metricsFrom": rules,
		"networkPolicy.apiServer.ports": `[1]`, "networkPolicy.apiServer.to": rules, "networkPolicy.backend.ports": `[1]`,
		"networkPolicy.backend.to": rules, "networkPolicy.dns.to": rules, "networkPolicy.egress": `[{}]`, "spread": text, "priorityClassName": text, "nodeSelector": entries,
		"tolerations": items, "affinity": entries, "podLabels": entries, "podAnnotations": entries, "podSecurityContext": entries,
		"terminationGracePeriodSeconds": `600`, "rpcTimeoutSeconds": `50`, "podDisruptionBudget": `false`, "uninstallCheck": `false`, "systemNamespace": text,
		"namespaces": `["a"]`, "driver.name": text, "driver.config": `"driverName: other"`, "driver.secrets": `[]`, "driver.healthPort": `0`,
		"driver.metricsPort": `0`, "driver.envFrom": items, "credentialStore": `false`, "watchSecrets": `true`,
		"strategy": entries, "command": `["other"]`, "probes": `{"livenessProbe":{}}`, "driver.tmpSize": `"2Gi"`, "securityContext": entries,
	}
}

// needed returns values that are required for others to have an effect.
func needed() map[string]string {
	const (
		podMonitor = `metrics.podMonitor={"enabled":true,"authorization":{"type":"Bearer"}}`
		verified   = `metrics={"certSecret":"a","tlsConfig":{"insecureSkipVerify":false}}`
		monitored  = `metrics={"certSecret":"a","tlsConfig":{"insecureSkipVerify":false},"serviceMonitor":{"enabled":true}}`
	)
	return map[string]string{
		"adapter.secrets": `adapter.kubernetesAPI=true`, "adapter.kubernetesAPIPort": `adapter.kubernetesAPI=true`, "metrics.tlsConfig": podMonitor, "metrics.podMonitor.labels": podMonitor, "metrics.podMonitor.authorization": podMonitor,
		"metrics.podMonitor.enabled":     `metrics.podMonitor.authorization={"type":"Bearer"}`,
		"metrics.serviceMonitor.enabled": verified, "driver.name": `driver.config=""`,
		"metrics.prometheusRule.labels": `metrics.prometheusRule.enabled=true`, "metrics.dashboard.labels": `metrics.dashboard.enabled=true`,
		"metrics.serviceMonitor.labels": monitored, "metrics.serviceMonitor.authorization": monitored,
	}
}

// TestChartsUseTheirValues changes every value and verifies that the manifests change.
func TestChartsUseTheirValues(t *testing.T) {
	t.Parallel()
	for _, chart := range []string{"cosi-controller", "cosi-driver"} {
		content, err := os.ReadFile(filepath.Join("charts", chart, "values.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		var values map[string]any
		if err := yaml.Unmarshal(content, &values); err != nil {
			t.Fatal(err)
		}
		for _, path := range paths("", values, schemaOf(t, chart)) {
			t.Run(chart+" "+path, func(t *testing.T) {
				t.Parallel()
				name := path
				for _, container := range []string{"driver.", "sidecar.", "adapter."} { // which have their own images and other values
					if rest, ok := strings.CutPrefix(path, container); ok && others()[path] == "" {
						name = rest
					}
				}
				other, ok := others()[name]
				if !ok {
					t.Fatalf("no other value is known of %s", path)
				}
				args := []string{"template", "try", "charts/" + chart, "--set-json", "fullnameOverride=" + `"try"`}
				if strings.HasPrefix(path, "adapter.") && path != "adapter.enabled" {
					args = append(args, "--set", "adapter.enabled=true")
				}
				if with := needed()[path]; with != "" {
					args = append(args, "--set-json", with)
				}
				before := rendered(t, path, args)
				if after := rendered(t, path, append(args, "--set-json", path+"="+other)); before == after {
					t.Errorf("the manifests are the same with %s=%s", path, other)
				}
			})
		}
	}
}

// rendered returns the output of a chart. A driver needs a name and a configuration.
func rendered(t *testing.T, path string, args []string) string {
	t.Helper()
	out, err := helm(t, args...)
	if err != nil && path != "driver.name" {
		t.Fatal(err)
	}
	return out
}

// paths returns the paths of all values except mappings with fixed entries.
func paths(prefix string, values, schema map[string]any) []string {
	properties, _ := schema["properties"].(map[string]any)
	var found []string
	for name, value := range values {
		rules, _ := properties[name].(map[string]any)
		if below, ok := value.(map[string]any); ok && rules["properties"] != nil {
			found = append(found, paths(prefix+name+".", below, rules)...)
			continue
		}
		found = append(found, prefix+name)
	}
	slices.Sort(found)
	return found
}

func schemaOf(t *testing.T, chart string) map[string]any {
	t.Helper()
	content, err := os.ReadFile(filepath.Join("charts", chart, "values.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema map[string]any
	if err := yaml.Unmarshal(content, &schema); err != nil {
		t.Fatal(err)
	}
	return schema
}
