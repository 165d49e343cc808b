// Builds the page into dist/, which the gateway serves under a policy without inline scripts and without
// other sites. All addresses in it are relative, so that a proxy may serve it under any path.
import { defineConfig, type Plugin } from "vite";

/** Most people come for the chat: its code comes with the page, not after the page's own. */
function preloadChat(): Plugin {
  return {
    name: "preload-chat",
    transformIndexHtml: {
      order: "post",
      handler(html, { filename, bundle = {} }) {
        if (!filename.endsWith("/index.html")) return [];
        const chat = Object.values(bundle).find((each) => each.type === "chunk" && each.name === "chat");
        if (chat?.type !== "chunk") throw new Error("there is no chunk named chat");
        return [chat.fileName, ...chat.imports]
          .filter((file) => !html.includes(file))
          .map((file) => ({
            tag: "link",
            attrs: { rel: "modulepreload", crossorigin: true, href: `./${file}` },
            injectTo: "head",
          }));
      },
    },
  };
}

export default defineConfig({
  base: "./",
  plugins: [preloadChat()],
  build: {
    target: "es2022",
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0,
    rollupOptions: { input: ["index.html", "canvas.html", "device.html"] },
  },
  // A service worker keeps its name, and reaches the pages beside it.
  worker: { rollupOptions: { output: { entryFileNames: "[name].js" } } },
});
