/** The token of a PIN. */

/** The PIN is not valid, or is no more: asking again does not help. */
export class PinRefused extends Error {}

/** A token is not used in its last minute, so that it does not expire on its way. */
const spareSeconds = 60;
const longestWaitMs = 20_000;

/**
 * Gets a token when one is needed, and another before that one expires.
 * @param base the address of the server, such as http://127.0.0.1:8080
 */
export function tokenOf(base: string, pin: string, now = Date.now): () => Promise<string> {
  let token = Promise.resolve('');
  let renewAt = 0;

  async function get(): Promise<string> {
    const form = { grant_type: 'apikey', scope: 'service_api', client_id: 'timetable-import', apikey: pin };
    const answer = await fetch(`${base}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
      signal: AbortSignal.timeout(longestWaitMs),
    });
    if (answer.status === 400 || answer.status === 401) throw new PinRefused(`No token: ${await answer.text()}`);
    if (!answer.ok) throw new Error(`No token now: ${answer.status}`);
    const { access_token, expires_in } = (await answer.json()) as { access_token: string; expires_in: number };
    renewAt = now() + (expires_in - spareSeconds) * 1_000;
    return access_token;
  }

  return () => {
    if (now() >= renewAt) {
      // Who asks meanwhile gets the same.
      renewAt = Number.POSITIVE_INFINITY;
      token = get();
      token.catch(() => (renewAt = 0));
    }
    return token;
  };
}
