/** The link of e-paper: it polls as seldom as the server allows. */
import { retryAfterOf } from '../retry-after.ts';
import { type Judgement, judge } from './answers.ts';
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

  async function once(mine: number): Promise<Judgement | { kind: 'polling' }> {
    const asked = ports.ticks();
    const response = await ask(etag);
    const text = await response.text();
    // A later request has been sent since.
    if (mine !== round) return { kind: 'lost' };
    const slack = ports.ticks() - asked;
    if (response.status === 304 && known) {
      // The answer has no body; its date counts whole seconds.
      const serverTime = Date.parse(response.headers.get('date') ?? '') || known.serverTime;
      const trusted = known.trustUntil - known.asOf;
      known = { ...known, serverTime, asOf: serverTime, trustUntil: serverTime + trusted };
      feed.take({ kind: 'snapshot', snapshot: readSnapshot(known) }, slack + 1_000, true);
    } else if (response.ok) {
      const body = parseInstants(text) as SentSnapshot;
      // In REST ids are numbers.
      known = { ...body, resource: { ...body.resource, id: String(body.resource.id) } };
      etag = response.headers.get('etag');
      feed.take({ kind: 'snapshot', snapshot: readSnapshot(known) }, slack, true);
    } else return judge(response, text);
    seconds = retryAfterOf(response.headers) ?? seconds;
    return { kind: 'polling' };
  }

  let round = 0;
  async function run(attempt: number): Promise<void> {
    cancel();
    const mine = ++round;
    // Without an answer the next request is sent after a minute.
    cancel = ports.after(60_000, () => void run(attempt + 1));
    const outcome = await once(mine).catch((): Judgement => ({ kind: 'lost' }));
    if (mine !== round) return;
    cancel();
    const { kind } = outcome;
    const isOffline = kind === 'lost' || kind === 'later';
    feed.setState(isOffline ? 'offline' : kind);
    if (kind === 'refused') return;
    if (kind === 'lost') losses++;
    const soon = backOff(attempt, ports.random());
    // Each call costs battery.
    const pause = attempt < 6 ? soon : Math.max(soon, seconds * (500 + 500 * ports.random()));
    const least = outcome.kind === 'later' ? outcome.seconds * 1_000 : 0;
    cancel = ports.after(
      isOffline ? Math.max(pause, least) : seconds * 1_000,
      () => void run(isOffline ? attempt + 1 : 0),
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
