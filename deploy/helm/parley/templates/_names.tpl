{{- define "parley.name" -}}
{{ default .Chart.Name .Values.nameOverride | trunc 40 | trimSuffix "-" }}
{{- end }}

{{- define "parley.fullname" -}}
{{- if .Values.fullnameOverride -}}
{{ .Values.fullnameOverride | trunc 50 | trimSuffix "-" }}
{{- else if contains (include "parley.name" .) .Release.Name -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- else -}}
{{ printf "%s-%s" .Release.Name (include "parley.name" .) | trunc 50 | trimSuffix "-" }}
{{- end -}}
{{- end }}

{{- define "parley.selector" -}}
app.kubernetes.io/name: {{ include "parley.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "parley.labels" -}}
{{ include "parley.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{- define "parley.secret" -}}
{{ .Values.secret.existing | default (include "parley.fullname" .) }}
{{- end }}

{{- define "parley.claim" -}}
{{ .Values.persistence.existingClaim | default (printf "%s-home" (include "parley.fullname" .)) }}
{{- end }}

{{- /* What the chart sets, and over it what the values say. */}}
{{- define "parley.config" -}}
{{- $name := include "parley.fullname" . -}}
{{- $hosts := list "localhost" $name (printf "%s.%s" $name .Release.Namespace) (printf "%s.%s.svc" $name .Release.Namespace) -}}
{{- if .Values.ingress.enabled }}{{ $hosts = concat $hosts .Values.ingress.hosts }}{{ end -}}
{{- $own := dict "gateway" (dict "bind" "lan" "auth" (dict "token" (dict "env" "PARLEY_TOKEN")) "allowedHosts" $hosts) -}}
{{- if .Values.redis.enabled -}}
{{- /* Pods have new names after each roll-out: their log is the cluster's, not one more file on the volume. */ -}}
{{- $_ := set $own "logging" (dict "file" (dict "enabled" false)) -}}
{{- $_ := set $own "store" (dict "driver" "redis" "redis" (dict "url" (dict "env" "REDIS_URL"))) -}}
{{- end -}}
{{ mustMergeOverwrite $own (deepCopy .Values.config) | mustToPrettyJson }}
{{- end }}
