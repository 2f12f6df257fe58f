// Puts the widget into a page of another site: one script tag, which says whose widget it is.
//
//   <script src="https://ragstone.example.org/web/widget.js" data-widget="ID" async></script>
//
// It frames the widget's own page, reads nothing of this one, and knows no key. It takes
// data-title, data-theme (light, dark, auto), data-colour (#0f766e), data-language (en, de, zh, ko, ar),
// data-position (right, left), and data-place, a selector of where it stands in the page instead of
// floating over it.
(() => {
  const own = document.currentScript;
  const { widget, place, position, ...said } = own?.dataset || {};
  if (!/^[0-9a-f]{16}$/.test(widget || "")) {
    console.error("Ragstone: data-widget must be the id of a widget's key.");
    return;
  }
  const base = new URL("../", own.src);
  const floats = !place;

  function put() {
    const frame = document.createElement("iframe");
    const look = new URLSearchParams({ floats: floats ? "1" : "", position: position === "left" ? "left" : "right" });
    for (const name of ["title", "theme", "colour", "language"]) if (said[name]) look.set(name, said[name]);
    frame.src = new URL(`widget/${widget}#${look}`, base);
    frame.title = said.title || "Ask the documents";
    frame.setAttribute("sandbox", "allow-scripts allow-same-origin allow-forms allow-popups allow-popups-to-escape-sandbox");
    frame.allow = "clipboard-write";
    // Set one by one, as a page may forbid style attributes.
    const style = (given) => { for (const [name, value] of Object.entries(given)) frame.style.setProperty(name, value); };
    style({ border: "0", "color-scheme": "normal", background: "transparent" });
    if (floats) {
      style({ position: "fixed", bottom: "1rem", [position === "left" ? "left" : "right"]: "1rem", "z-index": "2147483000",
        width: "4rem", height: "4rem" });
    } else style({ width: "100%", height: "32rem", display: "block" });
    addEventListener("message", (event) => {
      if (event.source !== frame.contentWindow || event.origin !== base.origin) return;
      if (!floats || event.data?.ragstone !== "size") return;
      const open = Boolean(event.data.open);
      // On a phone it takes the whole screen.
      const small = open && innerWidth < 480;
      const side = position === "left" ? "left" : "right";
      style({ width: open ? (small ? "100%" : "25rem") : "4rem", height: open ? (small ? "100%" : "min(40rem, calc(100vh - 2rem))") : "4rem",
        bottom: small ? "0" : "1rem", [side]: small ? "0" : "1rem" });
    });
    const where = floats ? document.body : document.querySelector(place);
    if (where) where.append(frame);
    else console.error(`Ragstone: nothing on this page is ${place}.`);
  }

  if (document.readyState === "loading") addEventListener("DOMContentLoaded", put);
  else put();
})();
