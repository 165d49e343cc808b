// Checks who can reach, read or order what: settings that let in more than most people mean.
import type { Config, Places } from "@parley/config";
import type { Json } from "@parley/protocol";
import { ok, warn, type Finding } from "../finding.ts";
import { channelFindings, sessionFindings } from "./channels.ts";
import { listeningFindings } from "./listening.ts";
import { backupFindings, secretFindings, transportFindings } from "./secrets.ts";
import { toolFindings } from "./tools.ts";

/** Folders that a program copies elsewhere, or that others write. */
const synced =
  /\/(?:Dropbox|OneDrive[^/]*|Google Drive|GoogleDrive|Library\/Mobile Documents|iCloud[^/]*|Nextcloud|Syncthing|pCloud[^/]*)\//;

export function securityFindings(config: Config, places: Places, file: Json): readonly Finding[] {
  const found = [
    ...listeningFindings(config),
    ...channelFindings(config),
    ...toolFindings(config),
    ...sessionFindings(config),
    ...secretFindings(file, places),
    ...transportFindings(config),
    ...backupFindings(config),
    ...(synced.test(`${places.home}/`)
      ? [
          warn(
            "home.synced",
            `The state folder ${places.home} is copied by a sync program: chats and keys leave this machine, and the database can break`,
            "Set PARLEY_HOME to a folder that is not synced",
          ),
        ]
      : []),
  ];
  return found.length > 0 ? found : [ok("security", "Nothing in the config lets more in than it should")];
}
