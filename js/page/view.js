// The page. Everything that comes from a file is set as text.
import { work } from "./worker.js";

const REASONS = {
  context_too_long: "the context has more than 255 bytes", public_key_length: "the key has not the length of its set",
  signature_length: "the signature has not the length of its set", hint_encoding: "the hints are not encoded canonically",
  response_norm: "a coefficient of z is out of range",
  challenge_mismatch: "for another message, context or key, or damaged",
};
const MARKS = { valid: "✓", rejected: "✗", unusable: "!" };
/** Bytes of the longest message that is read. */
const LONGEST = 1 << 28;

const at = (id) => document.getElementById(id);
const say = (text) => { at("status").textContent = text; };
const number = (value) => value.toLocaleString("en");

let worker;
let task = 0;

/** Ends what runs, and begins something else. Without workers it runs on this thread. */
function start(job) {
  stop();
  const mine = ++task;
  at("rows").replaceChildren();
  for (const id of ["lines", "only", "parts"]) at(id).hidden = true;
  at("running").hidden = false;
  at("status").setAttribute("aria-busy", "true");
  at("progress").removeAttribute("value");
  say("Reading …");
  const post = (report) => mine === task && show(report);
  const here = () => work(job, post, () => mine === task);
  try {
    const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
    worker = new Worker(url);
    let ready = false;
    worker.onmessage = ({ data }) => {
      if (!data.ready) return post(data);
      URL.revokeObjectURL(url);
      ready = true;
      worker.postMessage(job);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      if (mine !== task) return;
      if (ready) post({ fault: "the worker failed" });
      else here();
    };
  } catch {
    here();
  }
}

function stop() {
  worker?.terminate();
  worker = undefined;
  task += 1;
  at("running").hidden = true;
  at("status").setAttribute("aria-busy", "false");
}

function show({ rows, progress, single, fault }) {
  if (fault !== undefined) {
    stop();
    say(`Stopped by a fault: ${fault}`);
  } else if (single) {
    stop();
    say(`${MARKS[single.verdict]} ${single.verdict}${single.set && `, ${single.set}`}${single.reason && `: ${worded(single.reason)}`}`);
    parts(single.parts, "Parts of this key and signature");
  } else {
    at("rows").append(...rows.map(row));
    const { read, size, line, counts, seconds, done } = progress;
    at("progress").value = size ? read / size : 1;
    at("lines").hidden = at("only").hidden = at("rows").childElementCount === 0;
    const rate = seconds > 0 ? `, ${number(Math.round(line / seconds))} a second` : "";
    const left = line - at("rows").childElementCount;
    say(
      `${done ? "Done" : "Running"}: ${number(line)} lines, ${number(counts.valid)} valid, ${number(counts.rejected)} rejected, ` +
      `${number(counts.unusable)} unusable${rate}.${left ? ` ${number(left)} lines are counted, not shown.` : ""}`,
    );
    if (done) stop();
  }
}

const worded = (reason) => (Object.hasOwn(REASONS, reason) ? `${reason}: ${REASONS[reason]}` : reason);

function cell(text, className) {
  const cell = document.createElement("td");
  const isolated = document.createElement("bdi");
  isolated.textContent = text;
  cell.append(isolated);
  if (className) cell.className = className;
  return cell;
}

function row({ line, set, id, verdict, reason, parts: list }) {
  const tr = document.createElement("tr");
  tr.dataset.verdict = verdict;
  tr.hidden = at("hide").checked && verdict === "valid";
  const last = cell("");
  if (list.length) {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Parts";
    button.setAttribute("aria-label", `Parts of line ${line}`);
    button.onclick = () => {
      parts(list, `Parts of line ${line}`);
      at("of").focus();
    };
    last.replaceChildren(button);
  }
  tr.append(cell(line, "number"), cell(set), cell(id), cell(`${MARKS[verdict]} ${verdict}`, verdict), cell(worded(reason)), last);
  return tr;
}

function parts(list, title) {
  at("parts").hidden = list.length === 0;
  at("of").textContent = title;
  at("table").replaceChildren(...list.map(({ of, part, at, size, head }) => {
    const tr = document.createElement("tr");
    const begin = document.createElement("td");
    begin.append(Object.assign(document.createElement("code"), { textContent: head }));
    tr.append(cell(of), cell(part), cell(number(at), "number"), cell(number(size), "number"), begin);
    return tr;
  }));
}

const isKey = (file) => [1312, 1952, 2592].includes(file.size);
const isSignature = (file) => [2420, 3309, 4627].includes(file.size);

/** Files that were dropped together: votes, or a key, a message and a signature, told apart by their lengths. */
function dropped(files) {
  if (files.length === 1 && !isKey(files[0]) && !isSignature(files[0])) return start({ votes: files[0] });
  const [keys, signatures] = [files.filter(isKey), files.filter(isSignature)];
  if (files.length !== 3) return say("Drop one votes file, or together a public key, a message and a signature.");
  if (keys.length !== 1 || signatures.length !== 1) {
    return say("The lengths do not tell which file is the key and which the signature: choose each.");
  }
  return one(keys[0], files.find((file) => !isKey(file) && !isSignature(file)), signatures[0]);
}

async function one(key, message, signature) {
  if (!key || !message || !signature) return say("A public key, a message and a signature are needed.");
  if (key.size > LONGEST || signature.size > LONGEST || message.size > LONGEST) return say("A file has more than 256 MiB.");
  const context = new TextEncoder().encode(at("context").value);
  stop();
  const mine = task;
  say("Reading …");
  try {
    const [k, m, s] = await Promise.all([key, message, signature].map(async (file) => new Uint8Array(await file.arrayBuffer())));
    if (mine === task) start({ key: k, message: m, signature: s, context });
  } catch (error) {
    say(`A file cannot be read: ${error.message}`);
  }
}

function begin() {
  at("votes").onchange = ({ target }) => target.files[0] && start({ votes: target.files[0] });
  at("verify").onclick = () => one(at("key").files[0], at("message").files[0], at("signature").files[0]);
  at("stop").onclick = () => {
    stop();
    say(`Stopped. ${at("status").textContent}`);
  };
  at("hide").onchange = ({ target }) => {
    for (const tr of at("rows").children) tr.hidden = target.checked && tr.dataset.verdict === "valid";
  };
  addEventListener("dragover", (event) => {
    event.preventDefault();
    at("drop").classList.add("over");
  });
  addEventListener("dragleave", () => at("drop").classList.remove("over"));
  addEventListener("drop", (event) => {
    event.preventDefault();
    at("drop").classList.remove("over");
    const files = [...event.dataTransfer.files];
    if (files.length) dropped(files);
  });
}

if (typeof document !== "undefined") begin();
