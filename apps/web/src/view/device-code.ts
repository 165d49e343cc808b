// Shows how a device comes in: the code that a phone's camera reads, the same as a link and a command, or a
// token, once.
import type { MethodResult } from "@parley/protocol";
import { html, nothing, svg, type TemplateResult } from "lit";
import { copyable } from "../parts/text.ts";
import { t } from "../texts/texts.ts";

type Modules = readonly (readonly boolean[])[];
export type Code = Pick<MethodResult<"devices.pair">, "name" | "code" | "link" | "url"> & {
  readonly modules: Modules;
};
/** `modules`: where its code is to be scanned. */
export type Renewed = MethodResult<"devices.rotate"> & { readonly modules?: Modules };

const words = t.devices;

export async function qrModules(link: string): Promise<Modules> {
  const { encode } = await import("uqr");
  return encode(link, { border: 2 }).data;
}

export function renewedAs({ name, token, code, link, url, modules }: Renewed): unknown {
  if (token !== undefined)
    return html`<p><b>${words.once(name)}</b></p>
      ${copyable(token, 120)}`;
  if (code === undefined || link === undefined || url === undefined || modules === undefined) return nothing;
  return codeOf({ name, code, link, url, modules });
}

/** How a device comes in by a code: by the phone's camera, or by a command on a computer. */
export function codeOf({ name, code, link, url, modules }: Code): TemplateResult {
  return html`<p>${words.scan(name)}</p>
    ${qrOf(modules)}${copyable(link, 300)}
    <p class="quiet-text">${words.computer}</p>
    ${copyable(`parley node run --url ${url} --code ${code}`, 300)}`;
}

/** Dark on light in every theme, or phones do not read it. */
function qrOf(modules: Modules): TemplateResult {
  const dark = modules.flatMap((row, y) =>
    row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])),
  );
  const side = modules.length;
  return html`<svg
    role="img"
    aria-label=${words.qr}
    viewBox="0 0 ${side} ${side}"
    width="240"
    height="240"
    shape-rendering="crispEdges"
  >
    ${svg`<rect width=${side} height=${side} fill="#fff" /><path d=${dark.join("")} fill="#000" />`}
  </svg>`;
}
