// The source of the page's answers: the server, or in an exported file the data in the page.
import { shown } from "./dom.js";

const KEPT = 400;
const KEPT_MS = 60_000;
const GONE = "The viewer is not responding. It may have been stopped.";
const index = document.getElementById("run-index");
const chunks = new Map();
const kept = new Map();
// If there are several runs, each has its own page and API.
const base = /^\/runs\/\d+\//.exec(location.pathname)?.[0] ?? "/";
let token = tokenOr("");

export const exported = index !== null;

export const isOneOfSeveral = !exported && base !== "/";

// A part of an exported file, decompressed on first use.
function chunk(name) {
  if (!chunks.has(name)) chunks.set(name, unpacked(document.getElementById(name).textContent));
  return chunks.get(name);
}

async function unpacked(words) {
  const packed = new Blob([Uint8Array.from(atob(words), (one) => one.charCodeAt(0))]);
  return new Response(packed.stream().pipeThrough(new DecompressionStream("deflate"))).json();
}

function tokenOr(otherwise) {
  // The printed address has the token in its fragment, which servers don't log. It is then stored for all tabs, so that
  // copied addresses don't contain it. It is valid until the viewer stops.
  const given = /(?:^#|&)token=([\w-]+)/.exec(location.hash);
  try {
    if (given) {
      localStorage.setItem("token", given[1]);
      const sight = location.hash.slice(1).split("&").filter((part) => !part.startsWith("token=")).join("&");
      history.replaceState(null, "", location.pathname + (sight && `#${sight}`));
    }
    return localStorage.getItem("token") ?? otherwise;
  } catch {
    return given ? given[1] : otherwise;
  }
}

export function hasToken() {
  return token !== "";
}

function headers() {
  return token ? { Authorization: `Bearer ${token}` } : {};
}

// A request failed. The message is shown to the user.
export class Unanswered extends Error {}

export async function ask(path) {
  if (exported) {
    const number = (await chunk("run-index"))[path];
    if (number === undefined) throw new Unanswered("Not included in the exported file.");
    return (await chunk(`run-data-${number}`))[path];
  }
  return answered(path, { headers: headers(), cache: "no-store" });
}

// Downloads a file that the server makes on request.
export async function download(path) {
  const response = await fetch(`/api${base}${path}`, { headers: headers(), cache: "no-store" }).catch(() => null);
  if (response === null) throw new Unanswered(GONE);
  if (!response.ok) throw new Unanswered(shown((await response.json().catch(() => null))?.error ?? `The viewer answered ${response.status}.`));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = "run.html";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), KEPT_MS);
}

export function send(path, body) {
  return answered(path, {
    method: "POST",
    headers: { ...headers(), "Content-Type": "application/json" },
    body: JSON.stringify(body),
  });
}

async function answered(path, options) {
  const response = await fetch(`/api${base}${path}`, options).catch(() => null);
  if (response === null) throw new Unanswered(GONE);
  // The body may be incomplete, or a proxy may answer with its own page.
  const answer = await response.json().catch(() => null);
  if (!response.ok) throw Object.assign(new Unanswered(shown(answer?.error ?? `The viewer answered ${response.status}.`)), { status: response.status });
  if (answer === null) throw new Unanswered("The response was incomplete.");
  return answer;
}

// Caches the answer to a request until `version` changes.
export function askOnce(path, version = "") {
  const known = kept.get(path);
  if (known && known.version === version) {
    kept.delete(path);
    kept.set(path, known);
    return known.answer;
  }
  const answer = ask(path);
  kept.set(path, { version, answer });
  answer.catch(() => kept.get(path)?.answer === answer && kept.delete(path));
  while (kept.size > KEPT) kept.delete(kept.keys().next().value);
  return answer;
}
