// The property list for launchd. Pure.
import { join } from "node:path";
import { launchdLabel, marker, type UnitPlan } from "./plan.ts";

export function launchdList({ name, root, home, env, runAs }: UnitPlan): string {
  const said = (text: string): string =>
    text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
  const string = (text: string): string => `<string>${said(text)}</string>`;
  const variables = Object.entries(env).map(
    ([variable, value]) => `    <key>${said(variable)}</key>${string(value)}`,
  );
  return `<?xml version="1.0" encoding="UTF-8"?>
<!-- ${marker} -->
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
  <key>Label</key>${string(launchdLabel(name))}
  <key>ProgramArguments</key>
  <array>
    ${string(join(root, "bin/parley"))}
    <string>start</string>
  </array>
  <key>WorkingDirectory</key>${string(root)}
  <key>EnvironmentVariables</key>
  <dict>
${variables.join("\n")}
  </dict>
${runAs === null ? "" : `  <key>UserName</key>${string(runAs)}\n`}  <key>RunAtLoad</key><true/>
  <!-- Started again when it failed; an end that was asked for stays one. -->
  <key>KeepAlive</key>
  <dict>
    <key>SuccessfulExit</key><false/>
  </dict>
  <key>ThrottleInterval</key><integer>10</integer>
  <!-- The daemon drains for at most 35 s. -->
  <key>ExitTimeOut</key><integer>60</integer>
  <key>Umask</key><integer>63</integer>
  <key>ProcessType</key><string>Interactive</string>
  <key>StandardOutPath</key>${string(join(home, "logs/launchd.out"))}
  <key>StandardErrorPath</key>${string(join(home, "logs/launchd.err"))}
</dict>
</plist>
`;
}
