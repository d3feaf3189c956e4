const mostBytes = 1_048_576;

type Fetch = (address: string, init: object) => Promise<Response>;

/** An answer has more bytes than were allowed; it was not read further. */
export class AnswerTooLarge extends Error {}

/** One request that follows no redirect and reads at most `most` bytes of the answer, after inflating. @throws AnswerTooLarge */
export async function fetchBounded(
  url: URL,
  init: object,
  most: number,
): Promise<{ response: Response; bytes: Buffer }> {
  const response = await fetch(url, { ...init, redirect: 'manual' });
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > most) throw new AnswerTooLarge(`${url.origin} answers with more than ${most} bytes`);
    chunks.push(chunk);
  }
  return { response, bytes: Buffer.concat(chunks) };
}

/**
 * A fetch for addresses that another system names: https only, but for the `origin` that the settings name; no
 * redirects; answers of at most 1 MiB.
 */
export function fetchSafely(origin: string): Fetch {
  return async (address, init) => {
    const url = new URL(address);
    if (url.protocol !== 'https:' && url.origin !== origin)
      throw new Error(`${url.origin} is neither an https address nor ${origin}`);
    const { response, bytes } = await fetchBounded(url, init, mostBytes);
    const { status, statusText, headers } = response;
    return new Response(response.body && new Uint8Array(bytes), { status, statusText, headers });
  };
}
