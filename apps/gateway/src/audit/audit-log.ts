// Keeps the audit log in audit/ of the state folder: one JSON object a line, private, bounded by size. It is
// written at best effort: a full disk costs lines, never a call.
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { WriteAudit } from "@parley/control";
import type { AuditRecord, Clock } from "@parley/protocol";
import { logFile } from "../log/log-file.ts";

const auditFolder = "audit";
const fileName = "audit";
const maxBytes = 10_000_000;
const keptFiles = 9;

export interface AuditLog {
  readonly write: WriteAudit;
  close(): void;
}

export function auditLog(home: string, clock: Clock): AuditLog {
  const folder = join(home, auditFolder);
  const file = logFile({ folder, name: fileName, maxBytes, keep: keptFiles, clock });
  return {
    write: (record) => file.write(`${JSON.stringify({ atMs: clock.now(), ...record })}\n`),
    close: () => file.close(),
  };
}

/** Oldest first. */
export function readAudit(home: string): readonly AuditRecord[] {
  const names = [
    ...Array.from({ length: keptFiles }, (_, nth) => `${fileName}.${keptFiles - nth}.log`),
    `${fileName}.log`,
  ];
  return names.flatMap((name) => {
    const path = join(home, auditFolder, name);
    if (!existsSync(path)) return [];
    return readFileSync(path, "utf8").split("\n").flatMap(recordIn);
  });
}

function recordIn(line: string): readonly AuditRecord[] {
  if (line === "") return [];
  try {
    return [JSON.parse(line) as AuditRecord];
  } catch {
    // A kill, or a full disk, cut the line.
    return [];
  }
}
