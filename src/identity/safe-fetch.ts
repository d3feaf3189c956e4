const mostBytes = 1_048_576;

type Fetch = (address: string, init: object) => Promise<Response>;

/**
 * A fetch for addresses that another system names: https only, but for the `origin` that the settings name; no
 * redirects; answers of at most 1 MiB.
 */
export function fetchSafely(origin: string): Fetch {
  return async (address, init) => {
    const url = new URL(address);
    if (url.protocol !== 'https:' && url.origin !== origin)
      throw new Error(`${url.origin} is neither an https address nor ${origin}`);
    const response = await fetch(url, { ...init, redirect: 'manual' });
    const chunks: Uint8Array[] = [];
    let size = 0;
    for await (const chunk of response.body ?? []) {
      size += chunk.byteLength;
      if (size > mostBytes) throw new Error(`${url.origin} answers with more than ${mostBytes} bytes`);
      chunks.push(chunk);
    }
    const { status, statusText, headers } = response;
    const body = response.body && Buffer.concat(chunks);
    return new Response(body, { status, statusText, headers });
  };
}
