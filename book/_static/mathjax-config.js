// Loaded before MathJax. The widgets call MathJax 2's queue, even on pages without equations.
window.MathJax = {
  Hub: { Queue() {} },
  options: {
    ignoreHtmlClass: "tex2jax_ignore|mathjax_ignore|document",
    processHtmlClass: "tex2jax_process|mathjax_process|math|output_area",
  },
  startup: {
    ready() {
      MathJax.startup.defaultReady();
      MathJax.Hub = {
        Queue(...calls) {
          const nodes = calls.map((call) => call[call.length - 1]).filter((n) => n instanceof Node);
          MathJax.startup.promise.then(() => MathJax.typesetPromise(nodes));
        },
      };
    },
  },
};
