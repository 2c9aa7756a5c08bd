// The page in headless Chromium, opened as a file without a network. MLDSA_SCREENSHOTS names a folder for pictures.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { test } from "node:test";
import { fileURLToPath } from "node:url";

const folder = (process.env.PATH ?? "").split(":").find((folder) => existsSync(join(folder, "chromium")));
const here = (name) => fileURLToPath(new URL(name, import.meta.url));
const pictures = process.env.MLDSA_SCREENSHOTS;

/** A page in a browser of its own, driven through two pipes. */
async function open(profile) {
  const child = spawn(join(folder, "chromium"), [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe", "--no-first-run",
    "--host-resolver-rules=MAP * ~NOTFOUND", `--user-data-dir=${profile}`, "--window-size=1100,1000", "about:blank",
  ], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
  const [, , , input, output] = child.stdio;
  const waiting = new Map();
  let [last, text] = [0, ""];
  output.setEncoding("utf8").on("data", (piece) => {
    const messages = (text + piece).split("\0");
    text = messages.pop();
    for (const message of messages.map((message) => JSON.parse(message))) {
      const { resolve, reject } = waiting.get(message.id) ?? {};
      if (message.error) reject?.(new Error(message.error.message));
      else resolve?.(message.result);
    }
  });
  child.on("exit", () => waiting.forEach(({ reject }) => reject(new Error("the browser has ended"))));
  const send = (method, params = {}, sessionId = undefined) => new Promise((resolve, reject) => {
    waiting.set(++last, { resolve, reject });
    input.write(`${JSON.stringify({ id: last, method, params, sessionId })}\0`);
  });
  const { targetId } = await send("Target.createTarget", { url: "about:blank" });
  const { sessionId } = await send("Target.attachToTarget", { targetId, flatten: true });
  const call = (method, params) => send(method, params, sessionId);
  const evaluate = async (expression) => {
    const { result, exceptionDetails } = await call("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
    assert.equal(exceptionDetails, undefined, JSON.stringify(exceptionDetails));
    return result.value;
  };
  const until = async (expression) => {
    // A page that does nothing ends the test after a minute.
    for (let n = 0; n < 3000; n++) {
      if (await evaluate(expression)) return;
      await new Promise((resume) => setTimeout(resume, 20));
    }
    throw new Error(`never true: ${expression}`);
  };
  return {
    call, evaluate, until,
    load: async (before = "") => {
      await call("Page.enable");
      const { identifier } = await call("Page.addScriptToEvaluateOnNewDocument", { source: before });
      await call("Page.navigate", { url: `file://${here("../dist/page.html")}` });
      await until("document.readyState === 'complete' && document.getElementById('verify')?.onclick != null");
      await call("Page.removeScriptToEvaluateOnNewDocument", { identifier });
    },
    choose: async (selector, ...files) => {
      const { result } = await call("Runtime.evaluate", { expression: `document.querySelector("${selector}")` });
      await call("DOM.setFileInputFiles", { files, objectId: result.objectId });
    },
    /** Drops files, each a name and an expression of its content. */
    drop: (...files) => evaluate(`{
      const data = new DataTransfer();
      for (const [name, content] of [${files.map(([name, content]) => `[${JSON.stringify(name)}, ${content}]`)}]) data.items.add(new File([content], name));
      dispatchEvent(new DragEvent("drop", { dataTransfer: data, cancelable: true }));
    }`),
    status: () => evaluate("document.getElementById('status').textContent"),
    picture: async (name, scheme) => {
      if (!pictures) return;
      await call("Emulation.setEmulatedMedia", { features: [{ name: "prefers-color-scheme", value: scheme }] });
      const { data } = await call("Page.captureScreenshot");
      writeFileSync(join(pictures, `${name}-${scheme}.png`), Buffer.from(data, "base64"));
    },
    close: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      send("Browser.close").catch(() => child.kill());
      await ended;
    },
  };
}

const DONE = "/^(Done|Stopped)|^[✓✗!]/.test(document.getElementById('status').textContent)";

test("the page in Chromium", { skip: folder ? false : "NOT RUN: no chromium in PATH" }, async (t) => {
  const profile = mkdtempSync(join(tmpdir(), "mldsa-page-"));
  const page = await open(profile);
  try {
    await t.test("example votes", async () => {
      await page.load();
      await page.choose("#votes", here("../../examples/data/forged-votes.jsonl"));
      await page.until(DONE);
      assert.match(await page.status(), /^Done: 40 lines, 20 valid, 20 rejected, 0 unusable/);
      const rows = await page.evaluate("[...document.querySelectorAll('#rows tr')].map((tr) => tr.children[3].textContent)");
      assert.deepEqual([rows.length, rows[0], rows[1]], [40, "✓ valid", "✗ rejected"]);
      await page.evaluate("document.querySelectorAll('#rows button')[1].click()");
      assert.equal(await page.evaluate("document.activeElement.textContent"), "Parts of line 2");
      assert.equal(await page.evaluate("document.querySelectorAll('#table tr').length"), 5);
      await page.evaluate("document.getElementById('hide').click()");
      assert.equal(await page.evaluate("document.querySelectorAll('#rows tr:not([hidden])').length"), 20);
      for (const scheme of ["light", "dark"]) await page.picture("votes", scheme);
      await page.choose("#votes", here("../../examples/data/votes.jsonl"));
      await page.until("/^Done: 210 lines, 210 valid/.test(document.getElementById('status').textContent)");
    });

    await t.test("every control has a name, and the keyboard reaches each", async () => {
      await page.load();
      const { nodes } = await page.call("Accessibility.getFullAXTree");
      const controls = nodes.filter(({ role, ignored }) => !ignored && /^(button|textbox|checkbox|progressbar)$/i.test(role?.value ?? ""));
      assert(controls.length >= 6);
      for (const { name, role } of controls) assert.notEqual(name?.value ?? "", "", role.value);
      const reached = new Set();
      for (let n = 0; n < 12; n++) {
        for (const type of ["rawKeyDown", "keyUp"]) await page.call("Input.dispatchKeyEvent", { type, key: "Tab", code: "Tab", windowsVirtualKeyCode: 9 });
        reached.add(await page.evaluate("document.activeElement.id"));
      }
      for (const id of ["votes", "key", "message", "signature", "context", "verify"]) assert(reached.has(id), id);
    });

    await t.test("names and contents are never markup", async () => {
      const markup = "<img src=x onerror=document.title='run'><script>document.title='run'</script>";
      const line = JSON.stringify({ set: "<b>", id: markup.replaceAll('"', "") });
      await page.drop([`${markup.replaceAll("/", "")}.jsonl`, JSON.stringify(`${line}\n{"${markup}":"x"}\n{"set":"ML-DSA-44\u{202e}"}\n`)]);
      await page.until(DONE);
      assert.match(await page.status(), /^Done: 3 lines, 0 valid, 0 rejected, 3 unusable/);
      assert.equal(await page.evaluate("document.querySelectorAll('img, #rows script, #rows b').length"), 0);
      assert.notEqual(await page.evaluate("document.title"), "run");
    });

    await t.test("three files", async () => {
      await page.drop(["k", "new Uint8Array(1952)"], ["m", "'text'"], ["s", "new Uint8Array(3309)"]);
      await page.until(DONE);
      assert.match(await page.status(), /^✗ rejected, ML-DSA-65: /);
      assert.equal(await page.evaluate("document.querySelectorAll('#table tr').length"), 5);
      await page.drop(["k", "new Uint8Array(1952)"], ["m", "'text'"]);
      assert.match(await page.status(), /^Drop one votes file/);
    });

    await t.test("a large file can be stopped, and another one begun", async () => {
      await page.drop(["large", `"x\\n".repeat(8_000_000)`]);
      await page.until("/^Running.*not shown/.test(document.getElementById('status').textContent)");
      assert.equal(await page.evaluate("document.querySelectorAll('#rows tr').length"), 1000);
      await page.evaluate("document.getElementById('stop').click()");
      assert.match(await page.status(), /^Stopped/);
      await page.drop(["small", "'x'"]);
      await page.until(DONE.replace("|Stopped", ""));
      assert.match(await page.status(), /^Done: 1 lines/);
    });

    for (const [name, before] of [
      ["no workers", "delete window.Worker"],
      ["a worker that cannot start", "window.Worker = class { constructor() { setTimeout(() => this.onerror(new Event('error'))); } terminate() {} }"],
    ]) {
      await t.test(name, async () => {
        await page.load(before);
        await page.choose("#votes", here("../../examples/data/forged-votes.jsonl"));
        await page.until(DONE);
        assert.match(await page.status(), /^Done: 40 lines, 20 valid, 20 rejected/);
      });
    }
  } finally {
    await page.close();
    rmSync(profile, { recursive: true, force: true });
  }
});
