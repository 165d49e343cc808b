// Forms behind buttons. Discord wants a form within three seconds of the press, too soon to ask the gateway,
// so the driver keeps the forms it sent, also over restarts. A submitted form arrives as a press of its
// button with one line per field.
import type { APIModalInteractionResponseCallbackData } from "discord-api-types/v10";
import { z } from "zod";
import type { Button, Log } from "@parley/protocol";
import { type DiscordMemory, recall } from "../memory.ts";

export interface Forms {
  load(): Promise<void>;
  /** Stores the forms of these buttons. Call it before the buttons are shown. */
  keep(rows: readonly (readonly Button[])[]): Promise<void>;
  /** The form that a press of this button opens; null for a plain button. */
  find(customId: string): APIModalInteractionResponseCallbackData | null;
}

const formSchema = z.object({
  id: z.string(),
  title: z.string(),
  fields: z.array(z.object({ name: z.string(), label: z.string(), long: z.boolean() })),
});
type Form = z.infer<typeof formSchema>;

const mostForms = 200;
const mostFields = 5;
/** Longest title or label, in characters. */
const wordChars = 45;
const components = { textInput: 4, label: 18 } as const;

export function forms(memory: DiscordMemory, log: Log): Forms {
  let kept: readonly Form[] = [];
  return {
    async load() {
      kept = (await recall(memory, "forms", z.array(formSchema), log)) ?? [];
    },
    async keep(rows) {
      const added = rows.flat().flatMap(formOf);
      if (added.length === 0) return;
      const ids = new Set(added.map(({ id }) => id));
      kept = [...kept.filter(({ id }) => !ids.has(id)), ...added].slice(-mostForms);
      await memory.save("forms", JSON.stringify(kept));
    },
    find(customId) {
      const form = kept.find(({ id }) => id === customId);
      if (form === undefined) return null;
      const fields = form.fields.map(({ name, label, long }) => ({
        type: components.label,
        label,
        component: { type: components.textInput, custom_id: name, style: long ? 2 : 1, required: true },
      }));
      return {
        custom_id: form.id,
        title: form.title,
        components: fields,
      } as APIModalInteractionResponseCallbackData;
    },
  };
}

function formOf({ label, value = label, form }: Button): Form[] {
  if (form === undefined) return [];
  const fields = form.slice(0, mostFields).map((field) => ({
    name: field.name,
    label: field.label.slice(0, wordChars),
    long: field.long === true,
  }));
  return [{ id: value, title: label.slice(0, wordChars), fields }];
}
