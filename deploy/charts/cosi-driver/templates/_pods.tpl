{{- /* This file is the same in both charts. */ -}}

{{- /* The name of the installed resources, and their label, which is part of selectors. */ -}}
{{- define "cosi.name" -}}
{{- .Values.fullnameOverride | default .Release.Name | trunc 52 | trimSuffix "-" -}}
{{- end -}}

{{- define "cosi.labels" -}}
app.kubernetes.io/name: {{ include "cosi.name" . | quote }}
app.kubernetes.io/part-of: cosi
{{- end -}}

{{- define "cosi.chartLabels" -}}
{{ include "cosi.labels" . }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}

{{- /* An image: a dict of image and root. */ -}}
{{- define "cosi.image" -}}
{{- if .image.digest -}}
{{ .image.repository }}@{{ .image.digest }}
{{- else -}}
{{ .image.repository }}:{{ .image.tag | default .root.Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{- /* The container settings that the restricted Pod Security Standard requires. */ -}}
{{- define "cosi.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- /* The common settings of Pods, except containers and volumes. */ -}}
{{- define "cosi.pod" -}}
serviceAccountName: {{ include "cosi.serviceAccount" . | quote }}
terminationGracePeriodSeconds: {{ .Values.terminationGracePeriodSeconds }}
securityContext:
  {{- toYaml .Values.podSecurityContext | nindent 2 }}
{{- if .Values.spread }}
topologySpreadConstraints:
  - maxSkew: 1
    topologyKey: {{ .Values.spread | quote }}
    whenUnsatisfiable: ScheduleAnyway
    labelSelector:
      matchLabels:
        app.kubernetes.io/name: {{ include "cosi.name" . | quote }}
{{- end }}
{{- with .Values.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- include "cosi.placement" . }}
{{- end -}}

{{- /* The settings that the Job of the uninstallation has in common with the Pods. */ -}}
{{- define "cosi.placement" -}}
{{- with .Values.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .Values.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{- define "cosi.serviceAccount" -}}
{{- .Values.serviceAccount.name | default (include "cosi.name" .) -}}
{{- end -}}

{{- /* A volume with a token for the API server, to be mounted in one or all containers of a Pod. */ -}}
{{- define "cosi.token" -}}
name: token
projected:
  sources:
    - serviceAccountToken: {path: token, expirationSeconds: 3607}
    - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
    - downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}
{{- end -}}

{{- /* The token with which Prometheus reads metrics by a ServiceMonitor: its own, if it can verify the server, or a configured one. */ -}}
{{- define "cosi.serviceMonitorToken" -}}
{{- if .Values.metrics.serviceMonitor.authorization -}}
authorization:
  {{- toYaml .Values.metrics.serviceMonitor.authorization | nindent 2 }}
{{- else if or (not .Values.metrics.certSecret) .Values.metrics.tlsConfig.insecureSkipVerify -}}
{{- fail "metrics.serviceMonitor: Prometheus would send its own token to an unverified server; set metrics.certSecret and, for its certificate, metrics.tlsConfig with insecureSkipVerify: false, or use a separate token from a Secret of this namespace: metrics.serviceMonitor.authorization={credentials: {name: SECRET, key: token}}" -}}
{{- else -}}
# The token of Prometheus itself, whose account needs the ClusterRole cosi-metrics-reader.
bearerTokenFile: /var/run/secrets/kubernetes.io/serviceaccount/token
{{- end -}}
{{- end -}}

{{- /* The endpoint from which Prometheus reads the metrics of a component with --metrics-secure. */ -}}
{{- define "cosi.metricsEndpoint" -}}
port: metrics
{{- if .Values.metrics.secure }}
scheme: https
tlsConfig:
  {{- toYaml .Values.metrics.tlsConfig | nindent 2 }}
{{- end }}
{{- end -}}
