{{- /* The name of the driver is that of its Lease: it must be known here. */ -}}
{{- define "cosi.driverName" -}}
{{- $said := "" -}}
{{- if .Values.driver.config -}}
{{- $config := fromYaml .Values.driver.config -}}
{{- if $config.Error -}}{{- fail (printf "driver.config is not YAML: %s" $config.Error) -}}{{- end -}}
{{- $said = $config.driverName | default "" -}}
{{- end -}}
{{- if and $said .Values.driver.name (ne $said .Values.driver.name) -}}
{{- fail (printf "driver.name is %q, and driver.config says driverName: %s; they must be the same" .Values.driver.name $said) -}}
{{- end -}}
{{- required "driver.name: say what the driver calls itself, or driverName in driver.config; its Lease has that name" (.Values.driver.name | default $said) -}}
{{- end -}}

{{- /* The name of what stands outside of the release's namespace: another namespace may have a release of that name. */ -}}
{{- define "cosi.uniqueName" -}}
{{- $name := include "cosi.name" . -}}
{{- if ne $name .Release.Namespace }}{{ .Release.Namespace }}:{{ end }}{{ $name }}
{{- end -}}
