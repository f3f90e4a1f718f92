// SPDX-License-Identifier: Apache-2.0
// junit.mjs - a reporter for node's test runner that writes JUnit's format, which node 18 lacks. The
// file is named by JUNIT_XML; people read the log of the other reporter.
import { writeFileSync } from "node:fs";
import { basename } from "node:path";

const escapes = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escapeXml = (text) =>
  String(text)
    .replace(/[&<>"]/g, (c) => escapes[c])
    .replace(/[^\t\n\x20-\ud7ff\ue000-\ufffd]/g, "?");

function testcase(data, failed) {
  const seconds = ((data.details?.duration_ms ?? 0) / 1000).toFixed(3);
  const file = data.file ? ` file="${escapeXml(basename(data.file))}"` : ""; // node 18.13 has none
  const open = `<testcase name="${escapeXml(data.name)}" time="${seconds}"${file}`;
  if (data.skip !== undefined) return `${open}><skipped message="${escapeXml(data.skip)}"/></testcase>`;
  if (!failed) return `${open}/>`;
  const error = data.details?.error;
  return `${open}><failure message="${escapeXml(error?.message ?? "failed")}">${escapeXml(error?.cause?.stack ?? "")}</failure></testcase>`;
}

// A file is a test too for the runner: only the tests in it are counted, unless it fell over itself.
const isFile = (data) => /\.(m?js|ts)$/.test(data.name);

export default async function* junit(source) {
  const cases = [];
  for await (const { type, data } of source) {
    const failed = type === "test:fail";
    if ((type === "test:pass" || failed) && (!isFile(data) || (failed && data.nesting === 0))) {
      cases.push(testcase(data, failed));
    }
  }
  writeFileSync(process.env.JUNIT_XML, `<testsuite>\n${cases.join("\n")}\n</testsuite>\n`);
  yield "";
}
