import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig } from "vite";

// `npm run build` writes the files that the server serves. They are committed: nobody needs node to use the page.
export default defineConfig({
  plugins: [svelte()],
  base: "./",
  build: {
    target: "es2022",
    outDir: "../static",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    assetsInlineLimit: 0, // data: addresses are blocked by the page's policy
    license: { fileName: "licenses.md" },
  },
  // While the page is developed, the calls go to a server on the default address.
  server: { proxy: { "/eminence.v1.": "http://127.0.0.1:8080" } },
});
