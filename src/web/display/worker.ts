/**
 * Caches the files of the pages, so that a kiosk that starts without network shows its sign. The network comes first, and no
 * answer of an API is cached.
 */
type FetchEvent = Event & { request: Request; respondWith(answer: Promise<Response>): void };

const isFile = ({ method, url }: Request) =>
  method === 'GET' &&
  /\/(door-sign|board)\/\d+$|\/assets\/(bookings|displays|time|web|web\/display)\/[\w.-]+$/.test(new URL(url).pathname);

/** Milliseconds after which a cached file is used: a call without network may hang forever. */
const patienceMs = 5_000;
/** The same for files that are not cached. */
const longPatienceMs = 20_000;
/** After a timeout, how long cached files are used without a call. */
const unaskedMs = 30_000;
let cutUntil = 0;

/** A captive portal or a proxy may answer with pages of its own. */
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

// A new worker starts at once. It would wait until no sign is open, which never happens.
addEventListener('install', () => (globalThis as unknown as { skipWaiting(): void }).skipWaiting());
addEventListener('fetch', (event) => {
  const { request } = event as FetchEvent;
  if (isFile(request)) (event as FetchEvent).respondWith(answer(request));
});
