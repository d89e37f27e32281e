// Eight things to try out, which need no kernel (widgets.explorable). Readers guess first.

const SVG = "http://www.w3.org/2000/svg";
const COLOURS = ["#0072B2", "#D55E00", "#009E73", "#CC79A7"];

function made(name, given = {}, ...parts) {
  const one = Object.assign(document.createElement(name), given);
  one.append(...parts);
  return one;
}

function drawn(name, given = {}, ...parts) {
  const one = document.createElementNS(SVG, name);
  Object.entries(given).forEach(([key, value]) => one.setAttribute(key, value));
  one.append(...parts);
  return one;
}

const picture = (width, height, label, ...parts) =>
  drawn("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label }, ...parts);

const percent = (rate) => `${(100 * rate).toFixed(1)} %`;
const points = (rate) => `${rate < 0 ? "−" : "+"}${Math.abs(100 * rate).toFixed(1)}`;

// A slider: its input, and the label that holds it with the words for both ends and its value.
function range(name, { low, high, step = 1, value, told = String }) {
  const input = made("input", { type: "range", min: low, max: high, step, value });
  const output = made("output", {}, told(value));
  input.addEventListener("input", () => (output.textContent = told(Number(input.value))));
  return [input, made("label", {}, made("span", {}, `${name}: `, output), input)];
}

// Rows of a name, a bar and a number; the scale goes from low to high.
function bars(rows, low, high, told, colours = COLOURS) {
  const at = (value) => (100 * (Math.min(Math.max(value, low), high) - low)) / (high - low);
  const zero = at(0);
  return made(
    "div",
    { className: "bars" },
    ...rows.flatMap(([name, value], k) => {
      const bar = made("i");
      bar.style.marginLeft = `${Math.min(zero, at(value))}%`;
      bar.style.width = `${Math.abs(at(value) - zero)}%`;
      bar.style.background = colours[k % colours.length];
      return [made("span", {}, name), made("span", { className: "track" }, bar), made("b", {}, told(value))];
    }),
  );
}

function table(head, rows) {
  const cells = (kind, row) =>
    made("tr", {}, ...row.map((text, k) => made(k ? kind : "th", k ? {} : { scope: "row" }, String(text))));
  const top = made("tr", {}, ...head.map((text) => made("th", { scope: "col" }, text)));
  return made(
    "table",
    { className: "table" },
    made("thead", {}, top),
    made("tbody", {}, ...rows.map((row) => cells("td", row))),
  );
}

function solved(matrix, right) {
  const rows = matrix.map((row, k) => [...row, right[k]]);
  rows.forEach((row, k) => {
    const pivot = rows.slice(k).reduce((best, one) => (Math.abs(one[k]) > Math.abs(best[k]) ? one : best));
    rows[rows.indexOf(pivot)] = row;
    rows[k] = pivot;
    rows.forEach((other, j) => {
      if (j === k) return;
      const factor = other[k] / pivot[k];
      rows[j] = other.map((value, i) => value - factor * pivot[i]);
    });
  });
  return rows.map((row, k) => row.at(-1) / row[k]);
}

// The standard normal's distribution (Abramowitz and Stegun 26.2.17, error below 7.5e-8).
function normal(z) {
  const t = 1 / (1 + 0.2316419 * Math.abs(z));
  const series = [1.330274429, -1.821255978, 1.781477937, -0.356563782, 0.31938153];
  const tail = (series.reduce((sum, one) => (sum + one) * t, 0) * Math.exp((-z * z) / 2)) / Math.sqrt(2 * Math.PI);
  return z > 0 ? 1 - tail : tail;
}

const logit = (rate) => Math.log(rate / (1 - rate));
const expit = (value) => 1 / (1 + Math.exp(-value));

// Log odds of skin in a logistic regression with main effects, of rates[gender][skin] of equal groups.
function coefficient(rates) {
  const cells = rates.flatMap((row, g) => row.map((rate, s) => [[1, g, s], rate]));
  let beta = [0, 0, 0];
  for (let turn = 0; turn < 25; turn += 1) {
    const score = [0, 0, 0];
    const weights = [0, 1, 2].map(() => [0, 0, 0]);
    for (const [x, rate] of cells) {
      const fitted = expit(x.reduce((sum, one, k) => sum + one * beta[k], 0));
      x.forEach((one, i) => {
        score[i] += one * (rate - fitted);
        x.forEach((other, j) => (weights[i][j] += one * other * fitted * (1 - fitted)));
      });
    }
    const step = solved(weights, score);
    beta = beta.map((one, k) => one + step[k]);
  }
  return beta[2];
}

// Each kind gives its controls, and what is shown for where they stand: parts and one sentence.
const KINDS = {
  // A face of a sheet that two sliders choose, and what models answer about it.
  face({ sheet, alt, heads, sliders, answers }) {
    const models = Object.entries(answers);
    const [rows, columns] = [models[0][1].length, models[0][1][0].length];
    const [[down, first], [across, second]] = Object.entries(sliders).map(([name, [low, high]], k) => {
      const most = [rows, columns][k] - 1;
      const told = (value) => (value === 0 ? low : value === most ? high : `${value + 1} of ${most + 1}`);
      return range(name, { low: 0, high: most, value: 0, told });
    });
    const face = made("div", { className: "face", role: "img" });
    face.style.backgroundImage = `url(${sheet})`;
    face.style.backgroundSize = `${100 * columns}% ${100 * rows}%`;
    return [[first, second], () => {
      const [y, x] = [Number(down.value), Number(across.value)];
      face.style.backgroundPosition = `${(100 * x) / (columns - 1)}% ${(100 * y) / (rows - 1)}%`;
      face.ariaLabel = `${alt}, ${first.innerText}, ${second.innerText}`;
      return [[face, table(heads, models.map(([name, text]) => [name, text[y][x]]))], ""];
    }];
  },

  confounding({ short, long, light }) {
    const told = (value) => `${value} %`;
    const [dark, label] = range("Dark-skinned women with short hair", { low: 0, high: 100, value: light, told });
    const rate = (share) => (share * short + (100 - share) * long) / 100;
    return [[label], () => {
      const [one, two] = [rate(light), rate(Number(dark.value))];
      const rows = [["light skin", one], ["dark skin", two]];
      return [[bars(rows, 0, Math.max(short, long), percent, ["#E69F00", COLOURS[0]])],
        `Gap: ${points(two - one)} points. Effect of skin on a face: 0 points.`];
    }];
  },

  dual({ names }) {
    const told = (value) => `${value}°`;
    const [angle, label] = range("Angle between the normals", { low: 10, high: 170, value: 90, told });
    const arrow = ([x, y], colour, text, dash = "") => {
      const end = [160 + 55 * x, 150 - 55 * y];
      const line = { x1: 160, y1: 150, x2: end[0], y2: end[1], stroke: colour, "stroke-width": 3 };
      return [drawn("line", { ...line, "stroke-dasharray": dash }),
        drawn("circle", { cx: end[0], cy: end[1], r: 5, fill: colour }),
        drawn("text", { x: end[0] + (x < 0 ? -8 : 8), y: end[1] + (y < 0 ? 12 : -6), fill: "currentColor",
          "text-anchor": x < 0 ? "end" : "start" }, text)];
    };
    return [[label], () => {
      const turn = (Number(angle.value) * Math.PI) / 180;
      const [c, s] = [Math.cos(turn), Math.sin(turn)];
      // Orthogonal to the other's normal, and a unit long along its own.
      const [u, v] = [[1, -c / s], [0, 1 / s]];
      const clip = (w) => { const k = Math.min(1, 2.5 / Math.hypot(...w)); return w.map((one) => one * k); };
      const parts = [...arrow([1, 0], COLOURS[0], names[0]), ...arrow([c, s], COLOURS[1], names[1]),
        ...arrow(clip(u), COLOURS[0], "", "6 4"), ...arrow(clip(v), COLOURS[1], "", "6 4")];
      const text = `Normals ${angle.value} degrees apart, dual vectors dashed`;
      return [[picture(320, 300, text, ...parts)],
        `Each dual vector (dashed) is orthogonal to the other normal and ${(1 / s).toFixed(2)} times as long as ` +
          `at 90°. Variance inflation: ${(1 / s ** 2).toFixed(2)}.`];
    }];
  },

  opposing({ rate }) {
    const told = (value) => `${points(value / 100)} points`;
    const most = { low: -8, high: 8, told };
    const [women, one] = range("Effect of dark skin on women", { ...most, value: 6 });
    const [men, two] = range("Effect of dark skin on men", { ...most, value: -6 });
    return [[one, two], () => {
      const [w, m] = [women, men].map((input) => Number(input.value) / 100);
      const beta = coefficient([[rate, rate + w], [rate, rate + m]]);
      const found = expit(logit(rate) + beta) - rate;
      const rows = [["women", w], ["men", m], ["one coefficient", found]];
      return [[bars(rows, -0.08, 0.08, points)],
        `A regression with one coefficient for skin reports ${points(found)} points (log odds ${beta.toFixed(2)}).`];
    }];
  },

  leakage({ axis, names, gram }) {
    const boxes = names.map((name) => made("input", { type: "checkbox" }));
    const labels = names.map((name, k) => made("label", { className: "tick" }, boxes[k], ` ${name}`));
    const group = made("fieldset", {}, made("legend", {}, "Raters are asked about"), ...labels);
    return [[group], () => {
      const held = [0, ...boxes.flatMap((box, k) => (box.checked ? [k + 1] : []))];
      const inside = held.map((i) => held.map((j) => gram[i][j]));
      const weights = solved(inside, held.map((_, k) => Number(k === 0)));
      const moved = names.map((_, k) => held.reduce((sum, j, i) => sum + gram[k + 1][j] * weights[i], 0));
      const most = Math.max(...gram.slice(1).map((row) => Math.abs(row[0]) / gram[0][0]));
      const free = names.map((name, k) => [name, moved[k]]);
      const worst = Math.max(...moved.map(Math.abs));
      return [[bars(free, -1.5 * most, 1.5 * most, (value) => `${value < -0.005 ? "−" : ""}${Math.abs(value).toFixed(2)}`)],
        `One step along ${axis} moves what raters were asked about by 0, and the rest by up to ${worst.toFixed(2)}.`];
    }];
  },

  power({ within, pairs, raters }) {
    const share = (value) => `${value} %`;
    const [effect, one] = range("Effect", { low: 1, high: 10, step: 0.5, value: 3, told: (v) => `${v} points` });
    const [base, two] = range("Error rate without it", { low: 1, high: 40, value: 10, told: share });
    const [count, three] = range("Transects", { low: 50, high: 2000, step: 50, value: 400 });
    const [kept, four] = range("Images kept after pruning", { low: 60, high: 100, value: 100, told: share });
    const chance = (n) => {
      const [low, high] = [Number(base.value) / 100, (Number(base.value) + Number(effect.value)) / 100];
      const covariance = within * Math.sqrt(low * (1 - low) * high * (1 - high));
      const variance = low * (1 - high) + high * (1 - low) - 2 * covariance - (high - low) ** 2;
      const found = pairs * (Number(kept.value) / 100) ** 2;
      return normal((high - low) * Math.sqrt((n * found) / variance) - 1.959963984540054);
    };
    return [[one, two, three, four], () => {
      const n = Number(count.value);
      const at = (x) => [30 + (280 * x) / 2000, 170 - 150 * chance(x)];
      const path = Array.from({ length: 40 }, (_, k) => at(50 * (k + 1)).join(",")).join(" ");
      const [x, y] = at(n);
      const parts = [drawn("line", { x1: 30, y1: 50, x2: 310, y2: 50, stroke: "#777", "stroke-dasharray": "4 3" }),
        drawn("text", { x: 34, y: 45, fill: "currentColor" }, "80 %"),
        drawn("polyline", { points: path, fill: "none", stroke: COLOURS[0], "stroke-width": 2.5 }),
        drawn("circle", { cx: x, cy: y, r: 6, fill: COLOURS[1] }),
        drawn("text", { x: 170, y: 192, fill: "currentColor", "text-anchor": "middle" }, "transects, 0 to 2,000")];
      const answers = (8 * n * raters).toLocaleString("en");
      return [[picture(320, 200, "Chance of finding the effect, by transects", ...parts)],
        `The audit finds this effect with a chance of ${(100 * chance(n)).toFixed(0)} %. ` +
          `It needs ${(8 * n).toLocaleString("en")} images and ${answers} answers about gender.`];
    }];
  },

  threshold({ groups, fixed, low, high }) {
    const told = (value) => value.toFixed(4);
    const step = (high - low) / 100;
    const [cut, label] = range("Threshold of similarity", { low, high, step, value: fixed, told });
    const kinds = ["genuine", "impostor"];
    const every = kinds.map((kind) => Object.values(groups).flatMap((one) => one[kind]));
    const bins = 32;
    const bin = (value) => Math.min(bins - 1, Math.max(0, Math.floor((bins * (value - low)) / (high - low))));
    const counts = every.map((some) =>
      some.reduce((sum, value) => { sum[bin(value)] += 1; return sum; }, Array(bins).fill(0)));
    const most = counts.map((some) => Math.max(...some));
    return [[label], () => {
      const moved = Number(cut.value);
      const now = Math.abs(moved - fixed) < step / 2 ? fixed : moved;
      const columns = counts.flatMap((some, k) => some.map((n, j) => drawn("rect", {
        x: 10 + (300 * j) / bins, y: k ? 110 : 100 - (90 * n) / most[k], width: 300 / bins - 1,
        height: (90 * n) / most[k], fill: COLOURS[k] })));
      const x = 10 + (300 * (now - low)) / (high - low);
      const line = drawn("line", { x1: x, x2: x, y1: 5, y2: 205, stroke: "currentColor", "stroke-width": 2 });
      const words = [["one person", 20], ["two persons", 200]].map(([text, y]) =>
        drawn("text", { x: 12, y, fill: "currentColor" }, text));
      const rates = Object.entries(groups).map(([name, one]) => [name,
        percent(one.genuine.filter((value) => value < now).length / one.genuine.length),
        percent(one.impostor.filter((value) => value >= now).length / one.impostor.length)]);
      const all = every.flat();
      const flips = all.filter((value) => value >= now !== value >= fixed).length;
      return [[picture(320, 215, "Similarities of pairs, and the threshold", ...columns, line, ...words),
        table(["group", "rejected, one person (FNMR)", "accepted, two persons (FMR)"], rates)],
        `${flips} of ${all.length} pairs get another answer than at ${told(fixed)}.`];
    }];
  },

  label({ sheet, scale, crowd, attribute }) {
    const given = [];
    const choices = scale.map((text) => made("button", { type: "button", className: "btn btn-outline-primary" }, text));
    const buttons = made("div", { className: "choices", role: "group", ariaLabel: attribute }, ...choices);
    const face = (k) => {
      const one = made("div", { className: "face", role: "img", ariaLabel: `made face ${k + 1} of ${crowd.length}` });
      one.style.backgroundImage = `url(${sheet})`;
      one.style.backgroundSize = `${100 * crowd.length}% 100%`;
      one.style.backgroundPosition = `${(100 * k) / (crowd.length - 1)}% 0`;
      return one;
    };
    const top = (counts) => counts.indexOf(Math.max(...counts));
    const controls = [buttons];
    const show = () => {
      if (given.length < crowd.length) {
        return [[face(given.length)], `${attribute}: face ${given.length + 1} of ${crowd.length}. Choose below.`];
      }
      buttons.remove();
      const rows = crowd.map((counts, k) => [`face ${k + 1}`, scale[given[k]], scale[top(counts)],
        `${Math.max(...counts)} of ${counts.reduce((sum, one) => sum + one)}`]);
      const same = crowd.filter((counts, k) => top(counts) === given[k]).length;
      const near = crowd.filter((counts, k) => Math.abs(top(counts) - given[k]) <= 1).length;
      return [[table(["face", "you", "most raters", "who agree"], rows)],
        `You chose the raters' most frequent answer for ${same} of ${crowd.length} faces, and one within a step ` +
          `of it for ${near}.`];
    };
    choices.forEach((choice, k) => choice.addEventListener("click", () => {
      given.push(k);
      buttons.dispatchEvent(new Event("input", { bubbles: true }));
    }));
    return [controls, show];
  },
};

function explorable(figure) {
  const { guess, ...content } = JSON.parse(figure.dataset.content);
  const [controls, show] = KINDS[figure.dataset.kind](content);
  const view = made("div", { className: "view" });
  const said = made("p", { ariaLive: "polite" });
  const body = made("div", { className: "body", hidden: Boolean(guess) }, view, ...controls, said);
  const update = () => {
    const [parts, sentence] = show();
    view.replaceChildren(...parts);
    said.textContent = sentence;
  };
  body.addEventListener("input", update);
  const answer = made("p", { ariaLive: "polite" });
  const first = guess && made("fieldset", { className: "guess" }, made("legend", {}, `Guess first: ${guess.question}`),
    ...guess.options.map((text, k) => {
      const option = made("button", { type: "button", className: "btn btn-outline-primary" }, text);
      option.addEventListener("click", () => {
        body.hidden = false;
        answer.textContent = `${k === guess.right ? "Right." : `Not quite: ${guess.options[guess.right]}.`} ${guess.because}`;
      });
      return option;
    }), answer);
  const words = figure.firstElementChild; // What it shows: paper has these words instead (book.css).
  words.className = "on-paper";
  figure.replaceChildren(words, ...(first ? [first] : []), body);
  update();
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("figure.explorable").forEach(explorable);
});
