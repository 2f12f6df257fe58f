// The page at /docs sends the requests that it describes; the key stays in the tab.
const script = document.currentScript.src;
const key = document.getElementById("key");
key.value = sessionStorage.getItem("ragstone.key") || "";
key.addEventListener("change", () => sessionStorage.setItem("ragstone.key", key.value));

for (const form of document.querySelectorAll("form[data-path]")) {
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    send(form);
  });
}

async function send(form) {
  const out = form.querySelector("output");
  const query = new URLSearchParams();
  let path = form.dataset.path;
  for (const field of form.querySelectorAll("input[data-in]")) {
    if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
    else if (field.value) query.set(field.name, field.value);
  }
  const headers = key.value ? { authorization: `Bearer ${key.value}` } : {};
  const body = form.querySelector("textarea")?.value;
  if (body) headers["content-type"] = "application/json";
  out.textContent = "…";
  try {
    const address = new URL(`..${path}${query.size ? `?${query}` : ""}`, script);
    const answer = await fetch(address, { method: form.dataset.method, headers, body: body || undefined });
    out.textContent = `${answer.status}\n`;
    const text = answer.body.pipeThrough(new TextDecoderStream());
    for await (const piece of parts(text)) out.textContent += piece;
    if (answer.headers.get("content-type")?.startsWith("application/json"))
      out.textContent = `${answer.status}\n${JSON.stringify(JSON.parse(out.textContent.slice(4)), null, 2)}`;
  } catch (error) {
    out.textContent = String(error);
  }
}

async function* parts(stream) {
  const reader = stream.getReader();
  for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
}
