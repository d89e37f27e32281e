// The order of what a search finds: pages that explain come before the API reference, where a word
// is the name of a function more often than its subject.
// The search of Sphinx takes this one where it is there.
var Scorer = {
  score: ([docname, , , , score]) => (docname.startsWith("api/") ? score - 100 : score),
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
