// Say at once whether the chosen answer of a quiz is right (course.quiz).
document.addEventListener("change", (event) => {
  const chosen = event.target.closest(".quiz input");
  if (chosen) chosen.closest("fieldset").querySelector(".says").innerHTML = chosen.dataset.says;
});
