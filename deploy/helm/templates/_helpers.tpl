{{- define "ragstone.name" -}}
{{- if contains "ragstone" .Release.Name -}}
{{- .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- else -}}
{{- printf "%s-ragstone" .Release.Name | trunc 63 | trimSuffix "-" -}}
{{- end -}}
{{- end -}}

{{- define "ragstone.selector" -}}
app.kubernetes.io/name: ragstone
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end -}}

{{- define "ragstone.labels" -}}
{{ include "ragstone.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}
{{- end -}}

{{- define "ragstone.secret" -}}
{{- .Values.secret.existing | default (include "ragstone.name" .) -}}
{{- end -}}

{{- /* Whether nothing that must stay is in the data directory. */ -}}
{{- define "ragstone.shared" -}}
{{- if and .Values.settings.STATE__URL .Values.settings.INDEX__URL }}yes{{ end -}}
{{- end -}}

{{- /* What would start and then not work is refused here. */ -}}
{{- define "ragstone.check" -}}
{{- $several := gt (int .Values.replicas) 1 -}}
{{- if and $several (not (include "ragstone.shared" .)) -}}
{{- fail "replicas above 1 need settings.STATE__URL and settings.INDEX__URL" -}}
{{- end -}}
{{- $values := .Values.secret.values -}}
{{- if and .Values.settings.STATE__URL (not .Values.secret.existing) (not $values.AUTH__ADMIN_KEY) (not .Values.settings.AUTH__JWKS_URL) -}}
{{- fail "servers that share a state need secret.values.AUTH__ADMIN_KEY, or secret.existing with it" -}}
{{- end -}}
{{- if and .Values.metrics.serviceMonitor (not .Values.secret.existing) (not $values.SERVER__METRICS_TOKEN) -}}
{{- fail "metrics.serviceMonitor needs secret.values.SERVER__METRICS_TOKEN, or secret.existing with it" -}}
{{- end -}}
{{- if and .Values.ingress.enabled (not .Values.ingress.host) -}}
{{- fail "ingress.enabled needs ingress.host" -}}
{{- end -}}
{{- end -}}
