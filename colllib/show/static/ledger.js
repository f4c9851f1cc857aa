(() => {
  const root = document.currentScript.parentElement;
  const form = root.querySelector("form");
  const cards = [...root.querySelectorAll("li")];
  const choose = () => {
    const wanted = Object.fromEntries(new FormData(form));
    const text = wanted.text.trim().toLowerCase();
    let shown = 0;
    for (const card of cards) {
      const fits = ["source", "section", "chapter", "verdict"].every((key) => !wanted[key] || card.dataset[key] === wanted[key]);
      card.hidden = !(fits && (!text || card.textContent.toLowerCase().includes(text)));
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
