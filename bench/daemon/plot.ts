// Draws lines over a count as a small SVG, readable on light and dark pages: one panel a line, each from zero
// to its own most.
export interface Line {
  readonly name: string;
  readonly points: readonly (readonly [x: number, y: number])[];
}

const width = 720;
const panel = 110;
const left = 64;
const right = 16;
const colours = ["#2f6fd0", "#b5541c", "#2e8b57", "#8a4fbf"];

export function plot(title: string, lines: readonly Line[]): string {
  const most = Math.max(1, ...lines.flatMap(({ points }) => points.map(([x]) => x)));
  const height = 40 + lines.length * panel + 24;
  const panels = lines.map(({ name, points }, n) => {
    const top = 40 + n * panel;
    const floor = top + panel - 26;
    const highest = roundUp(Math.max(1, ...points.map(([, y]) => y)));
    const at = ([x, y]: readonly [number, number]): string =>
      `${(left + (x / most) * (width - left - right)).toFixed(1)},${(floor - (y / highest) * (floor - top - 8)).toFixed(1)}`;
    return [
      `<path d="M${left} ${top + 8}V${floor}H${width - right}" fill="none" stroke="#888"/>`,
      `<text x="${left - 6}" y="${top + 14}" text-anchor="end">${highest}</text>`,
      `<text x="${left - 6}" y="${floor + 4}" text-anchor="end">0</text>`,
      `<text x="${left + 8}" y="${top + 6}" fill="${colours[n % colours.length]}">${name}</text>`,
      `<polyline points="${points.map(at).join(" ")}" fill="none" stroke="${colours[n % colours.length]}" stroke-width="1.5"/>`,
    ].join("\n");
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11" fill="#888">
<text x="${left}" y="20" font-size="13">${title}</text>
${panels.join("\n")}
<text x="${width - right}" y="${height - 10}" text-anchor="end">${most.toLocaleString("en")} messages</text>
</svg>
`;
}

/** The next of 1, 2 or 5 times a power of ten. */
function roundUp(value: number): number {
  const unit = 10 ** Math.floor(Math.log10(value));
  return unit * ([1, 2, 5, 10].find((each) => each * unit >= value) ?? 10);
}
