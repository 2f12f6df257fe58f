// Fetches what an EventSource of the page could not ask for itself.

addEventListener("install", () => skipWaiting());
addEventListener("activate", (event) => event.waitUntil(clients.claim()));
addEventListener("fetch", (event) => {
  const { pathname, search } = new URL(event.request.url);
  if (pathname !== "/page/answer") return;
  const { url, request } = JSON.parse(decodeURIComponent(search.slice(1)));
  event.respondWith(fetch(url, request));
});
