/** Keeps the known state of a room, or of all rooms of a location, up to date. */
import { judge } from './answers.ts';
import { type Clock, makeClock, withNames } from './clock.ts';
import { callGraphql, keepPage, renewPage, reportHealth, version } from './device.ts';
import { make } from './dom.ts';
import { documents, type ReceivedFrame, type ShownRoom } from './frames.ts';
import { type LinkFeed, type LinkState, openLink, type Ports, type ServerLink } from './link.ts';
import type { Look } from './look.ts';
import { memory, pair, type Session, showCard } from './session.ts';

export type Watch = {
  clock: Clock;
  state: LinkState;
  /** By their ids, in the order of their names. */
  rooms: Map<string, ShownRoom>;
  mayBook: boolean;
  /** Whether it also shows other rooms. */
  hasOthers: boolean;
  look: Look;
  link: ServerLink | undefined;
};

const ports: Ports = {
  fetch: (address, init) => fetch(address, init),
  ticks: () => performance.now(),
  random: Math.random,
  after(milliseconds, run) {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};

export type Watching = {
  session: Session;
  kind: 'sign' | 'board';
  /** Called when something has changed. */
  changed(): void;
  /** Whether the page may be reloaded now. */
  isIdle(): boolean;
  /** E-paper: no stream, and calls as seldom as possible. */
  isPaper: boolean;
};

const noLook: Look = { colour: null, logo: null };
const keptForMs = 86_400_000;
/** Rarely, because flash memory wears out. */
const keepEveryMs = 300_000;

/** Reads what this version of the page has stored; empty if another has. */
function parseKept(text: string | null): { snapshot?: ShownRoom; ahead?: number } {
  try {
    const kept = JSON.parse(text ?? '{}');
    return kept.version === version() ? kept : {};
  } catch {
    return {};
  }
}

export function startWatch(watching: Watching): Watch {
  const { session, kind } = watching;
  const clock = makeClock(ports.ticks);
  const watch: Watch = {
    clock,
    state: 'connecting',
    rooms: new Map(),
    mayBook: false,
    hasOthers: false,
    look: noLook,
    link: undefined,
  };
  const storageKey = `roomgate ${session.tenant} ${kind} ${session.id}`;
  if (kind === 'sign' && session.token) recall();
  else memory.set(storageKey, null);
  /** The rooms that were sent over this connection: at its first heartbeat, all that are on the board. */
  let sent = new Set<string>();

  /** Restores the state from before the page was loaded, unless the device's clock contradicts it. */
  function recall(): void {
    const { snapshot, ahead } = parseKept(memory.get(storageKey));
    if (!snapshot || ahead === undefined) return;
    const now = Date.now() - ahead;
    if (now < snapshot.asOf || now > snapshot.asOf + keptForMs) {
      memory.set(storageKey, null);
      return;
    }
    clock.hear(now, 0);
    // The clock stops without power, so the room is not shown as free until the server answers.
    watch.rooms.set(session.id, { ...snapshot, trustUntil: snapshot.asOf });
  }

  let keptCursor = '';
  let keptAt = 0;
  function keep(): void {
    const snapshot = watch.rooms.get(session.id);
    if (kind !== 'sign' || !snapshot) return;
    if (snapshot.cursor === keptCursor && ports.ticks() < keptAt + keepEveryMs) return;
    keptCursor = snapshot.cursor;
    keptAt = ports.ticks();
    const ahead = Date.now() - (clock.now() ?? Date.now());
    memory.set(storageKey, JSON.stringify({ version: version(), snapshot, ahead }));
  }

  function take(frame: ReceivedFrame, first: boolean): boolean {
    const { rooms } = watch;
    if (first) sent = new Set();
    if (frame.kind === 'snapshot') {
      const { resource, timeZone, zoneOffsets } = frame.snapshot;
      const { id, locationId } = resource;
      if (kind === 'board' && locationId !== `location_${session.id}`) {
        rooms.delete(id);
        return true;
      }
      sent.add(id);
      rooms.set(id, { ...frame.snapshot, zoneOffsets: withNames(session.language, timeZone, zoneOffsets) });
      return true;
    }
    if (frame.kind === 'ended') return true;
    const { cursor, asOf, trustUntil } = frame;
    const known = rooms.get(session.id);
    if (kind === 'sign' && known?.cursor !== cursor) {
      // Without a cursor, all is sent again.
      if (known) rooms.set(session.id, { ...known, cursor: '' });
      return false;
    }
    for (const [id, room] of rooms) {
      if (kind === 'board' && !sent.has(id)) rooms.delete(id);
      else rooms.set(id, { ...room, asOf, trustUntil });
    }
    return true;
  }

  async function tell(): Promise<void> {
    const asked = ports.ticks();
    const response = await callGraphql(session, documents.device).catch(() => null);
    const { data } = response?.ok ? await response.json().catch(() => ({})) : { data: null };
    if (!data) return;
    clock.hear(Date.parse(data.serverTime), ports.ticks() - asked);
    const { thisDisplay } = data;
    watch.mayBook = Boolean(thisDisplay?.mayBook);
    watch.hasOthers = Boolean(thisDisplay && (thisDisplay.locationId || thisDisplay.resourceIds.length > 1));
    watch.look = thisDisplay?.look ?? noLook;
    watching.changed();
    const now = clock.now();
    if (thisDisplay && now !== undefined) await reportHealth(session, now, watch.link?.losses() ?? 0);
  }

  let isTold = false;
  /** Calls the server once it is back: at a random moment, but at once for a device that must learn its rights. */
  function comeBack(): void {
    setTimeout(() => void tell(), isTold ? Math.random() * 15_000 : 0);
    isTold = true;
    void renewPage(watching.isIdle);
    void keepPage();
  }

  /** Resolves when the token is refused. */
  async function follow(): Promise<void> {
    const paper = watching.isPaper ? await import('./paper.ts') : null;
    const isMissing = (init?: RequestInit) => showMissing(watching, () => watch.state === 'missing', init);
    await new Promise<void>((resolve) => {
      const feed: LinkFeed = {
        address: '../graphql',
        token: session.token ?? '',
        documents: documents[kind],
        variables: () =>
          kind === 'board'
            ? { id: session.id }
            : { id: session.id, after: watch.rooms.get(session.id)?.cursor || null },
        take(frame, slack, first) {
          const { serverTime } = frame.kind === 'snapshot' ? frame.snapshot : frame;
          clock.hear(serverTime, slack);
          const fits = take(frame, first);
          if (frame.kind === 'ended') isTold &&= frame.retryAfterSeconds !== 0;
          // Asked only now: had its rights changed again meanwhile, the new stream would have begun with its end.
          else if (first && !isTold && watch.state === 'live') comeBack();
          keep();
          watching.changed();
          return fits;
        },
        setState(state) {
          watch.state = state;
          if (state === 'refused') resolve();
          if (state === 'missing') isMissing().catch(() => {});
          if (state === 'live' || state === 'polling') {
            showCard(session, null);
            comeBack();
          }
          watching.changed();
        },
        isMissing: (signal) => isMissing({ signal }),
      };
      watch.link = paper
        ? paper.openPaperLink(ports, feed, (etag) =>
            session.ask(`${session.id}/snapshot`, etag ? { headers: { 'if-none-match': etag } } : {}),
          )
        : openLink(ports, feed);
    });
  }

  /** A device counts as unpaired only when REST refuses its token too. */
  async function isUnpaired(): Promise<boolean> {
    const response = await session.ask('self');
    return judge(response, await response.text()).kind === 'refused';
  }

  async function run(): Promise<never> {
    let why: string | null = null;
    for (;;) {
      if (!session.token) await pair(session, kind, why);
      if (watch.rooms.size) showCard(session, null);
      else showCard(session, { title: session.text.connecting, lines: [], key: 'connecting' });
      await follow();
      if (await isUnpaired().catch(() => false)) {
        session.token = null;
        memory.set(storageKey, null);
        watch.rooms.clear();
        isTold = false;
        why = session.text.unpaired;
      } else await new Promise((resolve) => setTimeout(resolve, 5_000 + Math.random() * 10_000));
    }
  }

  // Starts after the caller has received the watch.
  queueMicrotask(() => void run());
  // E-paper does this after each poll.
  setInterval(() => {
    if (watching.isPaper) return;
    if (watch.state !== 'live' && watch.state !== 'polling') return;
    void tell();
    void renewPage(watching.isIdle);
    void keepPage();
  }, 120_000);
  mind(watch);
  return watch;
}

/** Reacts to what the device reports about the network and its clock. */
function mind(watch: Watch): void {
  // These events come a little early.
  addEventListener('offline', () => setTimeout(() => watch.link?.drop(!navigator.onLine), 1_000));
  addEventListener('online', () => {
    // At random, so that not all signs of a house call at once.
    setTimeout(() => watch.link?.drop(), 200 + Math.random() * 2_000);
  });
  const aside = () => Date.now() - performance.now();
  let before = aside();
  setInterval(() => {
    const slept = aside() - before;
    before += slept;
    if (Math.abs(slept) < 3_000) return;
    // The device has slept, or its clock was set. Until the server answers, the greatest possible age is assumed.
    if (slept > 0) watch.clock.skip(slept);
    watch.link?.drop();
  }, 1_000);
}

/**
 * Goes to the only room that this device was given; otherwise shows links to those that it may show.
 * @returns whether it may certainly not show this page
 * @throws for the answer of a proxy that is JSON of another shape
 */
async function showMissing({ session, kind }: Watching, isStill: () => boolean, init?: RequestInit): Promise<boolean> {
  // A refusal names no rooms.
  const { resources, locationId }: { resources?: { id: number; name: string }[]; locationId?: number } = await session
    .ask('self', init)
    .then((response) => response.json())
    .catch(() => ({}));
  if (!isStill() || init?.signal?.aborted) return false;
  const links = (resources ?? []).map(({ id, name }) =>
    make('li', {}, make('a', { href: `../door-sign/${id}${location.search}` }, name)),
  );
  // The rooms of a location change by themselves, and that of this page may come back.
  const link = !locationId && !links[1] && links[0]?.querySelector('a');
  if (link && link.pathname !== location.pathname) {
    location.replace(link.href);
    return true;
  }
  showCard(session, {
    title: session.text.missing,
    lines: [make('p', {}, session.text.missingHow), make('ul', {}, ...links)],
    key: resources,
  });
  // The rooms of a board are not told from others.
  return resources?.every(({ id }) => kind === 'sign' && String(id) !== session.id) ?? false;
}
