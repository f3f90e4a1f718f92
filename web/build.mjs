// SPDX-License-Identifier: Apache-2.0
// build.mjs - makes the page: dist/index.html, and in dist/assets/ as NAME-HASH the scripts (main, and
// a piece for each view, fetched when it is first shown), one style sheet with every sheet of src/,
// and the icon. `--watch` builds again at every change, readable.
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import * as esbuild from "esbuild";
import { writeRows } from "./rows.mjs";

const here = dirname(fileURLToPath(import.meta.url));
const source = join(here, "src");
const dist = process.env.FOOTPLATE_WEB_DIST ?? join(here, "dist");
const watching = process.argv.includes("--watch");

async function sheetsBelow(folder) {
  const found = [];
  for (const entry of await readdir(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) found.push(...(await sheetsBelow(path)));
    else if (entry.name.endsWith(".css")) found.push(path);
  }
  return found.sort();
}

// Scripts import the sheets they need, which says who uses what; all of them become one file here,
// the theme first.
const styles = {
  name: "styles",
  setup(build) {
    build.onResolve({ filter: /^styles\.css$/ }, () => ({ path: "styles", namespace: "styles" }));
    build.onLoad({ filter: /.*/, namespace: "styles" }, async () => {
      const theme = join(source, "theme.css");
      const others = (await sheetsBelow(source)).filter((path) => path !== theme);
      const names = [theme, ...others].map((path) => `./${relative(source, path)}`);
      const contents = ["uplot/dist/uPlot.min.css", "../made/colours.css", ...names].map((name) => `@import "${name}";`).join("\n");
      return { contents, loader: "css", resolveDir: source };
    });
  },
};

const common = {
  outdir: join(dist, "assets"),
  entryNames: "[name]-[hash]",
  chunkNames: "[name]-[hash]",
  bundle: true,
  minify: !watching,
  legalComments: "none",
  metafile: true,
  write: false,
  logLevel: "warning",
};

const scripts = {
  ...common,
  entryPoints: { main: join(source, "main.tsx"), icon: join(source, "icon.svg") },
  loader: { ".svg": "copy", ".css": "empty" },
  splitting: true,
  format: "esm",
  target: ["es2021"],
  jsx: "automatic",
  jsxImportSource: "preact",
  sourcemap: watching ? "inline" : false,
};

const sheet = { ...common, entryPoints: { style: "styles.css" }, plugins: [styles] };

// What the browser fetches before anything is shown: an entry and all that it imports at once.
function firstFiles(metafile, entry) {
  const seen = new Set();
  const visit = (path) => {
    if (seen.has(path)) return;
    seen.add(path);
    for (const i of metafile.outputs[path]?.imports ?? []) if (i.kind === "import-statement") visit(i.path);
  };
  visit(entry);
  return new Set([...seen].map((path) => basename(path)));
}

function firstOf({ metafile }) {
  return firstFiles(metafile, Object.keys(metafile.outputs).find((path) => /main-[^/]*\.js$/.test(path)));
}

async function write(results) {
  const outputs = results.flatMap((r) => r.outputFiles);
  const early = [...firstOf(results[0])].filter((name) => !name.startsWith("main-"));
  const named = (pattern) => outputs.map((f) => basename(f.path)).find((name) => pattern.test(name));
  const template = await readFile(join(source, "index.html"), "utf8");
  const page = template
    .replace("%EARLY%", early.map((name) => `<link rel="modulepreload" href="/assets/${name}" />`).join("\n    "))
    .replace("%SCRIPT%", `/assets/${named(/^main-.*\.js$/)}`)
    .replace("%STYLE%", `/assets/${named(/^style-.*\.css$/)}`)
    .replace("%ICON%", `/assets/${named(/^icon-.*\.svg$/)}`);
  await rm(dist, { recursive: true, force: true });
  await mkdir(join(dist, "assets"), { recursive: true });
  for (const f of outputs) await writeFile(f.path, f.contents);
  await writeFile(join(dist, "index.html"), page);
  report(results, outputs, page);
}

function report([scriptResult], outputs, page) {
  const first = firstOf(scriptResult);
  const size = (files) => files.reduce((sum, f) => sum + gzipSync(f.contents).length, gzipSync(page).length);
  const early = outputs.filter((f) => first.has(basename(f.path)) || /\.(css|svg)$/.test(f.path));
  const kb = (n) => `${(n / 1000).toFixed(1)} kB`;
  console.log(`web: ${outputs.length + 1} files, ${kb(size(outputs))} compressed, of which ${kb(size(early))} for the first page`);
}

const buildAll = async () => write([await esbuild.build(scripts), await esbuild.build(sheet)]);

writeRows();
if (watching) {
  const again = { name: "again", setup: (build) => build.onEnd(() => buildAll().catch(() => undefined)) };
  const context = await esbuild.context({ ...scripts, write: false, plugins: [again] });
  await context.watch();
} else {
  await buildAll();
}
