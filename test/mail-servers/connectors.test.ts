/** Each connector reads from a mail server of its kind what the server's own ledger says. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import type { MailServerSettings } from '../../src/config.ts';
import { openLog } from '../../src/log.ts';
import type { CalendarChanges, Connector, RemoteItem } from '../../src/mail-servers/connector.ts';
import { mergePages } from '../../src/mail-servers/pages.ts';
import { openConnectors } from '../../src/mail-servers/service.ts';
import { faultOf } from '../mail/_util/fault-of.ts';
import { readAll, readInSteps } from '../mail/_util/in-steps.ts';
import { exchangeReply, startListener } from '../mail/_util/listener.ts';
import { type MailServer, startMailServer } from '../mail/_util/mail-server.ts';
import type { Truth } from '../mail/simulator/ledger.ts';

const window = { start: new Date('2026-12-01T00:00:00Z'), end: new Date('2027-03-01T00:00:00Z') };
const soon = () => AbortSignal.timeout(60_000);
const log = openLog('silent');

let server: MailServer;
let rooms = 0;
let room: { mailbox: string; address: null };
beforeAll(async () => {
  server = await startMailServer();
});
afterAll(() => server.stop());
beforeEach(async () => {
  room = { mailbox: `room${++rooms}@contoso.test`, address: null };
  await server.addRoom(room.mailbox, { allowConflicts: true });
});
afterEach(() => server.clearFaults());

function settingsOf(kind: 'Ews' | 'Graph'): MailServerSettings {
  const { ews, graph, token, user, password, clientId, clientSecret } = server;
  const way =
    kind === 'Ews'
      ? { Url: ews, User: user, Password: password }
      : { Url: graph, TokenUrl: token, ClientId: clientId, ClientSecret: clientSecret };
  return { Kind: kind, ...way, PastDays: 1, FutureDays: 365 } as MailServerSettings;
}

/** All that is known of a calendar, as readings tell it: nothing but what is told with them. */
function openKnowledge(connector: Connector) {
  let groups = new Map<string, readonly RemoteItem[]>();
  let cursor: string | null = null;
  function take({ whole, groups: told, removed }: CalendarChanges): void {
    if (whole) groups = new Map();
    for (const id of removed) {
      groups.delete(id);
      for (const [group, items] of groups)
        groups.set(
          group,
          items.filter((item) => item.id !== id),
        );
    }
    for (const group of told) {
      expect(group.unreadable).toBeUndefined();
      groups.set(group.id, group.items);
    }
  }
  return {
    async read(): Promise<CalendarChanges> {
      const changes = await readAll(connector, room, cursor, window, soon());
      take(changes);
      cursor = changes.cursor;
      return changes;
    },
    items: () =>
      [...groups.values()].flat().toSorted((a, b) => a.start.getTime() - b.start.getTime() || (a.id < b.id ? -1 : 1)),
    forget: () => (cursor = null),
  };
}

const responses = {
  accepted: 'Accepted',
  tentative: 'Tentative',
  declined: 'Declined',
  none: 'None',
  organizer: 'Organizer',
};

/** An item as it should be read. */
const itemOf = (truth: Truth) => ({
  id: truth.id,
  occurrence: truth.originalStart ?? '',
  uid: truth.uid,
  start: new Date(truth.start),
  end: new Date(truth.end),
  days: truth.days,
  subject: truth.subject || null,
  organizer: truth.organizer ?? { name: room.mailbox.split('@')[0], email: room.mailbox },
  isPrivate: ['private', 'confidential'].includes(truth.sensitivity),
  isCancelled: truth.isCancelled,
  response: responses[truth.answer],
  shownAs: truth.shownAs === 'free' ? 'Free' : truth.shownAs === 'tentative' ? 'Tentative' : 'Busy',
});
async function expectTruth(items: RemoteItem[]): Promise<void> {
  const truth = await server.truth(room.mailbox, window.start, window.end);
  // Whole days have no instants in Graph.
  const told = items.map(({ changedAt: _, origin: __, changeKey: ___, start, end, days, ...others }) => ({
    ...others,
    days,
    ...(!days && { start, end }),
  }));
  const wanted = truth
    .map(itemOf)
    .map(({ start, end, days, ...others }) => ({ ...others, days, ...(!days && { start, end }) }));
  const byId = (one: { id: string }, other: { id: string }) => (one.id < other.id ? -1 : 1);
  expect(told.toSorted(byId)).toEqual(wanted.toSorted(byId));
}

/** The same for the same seed. */
function openDice(seed: number) {
  let state = seed;
  const roll = () => (state = (Math.imul(state, 1_103_515_245) + 12_345) & 0x7fffffff) / 0x80000000;
  return {
    below: (most: number) => Math.floor(roll() * most),
    of: <Value>(values: readonly Value[]): Value => values[Math.floor(roll() * values.length)]!,
  };
}

describe.each(['Ews', 'Graph'] as const)('%s', (kind) => {
  let connector: Connector;
  let knowledge: ReturnType<typeof openKnowledge>;
  beforeEach(() => {
    connector = openConnectors({ log })(settingsOf(kind));
    knowledge = openKnowledge(connector);
  });

  test('appointments, series with exceptions, whole days and all that they say', async () => {
    const appoint = (start: string, end: string, more: object = {}) =>
      server.appoint(room.mailbox, { start, end, subject: 'Choir', ...more });
    await appoint('2026-12-07T09:00', '2026-12-07T10:00');
    await appoint('2026-12-08T09:00', '2026-12-08T10:00', {
      subject: '<"Räume" & 🎻>',
      sensitivity: 'private',
    });
    await appoint('2026-12-09T09:00', '2026-12-09T10:00', { shownAs: 'free', organizer: null });
    await appoint('2026-12-24', '2026-12-26', { isWholeDay: true, zone: 'America/New_York' });
    await appoint('2026-12-28', '2026-12-29', { isWholeDay: true });
    await appoint('2026-11-30T23:30', '2026-12-01T02:00', { shownAs: 'oof' });
    const repeat = { every: 'week', count: 20 };
    const { itemId } = await appoint('2026-11-18T13:00', '2026-11-18T14:00', { repeat });
    await server.change(itemId!, {
      originalStart: '2026-12-09T13:00',
      start: '2026-12-10T08:00',
      end: '2026-12-10T09:30',
    });
    await server.change(itemId!, { originalStart: '2026-12-16T13:00', subject: 'Rehearsal' });
    await server.remove(itemId!, '2026-12-23T13:00');
    await server.cancel(itemId!, '2026-12-30T13:00');
    expect(await knowledge.read()).toMatchObject({ whole: true });
    await expectTruth(knowledge.items());
    expect(knowledge.items().filter(({ occurrence }) => occurrence !== '')).toHaveLength(12);
    expect(await knowledge.read()).toMatchObject({ whole: false, groups: [], removed: [] });
  });

  test('page by page, by another process each time, it is the same, and what changes meanwhile is read by the next', async () => {
    const at = (day: number, hour: number) => new Date(Date.UTC(2026, 11, 1 + day, hour)).toISOString();
    const appoint = (day: number, hour: number, more: object = {}) =>
      server.appoint(room.mailbox, {
        start: at(day, hour),
        end: at(day, hour + 1),
        subject: 'Choir',
        ...more,
      });
    for (let day = 0; day < 85; day += 5) await appoint(day, 12);
    // One that lies in two slices, and more series than are read one by one.
    await server.appoint(room.mailbox, { start: at(20, 1), end: at(70, 1), subject: 'Works' });
    for (let series = 0; series < 9; series++) await appoint(series, 14, { repeat: { every: 'week', count: 12 } });
    const open = () => openConnectors({ log })(settingsOf(kind));
    const { steps, faults, ...inSteps } = await readInSteps(open, room, { window });
    const atOnce = await readAll(open(), room, null, window, soon());
    expect(inSteps).toEqual({ ...atOnce, cursor: inSteps.cursor });
    expect([steps > 3, faults]).toEqual([true, []]);
    const changing = await readInSteps(open, room, {
      window,
      between: (step) => (step === 2 || step === 4 ? appoint(step, 18) : undefined),
    });
    const { cursor, groups } = changing;
    const next = await readAll(open(), room, cursor, window, soon());
    const known = next.whole ? next.groups : mergePages([{ groups, removed: [] }, next]).groups;
    await expectTruth(known.flatMap(({ items }) => items));
  });

  test('after any changes the known content equals the true one', async () => {
    const dice = openDice(kind === 'Ews' ? 11 : 12);
    const appointments: { itemId: string; starts: string[] }[] = [];
    const at = (day: number, hour: number) => new Date(Date.UTC(2026, 11, 1 + day, hour)).toISOString();
    const times = () => {
      const [day, hour] = [dice.below(95), dice.below(22)];
      return { start: at(day, hour), end: at(day, hour + 1) };
    };
    const add = async (more: object = {}) => {
      const { itemId } = await server.appoint(room.mailbox, { ...times(), subject: 'New', ...more });
      const truth = await server.truth(room.mailbox);
      const starts = truth.filter((one) => one.itemId === itemId).flatMap(({ originalStart }) => originalStart ?? []);
      appointments.push({ itemId: itemId!, starts });
    };
    const some = () => dice.of(appointments);
    const edits: (() => Promise<unknown>)[] = [
      () => add(),
      () => add({ repeat: { every: 'day', count: 1 + dice.below(12) } }),
      () => add({ repeat: { every: 'week', count: 30 }, sensitivity: 'confidential' }),
      () => server.change(some().itemId, { subject: `Edited ${dice.below(1_000)}` }),
      () => server.change(some().itemId, { ...times() }),
      () => {
        const { itemId, starts } = some();
        return starts.length > 0 ? server.change(itemId, { originalStart: dice.of(starts), ...times() }) : add();
      },
      () => {
        const { itemId, starts } = some();
        return starts.length > 0 ? server.remove(itemId, dice.of(starts)) : add();
      },
      () => server.cancel(some().itemId),
      async () => {
        const gone = some();
        await server.remove(gone.itemId, undefined, dice.below(2) === 0);
        appointments.splice(appointments.indexOf(gone), 1);
        if (appointments.length === 0) await add();
      },
    ];
    await add();
    await server.options({ silentRemovals: 0.5 });
    for (let readings = 0; readings < (kind === 'Ews' ? 12 : 40); readings += 1) {
      if (readings % 10 === 9) await server.options({ deltaMasters: readings % 20 === 9 });
      for (let count = dice.of([1, 1, 2, 5, 15]); count > 0; count -= 1) await dice.of(edits)();
      await knowledge.read();
      await expectTruth(knowledge.items());
    }
  });

  test('more than a server gives at once', async () => {
    for (const hour of [0, 4, 8, 12, 16, 20])
      await server.appoint(room.mailbox, {
        start: `2026-11-01T${String(hour).padStart(2, '0')}:00`,
        end: `2026-11-01T${String(hour + 1).padStart(2, '0')}:00`,
        repeat: { every: 'day', count: 150 },
      });
    for (let count = 0; count < 5; count += 1)
      await server.appoint(room.mailbox, {
        start: '2026-12-02T01:00',
        end: '2026-12-02T02:00',
        repeat: { every: 'week' },
      });
    await knowledge.read();
    expect(knowledge.items().length).toBeGreaterThan(500);
    await expectTruth(knowledge.items());
  });

  test('a state that the server has lost is told, and all is read anew', async () => {
    await server.appoint(room.mailbox, { start: '2026-12-07T09:00', end: '2026-12-07T10:00' });
    await knowledge.read();
    await server.loseState();
    expect((await faultOf(knowledge.read())).fault).toBe('StateLost');
    knowledge.forget();
    expect(await knowledge.read()).toMatchObject({ whole: true });
    await expectTruth(knowledge.items());
  });

  test('a busy server, one that is away, and a mailbox that is closed', async () => {
    const face = kind;
    await knowledge.read();
    await server.chances({ retryAfterSeconds: 7 });
    await server.fault({ fault: 'busy', face });
    const { fault, retryAt } = await faultOf(knowledge.read());
    const wait = (retryAt?.getTime() ?? 0) - Date.now();
    expect([fault, wait > 5_000 && wait <= 7_000]).toEqual(['Throttled', true]);
    await server.fault({ fault: 'unavailable', face });
    expect((await faultOf(knowledge.read())).fault).toMatch(/Throttled|Unreachable/);
    await server.fault({ fault: 'reset', face });
    expect((await faultOf(knowledge.read())).fault).toBe('Unreachable');
    await server.setRoom(room.mailbox, { isAccessible: false });
    expect((await faultOf(knowledge.read())).fault).toBe('AccessLost');
    await server.setRoom(room.mailbox, { isAccessible: true });
    await expect(knowledge.read()).resolves.toMatchObject({ whole: false });
    const unknown = { mailbox: 'nobody@contoso.test', address: null };
    expect((await faultOf(readAll(connector, unknown, null, window, soon()))).fault).toBe('AccessLost');
  });

  test('a subscription is granted, pushes, and ends as its kind does', async () => {
    const listener = await startListener(({ url }) => {
      const token = new URL(url, 'http://localhost').searchParams.get('validationToken');
      if (token !== null) return { status: 200, type: 'text/plain', body: token };
      return kind === 'Ews' ? exchangeReply('OK') : { status: 202 };
    });
    try {
      const { subscribe, renew, probe, list, end } = connector.subscriptions!;
      const terms = { callback: `${listener.url}?a=1&k=7.x`, clientState: '7.state', heartbeatMinutes: 10 };
      const { externalId, expiresAt } = await subscribe(room, terms, soon());
      const [held] = (await server.subscriptions()).filter(({ mailbox }) => mailbox === room.mailbox);
      expect(held).toMatchObject({ face: kind, id: externalId, url: terms.callback });
      listener.heard.length = 0;
      await server.appoint(room.mailbox, { start: '2026-12-07T09:00', end: '2026-12-07T10:00' });
      await server.quiesce({ advance: true });
      expect(listener.heard.map(({ body }) => body).join('')).toContain(externalId);
      if (kind === 'Ews') {
        expect([held!.statusMinutes, expiresAt, renew, probe, list, end]).toEqual([10, ...Array(5).fill(null)]);
        return;
      }
      expect(listener.heard.map(({ body }) => body).join('')).toContain('7.state');
      expect(expiresAt!.toISOString()).toBe(new Date(held!.expiresAt!).toISOString());
      expect(await list!(soon())).toContainEqual({ externalId, callback: terms.callback });
      expect(await probe!(externalId, soon())).toBe('Alive');
      expect(await renew!(externalId, soon())).toEqual({ expiresAt: expect.any(Date) });
      await end!(externalId, soon());
      await end!(externalId, soon());
      expect([await probe!(externalId, soon()), await renew!(externalId, soon())]).toEqual(['Gone', 'Gone']);
    } finally {
      listener.stop();
    }
  });

  test('wrong credentials are reported as such', async () => {
    connector = openConnectors({ log })({ ...settingsOf(kind), Password: 'wrong', ClientSecret: 'wrong' });
    const { fault, message } = await faultOf(readAll(connector, room, null, window, soon()));
    expect(fault).toBe('AccessLost');
    expect(message).not.toContain('wrong');
  });
});

test('a callback that does not answer is granted no subscription of Graph', async () => {
  const listener = await startListener(() => ({ status: 200, type: 'text/plain', body: 'another token' }));
  const { subscriptions } = openConnectors({ log })(settingsOf('Graph'));
  const terms = { callback: `${listener.url}?k=7.x`, clientState: '7.state', heartbeatMinutes: 10 };
  const { fault, message } = await faultOf(subscriptions!.subscribe(room, terms, soon()));
  expect([fault, message]).toEqual(['Unreadable', expect.stringContaining('can Graph reach the callback')]);
  listener.stop();
});
