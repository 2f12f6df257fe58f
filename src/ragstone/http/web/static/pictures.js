// Pictures of documents. They are fetched as what the caller may read, and never as their own address.
import { html, useEffect, useState } from "./lib.js";
import { call, may } from "./api.js";
import { t } from "./words.js";

// The pictures with these ids of one document; `document` is its path or id.
export function Pictures({ collection, document, ids, caption }) {
  if (!ids?.length || !may("reading.picture")) return null;
  return html`<div class="pictures">${ids.map((id) => html`<${Picture} key=${id} collection=${collection}
    document=${document} id=${id} caption=${caption} />`)}</div>`;
}

function Picture({ collection, document, id, caption }) {
  const [address, setAddress] = useState("");
  const [missing, setMissing] = useState(false);
  useEffect(() => {
    let made = "", gone = false;
    call("reading.picture", { collection, path: document, picture: id }).then((found) => {
      if (gone) return;
      const bytes = Uint8Array.from(atob(found.base64), (sign) => sign.charCodeAt(0));
      made = URL.createObjectURL(new Blob([bytes], { type: found.media_type }));
      setAddress(made);
    }).catch(() => !gone && setMissing(true));
    return () => { gone = true; if (made) URL.revokeObjectURL(made); };
  }, [collection, document, id]);
  if (missing) return html`<p class="note">${t("There is a picture here, but its file is not on the server.")}</p>`;
  const said = caption || t("A picture of the document");
  return address ? html`<a href=${address} target="_blank" rel="noopener"><img class="picture" src=${address} alt=${said} /></a>` : null;
}
