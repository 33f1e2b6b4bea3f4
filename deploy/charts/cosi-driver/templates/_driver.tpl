{{- /* The name of the driver. The chart needs it for the Lease. */ -}}
{{- define "cosi.driverName" -}}
{{- $said := "" -}}
{{- if .Values.driver.config -}}
{{- $config := fromYaml .Values.driver.config -}}
{{- if $config.Error -}}{{- fail (printf "driver.config is not YAML: %s" $config.Error) -}}{{- end -}}
{{- $said = $config.driverName | default "" -}}
{{- end -}}
{{- if and $said .Values.driver.name (ne $said .Values.driver.name) -}}
{{- fail (printf "driver.name is %q, but driverName in driver.config is %s; they must be equal" .Values.driver.name $said) -}}
{{- end -}}
{{- required "driver.name: set the name of the driver, here or as driverName in driver.config; its Lease has that name" (.Values.driver.name | default $said) -}}
{{- end -}}

{{- /* The name of resources outside of the release's namespace: another namespace may have a release of the same name. */ -}}
{{- define "cosi.uniqueName" -}}
{{- $name := include "cosi.name" . -}}
{{- if ne $name .Release.Namespace }}{{ .Release.Namespace }}:{{ end }}{{ $name }}
{{- end -}}

{{- /* Non-empty if clients can reach the driver's metrics. */ -}}
{{- define "cosi.driverMetrics" -}}
{{- if and .Values.driver.metricsPort (or .Values.networkPolicy.metricsFrom (not .Values.networkPolicy.enabled)) }}true{{ end -}}
{{- end -}}

{{- /* Non-empty if an object belongs to this release already. The argument is a dict of object and root. */ -}}
{{- define "cosi.ofRelease" -}}
{{- $annotations := dig "metadata" "annotations" dict .object -}}
{{- if and (eq (get $annotations "meta.helm.sh/release-name") .root.Release.Name) (eq (get $annotations "meta.helm.sh/release-namespace") .root.Release.Namespace) }}true{{ end -}}
{{- end -}}

{{- /* The owner of the driver's name: the value that a sidecar of this release wrote to the Lease first. A renamed
Deployment keeps it, because another owner could not take over the Lease. */ -}}
{{- define "cosi.owner" -}}
{{- $lease := lookup "coordination.k8s.io/v1" "Lease" .Values.systemNamespace (printf "cosi-driver-%s" (include "cosi.driverName" .)) -}}
{{- $owner := dig "metadata" "annotations" "cooper.dev/owner" "" $lease -}}
{{- if and (include "cosi.ofRelease" (dict "object" $lease "root" .)) (hasPrefix (printf "%s/" .Release.Namespace) $owner) -}}
{{ $owner }}
{{- else -}}
{{ .Release.Namespace }}/{{ include "cosi.name" . }}
{{- end -}}
{{- end -}}
