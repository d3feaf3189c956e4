/**
 * Keeps the files of the pages, so that a kiosk that starts without the network shows its sign and not an error. What the
 * network gives always comes first, and no answer of an API is kept.
 */
type FetchEvent = Event & { request: Request; respondWith(answer: Promise<Response>): void };

const isFile = ({ method, url }: Request) =>
  method === 'GET' &&
  /\/(door-sign|board)\/\d+$|\/assets\/(web\/display|displays)\/[\w.-]+$/.test(new URL(url).pathname);

/** A network that is cut may never say so. */
const patienceMs = 5_000;
/** Where nothing is kept; what leads nowhere for longer keeps other calls from the server. */
const longPatienceMs = 20_000;
/** What is kept is given at once for a while after that, or each file would wait anew. */
const unaskedMs = 30_000;
let cutUntil = 0;

/** A portal, or a proxy whose server is away, answers for us with pages of its own. */
async function isOurs(response: Response): Promise<boolean> {
  if (!response.ok || response.redirected) return false;
  if (!/html/.test(response.headers.get('content-type') ?? '')) return true;
  return /name="version"/.test(await response.clone().text());
}

function within(milliseconds: number): RequestInit {
  const abort = new AbortController();
  setTimeout(() => abort.abort(), milliseconds);
  return { signal: abort.signal };
}

async function answer(request: Request): Promise<Response> {
  const files = await caches.open('roomgate pages');
  const kept = await files.match(request, { ignoreSearch: true, ignoreVary: true });
  if (kept && performance.now() < cutUntil) return kept;
  try {
    const response = await fetch(request, within(kept ? patienceMs : longPatienceMs));
    if (!(await isOurs(response))) return kept ?? response;
    await files.put(request.url.replace(/\?.*/, ''), response.clone()).catch(() => {});
    return response;
  } catch (error) {
    cutUntil = performance.now() + unaskedMs;
    if (kept) return kept;
    throw error;
  }
}

// A new one does not wait until no sign is open: that is never.
addEventListener('install', () => (globalThis as unknown as { skipWaiting(): void }).skipWaiting());
addEventListener('fetch', (event) => {
  const { request } = event as FetchEvent;
  if (isFile(request)) (event as FetchEvent).respondWith(answer(request));
});
