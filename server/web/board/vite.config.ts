import { svelte } from "@sveltejs/vite-plugin-svelte";
import { defineConfig, type Plugin } from "vite";
import { smallProtobuf } from "./protobuf.ts";
import look from "../../../engine_cy/look.json" with { type: "json" };

type Colours = (typeof look)["light"];

/** Return the colours of a theme by the names of their variables: "seat-a", "grade-best". */
const named = ({ seats, grades, ...plain }: Colours): [string, string][] => [
  ...Object.entries(plain),
  ...seats.map((colour, seat): [string, string] => [`seat-${"abcde"[seat]}`, colour]),
  ...Object.entries(grades).map(([grade, colour]): [string, string] => [`grade-${grade}`, colour]),
];

/** The colours that the page shares with the HTML report and the pictures. */
const colours: Plugin = {
  name: "colours",
  resolveId: (id) => (id === "virtual:colours.css" ? `\0${id}` : undefined),
  load(id) {
    if (id !== "\0virtual:colours.css") return undefined;
    const dark = new Map(named(look.dark));
    const variables = named(look.light).map(([name, light]) => `--${name}: light-dark(${light}, ${dark.get(name)});`);
    return `:root { ${variables.join(" ")} }`;
  },
};

// `npm run build` writes the files that the server serves. They are committed: nobody needs node to use the page.
export default defineConfig({
  plugins: [svelte(), colours, smallProtobuf],
  base: "./",
  build: {
    target: "es2022",
    outDir: "../static",
    emptyOutDir: true,
    modulePreload: { polyfill: false },
    cssCodeSplit: false, // one file, in one order
    assetsInlineLimit: 0, // data: addresses are blocked by the page's policy
    license: { fileName: "licenses.md" },
    rolldownOptions: {
      output: { codeSplitting: { groups: [{ name: "shared", minShareCount: 2 }] } }, // one file compresses better than many
      checks: { bundlerTimings: false }, // else a busy machine has warnings
    },
  },
  // While the page is developed, the calls go to a server on the default address.
  server: { proxy: { "/eminence.v1.": "http://127.0.0.1:8080" }, fs: { allow: [".", "../../../engine_cy"] } },
});
