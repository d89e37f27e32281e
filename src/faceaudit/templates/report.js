// The part "Details" is closed on a screen, open on paper and where an address points into it.
const details = document.getElementById("details");
let opened = details.open;
const follow = () => {
  const target = location.hash && document.getElementById(location.hash.slice(1));
  if (target && details.contains(target)) {
    details.open = true;
    target.scrollIntoView();
  }
};
addEventListener("hashchange", follow);
addEventListener("beforeprint", () => { opened = details.open; details.open = true; });
addEventListener("afterprint", () => { details.open = opened; });
follow();
