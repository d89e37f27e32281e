// A face of a sheet that two sliders choose, and what models answer about it (widgets.two_sliders).

function element(name, given = {}, ...parts) {
  const made = Object.assign(document.createElement(name), given);
  made.append(...parts);
  return made;
}

function slider(name, [low, high], most) {
  const input = element("input", { type: "range", min: 0, max: most, value: 0, ariaLabel: name });
  const ends = element("span", { className: "ends" }, element("span", {}, low), element("span", {}, high));
  return [input, element("label", {}, name, input, ends)];
}

function explore(figure) {
  const { alt, heads, sliders, answers } = JSON.parse(figure.dataset.content);
  const models = Object.entries(answers);
  const [rows, columns] = [models[0][1].length, models[0][1][0].length];
  const face = element("div", { role: "img", className: "face" });
  face.style.backgroundImage = `url(${figure.querySelector("img").src})`;
  face.style.backgroundSize = `${100 * columns}% ${100 * rows}%`;
  const [[down, first], [across, second]] = Object.entries(sliders).map(([name, ends], k) =>
    slider(name, ends, [rows, columns][k] - 1),
  );
  const cells = models.map(() => element("td"));
  const body = models.map(([name], k) => element("tr", {}, element("th", { scope: "row" }, name), cells[k]));
  const head = element("tr", {}, ...heads.map((text) => element("th", { scope: "col" }, text)));
  const table = element("table", { className: "table" }, element("thead", {}, head), element("tbody", {}, ...body));
  table.ariaLive = "polite";
  const show = () => {
    const [y, x] = [Number(down.value), Number(across.value)];
    face.style.backgroundPosition = `${(100 * x) / (columns - 1)}% ${(100 * y) / (rows - 1)}%`;
    const where = [[down, y, rows], [across, x, columns]].map(
      ([input, k, n]) => `${input.ariaLabel} ${k + 1} of ${n}`,
    );
    face.ariaLabel = `${alt}, ${where.join(", ")}`;
    models.forEach(([, text], k) => (cells[k].textContent = text[y][x]));
  };
  for (const input of [down, across]) input.addEventListener("input", show);
  figure.replaceChildren(face, element("div", {}, first, second, table));
  show();
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll("figure.two-sliders").forEach(explore);
});
