{{- define "postflight.name" -}}
{{- .Values.nameOverride | default .Chart.Name | trunc 40 | trimSuffix "-" -}}
{{- end -}}

{{/* The beginning of the names of all objects. */}}
{{- define "postflight.fullname" -}}
{{- $name := include "postflight.name" . -}}
{{- if .Values.fullnameOverride -}}
{{- .Values.fullnameOverride | trunc 40 | trimSuffix "-" -}}
{{- else if contains $name .Release.Name -}}
{{- .Release.Name | trunc 40 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-%s" .Release.Name $name | trunc 40 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "postflight.serviceAccountName" -}}
{{- .Values.serviceAccount.name | default (printf "%s-manager" (include "postflight.fullname" .)) -}}
{{- end -}}

{{/* What selects the pods. It must not change in an upgrade. */}}
{{- define "postflight.selector" -}}
app.kubernetes.io/name: {{ include "postflight.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: manager
{{- end -}}

{{- define "postflight.labels" -}}
app.kubernetes.io/name: {{ include "postflight.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Metadata of a namespaced object: (list $ "-suffix"). */}}
{{- define "postflight.metadata" -}}
{{- $root := index . 0 -}}
name: {{ include "postflight.fullname" $root }}{{ index . 1 }}
namespace: {{ $root.Release.Namespace }}
labels:
  {{- include "postflight.labels" $root | nindent 2 }}
{{- end -}}

{{- define "postflight.image" -}}
{{- if .Values.image.digest -}}
{{- if .Values.image.tag }}{{ fail "image.tag has no effect beside image.digest: unset one of them" }}{{ end -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* The Secret with the certificate of the API. */}}
{{- define "postflight.tlsSecret" -}}
{{- if .Values.tls.existingSecret -}}
{{ .Values.tls.existingSecret }}
{{- else if .Values.tls.certManager.enabled -}}
{{ include "postflight.fullname" . }}-tls
{{- else -}}
{{ fail "tls.enabled needs tls.existingSecret or tls.certManager.enabled" }}
{{- end -}}
{{- end -}}

{{/* The Secret with the authority of that certificate; empty if it is a public one. */}}
{{- define "postflight.caSecret" -}}
{{- if .Values.tls.ca.existingSecret -}}
{{ .Values.tls.ca.existingSecret }}
{{- else if and .Values.tls.certManager.enabled .Values.tls.certManager.privateCA (not .Values.tls.existingSecret) -}}
{{ include "postflight.tlsSecret" . }}
{{- end -}}
{{- end -}}

{{/* How Prometheus checks the certificate of the metrics: not at all if nobody signed it, or its names are unknown. */}}
{{- define "postflight.metricsTLS" -}}
{{- $authority := include "postflight.caSecret" . -}}
{{- if and .Values.tls.enabled (or $authority (and .Values.tls.certManager.enabled (not .Values.tls.existingSecret))) -}}
serverName: {{ include "postflight.fullname" . }}-metrics.{{ .Release.Namespace }}.svc
{{- with $authority }}
ca:
  secret: {name: {{ . }}, key: {{ $.Values.tls.ca.key }}}
{{- end }}
{{- else -}}
insecureSkipVerify: true
{{- end -}}
{{- end -}}

{{- define "postflight.servicePort" -}}
{{- if .Values.service.port }}{{ .Values.service.port }}{{ else if .Values.tls.enabled }}443{{ else }}80{{ end -}}
{{- end -}}

{{- define "postflight.podURL" -}}
{{- $scheme := ternary "https" "http" .Values.tls.enabled -}}
{{- $usual := ternary "443" "80" .Values.tls.enabled -}}
{{- $port := include "postflight.servicePort" . -}}
{{- $address := printf "%s://%s.%s.svc" $scheme (include "postflight.fullname" .) .Release.Namespace -}}
{{- .Values.podURL | default (ternary $address (printf "%s:%s" $address $port) (eq $port $usual)) -}}
{{- end -}}

{{/* The hosts of the Ingress, as JSON. */}}
{{- define "postflight.ingressHosts" -}}
{{- concat (list .Values.ingress.host) .Values.ingress.hosts | compact | uniq | toJson -}}
{{- end -}}

{{- define "postflight.publicURL" -}}
{{- $hosts := include "postflight.ingressHosts" . | fromJsonArray -}}
{{- if .Values.publicURL -}}
{{ .Values.publicURL }}
{{- else if and .Values.ingress.enabled $hosts -}}
{{ ternary "https" "http" (not (empty (or .Values.ingress.tls .Values.ingress.tlsSecret))) }}://{{ first $hosts }}{{ .Values.ingress.path | trimSuffix "/" }}
{{- else if and .Values.httpRoute.enabled .Values.httpRoute.hostnames -}}
{{ ternary "https" "http" .Values.httpRoute.https }}://{{ first .Values.httpRoute.hostnames }}{{ .Values.httpRoute.path | trimSuffix "/" }}
{{- else if and .Values.route.enabled .Values.route.host -}}
{{ ternary "http" "https" (empty .Values.route.tls) }}://{{ .Values.route.host }}
{{- end -}}
{{- end -}}

{{/* The hosts of the run pages beside that of the public URL, separated by commas. */}}
{{- define "postflight.pageHosts" -}}
{{- $hosts := .Values.pageHosts -}}
{{- if .Values.ingress.enabled }}{{ $hosts = concat $hosts (include "postflight.ingressHosts" . | fromJsonArray) }}{{ end -}}
{{- if .Values.httpRoute.enabled }}{{ $hosts = concat $hosts .Values.httpRoute.hostnames }}{{ end -}}
{{- if .Values.route.enabled }}{{ $hosts = append $hosts .Values.route.host }}{{ end -}}
{{- $others := list -}}
{{- range without $hosts (urlParse (include "postflight.publicURL" .)).hostname | uniq -}}
{{- if not (hasPrefix "*" .) }}{{ $others = append $others . }}{{ end -}}
{{- end -}}
{{- join "," $others -}}
{{- end -}}

{{/* The manifests of a file in files/, which is a copy of config/, for this release: (list $ "files/..."). */}}
{{- define "postflight.shipped" -}}
{{- $root := index . 0 -}}
{{- $fullname := include "postflight.fullname" $root -}}
{{- $account := printf "system:serviceaccount:%s:%s" $root.Release.Namespace (include "postflight.serviceAccountName" $root) -}}
{{- range $document := splitList "\n---\n" (print "\n" ($root.Files.Get (index . 1))) -}}
{{- $object := fromYaml $document -}}
{{- if $object }}
{{- $metadata := $object.metadata -}}
{{- if not (has $object.kind (list "Lease" "Secret")) }}{{/* the manager knows their names */}}
{{- $_ := set $metadata "name" (regexReplaceAll "^postflight" $metadata.name $fullname) -}}
{{- end -}}
{{- if $metadata.namespace }}{{ $_ := set $metadata "namespace" $root.Release.Namespace }}{{ end -}}
{{- $labels := include "postflight.labels" $root | fromYaml -}}
{{- $_ := set $metadata "labels" (merge $labels ($metadata.labels | default dict)) -}}
{{- if $object.roleRef }}{{ $_ := set $object.roleRef "name" (regexReplaceAll "^postflight" $object.roleRef.name $fullname) }}{{ end -}}
{{- range $object.subjects }}
{{- $_ := set . "name" (include "postflight.serviceAccountName" $root) -}}
{{- $_ := set . "namespace" $root.Release.Namespace -}}
{{- end -}}
{{- if eq $object.kind "ValidatingAdmissionPolicyBinding" }}{{ $_ := set $object.spec "policyName" $metadata.name }}{{ end }}
---
{{ toYaml $object | replace "system:serviceaccount:postflight-system:postflight-manager" $account | replace "'postflight-system'" (squote $root.Release.Namespace) }}
{{- end -}}
{{- end -}}
{{- end -}}
