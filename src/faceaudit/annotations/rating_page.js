// The page for a class, see rating_page.py. All text goes in as textContent, never as HTML.
"use strict";

// Milliseconds. Who touches nothing for longer has stopped looking.
const PAUSE = 60_000;
const MOST_LISTED = 6;
// What the reader takes for no name (`identity` in raw.py): quotes, values that are missing, numbers.
const NO_NAME = /["\p{Extended_Pictographic}]|^(nan|null|none|true|false|#?n\/?a|<na>|nat|nil|undefined)$|^\P{L}*$/iu;

const at = (id) => document.getElementById(id);
const study = JSON.parse(at("study").textContent);
const last = study.images.length;

let person = null; // {name, place, answers}: an answer for each picture, in the order of the study
let order = []; // numbers of the pictures in the order in which this person sees them
let fields = []; // a fieldset for each question
let asked = 0; // the question that the digits answer
let reminded = false; // of missing answers to the picture that is shown
let since = null; // when the clock of the picture was read last; null: it stands still

// --- answers, and where they are kept

const nothing = () => ({
  levels: study.questions.map(() => null),
  skipped: false,
  seconds: 0,
  created: null,
  updated: null,
});
const current = () => person.answers[order[person.place]];

/** Numbers of the questions without an answer. */
function missing(answer) {
  if (answer.skipped) return [];
  return [...answer.levels.keys()].filter((question) => answer.levels[question] === null);
}

const key = (name) => `class page ${study.id} ${name}`;
const LATEST = key(""); // who was here last; nobody has an empty name

/**
 * The person whose answers this tab keeps, null if there is none.
 *
 * Chromium 156 at times gives a page from the disk an empty storage after a reload. What a tab keeps
 * with its history is always there, and is used where the storage is empty.
 */
const inTab = () => (history.state?.study === study.id ? history.state.person : null);

function kept(name) {
  const ofTab = inTab()?.name === name ? inTab() : null;
  try {
    return JSON.parse(localStorage.getItem(key(name))) ?? ofTab;
  } catch {
    return ofTab;
  }
}

function keep() {
  history.replaceState({ study: study.id, person }, "");
  try {
    localStorage.setItem(key(person.name), JSON.stringify(person));
    localStorage.setItem(LATEST, person.name);
  } catch {
    at("not-kept").hidden = false;
  }
}

function forget(...keys) {
  try {
    keys.forEach((one) => localStorage.removeItem(one));
  } catch {
    // Nothing can be kept in this browser, so nothing is there.
  }
}

function latest() {
  const ofTab = inTab()?.name ?? null;
  try {
    return localStorage.getItem(LATEST) ?? ofTab;
  } catch {
    return ofTab;
  }
}

/** 53 bits of a text: cyrb53 by bryc, public domain. */
function hash(text) {
  let high = 0xdeadbeef;
  let low = 0x41c6ce57;
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i);
    high = Math.imul(high ^ unit, 2654435761);
    low = Math.imul(low ^ unit, 1597334677);
  }
  high = Math.imul(high ^ (high >>> 16), 2246822507) ^ Math.imul(low ^ (low >>> 13), 3266489909);
  low = Math.imul(low ^ (low >>> 16), 2246822507) ^ Math.imul(high ^ (high >>> 13), 3266489909);
  return 2 ** 32 * (low & 0x1fffff) + (high >>> 0);
}

/** A number for every picture and person: its order gives the shuffle, and it is the export's id. */
const numberOf = (name, picture) => hash(`${study.id}\n${study.images[picture][0]}\n${name}`);

/** The pictures as a person sees them: shuffled, and the same after a reload. */
function orderOf(name) {
  const ranks = study.images.map((_, picture) => numberOf(name, picture));
  return [...ranks.keys()].sort((a, b) => ranks[a] - ranks[b]);
}

// --- time on the screen

/** Count the time since the last sign of life for the picture that is shown. */
function tick() {
  const now = performance.now();
  if (since !== null) current().seconds += Math.min(now - since, PAUSE) / 1000;
  const looking = person && person.place < last && !document.hidden;
  since = looking ? now : null;
}

// --- what is shown

function reveal(section) {
  for (const one of ["start", "task", "overview"]) at(one).hidden = one !== section;
  at("who").hidden = at("progress").hidden = section === "start";
  at("to-overview").hidden = section === "overview";
  document.body.dataset.section = section;
  window.scrollTo(0, 0);
}

function showStart(message) {
  person = since = null;
  history.replaceState(null, "");
  forget(LATEST);
  reveal("start");
  at("refused").textContent = message;
  at("pseudonym").value = "";
  at("pseudonym").focus({ preventScroll: true });
}

function enter(name) {
  read(name);
  show(person.place);
}

function read(name) {
  person = kept(name) ?? { name, place: 0, answers: study.images.map(nothing) };
  order = orderOf(name);
  for (const id of ["name", "whose", "deleted"]) at(id).textContent = name;
}

/** Show the picture at a place in the person's order, or the overview behind the last one. */
function show(place) {
  tick();
  person.place = Math.max(0, Math.min(place, last));
  since = null;
  tick();
  keep();
  draw();
}

function draw() {
  const done = person.answers.filter((answer) => !missing(answer).length).length;
  at("progress").max = last;
  at("progress").value = done;
  if (person.place < last) showPicture();
  else showOverview(done);
}

function showPicture() {
  const [, address] = study.images[order[person.place]];
  reminded = false;
  at("place").textContent = `Picture ${person.place + 1} of ${last}`;
  at("image").src = address;
  at("back").disabled = person.place === 0;
  reveal("task");
  mark();
  focusOn(missing(current())[0] ?? 0);
}

/** Show the answers as they are, and say what follows from them. */
function mark() {
  const answer = current();
  fields.forEach((field, question) => {
    for (const input of field.querySelectorAll("input")) {
      input.checked = !answer.skipped && Number(input.value) === answer.levels[question];
    }
  });
  at("questions").classList.toggle("skipped", answer.skipped);
  if (answer.skipped) say("You said that you cannot say. Any answer takes this back.");
  else say(missing(answer).length ? "" : "All questions are answered.");
}

function say(message) {
  at("said").textContent = message;
}

function focusOn(question) {
  const field = fields[Math.max(0, Math.min(question, fields.length - 1))];
  (field.querySelector(":checked") ?? field.querySelector("input")).focus();
}

const plural = (n, one, many = `${one}s`) => `${n} ${n === 1 ? one : many}`;

function showOverview(done) {
  const skipped = person.answers.filter((answer) => answer.skipped).length;
  const all = done === last;
  at("overview-title").textContent = all ? "All done. Thank you!" : "Overview";
  at("summary").textContent =
    `${done} of ${plural(last, "picture")} done` +
    (skipped ? `, ${skipped} of them “cannot say”.` : ".") +
    (all ? " Save your answers now, and hand in the file." : " You can go on now or later.");
  at("saved").textContent = "";
  at("pictures").replaceChildren(...order.map(pictureButton));
  reveal("overview");
  at(all ? "save" : "overview-title").focus({ preventScroll: true });
}

function pictureButton(picture, place) {
  const answer = person.answers[picture];
  const state = answer.skipped ? "skipped" : missing(answer).length ? "open" : "done";
  const words = { skipped: "cannot say", open: "answers missing", done: "answered" };
  const button = document.createElement("button");
  button.type = "button";
  button.dataset.state = state;
  button.textContent = place + 1;
  button.setAttribute("aria-label", `Picture ${place + 1}: ${words[state]}`);
  button.addEventListener("click", () => show(place));
  const item = document.createElement("li");
  item.append(button);
  return item;
}

// --- answering

function record(change) {
  const now = new Date().toISOString();
  const answer = current();
  Object.assign(answer, change, { created: answer.created ?? now, updated: now });
  keep();
  mark();
}

function choose(question, level) {
  const levels = [...current().levels];
  levels[question] = level;
  record({ levels, skipped: false });
}

function skip() {
  record({ skipped: true });
  show(person.place + 1);
}

function next() {
  const open = missing(current());
  if (open.length && !reminded) {
    reminded = true;
    focusOn(open[0]);
    say(`Still open: ${headings(open)}. Press Enter or Next again to leave them open.`);
  } else {
    show(person.place + 1);
  }
}

const headings = (questions) => questions.map((one) => study.questions[one][1]).join(", ");

function onKey(event) {
  if (event.altKey || event.ctrlKey || event.metaKey) return;
  // Some keyboards, the French one for example, give digits with Shift only.
  const digit = /^\d$/.test(event.key) ? event.key : /^Digit(\d)$/.exec(event.code)?.[1];
  const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
  const onButton = event.target.tagName === "BUTTON";
  if (step) {
    focusOn(asked + step);
  } else if (event.repeat) {
    return; // a key that is held down must not run through the pictures
  } else if (digit === "0") {
    skip();
  } else if (digit) {
    const level = Number(digit) - 1;
    if (level < study.questions[asked][2].length) {
      choose(asked, level);
      focusOn(asked + 1);
    }
  } else if (event.key === "Backspace") {
    show(person.place - 1);
  } else if (event.key === "Enter" && !onButton) {
    next();
  } else {
    return;
  }
  event.preventDefault();
}

// --- saving and deleting

function annotation(answer, picture) {
  const chosen = answer.skipped ? [] : [...answer.levels.entries()];
  return {
    id: numberOf(person.name, picture),
    completed_by: person.name,
    was_cancelled: answer.skipped,
    ground_truth: false,
    created_at: answer.created,
    updated_at: answer.updated,
    lead_time: Math.round(answer.seconds * 1000) / 1000,
    result: chosen
      .filter(([, level]) => level !== null)
      .map(([question, level]) => ({
        id: `q${question + 1}`,
        from_name: study.questions[question][0],
        to_name: "img",
        type: "choices",
        value: { choices: [study.questions[question][2][level]] },
      })),
  };
}

/** The answers as Label Studio exports them. */
const exported = () =>
  person.answers.map((answer, picture) => ({
    id: picture + 1,
    data: { image_id: study.images[picture][0] },
    annotations: answer.created ? [annotation(answer, picture)] : [],
    predictions: [],
  }));

function download() {
  const file = new Blob([JSON.stringify(exported(), null, 1)], { type: "application/json" });
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = `answers-${person.name.replace(/[^\p{L}\p{N}_-]+/gu, "-")}.json`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), PAUSE);
  at("saved").textContent = 
    `Saved as ${link.download} in your Downloads folder. This is the file to hand in.`;
}

/** Places in the person's order where answers are missing, with the questions. */
const gaps = () =>
  order
    .map((picture, place) => [place, missing(person.answers[picture])])
    .filter(([, open]) => open.length);

function save() {
  const found = gaps();
  if (!found.length) return download();
  const lines = found.slice(0, MOST_LISTED).map(([place, open]) => {
    const all = open.length === study.questions.length;
    return `Picture ${place + 1}: ${all ? "no answer" : headings(open)}`;
  });
  if (found.length > MOST_LISTED) {
    lines.push(`and ${plural(found.length - MOST_LISTED, "more picture")}`);
  }
  at("missing-list").replaceChildren(
    ...lines.map((line) => {
      const item = document.createElement("li");
      item.textContent = line;
      return item;
    }),
  );
  at("missing").showModal();
}

// --- the page

function levelChoice(question, name, level) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  const digit = document.createElement("kbd");
  const words = document.createElement("span");
  input.type = "radio";
  input.name = `question ${question}`;
  input.value = level;
  input.addEventListener("change", () => choose(question, level));
  digit.textContent = level + 1;
  digit.setAttribute("aria-hidden", "true");
  words.textContent = name;
  words.dir = "auto";
  label.append(input, digit, words);
  return label;
}

function questionField([, heading, levels], question) {
  const field = document.createElement("fieldset");
  const legend = document.createElement("legend");
  const scale = document.createElement("div");
  legend.textContent = heading;
  legend.dir = "auto";
  scale.className = "levels";
  scale.append(...levels.map((name, level) => levelChoice(question, name, level)));
  field.append(legend, scale);
  field.addEventListener("focusin", () => {
    asked = question;
    for (const one of fields) one.classList.toggle("now", one === field);
  });
  return field;
}

function onEnter(event) {
  event.preventDefault();
  const name = at("pseudonym").value.normalize("NFC").replace(/\s+/gu, " ").replace(/\p{C}/gu, "").trim();
  if (!name) at("refused").textContent = "Please type a pseudonym.";
  else if (name.includes("@")) {
    at("refused").textContent = "Please make up a name. An e-mail address says who you are.";
  } else if (NO_NAME.test(name) || !Number.isNaN(Number(name))) {
    at("refused").textContent = "Please take a word and perhaps a number, without quotes or emoji.";
  } else {
    at("refused").textContent = "";
    return enter(name);
  }
  at("pseudonym").focus();
}

/** Another tab has changed or deleted this person's answers. */
function onOtherTab(event) {
  if (!person || event.key !== key(person.name)) return;
  since = null;
  if (event.newValue === null) {
    showStart("These answers were deleted in another tab.");
  } else {
    read(person.name);
    draw(); // to keep here what was read would undo what the other tab has kept since
  }
}

function deleteAnswers() {
  at("deleting").close();
  forget(key(person.name));
  showStart("Your answers are deleted from this browser.");
}

const clicks = {
  "to-overview": () => show(last),
  back: () => show(person.place - 1),
  skip,
  next,
  save,
  "to-pictures": () => show(gaps()[0]?.[0] ?? 0),
  "answer-now": () => {
    at("missing").close();
    show(gaps()[0][0]);
  },
  "save-anyway": () => {
    at("missing").close();
    download();
  },
  leave: () => showStart(""),
  delete: () => at("deleting").showModal(),
  keep: () => at("deleting").close(),
  "delete-now": deleteAnswers,
};

at("no-script").hidden = true;
fields = study.questions.map(questionField);
at("questions").append(...fields);
at("last-key").textContent = Math.max(...study.questions.map(([, , levels]) => levels.length));
at("task-size").textContent =
  `${plural(last, "picture")}, with ${plural(fields.length, "question")} about each.`;
for (const [id, action] of Object.entries(clicks)) at(id).addEventListener("click", action);
at("task").addEventListener("keydown", onKey);
at("enter").addEventListener("submit", onEnter);
for (const sign of ["keydown", "pointerdown", "visibilitychange"]) {
  document.addEventListener(sign, tick, true);
}
window.addEventListener("pagehide", () => {
  tick();
  if (person) keep();
});
window.addEventListener("storage", onOtherTab);

const known = latest();
if (known) enter(known);
else showStart("");
