// Draws one diagram with Mermaid, in a frame that has an origin and a policy of its own: what an agent wrote
// can reach neither the page nor the network from here. It is a classic script, so it imports types only.
import type { DiagramAnswer, DiagramOrder } from "./messages.ts";

interface Mermaid {
  initialize(config: { readonly [name: string]: unknown }): void;
  render(id: string, source: string): Promise<{ readonly svg: string }>;
}
declare const mermaid: Mermaid;

const mostEdges = 400;
const mostWords = 500;

function answer(told: DiagramAnswer): void {
  // Whoever framed this page gave it what it draws: there is nothing to keep from them.
  parent.postMessage(told, "*");
}

async function draw({ source, isDark }: DiagramOrder): Promise<void> {
  document.documentElement.style.colorScheme = isDark ? "dark" : "light";
  const config = {
    startOnLoad: false,
    securityLevel: "strict",
    suppressErrorRendering: true,
    htmlLabels: false,
    flowchart: { htmlLabels: false },
    theme: isDark ? "dark" : "default",
    fontFamily: "system-ui, sans-serif",
    maxEdges: mostEdges,
    maxTextSize: source.length,
  };
  // A source may set its own colours by a directive, and nothing that is set here.
  mermaid.initialize({ ...config, secure: ["secure", ...Object.keys(config)] });
  try {
    const { svg } = await mermaid.render("diagram", source);
    document.body.innerHTML = svg;
    tellHeight();
  } catch (error) {
    answer({ type: "parley-diagram-failed", why: String(error).slice(0, mostWords) });
  }
}

function tellHeight(): void {
  const drawn = document.querySelector("svg");
  if (drawn !== null)
    answer({ type: "parley-diagram-drawn", heightPx: Math.ceil(drawn.getBoundingClientRect().height) });
}

addEventListener("message", ({ source, data }: MessageEvent<DiagramOrder | null>) => {
  if (source === parent && data?.type === "parley-diagram-draw") void draw(data);
});
addEventListener("resize", tellHeight);
