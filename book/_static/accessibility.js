// Names that the theme, pandas and the widgets leave out, for readers who listen to the page.

const label = (nodes, text) => nodes.forEach((node) => node.setAttribute("aria-label", text(node)));

function nameParts(root) {
  // Tables have empty heads: corners, and those above design contracts.
  root.querySelectorAll("table th").forEach((th) => {
    if (th.textContent.trim()) return;
    const { className, colSpan, rowSpan } = th;
    th.replaceWith(Object.assign(document.createElement("td"), { className, colSpan, rowSpan }));
  });
  // The theme leaves the book's title outside of all landmarks.
  const side = root.querySelector(".bd-sidebar-primary:not([role])");
  side?.setAttribute("role", "navigation");
  side?.setAttribute("aria-label", "Book");
  label(root.querySelectorAll(".search-button:not([aria-label])"), () => "Search");
  // The theme gives no name to the arrows that unfold pages in the table of contents.
  label(
    root.querySelectorAll("nav details > summary:not([aria-label])"),
    (arrow) => `Pages below ${arrow.closest("li")?.querySelector("a")?.textContent.trim()}`
  );
  // A slider is named after its description, and says its label rather than a position.
  root.querySelectorAll(".widget-slider, .widget-hslider").forEach((slider) => {
    const name = slider.querySelector(".widget-label")?.textContent || "frame";
    const readout = slider.querySelector(".widget-readout");
    slider.querySelectorAll(".noUi-handle").forEach((handle) => {
      if (handle.getAttribute("aria-label") !== name) handle.setAttribute("aria-label", name);
      const value = readout?.textContent;
      if (value && handle.getAttribute("aria-valuetext") !== value)
        handle.setAttribute("aria-valuetext", value);
    });
  });
  // A figure is a link to its image; on a phone the link scrolls (book.css), so it can be focused.
  root.querySelectorAll("article figure > img").forEach((image) => {
    const link = document.createElement("a");
    link.className = "full-size";
    link.href = image.src;
    link.title = "Open the figure in full size";
    image.replaceWith(link);
    link.append(image);
  });
  // sphinxcontrib-bibtex gives the entries of its list a deprecated role.
  root.querySelectorAll(".citation-list > .citation").forEach((entry) => {
    entry.setAttribute("role", "listitem");
  });
}

document.addEventListener("DOMContentLoaded", () => {
  nameParts(document);
  // Widgets appear later, and their readouts change.
  const watch = new MutationObserver(() => nameParts(document));
  watch.observe(document.body, { childList: true, subtree: true, characterData: true });
});

// Paper is white: a page that is read in the dark prints in the colours of the day.
window.addEventListener("beforeprint", () => {
  const { dataset } = document.documentElement;
  const read = dataset.theme;
  dataset.theme = "light";
  window.addEventListener("afterprint", () => (dataset.theme = read), { once: true });
});
