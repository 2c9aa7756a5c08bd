// The work: on a worker, or on the page's own thread where there is none.
import { eachLine, verdictOf, verdictOn } from "./votes.js";

/** Rows that are shown, of the valid lines and of the others. */
const SHOWN = { valid: 200, other: 1000 };

/** Does a task while it is wanted, and tells `post` about rows, progress and the end. */
export async function work(task, post, wanted = () => true) {
  try {
    if (task.votes) await votes(task.votes, post, wanted);
    else post({ single: verdictOn(task.key, task.message, task.signature, task.context) });
  } catch (error) {
    post({ fault: String(error?.message ?? error) });
  }
}

async function votes(file, post, wanted) {
  const begin = performance.now();
  const counts = { valid: 0, rejected: 0, unusable: 0 };
  const shown = { valid: 0, other: 0 };
  let [rows, line, told] = [[], 0, begin];
  const tell = (read, done) => {
    post({ rows, progress: { read, size: file.size, line, counts: { ...counts }, seconds: (performance.now() - begin) / 1000, done } });
    rows = [];
  };
  await eachLine(file, async (text, read) => {
    line += 1;
    const { parts, ...row } = verdictOf(text);
    counts[row.verdict] += 1;
    const kind = row.verdict === "valid" ? "valid" : "other";
    if (shown[kind] < SHOWN[kind]) {
      shown[kind] += 1;
      rows.push({ ...row, id: row.id.slice(0, 200), line, parts: parts() });
    }
    if (performance.now() - told > 50) {
      tell(read, false);
      // The page's own thread then paints and takes input.
      await new Promise((resume) => setTimeout(resume));
      if (!wanted()) throw new Error("stopped");
      told = performance.now();
    }
  });
  tell(file.size, true);
}

if (typeof document === "undefined" && typeof onmessage !== "undefined") {
  globalThis.onmessage = ({ data }) => work(data, (report) => globalThis.postMessage(report));
  globalThis.postMessage({ ready: true });
}
