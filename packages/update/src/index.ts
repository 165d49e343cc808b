// The one entry: releases, and how one takes the place of another.
export { lookAfterTrial } from "./at-start.ts";
export { bringFile, fileFor, settleFolder, unpackVersion } from "./bring-release.ts";
export { byHand, installedAt, type Installed } from "./installed.ts";
export { compareVersions, isVersion } from "./release-version.ts";
export { checkedSource, chosen, releasesAt, type Release } from "./releases.ts";
export { resumeUpdate, runUpdate } from "./run-update.ts";
export type { GatewayNow, InForce, UpdateWorld, VersionPrograms, WatchedGateway } from "./update-world.ts";
export { aloneWithDatabase, isUpdating, lockUpdate } from "./update-lock.ts";
export { hasEnded, readRecord, writeRecord, type UpdateRecord } from "./update-record.ts";
export { freshFolder, versionFolders, type VersionFolders } from "./version-folders.ts";
