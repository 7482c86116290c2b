{{/* The flags of the manager. */}}
{{- define "postflight.arguments" -}}
- --leader-election-namespace={{ .Release.Namespace }}
- --leader-elect={{ .Values.leaderElect }}
- --leader-elect-lease-duration={{ .Values.leaderElectLeaseDuration }}
- --pod-url={{ include "postflight.podURL" . }}
{{- with include "postflight.publicURL" . }}
- --public-url={{ . }}
{{- end }}
{{- with include "postflight.pageHosts" . }}
- --page-hosts={{ . }}
{{- end }}
{{- if .Values.agentActions }}
- --agent-actions=true
{{- end }}
- --log-level={{ .Values.logLevel }}
- --hold-budget={{ .Values.holdBudget }}
- --drain-delay={{ .Values.drainDelay }}
- --pod-gone-after={{ .Values.podGoneAfter }}
{{- if .Values.metrics.enabled }}
- --metrics-auth={{ .Values.metrics.auth }}
- --metrics-teams={{ .Values.metrics.teams }}
{{- else }}
- --metrics-bind-address=0
{{- end }}
{{- if .Values.signIn.config }}
- --sign-in-config=/etc/postflight/sign-in-config/sign-in.yaml
{{- end }}
{{- if .Values.tokenIssuers }}
- --token-issuers=/etc/postflight/token-issuers/token-issuers.yaml
{{- end }}
{{- if .Values.clusterKeys.existingSecret }}
- --cluster-keys=/etc/postflight/cluster-keys
{{- end }}
{{- if .Values.watchNamespaces }}
- --watch-namespaces={{ join "," .Values.watchNamespaces }}
- --teams-file=/etc/postflight/teams/teams.yaml
- --image={{ include "postflight.image" . }}
{{- end }}
{{- if .Values.tls.enabled }}
- --tls-cert-file=/etc/postflight/tls/tls.crt
- --tls-key-file=/etc/postflight/tls/tls.key
- --tls-min-version={{ .Values.tls.minVersion }}
{{- if include "postflight.caSecret" . }}
- --pod-ca-file=/etc/postflight/ca/{{ .Values.tls.ca.key }}
{{- end }}
{{- end }}
{{- include "postflight.storeArguments" . }}
{{- if .Values.attestation.existingSecret }}
{{- if not .Values.store.bucket }}{{ fail "attestation.existingSecret needs store.bucket, where signed verdicts are kept" }}{{ end }}
{{- range .Values.attestation.keys }}
- --attestation-key-file=/etc/postflight/attestation/{{ . }}
{{- end }}
{{- end }}
{{- include "postflight.codeHostArguments" . }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "postflight.storeArguments" -}}
{{- with .Values.store }}
{{- if or .endpoint .bucket }}
- --store-endpoint={{ required "store.bucket needs store.endpoint" .endpoint }}
- --store-bucket={{ required "store.endpoint needs store.bucket" .bucket }}
- --store-region={{ .region }}
- --store-path-style={{ .pathStyle }}
- --store-create-bucket={{ .createBucket }}
- --signed-url-lifetime={{ .signedURLLifetime }}
- --max-input-size={{ .maxInputSize }}
- --require-input-size={{ .requireInputSize }}
{{- with .publicEndpoint }}
- --store-public-endpoint={{ . }}
{{- end }}
{{- if .existingSecret }}
- --store-credentials=/etc/postflight/store
{{- end }}
{{- if .ca.existingConfigMap }}
- --store-ca-file=/etc/postflight/store-ca/{{ .ca.key }}
{{- end }}
{{- end }}
{{- end }}
{{- end -}}

{{- define "postflight.codeHostArguments" -}}
{{- with .Values.webhooks.allowNetworks }}
- --webhook-allow-networks={{ join "," . }}
{{- end }}
{{- with .Values.clusterName }}
- --cluster-name={{ . }}
{{- end }}
{{- with .Values.github }}
- --github-url={{ .url }}
{{- if .appID }}
- --github-app-id={{ int64 .appID }}
- --github-app-key-file=/etc/postflight/github/private-key.pem
{{- $_ := required "github.appID needs github.existingSecret" .existingSecret }}
{{- else if .existingSecret }}
- --github-token-file=/etc/postflight/github/token
{{- end }}
{{- if .webhook }}
- --github-webhook-secret-file=/etc/postflight/github/webhook-secret
{{- if not .appID }}{{ fail "github.webhook needs github.appID" }}{{ end }}
{{- end }}
{{- end }}
{{- with .Values.gitlab }}
- --gitlab-url={{ .url }}
{{- if .existingSecret }}
- --gitlab-token-file=/etc/postflight/gitlab/token
{{- end }}
{{- end }}
{{- end -}}

{{/* What is mounted below /etc/postflight: the volume of each folder. */}}
{{- define "postflight.mounted" -}}
{{- if .Values.signIn.config }}
sign-in-config:
  configMap: {name: {{ include "postflight.fullname" . }}-sign-in}
{{- end }}
{{- with .Values.signIn.existingSecret }}
sign-in:
  secret: {secretName: {{ . }}}
{{- end }}
{{- if .Values.tokenIssuers }}
token-issuers:
  configMap: {name: {{ include "postflight.fullname" . }}-token-issuers}
{{- end }}
{{- with .Values.clusterKeys.existingSecret }}
cluster-keys:
  secret: {secretName: {{ . }}}
{{- end }}
{{- if .Values.watchNamespaces }}
teams:
  configMap: {name: {{ include "postflight.fullname" . }}-teams}
{{- end }}
{{- if .Values.tls.enabled }}
tls:
  secret: {secretName: {{ include "postflight.tlsSecret" . }}}
{{- with include "postflight.caSecret" . }}
ca:
  secret:
    secretName: {{ . }}
    items:
      - {key: {{ $.Values.tls.ca.key }}, path: {{ $.Values.tls.ca.key }}}
{{- end }}
{{- end }}
{{- with .Values.store.existingSecret }}
store:
  secret: {secretName: {{ . }}}
{{- end }}
{{- with .Values.store.ca.existingConfigMap }}
store-ca:
  configMap: {name: {{ . }}}
{{- end }}
{{- with .Values.attestation.existingSecret }}
attestation:
  secret: {secretName: {{ . }}}
{{- end }}
{{- with .Values.github.existingSecret }}
github:
  secret: {secretName: {{ . }}}
{{- end }}
{{- with .Values.gitlab.existingSecret }}
gitlab:
  secret: {secretName: {{ . }}}
{{- end }}
{{- end -}}
