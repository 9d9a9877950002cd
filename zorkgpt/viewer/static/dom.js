// Elements of the page. Text from games, models and users is only ever inserted as text nodes.

const SAID_MS = 1500;

export function copyButton(words, content) {
  const one = button(words, async () => {
    // Errors are shown on the button itself.
    const done = await content().then(copy).then(() => "Copied", (error) => shown(error.message));
    one.textContent = done;
    setTimeout(() => { one.textContent = words; }, SAID_MS);
  }, { class: "small", "aria-live": "polite" });
  return one;
}

async function copy(text) {
  // Without HTTPS, only pages from this machine can use the clipboard API.
  if (navigator.clipboard) return navigator.clipboard.writeText(text);
  const box = el("textarea", { class: "unseen" });
  box.value = text;
  document.body.append(box);
  box.select();
  const done = document.execCommand("copy");
  box.remove();
  if (!done) throw new Error("Not copied: blocked by the browser");
  return undefined;
}

// Control characters, and marks that change the direction of text, which would affect the surrounding text.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069\ufeff]/g;
// Characters that are invisible, look like a space, or change the direction of text, except tab and line feed. Most are
// in these Unicode categories; the others are fillers, variation selectors and separators.
const HIDDEN = /((?:(?![\t\n])[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Co}\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u2800\u3164\ufe00-\ufe0f\uffa0\u{e0000}-\u{e0fff}]|(?! )\p{Zs})+)/u;
const MOST_NAMED = 12;
// Characters in a line of a narrow panel.
const LINE = 40;
const SVG = "http://www.w3.org/2000/svg";

function text(value) {
  const words = typeof value === "object" ? JSON.stringify(value) : String(value);
  return value === null || value === undefined ? "" : words.replace(/\r\n?/g, "\n");
}

export function shown(value) {
  return text(value).replace(UNSEEN, "\ufffd");
}

export function shorten(value, limit) {
  const words = shown(value).replace(/\s+/g, " ").trim();
  return words.length > limit ? words.slice(0, limit - 1) + "…" : words;
}

function build(element, options, children) {
  for (const [name, value] of Object.entries(options)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "on") for (const [event, act] of Object.entries(value)) element.addEventListener(event, act);
    else if (name === "text") element.textContent = shown(value);
    else element.setAttribute(name, value === true ? "" : shown(value));
  }
  element.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false)
    .map((child) => (child instanceof Node ? child : shown(child))));
  return element;
}

export function el(tag, options = {}, ...children) {
  return build(document.createElement(tag), options, children);
}

export function svg(tag, options = {}, ...children) {
  return build(document.createElementNS(SVG, tag), options, children);
}

export function button(label, act, options = {}) {
  return el("button", { type: "button", on: { click: act }, ...options }, label);
}

// Replaces the children of an element if `key` has changed. Otherwise, details opened by the user stay open.
export function fill(place, key, children) {
  if (place.dataset.key === key) return false;
  place.dataset.key = key;
  const focused = place.contains(document.activeElement) ? controls(place).indexOf(document.activeElement) : -1;
  place.replaceChildren(...children.flat().filter(Boolean));
  // Keep the keyboard focus.
  if (focused >= 0) (controls(place)[focused] ?? place).focus({ preventScroll: true });
  return true;
}

function controls(place) {
  return [...place.querySelectorAll("button, select, input, summary, a")].filter((one) => one.checkVisibility());
}

export function folded(summary, content, options = {}) {
  const details = el("details", options, el("summary", {}, summary));
  let filled = false;
  const open = () => {
    if (!details.open || filled) return;
    filled = true;
    details.append(content());
  };
  details.addEventListener("toggle", open);
  open();
  return details;
}

// A block of text of any length. Long text is limited in height. The classes verbatim, story and fact also show characters
// that are usually invisible.
export function prose(value, className = "") {
  return el("div", { class: `prose ${className}`, dir: "auto", tabindex: isHigh(text(value), className) ? 0 : null }, pieces(value, className));
}

// Blocks that may scroll must be focusable.
function isHigh(words, className) {
  return words.length + LINE * (words.split("\n", 40).length - 1) > (className === "fact" ? 8 : 20) * LINE;
}

function pieces(value, className = "") {
  if (className === "verbatim") return revealed(text(value));
  if (["story", "fact"].includes(className)) return revealed(trimmed(text(value)));
  return linked(trimmed(shown(value)));
}

function trimmed(words) {
  return words.replace(/\n{3,}/g, "\n\n").trim();
}

// Turns mentions of turns into links.
function linked(words) {
  return words.split(/\b(episode \d{1,9}, turn \d{1,6})\b/i).map((part, index) => {
    if (index % 2 === 0) return part;
    const [episode, turn] = part.match(/\d+/g);
    return turnLink(episode, turn, part);
  });
}

function revealed(words) {
  return words.split(HIDDEN).map((part, index) => (index % 2 === 0 ? part : el("span", { class: "hidden-characters", title: "Invisible characters" }, named(part))));
}

// Invisible characters as code points, or as text if they are Unicode tags, which encode ASCII.
function named(run) {
  const codes = Array.from(run, (one) => one.codePointAt(0));
  if (codes.every((code) => code > 0xe0000 && code < 0xe0080)) {
    const said = codes.map((code) => String.fromCharCode(code - 0xe0000)).filter((one) => one >= " " && one <= "~").join("");
    return `⟨tags: ${said}⟩`;
  }
  const names = codes.slice(0, MOST_NAMED).map((code) => `U+${code.toString(16).toUpperCase().padStart(4, "0")}`);
  const repeats = names.length > 1 && codes.every((code) => code === codes[0]);
  if (repeats) return `⟨${names[0]} ×${codes.length}⟩`;
  return `⟨${names.join(" ")}${codes.length > MOST_NAMED ? ` and ${codes.length - MOST_NAMED} more` : ""}⟩`;
}

// A link to a turn.
export function turnLink(episode, turn, words = `episode ${episode}, turn ${turn}`, options = {}) {
  return el("a", { href: `#${Number(episode)}:${Number(turn)}`, class: "turn-link", ...options }, words);
}

export function count(number, one, many = `${one}s`) {
  return `${number.toLocaleString("en")} ${number === 1 ? one : many}`;
}
