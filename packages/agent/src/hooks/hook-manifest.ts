// Checks what a HOOK.md says about itself: its name, the events that it listens to, and its requirements. A
// hook without a name, a description or an event is refused; any other malformed field is left out with a
// note. The fields are read as those of a SKILL.md are.
import { hookEventNames, hookFamilies } from "@parley/protocol";
import { z } from "zod";
import { plainLine } from "../plain-line.ts";
import type { FrontMatter } from "../skills/front-matter.ts";
import { plainText } from "../skills/lenient-fields.ts";
import { gatesOf, homepageOf, metadataOf, type SkillEligibility } from "../skills/manifest.ts";
import { nameChars, readSkillName } from "../skills/skill-name.ts";

export interface HookManifest {
  readonly name: string;
  /** One line, at most 1,024 characters. */
  readonly description: string;
  readonly homepage?: string;
  readonly emoji?: string;
  /** Under which `hooks.internal.entries` speaks of it. */
  readonly key: string;
  /** Events such as "command:new", and families such as "command"; at least one. */
  readonly events: readonly string[];
  /** Name of the function that its module exports. */
  readonly exportName: string;
  readonly gates: SkillEligibility;
}

export type HookReading =
  | { readonly ok: true; readonly manifest: HookManifest; readonly notes: readonly string[] }
  | { readonly ok: false; readonly reason: string };

const descriptionChars = 1024;
const known: ReadonlySet<string> = new Set([...hookEventNames, ...hookFamilies]);

/** `folderName` stands in for a missing name. */
export function hookManifest(
  { data, notes: earlier }: FrontMatter & { readonly ok: true },
  folderName: string,
): HookReading {
  const notes = [...earlier];
  const said = z.object({ name: plainText.nullish(), description: plainText.nullish() }).safeParse(data);
  if (!said.success)
    return {
      ok: false,
      reason: `its ${String(said.error.issues[0]?.path[0])} cannot be read: it is no text`,
    };
  const raw = said.data.name ?? folderName;
  const named = readSkillName(raw);
  if (!named.ok)
    return { ok: false, reason: `its name ${JSON.stringify(plainLine(raw, 80))} ${named.reason}` };
  const meta = metadataOf(data, notes);
  const listed = meta.fields.list("events");
  const events = listed.filter((event) => known.has(event));
  for (const event of listed)
    if (!known.has(event))
      notes.push(`the event ${JSON.stringify(plainLine(event, 60))} is not known, and never comes`);
  if (events.length === 0)
    return {
      ok: false,
      reason:
        listed.length === 0
          ? "it listens to no event: name some in metadata.openclaw.events"
          : `it listens to no event that is known: they are ${hookEventNames.join(", ")}`,
    };
  const homepage = homepageOf(meta.fields.text("homepage") ?? textOf(data["homepage"]));
  const emoji = meta.fields.text("emoji");
  const description = plainLine((said.data.description ?? "").replaceAll(/\s+/g, " "), descriptionChars);
  if (description === "") notes.push("it has no description");
  return {
    ok: true,
    notes,
    manifest: {
      name: named.name,
      description,
      ...(homepage === undefined ? {} : { homepage }),
      ...(emoji === undefined ? {} : { emoji: plainLine(emoji, 16) }),
      key: plainLine(meta.fields.text("hookKey") ?? named.name, nameChars),
      events: [...new Set(events)],
      exportName: plainLine(meta.fields.text("export") ?? "default", 128),
      gates: gatesOf(meta),
    },
  };
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" ? value : undefined;
}
