// Columns of numbers in the tables that cells print: pandas says nowhere which they are.

// Figures with their signs, also as in "-2.9 (-5.8 to +0.7)", "3 %" and "1e-05".
const NUMBER = /^(?=.*\d)(?:[\d\s.,;%±<()[\]−+–-]|e(?=[-+]?\d)|\bto\b|nan)+$/i;
const MISSING = ["", "nan", "none", "<na>", "nat", "–", "—", "-"];

// A column's cells, counted from the right, because row labels may span rows.
function cellAt(row, fromRight) {
  let place = 0;
  for (const cell of [...row.cells].reverse()) {
    if (++place === fromRight) return cell.colSpan === 1 ? cell : null;
    if ((place += cell.colSpan - 1) >= fromRight) return null;
  }
  return null;
}

function markNumbers(table) {
  const body = [...table.tBodies].flatMap((part) => [...part.rows]);
  const columns = Math.max(0, ...body.map((row) => row.querySelectorAll("td").length));
  for (let column = 1; column <= columns; column++) {
    const cells = body.map((row) => cellAt(row, column)).filter((cell) => cell?.tagName === "TD");
    const texts = cells.map((cell) => cell.textContent.trim());
    const told = texts.filter((text) => !MISSING.includes(text.toLowerCase()));
    if (told.filter((text) => NUMBER.test(text)).length <= told.length / 2) continue;
    const heads = [...(table.tHead?.rows ?? [])].map((row) => cellAt(row, column));
    [...cells, ...heads].forEach((cell) => cell?.classList.add("number"));
  }
}

// "+1.2 (-0.3 to +2.7)" breaks before the parenthesis and nowhere else.
function mayBreak(cell) {
  const [whole, value, interval] = cell.textContent.trim().match(/^(\S+) (\([^()]* to [^()]*\))$/) ?? [];
  if (!whole) return;
  const parts = [value, interval].map((text) => {
    const part = document.createElement("span");
    part.className = "unbroken";
    part.textContent = text;
    return part;
  });
  cell.replaceChildren(parts[0], " ", parts[1]);
  cell.classList.add("interval");
}

// Labels such as skin_colour may break after an underscore.
function breakAtUnderscores(cell) {
  const parts = cell.textContent.split(/(?<=_)/);
  if (parts.length < 2 || cell.childElementCount) return;
  cell.replaceChildren(...parts.flatMap((part) => [part, document.createElement("wbr")]).slice(0, -1));
}

// Labels of rows stay in view while a table scrolls: all of their columns, or as many of the last as
// leave half of the width to the numbers. A table without labels keeps its first column.
const SCROLLING = ".cell_output .text_html, .pst-scrollable-table-container";

function keepLabels(box) {
  const table = box.querySelector("table");
  if (!table) return;
  table.querySelectorAll(".caption-in-view").forEach((text) => {
    text.style.maxWidth = `${box.clientWidth}px`;
  });
  const cells = [...table.rows].flatMap((row) => [...row.cells]);
  cells.forEach((cell) => cell.classList.remove("stays"));
  if (box.scrollWidth <= box.clientWidth + 1) return;
  const body = [...table.tBodies].flatMap((part) => [...part.rows]);
  const heads = body.flatMap((row) => [...row.cells]).filter((cell) => cell.tagName === "TH");
  const labels = heads.length ? heads : body.map((row) => row.cells[0]).filter(Boolean);
  const end = Math.max(...labels.map((cell) => cell.offsetLeft + cell.offsetWidth));
  const fits = (cell) => end - cell.offsetLeft <= box.clientWidth / 2;
  const starts = labels.filter(fits).map((cell) => cell.offsetLeft);
  if (!starts.length) return;
  const start = Math.min(...starts);
  const within = (cell) => cell.offsetLeft >= start && cell.offsetLeft + cell.offsetWidth <= end + 1;
  const places = cells.filter(within).map((cell) => [cell, cell.offsetLeft - start]);
  places.forEach(([cell, left]) => {
    cell.classList.add("stays");
    cell.style.left = `${left}px`;
  });
}

// A caption is as wide as its table; its words stay in view while the table scrolls.
function keepCaption(caption) {
  const words = document.createElement("span");
  words.className = "caption-in-view";
  words.append(...caption.childNodes);
  caption.append(words);
}

document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(`:is(${SCROLLING}) table > caption`).forEach(keepCaption);
  document.querySelectorAll(".cell_output table td").forEach(mayBreak);
  document.querySelectorAll(".cell_output table th").forEach(breakAtUnderscores);
  document.querySelectorAll(".cell_output table").forEach(markNumbers);
  const resized = new ResizeObserver((boxes) => boxes.forEach((box) => keepLabels(box.target)));
  document.querySelectorAll(SCROLLING).forEach((box) => resized.observe(box));
});
