// The unit file for systemd: what deploy/parley.service shows, with the paths of this machine. Pure.
import { marker, type UnitPlan } from "./plan.ts";

/**
 * systemd reads % as the start of a specifier, $ as a variable, and its own quotes and backslashes
 * (systemd.service(5)).
 */
function word(text: string): string {
  const escaped = text.replaceAll("\\", "\\\\").replaceAll('"', '\\"').replaceAll("$", "$$$$");
  return /[\s"'\\;]/.test(text) ? `"${escaped}"` : escaped;
}

function assignment(name: string, value: string): string {
  return `Environment="${name}=${value.replaceAll("\\", "\\\\").replaceAll('"', '\\"')}"`;
}

/** The manager of a user may not do these: a service with them would not start there (218/CAPABILITIES). */
const ofTheMachine = `CapabilityBoundingSet=
ProtectKernelModules=true
ProtectKernelLogs=true
ProtectClock=true
ProtectHostname=true
`;

/** Line ends would begin a new setting. */
export function systemdUnit(plan: UnitPlan): string {
  const { root, home, env, scope, runAs } = plan;
  const percent = (text: string): string => text.replaceAll("%", "%%");
  const paths = Object.entries(env).map(([name, value]) => assignment(name, percent(value)));
  return `# ${marker}
[Unit]
Description=Parley chat gateway
Documentation=file:${percent(root)}/docs/operations.md
After=network-online.target
Wants=network-online.target
# Three unclean starts in five minutes put the daemon into safe mode; systemd must not give up before that.
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=notify
# The daemon has systemd's own program send its notifications.
NotifyAccess=all
${runAs === null ? "" : `User=${runAs}\n`}WorkingDirectory=${percent(root).replaceAll("\\", "\\\\")}
ExecStart=${word(percent(`${root}/bin/parley`))} start
ExecReload=/bin/kill -HUP $MAINPID
${paths.join("\n")}
# Keys and tokens as NAME=value lines; the config names them with { env: "NAME" }.
EnvironmentFile=-${percent(home)}/env
Restart=always
RestartSec=2
# 78: a person must act first (config, lock, database).
RestartPreventExitStatus=78
# The first start of a version installs what it needs.
TimeoutStartSec=600
# The daemon drains for at most 35 s; what is not finished then resumes at the next start.
TimeoutStopSec=60
KillMode=mixed
WatchdogSec=60
UMask=0077
NoNewPrivileges=true
PrivateTmp=true
ProtectSystem=full
ProtectKernelTunables=true
ProtectControlGroups=true
RestrictRealtime=true
RestrictSUIDSGID=true
LockPersonality=true
SystemCallArchitectures=native
${scope === "system" ? ofTheMachine : ""}
[Install]
WantedBy=${scope === "system" ? "multi-user.target" : "default.target"}
`;
}
