(() => {
  const root = document.currentScript.parentElement;
  const form = root.querySelector("form");
  const cards = [...root.querySelectorAll("li")];
  const facets = ["source", "section", "chapter", "verdict"]; // as in colllib/show/claims.py
  for (const { dataset } of cards) {
    const places = dataset.at.split(" ");
    facets.forEach((key, k) => { dataset[key] = form.elements[key].options[places[k]].value; });
  }
  const choose = () => {
    const chosen = Object.fromEntries(new FormData(form));
    const words = chosen.text.trim().toLowerCase().split(/[\s-]+/);
    let shown = 0;
    for (const card of cards) {
      const fits = facets.every((key) => !chosen[key] || card.dataset[key] === chosen[key] || card.className === chosen[key]);
      card.hidden = !(fits && words.every((word) => card.textContent.toLowerCase().includes(word)));
      shown += !card.hidden;
    }
    root.querySelector("output").textContent = `${shown} of ${cards.length} claims`;
  };
  for (const [key, value] of new URLSearchParams(location.search)) {
    if (form.elements[key]) form.elements[key].value = value;
  }
  form.hidden = false;
  form.addEventListener("input", choose);
  form.addEventListener("submit", (event) => event.preventDefault());
  choose();
})();
