/**
 * Keeps the files of the pages, so that a kiosk that starts without the network shows its sign and not an error. What the
 * network gives always comes first, and no answer of an API is kept.
 */
type FetchEvent = Event & { request: Request; respondWith(answer: Promise<Response>): void };

const isFile = ({ method, url }: Request) =>
  method === 'GET' &&
  /\/(door-sign|board)\/\d+$|\/assets\/(web\/display|displays)\/[\w.-]+$/.test(new URL(url).pathname);

async function answer(request: Request): Promise<Response> {
  const files = await caches.open('roomgate pages');
  const kept = await files.match(request, { ignoreSearch: true, ignoreVary: true });
  try {
    const response = await fetch(request);
    if (response.ok) await files.put(request.url.replace(/\?.*/, ''), response.clone());
    return response.status >= 500 && kept ? kept : response;
  } catch (error) {
    if (kept) return kept;
    throw error;
  }
}

addEventListener('fetch', (event) => {
  const { request } = event as FetchEvent;
  if (isFile(request)) (event as FetchEvent).respondWith(answer(request));
});
