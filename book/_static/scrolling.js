// Boxes that scroll sideways: classes for the cues in book.css, and a stop for the keyboard.

const BOXES =
  "a.full-size, .cell_output .text_html, .pst-scrollable-table-container, .highlight pre";

function mark(box) {
  const hidden = box.scrollWidth - box.clientWidth;
  const scrolls = hidden > 1;
  box.classList.toggle("scrolls", scrolls);
  box.classList.toggle("goes-on", scrolls && box.scrollLeft < hidden - 1);
  if (scrolls && box.tagName !== "A") box.tabIndex = 0;
}

document.addEventListener("DOMContentLoaded", () => {
  const resized = new ResizeObserver((entries) => entries.forEach((entry) => mark(entry.target)));
  document.querySelectorAll(BOXES).forEach((box) => {
    resized.observe(box);
    box.addEventListener("scroll", () => mark(box), { passive: true });
    // An image arrives after its box.
    box.querySelectorAll("img").forEach((image) => image.addEventListener("load", () => mark(box)));
  });
});
