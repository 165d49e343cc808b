// `parley audit`: who asked the gateway for what, the newest last; and the whole of it as a file.
import { writeFileSync } from "node:fs";
import { resolve } from "node:path";
import { systemClock, type MethodParams, type MethodResult } from "@parley/protocol";
import { document, line, result, type Console } from "../../console.ts";
import { CommandFailure, exitCodes, type ExitCode } from "../../exit.ts";
import { withState } from "../../with-gateway.ts";

type Asked = MethodParams<"audit.list">;
type AuditRecord = MethodResult<"audit.list">["records"][number];

export interface AuditChoice {
  readonly since?: string;
  readonly method?: string;
  readonly by?: string;
  readonly lines?: string;
  readonly export?: string;
}

const pageRecords = 5_000;
const unitMs: { readonly [unit: string]: number } = { m: 60_000, h: 3_600_000, d: 86_400_000 };

export async function auditList(terminal: Console, choice: AuditChoice): Promise<ExitCode> {
  const asked: Asked = {
    ...(choice.since === undefined ? {} : { sinceMs: sinceOf(choice.since) }),
    ...(choice.method === undefined ? {} : { method: choice.method }),
    ...(choice.by === undefined ? {} : { by: choice.by }),
  };
  if (choice.export !== undefined) return exportAll(terminal, asked, resolve(choice.export));
  const limit = Number(choice.lines ?? 50);
  if (!Number.isInteger(limit) || limit < 1 || limit > pageRecords)
    throw new CommandFailure("invalid", `--lines takes a number from 1 to ${pageRecords}`, exitCodes.usage);
  const told = await withState(terminal, (client) => client.request("audit.list", { ...asked, limit }));
  if (terminal.json) document(terminal.out, told);
  else if (told.records.length === 0) line(terminal.out, "Nothing was asked that is recorded.");
  else for (const record of told.records) line(terminal.out, lineOf(record));
  return exitCodes.ok;
}

async function exportAll(terminal: Console, asked: Asked, path: string): Promise<ExitCode> {
  const records: AuditRecord[] = [];
  for (let more = true; more;) {
    const page = await withState(terminal, (client) =>
      client.request("audit.list", { ...asked, limit: pageRecords, skip: records.length }),
    );
    records.unshift(...page.records);
    more = page.more;
  }
  try {
    const text = records.map((record) => `${JSON.stringify(record)}\n`).join("");
    writeFileSync(path, text, { flag: "wx", mode: 0o600 });
  } catch (cause) {
    throw new CommandFailure("unavailable", `${path} cannot be written: ${String(cause)}`);
  }
  result(terminal, { path, records: records.length }, `Wrote ${records.length} records to ${path}.`);
  return exitCodes.ok;
}

function lineOf({ atMs, method, by, client, address, about, ok, code }: AuditRecord): string {
  const facts = Object.entries(about).map(([name, value]) => `${name}=${JSON.stringify(value)}`);
  const end = ok ? "" : `  refused: ${code ?? ""}`;
  return (
    [`${new Date(atMs).toISOString()}  ${method}`, ...facts, `by ${by} (${client}, ${address})`].join("  ") +
    end
  );
}

function sinceOf(text: string): number {
  const [, count, unit = ""] = /^(\d+)([mhd])$/.exec(text) ?? [];
  const atMs =
    count === undefined ? Date.parse(text) : systemClock().now() - Number(count) * (unitMs[unit] ?? 0);
  if (Number.isNaN(atMs))
    throw new CommandFailure(
      "invalid",
      `--since takes 30m, 2h, 7d or a date, not "${text}"`,
      exitCodes.usage,
    );
  return atMs;
}
