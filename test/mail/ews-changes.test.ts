/** Exchange reports changes by ids: which requests follow, and that they suffice. Over the wire, with a copy of what was read. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { runNextBatch } from '../../src/lessons/service.ts';
import { openLog } from '../../src/log.ts';
import { mailFigures } from '../../src/mail/figures.ts';
import type { CalendarChanges, KnownItems, RemoteItem, Write, WrittenPlace } from '../../src/mail-servers/connector.ts';
import { openEws } from '../../src/mail-servers/ews.ts';
import { mergePages } from '../../src/mail-servers/pages.ts';
import { openDice } from '../_util/dice.ts';
import { lessonClient, makeJobs } from '../_util/lessons.ts';
import { seed, times } from '../_util/long.ts';
import { startGoBetween } from './_util/go-between.ts';
import { readAll } from './_util/in-steps.ts';
import { type MailServer, startMailServer } from './_util/mail-server.ts';
import { startExchangeThere } from './_util/there.ts';
import { openWritingDesk } from './_util/writing-desk.ts';

const [minute, hour, day] = [60_000, 3_600_000, 86_400_000];
const window = { start: new Date('2031-01-01T00:00:00Z'), end: new Date('2031-03-01T00:00:00Z') };

let server: MailServer;
let rooms = 0;
const leaving: (() => Promise<unknown>)[] = [];
beforeAll(async () => {
  server = await startMailServer();
});
afterAll(() => server.stop());
afterEach(async () => {
  for (const leave of leaving.splice(0).reverse()) await leave();
  await server.clearFaults();
});

async function openRoom() {
  const between = await startGoBetween(server.url);
  leaving.push(between.stop);
  const mailbox = `aula${++rooms}@rooms.test`;
  await server.addRoom(mailbox, { allowConflicts: true });
  const { user: User, password: Password } = server;
  const Url = `${between.url}/EWS/Exchange.asmx`;
  const connector = openEws({ Kind: 'Ews', Url, User, Password, PastDays: 1, FutureDays: 365 }, openLog('silent'));
  const calendar = { mailbox, address: null, timeZone: 'UTC' };
  const signal = () => AbortSignal.timeout(60_000);
  /** The items that were read, by group, and those that were written from here. */
  const groups = new Map<string, RemoteItem[]>();
  const written = new Map<string, string | null>();
  const places = new Map<number, WrittenPlace>();
  let cursor: string | null = null;

  const known: KnownItems = {
    written: async (ids) => new Map(ids.flatMap((id) => (written.has(id) ? [[id, written.get(id)!]] : []))),
    stored: async (ids, wanted) =>
      [...groups].flatMap(([group, items]) =>
        items
          .filter(({ id }) => ids.includes(id) || wanted.includes(group))
          .map(({ id, occurrence }) => ({ id, group, occurrence, isGone: false })),
      ),
    hasSeries: async () => [...groups.values()].flat().some(({ occurrence }) => occurrence !== ''),
  };

  return {
    mailbox,
    groups,
    written,
    places,
    /** Reads what has changed, takes it over, and says how many requests that took. */
    async read(): Promise<CalendarChanges & { requests: number }> {
      const before = between.counts.requests;
      const pages = [];
      for await (const page of connector.pages(calendar, { cursor, continuation: null, known }, window, signal()))
        pages.push(page);
      const changes: CalendarChanges = { ...pages.at(-1)!, ...mergePages(pages) };
      if (changes.whole) groups.clear();
      for (const gone of changes.removed)
        for (const [group, items] of groups) {
          const left = items.filter(({ id }) => id !== gone);
          if (left.length === 0 || group === gone) groups.delete(group);
          else groups.set(group, left);
        }
      for (const { id, items } of changes.groups) {
        // What lies outside of the window is not kept.
        const kept = items.filter(({ start, end }) => start < window.end && end > window.start);
        if (kept.length === 0) groups.delete(id);
        else groups.set(id, kept);
      }
      cursor = changes.cursor;
      return { ...changes, requests: between.counts.requests - before };
    },
    async whole(): Promise<RemoteItem[]> {
      const { groups: all } = await readAll(connector, calendar, null, window, signal());
      return all.flatMap(({ items }) => items);
    },
    async write(n: number, from: number): Promise<void> {
      const at = places.get(n);
      const [start, end] = [new Date(from), new Date(from + hour)];
      const item = { origin: `booking-${n}@school`, start, end, subject: `Ours ${n}`, isPrivate: false };
      const asked: Write = at ? { do: 'Change', item, at } : { do: 'Create', item };
      const [outcome] = await connector.writes!.write(calendar, [asked], signal());
      if (outcome?.is !== 'Done' || !outcome.at) return;
      places.set(n, outcome.at);
      written.set(outcome.at.id, outcome.at.changeKey);
    },
    async remove(n: number): Promise<void> {
      const at = places.get(n)!;
      await connector.writes!.write(calendar, [{ do: 'Remove', origin: `booking-${n}@school`, at }], signal());
      places.delete(n);
      written.delete(at.id);
    },
  };
}

const at = (days: number) => window.start.getTime() + days * day + 9 * hour;
const facts = (from: number, subject: string) => ({
  start: new Date(from).toISOString(),
  end: new Date(from + hour).toISOString(),
  subject,
});

describe('what Exchange tells', () => {
  test('of what was written from here is one request for all of it, and one more for what others did meanwhile', async () => {
    const there = await startExchangeThere(['r0']);
    leaving.push(there.stop);
    const between = await startGoBetween(there.url);
    leaving.push(between.stop);
    const desk = await openWritingDesk(there.settings(between.url), ['r0']);
    leaving.push(desk.close);
    await desk.admin.patch('/tenant', { Parameters: { CalendarWriting: 'Full' } });
    await desk.settle();
    const from = Math.ceil(Date.now() / day) * day + 7 * hour;
    const jobs = makeJobs(200, { rooms: ['r0'], perJob: 20, from });
    await lessonClient(desk.service, desk.user.token).post(jobs);
    await runNextBatch({ ...desk.work(), runner: 'desk' }, desk.tenant.mandatorId, 'short');
    await desk.settle();
    expect((await there.list('r0')).filter(({ mark }) => mark !== null)).toHaveLength(200);
    const readingOf = async () => {
      const before = between.counts.requests;
      await desk.tell();
      await desk.settle();
      return between.counts.requests - before;
    };
    await there.add('r0', {
      start: new Date(from + 12 * hour),
      end: new Date(from + 13 * hour),
      subject: 'Theirs',
      isPrivate: false,
      isBusy: true,
    });
    expect(await readingOf()).toBe(2);
    const { rows } = await sql`
      select subject from booking where kind = 'MailItem' and status in ('Confirmed', 'Tentative')`.execute(desk.db);
    expect(rows).toEqual([{ subject: 'Theirs' }]);
    expect(await readingOf()).toBe(1);
    const ours = (await there.list('r0')).find(({ mark }) => mark !== null)!;
    await there.remove('r0', ours);
    // The change, the item that is looked for, the item that is put back; then that is told.
    expect(await readingOf()).toBe(3);
    expect(await readingOf()).toBe(1);
    expect(await there.list('r0')).toHaveLength(201);
  });

  test('is nothing of an item that is deleted before any reading: it is put back', async () => {
    const there = await startExchangeThere(['r0']);
    leaving.push(there.stop);
    const desk = await openWritingDesk(there.settings(there.url), ['r0']);
    leaving.push(desk.close);
    await desk.admin.patch('/tenant', { Parameters: { CalendarWriting: 'Full' } });
    await desk.settle();
    const Start = new Date(Math.ceil(Date.now() / day) * day + 9 * hour);
    const times = { Start: Start.toISOString(), End: new Date(Start.getTime() + hour).toISOString() };
    const made = { ResourceId: desk.tenant.resources[0]!.id, Subject: 'Choir', ...times };
    await desk.user.post('/bookings', made);
    const [key] = await desk.keys();
    await desk.takeJobs();
    await desk.write(key!);
    const subjects = async () => (await there.list('r0')).map(({ subject }) => subject);
    expect(await subjects()).toEqual(['Choir']);
    await there.remove('r0', (await there.list('r0'))[0]!);
    await desk.tell();
    await desk.settle();
    expect(await subjects()).toEqual(['Choir']);
    expect((await mailFigures.roomgate_mail_writes.read(desk.db))['PutBack']).toBe(1);
  });

  test('is enough for appointments; series, and ids that may be of some, ask for a view of all', async () => {
    const room = await openRoom();
    const { mailbox, read, groups } = room;
    expect(await read()).toMatchObject({ whole: true, groups: [] });
    const one = await server.appoint(mailbox, facts(at(1), 'One'));
    const other = await server.appoint(mailbox, facts(at(2), 'Other'));
    for (let n = 0; n < 60; n += 1) await room.write(n, at(3) + n * minute);
    expect(await read()).toMatchObject({ whole: false, requests: 2, groups: [{}, {}] });
    await server.change(one.itemId!, { subject: 'Changed' });
    await server.remove(other.itemId!);
    expect(await read()).toMatchObject({ whole: false, requests: 2, removed: [other.itemId] });
    expect([...groups.values()].flat().map(({ subject }) => subject)).toEqual(['Changed']);
    // It moves out of the window, and back.
    for (const away of [at(400), at(4)]) {
      await server.change(one.itemId!, facts(away, 'Changed'));
      expect(await read()).toMatchObject({ whole: false, requests: 2 });
      expect(groups.size).toBe(away === at(4) ? 1 : 0);
    }
    await room.remove(0);
    expect(await read()).toMatchObject({ whole: false, requests: 1 });
    const copied = { ...facts(at(5), 'Copy'), uid: one.uid! };
    await server.appoint(mailbox, copied);
    expect((await read()).whole).toBe(true);
    const series = await server.appoint(mailbox, { ...facts(at(6), 'Series'), repeat: { every: 'day', count: 5 } });
    expect((await read()).whole).toBe(true);
    await server.change(series.itemId!, { subject: 'Moved', originalStart: new Date(at(7)).toISOString() });
    expect((await read()).whole).toBe(true);
    await server.remove(series.itemId!);
    expect((await read()).whole).toBe(true);
    expect([...groups.values()].flat().filter(({ occurrence }) => occurrence !== '')).toEqual([]);
    expect((await read()).requests).toBe(1);
  });

  test('is viewed when an item cannot be read by itself, and asked for again when the server is busy', async () => {
    const { mailbox, read, groups } = await openRoom();
    await read();
    await server.appoint(mailbox, facts(at(1), 'One'));
    await server.fault({ fault: 'busy', face: 'Ews', operation: 'GetItem' });
    await expect(read()).rejects.toMatchObject({ fault: 'Throttled' });
    expect(await read()).toMatchObject({ whole: false, groups: [{}] });
    expect(groups.size).toBe(1);
  });

  test(`leads to what a view of all finds, whatever people and this service do (TEST_SEED=${seed})`, async () => {
    const room = await openRoom();
    const { mailbox, groups, written } = room;
    const { below, oneOf, roll } = openDice(seed);
    const uids: string[] = [];
    let views = 0;
    const some = () => at(below(70) - 5) + below(8) * hour;
    const acts: Record<string, (n: number) => Promise<unknown>> = {
      async write(n) {
        await room.write(roll() < 0.5 || room.places.size === 0 ? n : oneOf([...room.places.keys()]), some());
      },
      async unwrite() {
        if (room.places.size > 0) await room.remove(oneOf([...room.places.keys()]));
      },
      async appoint(n) {
        const uid = uids.length > 0 && roll() < 0.1 ? { uid: oneOf(uids) } : {};
        const repeat = roll() < 0.1 ? { repeat: { every: 'week' as const, count: 1 + below(6) } } : {};
        const made = await server.appoint(mailbox, { ...facts(some(), `Theirs ${n}`), ...uid, ...repeat });
        uids.push(made.uid!);
      },
      async edit(n) {
        const all = await server.truth(mailbox);
        if (all.length === 0) return;
        const { itemId, originalStart } = oneOf(all);
        const which = originalStart ? { originalStart } : {};
        const change = roll() < 0.5 ? facts(some(), `Moved ${n}`) : { subject: `Edited ${n}` };
        if (roll() < 0.6) await server.change(itemId, { ...change, ...(roll() < 0.5 && which) });
        else if (roll() < 0.3) await server.cancel(itemId, (roll() < 0.5 && originalStart) || undefined);
        else await server.remove(itemId, (roll() < 0.5 && originalStart) || undefined, roll() < 0.5);
      },
    };
    const chosen = ['write', 'write', 'unwrite', 'appoint', 'appoint', 'edit', 'edit'] as const;
    const readings = times(40, 800);
    for (let n = 0; n < readings; n += 1) {
      for (let left = 1 + below(3); left > 0; left -= 1) await acts[oneOf(chosen)]!(10 * n + left);
      const { whole } = await room.read();
      if (whole) views += 1;
      const line = ({ id, uid, occurrence, start, end, subject, isCancelled, changeKey }: RemoteItem) =>
        JSON.stringify([id, uid, occurrence, start, end, subject, isCancelled, changeKey]);
      // What stands as it was written needs no reading; nor does it matter where it was read before.
      const isOurs = ({ id, changeKey, origin }: RemoteItem) => origin !== null && written.get(id) === changeKey;
      const expected = (await room.whole()).filter((item) => !isOurs(item)).map(line);
      const stored = [...groups.values()]
        .flat()
        .filter(({ id }) => !written.has(id) || expected.some((one) => one.includes(JSON.stringify(id))));
      expect(stored.map(line).toSorted()).toEqual(expected.toSorted());
    }
    expect(views).toBeLessThan(readings);
  });
});
