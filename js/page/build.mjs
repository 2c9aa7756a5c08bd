// Puts the page, its scripts and the verifier into one file, dist/page.html: node page/build.mjs
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Script } from "node:vm";

const read = (name) => readFileSync(fileURLToPath(new URL(name, import.meta.url)), "utf8");

/** In an order in which each comes after those that it imports. */
const FILES = [
  "../src/errors.js", "../dist/verify.js", "../src/inflate.js", "../src/engine.js", "../src/verifier.js", "../src/verify-load.js",
  "../src/verify.js", "votes.js",
  "worker.js", "view.js",
];

/** One script for the page and for its worker, which is made of the page's text. */
const scripts = FILES.map((name) => read(name).replace(/^import .*;$|^export \{.*;$/gm, "").replace(/^export /gm, ""));
const script = `"use strict";
const source = typeof document === "undefined" ? "" : document.currentScript.textContent;
(async () => {
${scripts.join("\n")}
})().catch((error) => {
if (typeof document === "undefined") throw error;
document.getElementById("status").textContent = "This browser cannot run the verifier: " + error.message;
});`;
// Throws where two files use one name.
new Script(script);
if (/<\/script|<!--|^\s*(?:import|export)\s/im.test(script)) throw new Error("a script that cannot be put into a page");
writeFileSync(fileURLToPath(new URL("../dist/page.html", import.meta.url)), read("page.html").replace("/*SCRIPT*/", () => script));
