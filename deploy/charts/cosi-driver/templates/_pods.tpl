{{- /* This file is the same in both charts. */ -}}

{{- /* The name of what is installed, and its label, which is part of selectors. */ -}}
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

{{- /* What the restricted Pod Security Standard asks of each container. */ -}}
{{- define "cosi.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end -}}

{{- /* What Pods have in common, but for containers and volumes. */ -}}
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

{{- /* What the Job of the uninstallation shares with that. */ -}}
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

{{- /* A token of the API server, for one container or all of a Pod without another. */ -}}
{{- define "cosi.token" -}}
name: token
projected:
  sources:
    - serviceAccountToken: {path: token, expirationSeconds: 3607}
    - configMap: {name: kube-root-ca.crt, items: [{key: ca.crt, path: ca.crt}]}
    - downwardAPI: {items: [{path: namespace, fieldRef: {fieldPath: metadata.namespace}}]}
{{- end -}}

{{- /* How Prometheus reads metrics that component serves with --metrics-secure. */ -}}
{{- define "cosi.metricsEndpoint" -}}
port: metrics
{{- if .Values.metrics.secure }}
scheme: https
tlsConfig:
  {{- toYaml .Values.metrics.tlsConfig | nindent 2 }}
{{- end }}
{{- end -}}
