/**
 * Keeps the files of the pages, so that a kiosk that starts without the network shows its sign and not an error. What the
 * network gives always comes first, and no answer of an API is kept.
 */
type FetchEvent = Event & { request: Request; respondWith(answer: Promise<Response>): void };

const isFile = ({ method, url }: Request) =>
  method === 'GET' &&
  /\/(door-sign|board)\/\d+$|\/assets\/(web\/display|displays)\/[\w.-]+$/.test(new URL(url).pathname);

/** A network that is cut may never say so. */
const patience = 5_000;
/** What is kept is given at once for a while after that, or each file would wait anew. */
const unasked = 30_000;
let cutUntil = 0;

async function answer(request: Request): Promise<Response> {
  const files = await caches.open('roomgate pages');
  const kept = await files.match(request, { ignoreSearch: true, ignoreVary: true });
  if (kept && performance.now() < cutUntil) return kept;
  try {
    const response = await fetch(request, kept ? { signal: AbortSignal.timeout(patience) } : {});
    if (response.ok) await files.put(request.url.replace(/\?.*/, ''), response.clone());
    return response.status >= 500 && kept ? kept : response;
  } catch (error) {
    cutUntil = performance.now() + unasked;
    if (kept) return kept;
    throw error;
  }
}

addEventListener('fetch', (event) => {
  const { request } = event as FetchEvent;
  if (isFile(request)) (event as FetchEvent).respondWith(answer(request));
});
