// Builds the page into dist/, which the gateway serves under a policy without inline scripts and without
// other sites. All addresses in it are relative, so that a proxy may serve it under any path.
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vite";

/**
 * Most people come for the chat: its code comes with the page, not after the page's own. The page's script
 * runs as soon as it is there, and nothing is painted before: a frame without anything on it costs as much as
 * one with.
 */
function soonWritable(): Plugin {
  return {
    name: "soon-writable",
    transformIndexHtml: {
      order: "post",
      handler(html, { filename, bundle = {} }) {
        if (!filename.endsWith("/index.html")) return html;
        const chat = Object.values(bundle).find((each) => each.type === "chunk" && each.name === "chat");
        if (chat?.type !== "chunk") throw new Error("there is no chunk named chat");
        const preloads = [chat.fileName, ...chat.imports].filter((file) => !html.includes(file));
        return {
          // Vite keeps `async` and drops `blocking`.
          html: html.replace("<script async ", '<script async blocking="render" '),
          tags: preloads.map((file) => ({
            tag: "link",
            attrs: { rel: "modulepreload", crossorigin: true, href: `./${file}` },
            injectTo: "head" as const,
          })),
        };
      },
    },
  };
}

/** Mermaid comes as one script for browsers: it is served as it is, to frames that draw a diagram. */
function mermaidBeside(): Plugin {
  return {
    name: "mermaid-beside",
    generateBundle() {
      const file = fileURLToPath(import.meta.resolve("@mermaid-js/tiny"));
      this.emitFile({ type: "asset", fileName: "mermaid.js", source: readFileSync(file) });
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [soonWritable(), mermaidBeside()],
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rollupOptions: {
      input: {
        index: "index.html",
        canvas: "canvas.html",
        device: "device.html",
        diagram: "src/diagram/frame.ts",
      },
      output: {
        // A page that is served as it is names its script.
        entryFileNames: ({ name }) => (name === "diagram" ? "diagram.js" : "assets/[name]-[hash].js"),
        // A browser asks for each file, and compiles each: what the chat needs anyway comes in a few.
        codeSplitting: {
          groups: [
            {
              name: "base",
              priority: 2,
              minShareCount: 2,
              test: /node_modules\/(?:@lit|lit|lit-[a-z]+)\/|packages\/protocol\/|vite\/preload-helper|src\/session\/link\.ts/,
            },
            {
              name: "shell",
              priority: 1,
              test: /\/src\/(?:texts\/|parts\/(?:address|icons|once|page|reading|text|time)\.ts)/,
            },
          ],
        },
      },
    },
  },
  // A service worker keeps its name, and reaches the pages beside it.
  worker: { rollupOptions: { output: { entryFileNames: "[name].js" } } },
});
