// Draws the icons: strokes on a field of 24, in the colour of the text beside them, hidden from screen
// readers.
import { svg, type SVGTemplateResult } from "lit";

const strokes = {
  chat: "M4 5h16v11H9l-5 4z",
  overview: "M3 12l9-8 9 8M6 10v10h12V10",
  activity: "M3 12h4l3-8 4 16 3-8h4",
  approvals: "M9 12l2 2 4-4M12 3l8 3v6c0 5-3.5 8-8 9-4.500-1-8-4-8-9V6z",
  schedules: "M12 7v5l3 2M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18z",
  agents: "M6 9h12v10H6zM12 9V5M9 13.500v1M15 13.500v1M12 4.500v.5M3 13v3M21 13v3",
  channels:
    "M4 12a8 8 0 0 1 8-8M4 12a8 8 0 0 0 8 8M20 12a8 8 0 0 0-8-8M20 12a8 8 0 0 1-8 8M4 12h16M12 4c3 4 3 12 0 16M12 4c-3 4-3 12 0 16",
  usage: "M5 20V10M12 20V4M19 20v-7",
  system: "M4 7h10M18 7h2M4 17h2M10 17h10M14 7a2 2 0 1 0 4 0 2 2 0 0 0-4 0M6 17a2 2 0 1 0 4 0 2 2 0 0 0-4 0",
  search: "M10.500 17a6.500 6.500 0 1 0 0-13 6.500 6.500 0 0 0 0 13zM15.500 15.500L20 20",
  plus: "M12 5v14M5 12h14",
  pin: "M9 4h6l-1 6 4 4H6l4-4zM12 14v7",
  pen: "M4 20l1-4L16 5l3 3L8 19z",
  clip: "M8 12l6-6a3 3 0 0 1 4 4l-8 8a5 5 0 0 1-7-7l7-7",
  list: "M4 6h16M4 12h16M4 18h16",
  canvas: "M4 5h16v14H4zM14 5v14",
  mic: "M12 3a3 3 0 0 0-3 3v5a3 3 0 0 0 6 0V6a3 3 0 0 0-3-3zM6 11a6 6 0 0 0 12 0M12 17v4",
  more: "M5 12h.01M12 12h.01M19 12h.01",
  save: "M12 4v11M7 10l5 5 5-5M5 20h14",
  away: "M5 7h14M9 7V4h6v3M7 7l1 13h8l1-13",
  close: "M6 6l12 12M18 6L6 18",
} as const;

export type IconName = keyof typeof strokes;

export function icon(name: IconName): SVGTemplateResult {
  return svg`<svg class="icon" viewBox="0 0 24 24" aria-hidden="true"><path d=${strokes[name]}></path></svg>`;
}
