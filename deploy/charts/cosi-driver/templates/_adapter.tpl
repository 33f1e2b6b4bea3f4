{{- /* The adapter in front of a driver of an older generation. It serves the contract, health and metrics in the driver's
place, and has its own volume with the driver. It starts before the driver, which may need the files of its Kubernetes API. */ -}}
{{- define "cosi.adapter" -}}
{{- if not (and .Values.credentialStore .Values.driver.healthPort) -}}
{{- fail "adapter.enabled: set credentialStore: true, which stores the adapter's entries, and driver.healthPort, which the adapter serves" -}}
{{- end -}}
{{- if and .Values.adapter.secrets (not .Values.adapter.kubernetesAPI) -}}
{{- fail "adapter.secrets: set adapter.kubernetesAPI: true, by which the driver reads them" -}}
{{- end -}}
- name: adapter
  image: {{ include "cosi.image" (dict "image" .Values.adapter.image "root" .) | quote }}
  {{- with .Values.adapter.image.pullPolicy }}
  imagePullPolicy: {{ . | quote }}
  {{- end }}
  restartPolicy: Always
  {{- with .Values.adapter.args }}
  args:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  env:
    {{- if .Values.adapter.kubernetesAPI }}
    - {name: COOPER_KUBERNETES_API_DIR, value: /var/lib/cosi-kubernetes}
    - {name: COOPER_KUBERNETES_API_ADDRESS, value: {{ printf "127.0.0.1:%v" .Values.adapter.kubernetesAPIPort | quote }}}
    {{- end }}
    {{- if .Values.adapter.secrets }}
    - {name: COOPER_KUBERNETES_SECRETS_DIR, value: /etc/cosi/secrets}
    {{- end }}
    - {name: COSI_ENDPOINT, value: "unix:///var/lib/cosi/cosi.sock"}
    - {name: COOPER_DRIVER_ADDRESS, value: "unix:///var/lib/cosi-driver/cosi.sock"}
    - {name: COOPER_DRIVER_CONTRACT, value: {{ .Values.adapter.contract | quote }}}
    - {name: COOPER_CREDENTIAL_STORE, value: sidecar}
    {{- if .Values.adapter.keySecret }}
    - {name: COOPER_CREDENTIAL_KEY_FILE, value: /etc/cosi/keys/keys}
    {{- end }}
    - {name: COOPER_HEALTH_ADDRESS, value: {{ printf ":%v" .Values.driver.healthPort | quote }}}
    {{- with .Values.driver.metricsPort }}
    - {name: COOPER_METRICS_ADDRESS, value: {{ printf ":%v" . | quote }}}
    {{- end }}
    {{- with .Values.adapter.env }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  ports:
    {{- with .Values.driver.metricsPort }}
    - {name: driver-metrics, containerPort: {{ . }}}
    {{- end }}
    - {name: driver-health, containerPort: {{ .Values.driver.healthPort }}}
  # The driver starts when the adapter is alive. Both are ready when the driver responds.
  startupProbe:
    httpGet: {path: /healthz, port: driver-health}
    periodSeconds: 2
    failureThreshold: 60
  livenessProbe:
    httpGet: {path: /healthz, port: driver-health}
  readinessProbe:
    httpGet: {path: /readyz, port: driver-health}
  resources:
    {{- toYaml .Values.adapter.resources | nindent 4 }}
  securityContext:
    {{- include "cosi.containerSecurity" . | nindent 4 }}
  volumeMounts:
    {{- if .Values.adapter.kubernetesAPI }}
    - {name: kubernetes-api, mountPath: /var/lib/cosi-kubernetes}
    {{- end }}
    {{- range $i, $secret := .Values.adapter.secrets }}
    - {name: "adapter-secret-{{ $i }}", mountPath: {{ printf "/etc/cosi/secrets/%s/%s" $secret.namespace $secret.name | quote }}, readOnly: true}
    {{- end }}
    - {name: socket, mountPath: /var/lib/cosi}
    - {name: driver-socket, mountPath: /var/lib/cosi-driver}
    {{- if .Values.adapter.keySecret }}
    - {name: adapter-keys, mountPath: /etc/cosi/keys, readOnly: true}
    {{- end }}
{{- end -}}

{{- define "cosi.adapterVolumes" -}}
{{- if .Values.adapter.kubernetesAPI }}
- {name: kubernetes-api, emptyDir: {medium: Memory, sizeLimit: 1Mi}}
{{- end }}
{{- range $i, $secret := .Values.adapter.secrets }}
- {name: "adapter-secret-{{ $i }}", secret: {secretName: {{ $secret.secretName | quote }}}}
{{- end }}
- {name: driver-socket, emptyDir: {sizeLimit: 1Mi}}
{{- with .Values.adapter.keySecret }}
- {name: adapter-keys, secret: {secretName: {{ . | quote }}}}
{{- end }}
{{- end -}}
