{{- /* A pod's template; takes the chart's root, the role ("" for all in one), and the name of its claim ("" for one of its own). */}}
{{- define "parley.pod" -}}
{{- $root := .root -}}
metadata:
  labels:
    {{- include "parley.selector" $root | nindent 4 }}
    app.kubernetes.io/component: {{ .role | default "gateway" }}
    {{- with $root.Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    # A file that is mounted by its own name does not follow its ConfigMap: a change begins new pods.
    parley/config: {{ include "parley.config" $root | sha256sum }}
    {{- if not $root.Values.secret.existing }}
    parley/secret: {{ $root.Values.secret.values | toJson | sha256sum }}
    {{- end }}
    {{- with $root.Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  # Longer than a node drains: 25 s for turns, 10 s for deliveries.
  terminationGracePeriodSeconds: 75
  automountServiceAccountToken: false
  securityContext:
    runAsNonRoot: true
    runAsUser: 1000
    runAsGroup: 1000
    fsGroup: 1000
    fsGroupChangePolicy: OnRootMismatch
    seccompProfile: { type: RuntimeDefault }
  {{- with $root.Values.imagePullSecrets }}
  imagePullSecrets:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  containers:
    - name: parley
      image: {{ printf "%s:%s" $root.Values.image.repository ($root.Values.image.tag | default $root.Chart.AppVersion) | quote }}
      imagePullPolicy: {{ $root.Values.image.pullPolicy }}
      {{- if .role }}
      args: [start, --role, {{ .role }}, --node, $(POD)]
      {{- else }}
      args: [start]
      {{- end }}
      securityContext:
        allowPrivilegeEscalation: false
        readOnlyRootFilesystem: true
        capabilities: { drop: [ALL] }
      env:
        - name: POD
          valueFrom: { fieldRef: { fieldPath: metadata.name } }
        - { name: PARLEY_HOME, value: /var/lib/parley }
        {{- if and $root.Values.redis.enabled $root.Values.redis.url }}
        - { name: REDIS_URL, value: {{ $root.Values.redis.url | quote }} }
        {{- end }}
        {{- with $root.Values.extraEnv }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      envFrom:
        - secretRef: { name: {{ include "parley.secret" $root }} }
      ports:
        - { name: http, containerPort: 7275 }
      # Probes call by the pod's address; the gateway answers only to host names that it knows.
      startupProbe:
        httpGet: { path: /healthz, port: http, httpHeaders: [{ name: Host, value: localhost }] }
        periodSeconds: 2
        failureThreshold: 60
      livenessProbe:
        httpGet: { path: /healthz, port: http, httpHeaders: [{ name: Host, value: localhost }] }
        periodSeconds: 10
        failureThreshold: 6
      readinessProbe:
        httpGet: { path: /readyz, port: http, httpHeaders: [{ name: Host, value: localhost }] }
        periodSeconds: 3
      {{- if ne .role "worker" }}
      # The endpoint leaves the service before the gateway stops taking; SIGTERM, which drains, comes after.
      lifecycle: { preStop: { exec: { command: [sleep, "5"] } } }
      {{- end }}
      {{- with $root.Values.resources }}
      resources:
        {{- toYaml . | nindent 8 }}
      {{- end }}
      volumeMounts:
        - { name: home, mountPath: /var/lib/parley }
        - { name: config, mountPath: /var/lib/parley/parley.json5, subPath: parley.json5, readOnly: true }
        - { name: tmp, mountPath: /tmp }
  volumes:
    {{- if .claim }}
    - { name: home, persistentVolumeClaim: { claimName: {{ .claim }} } }
    {{- end }}
    - { name: config, configMap: { name: {{ include "parley.fullname" $root }} } }
    - { name: tmp, emptyDir: {} }
  {{- with $root.Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with $root.Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- end }}
{{- end }}
