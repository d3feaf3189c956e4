/** The link of e-paper: it polls as seldom as the server allows. */
import { parseInstants, readSnapshot, type SentSnapshot } from './frames.ts';
import { backOff, type LinkFeed, type Ports, type ServerLink } from './link.ts';

/** @param ask sends a GET for the snapshot, with the ETag that is known */
export function openPaperLink(
  ports: Ports,
  feed: LinkFeed,
  ask: (etag: string | null) => Promise<Response>,
): ServerLink {
  let losses = 0;
  let cancel = () => {};
  let etag: string | null = null;
  let seconds = 60;
  let known: SentSnapshot | undefined;

  /** @returns after how many milliseconds to ask again; undefined for never */
  async function once(mine: number): Promise<number | undefined> {
    const asked = ports.ticks();
    const response = await ask(etag);
    // A later request has been sent since.
    if (mine !== round) return undefined;
    const slack = () => ports.ticks() - asked;
    if (response.status === 401) return feed.turn('refused') as undefined;
    if (response.status === 403 || response.status === 404) feed.turn('missing');
    else if (response.status === 304 && known) {
      // The answer has no body; its date counts whole seconds.
      const serverTime = Date.parse(response.headers.get('date') ?? '') || known.serverTime;
      const trusted = known.trustUntil - known.asOf;
      known = { ...known, serverTime, asOf: serverTime, trustUntil: serverTime + trusted };
      feed.take({ kind: 'snapshot', snapshot: readSnapshot(known) }, slack() + 1_000, true);
    } else if (response.ok) {
      const body = parseInstants(await response.text()) as SentSnapshot;
      // In REST ids are numbers.
      known = { ...body, resource: { ...body.resource, id: String(body.resource.id) } };
      etag = response.headers.get('etag');
      feed.take({ kind: 'snapshot', snapshot: readSnapshot(known) }, slack(), true);
    } else throw new Error(response.statusText);
    if (response.ok || response.status === 304) {
      seconds = Number(response.headers.get('retry-after')) || seconds;
      feed.turn('polling');
    }
    return seconds * 1_000;
  }

  let round = 0;
  async function run(attempt: number): Promise<void> {
    cancel();
    const mine = ++round;
    // Without an answer the next request is sent after a minute.
    cancel = ports.after(60_000, () => void run(attempt + 1));
    const wait = await once(mine).catch(() => null);
    if (mine !== round) return;
    cancel();
    if (wait === undefined) return;
    if (wait === null) {
      losses++;
      feed.turn('offline');
    }
    const soon = backOff(attempt, ports.random());
    cancel = ports.after(
      // Each call costs battery.
      wait ?? (attempt < 6 ? soon : Math.max(soon, seconds * (500 + 500 * ports.random()))),
      () => void run(wait === null ? attempt + 1 : 0),
    );
  }

  const hurry = () => void run(0);
  hurry();
  return {
    hurry,
    drop: hurry,
    close() {
      round++;
      cancel();
    },
    losses: () => losses,
  };
}
