// Says what came of a call, as its turn reads it: what the device answered, or why there is no answer.
import type { CellWrite } from "@parley/store";
import type { DeviceCall } from "./call.ts";

export interface Invoked {
  readonly text: string;
  readonly isError?: boolean;
  readonly picture?: { readonly path: string; readonly mediaType: string };
  /** Whose words they are. */
  readonly source?: string;
  readonly cells?: readonly CellWrite[];
  readonly waitsFor?: { readonly ticket: string; readonly untilMs: number };
}

export function told({ name, request, state, result, untilMs }: DeviceCall): Omit<Invoked, "cells"> {
  const what = `${request.command} on ${name}`;
  if (state === "revoked")
    return {
      text: `${what}: the device, or its grant for this, was put out before it answered. It may have begun.`,
      isError: true,
    };
  if (state === "withdrawn") return { text: `${what} was withdrawn.`, isError: true };
  if (state === "open" || result === undefined)
    return {
      text: `${what}: no answer until ${new Date(untilMs).toISOString()}. If the device was connected it may have begun; one that was asleep does not do it any more.`,
      isError: true,
    };
  const { ok, text, picture, sound } = result;
  const refused = picture !== undefined && "refused" in picture ? `\n[not shown: ${picture.refused}]` : "";
  return {
    text: `${text}${refused}${sound === undefined ? "" : heard(sound)}`,
    ...(ok ? {} : { isError: true }),
    ...(picture === undefined || "refused" in picture ? {} : { picture }),
    source: `device ${name}`,
  };
}

function heard(sound: NonNullable<NonNullable<DeviceCall["result"]>["sound"]>): string {
  if ("refused" in sound) return `\n[not kept: ${sound.refused}]`;
  const words =
    sound.words === null
      ? ""
      : sound.words === ""
        ? "\nNothing was said in it."
        : `\nIt says: ${sound.words}`;
  return `\nKept as ${sound.path}.${words}`;
}
