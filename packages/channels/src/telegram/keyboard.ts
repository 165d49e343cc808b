// Renders buttons as inline keyboards, within the limits of the Bot API.
import type { InlineKeyboardMarkup } from "grammy/types";
import { type Button, Fault } from "@parley/protocol";
import { callbackBytes } from "./capabilities.ts";

export function inlineKeyboard(rows: readonly (readonly Button[])[]): InlineKeyboardMarkup {
  return {
    inline_keyboard: withoutMenus(rows).map((row) =>
      row.map(({ label: text, value, url, style }) => {
        const look = style === undefined ? { text } : { text, style };
        if (url !== undefined) return { ...look, url };
        const data = value ?? text;
        const bytes = new TextEncoder().encode(data).length;
        if (bytes < 1 || bytes > callbackBytes) {
          throw new Fault(
            "invalid",
            `the value of button "${text}" has ${bytes} bytes; Telegram takes 1 to ${callbackBytes}`,
          );
        }
        return { ...look, callback_data: data };
      }),
    ),
  };
}

/** Telegram has no menus, so each choice becomes a button in a row of its own. */
function withoutMenus(rows: readonly (readonly Button[])[]): readonly (readonly Button[])[] {
  return rows.flatMap((row) => {
    const plain = row.filter((button) => button.choices === undefined);
    const chosen = row.flatMap((button) => (button.choices ?? []).map((choice) => [choice]));
    return [...(plain.length === 0 ? [] : [plain]), ...chosen];
  });
}
