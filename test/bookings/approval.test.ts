import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import type { DecisionVerdict, NewBooking, Scope } from '../../src/bookings/booking.ts';
import {
  cancelBooking,
  changeBooking,
  checkIn,
  decideBooking,
  declineOverdue,
  extendBooking,
  listBookings,
  releaseBooking,
} from '../../src/bookings/service.ts';
import type { Viewer } from '../../src/context.ts';
import { at, openFrontDesk } from '../_util/front-desk.ts';
import { times } from '../_util/long.ts';

let desk: Awaited<ReturnType<typeof openFrontDesk>>;
let school: Awaited<ReturnType<typeof desk.openTenant>>;
let decider: Viewer;
let trusted: Viewer;
beforeAll(async () => {
  desk = await openFrontDesk();
  school = await desk.openTenant(['A', 'B', 'free']);
  const [deciders, skippers] = [await school.makeGroup('Deciders'), await school.makeGroup('Trusted')];
  decider = { ...school.colleague, groupIds: [deciders] };
  trusted = { ...school.colleague, groupIds: [skippers] };
  await school.setPolicy(['A', 'B'], {
    needs_approval: true,
    may_decide: [deciders],
    may_skip_approval: [skippers],
  });
  await school.setCheckIn('A', 30);
});
afterAll(() => desk.close());

let day = 0;
const nextWeek = () => {
  day += 7;
};
const hours = (from: number, to: number, days = 0) => ({ start: at(day + days, from), end: at(day + days, to) });

const decide = (
  id: number,
  verdict: DecisionVerdict,
  {
    by = decider,
    version = undefined as number | undefined,
    reason = null as string | null,
    scope = 'This' as Scope,
  } = {},
) =>
  decideBooking(desk.db, { viewer: by, requestId: 'r' }, id, version === undefined ? undefined : [version], {
    verdict,
    reason,
    scope,
  });
const change = (id: number, changes: object, viewer = school.user, scope: Scope = 'This') =>
  changeBooking(desk.db, viewer, id, undefined, changes, { scope, conflictHandling: 'Fail' });
const cancel = (id: number, viewer = school.user, scope: Scope = 'This') =>
  cancelBooking(desk.db, viewer, id, undefined, scope);
const request = (wanted: Partial<NewBooking> = {}) => school.book({ ...hours(9, 10), ...wanted });
const audited = async (id: number) =>
  (
    await sql<{ action: string }>`select action from audit where subject_id = ${id} order by id`.execute(desk.db)
  ).rows.map(({ action }) => action);

describe('a booking of a room whose policy wants approval', () => {
  test('is Requested for whoever may not book without, and nobody checks it in, releases or confirms it', async () => {
    nextWeek();
    const made = await request({ isPrivate: true });
    expect(made).toMatchObject({ status: 'Requested', checkIn: null, decision: null, version: 1 });
    for (const act of [checkIn, releaseBooking])
      await expect(act(desk.db, school.user, made.id)).rejects.toThrow('waits for approval');
    await expect(change(made.id, { status: 'Confirmed' })).rejects.toMatchObject({ code: 'Conflict' });
    await expect(change(made.id, { status: 'Confirmed' }, school.admin)).rejects.toThrow('waits for approval');
    // It occupies its room.
    await expect(school.book(hours(9, 10), school.admin)).rejects.toMatchObject({
      conflicts: [{ bookingId: made.id, subject: 'Sitzung' }],
    });
  });

  test.each([
    ['an Admin', () => school.admin],
    ['a group that need not ask', () => trusted],
    ['a group that decides', () => decider],
  ])('is Confirmed for %s', async (_who, viewer) => {
    nextWeek();
    expect(await school.book(hours(9, 10), viewer())).toMatchObject({ status: 'Confirmed', decision: null });
  });

  test('is Confirmed by an approval, with its check-in, and audited; again changes nothing', async () => {
    nextWeek();
    const { id } = await request({ status: 'Tentative' });
    const { personId, displayName } = decider;
    const approved = await decide(id, 'Approved', { version: 1, reason: 'Viel Erfolg' });
    expect(approved).toMatchObject({
      status: 'Confirmed',
      version: 2,
      checkIn: { from: at(day, 8.75), until: at(day, 9.5), checkedInAt: null },
      decision: { verdict: 'Approved', at: expect.any(Date), by: { personId, displayName }, reason: 'Viel Erfolg' },
    });
    expect(await decide(id, 'Approved', { version: 1 })).toEqual(approved);
    expect(await audited(id)).toEqual(['approve booking']);
    await expect(decide(id, 'Declined')).rejects.toThrow('does not wait for approval');
    await expect(decide(id, 'Approved', { by: school.admin, version: 2 })).rejects.toThrow(
      'does not wait for approval',
    );
  });

  test('is Declined by a decision, which is final and frees the room', async () => {
    nextWeek();
    const { id } = await request();
    const declined = await decide(id, 'Declined', { by: school.admin, version: 1, reason: 'Umbau' });
    expect(declined).toMatchObject({
      status: 'Declined',
      version: 2,
      decision: { verdict: 'Declined', reason: 'Umbau' },
    });
    expect(await decide(id, 'Declined', { by: school.admin })).toEqual(declined);
    for (const act of [
      cancel(id),
      change(id, { subject: 'X' }),
      checkIn(desk.db, school.user, id),
      decide(id, 'Approved'),
    ])
      await expect(act).rejects.toThrow('is declined');
    expect((await request()).status).toBe('Requested');
    expect(await audited(id)).toEqual(['decline booking']);
  });

  test('is decided about by Admins and the groups of the policy alone, in the version that they have read', async () => {
    nextWeek();
    const { id } = await request();
    for (const by of [school.user, school.colleague, trusted])
      await expect(decide(id, 'Approved', { by })).rejects.toMatchObject({ code: 'Forbidden' });
    await expect(decide(id, 'Approved', { version: 2 })).rejects.toMatchObject({ code: 'PreconditionFailed' });
    await expect(decide(id, 'Approved', { by: school.display })).rejects.toMatchObject({ code: 'Forbidden' });
    const other = await desk.openTenant();
    await expect(decide(id, 'Approved', { by: other.admin })).rejects.toMatchObject({ code: 'NotFound' });
    const { id: confirmed } = await school.book({ ...hours(9, 10), resourceId: school.roomId('free') });
    await expect(decide(confirmed, 'Approved')).rejects.toMatchObject({ code: 'Forbidden' });
    await expect(decide(confirmed, 'Approved', { by: school.admin })).rejects.toThrow('does not wait for approval');
    expect(await cancel(id)).toMatchObject({ status: 'Cancelled', decision: null });
    await expect(decide(id, 'Approved')).rejects.toThrow('is cancelled');
  });

  test('shows its private content to whoever decides, and to no other', async () => {
    nextWeek();
    const { id } = await request({ isPrivate: true, subject: 'Geheim' });
    const read = async (viewer: Viewer) =>
      (
        await listBookings(
          desk.db,
          viewer,
          { from: at(day, 0), to: at(day, 24), resourceId: [school.roomId('A')] },
          { limit: 9, after: undefined },
        )
      ).items.map(({ subject, decision }) => [subject, decision?.verdict]);
    expect(await read(decider)).toEqual([['Geheim', undefined]]);
    expect(await read(trusted)).toEqual([['Belegt', undefined]]);
    expect(await decide(id, 'Approved')).toMatchObject({ subject: 'Geheim', decision: { verdict: 'Approved' } });
    expect(await read({ ...trusted, personId: school.admin.personId })).toEqual([['Belegt', undefined]]);
  });
});

describe('a change', () => {
  test('of what a booking occupies needs approval again; of its text, or of less, it does not', async () => {
    nextWeek();
    const { id } = await request();
    await decide(id, 'Approved');
    expect(await change(id, { subject: 'Anders' })).toMatchObject({ status: 'Confirmed', version: 3 });
    expect(await change(id, { end: at(day, 9.5) })).toMatchObject({ status: 'Confirmed', version: 4 });
    const later = await change(id, { end: at(day, 10) });
    expect(later).toMatchObject({ status: 'Requested', decision: null, checkIn: null, version: 5 });
    await decide(id, 'Approved', { version: 5 });
    expect(await change(id, { resourceId: school.roomId('B') })).toMatchObject({ status: 'Requested', version: 7 });
    await decide(id, 'Approved', { version: 7 });
    // What an Admin moves is moved with approval; what waits goes on waiting.
    expect(await change(id, { start: at(day, 11), end: at(day, 12) }, school.admin)).toMatchObject({
      status: 'Confirmed',
    });
    expect(await extendBooking(desk.db, school.user, id, undefined, 30)).toMatchObject({ status: 'Requested' });
    expect(await change(id, { start: at(day, 13), end: at(day, 14) }, school.admin)).toMatchObject({
      status: 'Requested',
    });
    // To a room without the policy, too.
    expect(await change(id, { resourceId: school.roomId('free') })).toMatchObject({ status: 'Requested' });
  });

  test('into a room that wants approval needs it; one that has begun cannot wait for it', async () => {
    nextWeek();
    const { id } = await school.book({ ...hours(9, 10), resourceId: school.roomId('free') });
    expect(await change(id, { resourceId: school.roomId('B') })).toMatchObject({ status: 'Requested' });
    await decide(id, 'Approved');
    await school.shift(id, { from: -30, to: 30 });
    await expect(extendBooking(desk.db, school.user, id, undefined, 15)).rejects.toMatchObject({
      errors: [{ field: 'Start', code: 'TooSoon' }],
    });
    const start = new Date(Date.now() - 60_000);
    const end = new Date(Date.now() + 3_600_000);
    await expect(request({ start, end })).rejects.toMatchObject({ errors: [{ field: 'Start', code: 'TooSoon' }] });
    await cancel(id, school.admin);
  });

  test('that takes more setup or teardown is refused while an approved booking is on; one that takes less needs no approval', async () => {
    nextWeek();
    const { id } = await request({ teardownMinutes: 10 });
    await decide(id, 'Approved');
    await school.shift(id, { from: -10, to: 60, checkIn: [-25, 20] });
    await checkIn(desk.db, school.user, id);
    const before = await school.read(id);
    for (const more of [{ teardownMinutes: 15 }, { setupMinutes: 5 }])
      await expect(change(id, more)).rejects.toMatchObject({ errors: [{ field: 'Start', code: 'TooSoon' }] });
    expect(await school.read(id)).toEqual(before);
    const kept = { status: 'Confirmed', decision: before.decision, checkIn: before.checkIn };
    expect(await change(id, { teardownMinutes: 5 })).toMatchObject(kept);
    const end = new Date(before.end.getTime() - 5 * 60_000);
    expect(await change(id, { end })).toMatchObject({ ...kept, end });
    expect(await change(id, { teardownMinutes: 15 }, school.admin)).toMatchObject(kept);
    await cancel(id, school.admin);
  });
});

describe('of a series', () => {
  const rule = { recurrenceRule: 'FREQ=DAILY;COUNT=4' };
  const statusesOf = async (ids: readonly number[]) =>
    (await Promise.all(ids.map((id) => school.read(id)))).map(({ status }) => status);

  test('one, the following, or all are decided about; the rest waits', async () => {
    nextWeek();
    const ids = (await school.series({ ...hours(9, 10), ...rule })).map(({ id }) => id);
    expect(await statusesOf(ids)).toEqual(['Requested', 'Requested', 'Requested', 'Requested']);
    await decide(ids[0]!, 'Approved');
    expect(await statusesOf(ids)).toEqual(['Confirmed', 'Requested', 'Requested', 'Requested']);
    await decide(ids[2]!, 'Declined', { scope: 'Following' });
    expect(await statusesOf(ids)).toEqual(['Confirmed', 'Requested', 'Declined', 'Declined']);
    await decide(ids[1]!, 'Approved', { scope: 'All' });
    expect(await statusesOf(ids)).toEqual(['Confirmed', 'Confirmed', 'Declined', 'Declined']);
    await change(ids[0]!, { start: at(day, 8) }, school.user, 'All');
    expect(await statusesOf(ids)).toEqual(['Requested', 'Requested', 'Declined', 'Declined']);
    await cancel(ids[1]!, school.user, 'All');
    expect(await statusesOf(ids)).toEqual(['Cancelled', 'Cancelled', 'Declined', 'Declined']);
    expect(await audited(ids[3]!)).toEqual(['decline booking']);
  });
});

describe('the requests to decide', () => {
  test('are those of the rooms about which the viewer decides, of any time', async () => {
    nextWeek();
    const tenant = await desk.openTenant(['A', 'B', 'C']);
    const [one, two] = [await tenant.makeGroup('one'), await tenant.makeGroup('two')];
    await tenant.setPolicy(['A'], { needs_approval: true, may_decide: [one] });
    await tenant.setPolicy(['B'], { needs_approval: true, may_decide: [one, two] });
    const ids: Record<string, number> = {};
    for (const room of ['A', 'B', 'C'])
      ids[room] = (await tenant.book({ ...hours(9, 10, 100), resourceId: tenant.roomId(room) })).id;
    const list = async (viewer: Viewer, more: object = {}) =>
      (await listBookings(desk.db, viewer, { toDecide: true, ...more }, { limit: 9, after: undefined })).items.map(
        ({ id }) => Object.keys(ids).find((room) => ids[room] === id),
      );
    const of = (...groupIds: number[]) => ({ ...tenant.colleague, groupIds });
    expect(await list(tenant.admin)).toEqual(['A', 'B']);
    expect(await list(of(one))).toEqual(['A', 'B']);
    expect(await list(of(two))).toEqual(['B']);
    expect(await list(of())).toEqual([]);
    expect(await list(of(one), { resourceId: [tenant.roomId('A')] })).toEqual(['A']);
    expect(await list(of(one), { from: at(day, 0), to: at(day, 24) })).toEqual([]);
    const ofStatus = async (status: 'Requested' | 'Tentative' | 'Declined' | 'Cancelled') =>
      (
        await listBookings(
          desk.db,
          tenant.user,
          { from: at(day + 99, 0), to: at(day + 101, 0), status: [status] },
          { limit: 9, after: undefined },
        )
      ).items.length;
    expect([await ofStatus('Requested'), await ofStatus('Tentative')]).toEqual([2, 0]);
    await decideBooking(desk.db, { viewer: of(one), requestId: 'r' }, ids['A']!, [1], {
      verdict: 'Declined',
      reason: null,
      scope: 'This',
    });
    expect([await ofStatus('Declined'), await ofStatus('Cancelled')]).toEqual([1, 0]);
    expect(await list(tenant.admin)).toEqual(['B']);
  });

  test('that are undecided at their start, without setup, are declined, and can no longer be approved', async () => {
    nextWeek();
    const [late, early] = [await request(), await request({ ...hours(11, 12), setupMinutes: 60 })];
    await school.shift(late.id, { from: 0, to: 60 });
    await school.shift(early.id, { from: 70, to: 150 });
    await expect(decide(late.id, 'Approved')).rejects.toThrow('would have begun');
    await declineOverdue(desk.db);
    expect(await school.read(late.id)).toMatchObject({
      status: 'Declined',
      version: 2,
      decision: { verdict: 'Declined', by: null, reason: 'Nobody decided about it before it began.' },
    });
    expect(await school.read(early.id)).toMatchObject({ status: 'Requested', version: 1 });
    await cancel(early.id);
  });
});

describe('at the same time', () => {
  const outcome = async (act: Promise<{ status: string }>) =>
    act.then(
      ({ status }) => status,
      ({ code }: { code: string }) => code,
    );

  test.each(['Approved', 'Declined'] as const)(
    'a decision (%s) and a cancellation of one version end in one of the two',
    async (verdict) => {
      nextWeek();
      const pairs = times(24, 400);
      for (let round = 0; round * 24 < pairs; round++) {
        const made = await school.series({
          ...hours(0, 0.5),
          resourceId: school.roomId('B'),
          recurrenceRule: `FREQ=DAILY;COUNT=24`,
        });
        const outcomes = await Promise.all(
          made.flatMap(({ id }, index) => {
            const acts = [
              () => decide(id, verdict, { version: 1 }),
              () => cancelBooking(desk.db, school.user, id, [1], 'This'),
            ];
            const order = index % 2 ? acts : acts.toReversed();
            return [Promise.all([...order.map((act) => outcome(act())), Promise.resolve(id)])];
          }),
        );
        for (const [one, other, id] of outcomes) {
          const { status, version } = await school.read(id as number);
          const said = [one, other].filter((result) => result !== 'PreconditionFailed' && result !== 'Conflict');
          expect([status, version, said]).toEqual([said[0], 2, [said[0]]]);
        }
        await sql`update booking set status = 'Cancelled' where series_id = ${made[0]!.seriesId}`.execute(desk.db);
      }
    },
  );

  test('the end of the time to decide and an approval end in one of the two', async () => {
    nextWeek();
    const made = await school.series({ ...hours(0, 0.5), recurrenceRule: 'FREQ=DAILY;COUNT=10' });
    // Half of them have begun.
    for (const [index, { id }] of made.entries())
      await school.shift(id, {
        from: index % 2 ? -5 - index * 60 : 5 + index * 60,
        to: index % 2 ? 30 - index * 60 : 30 + index * 60,
      });
    const results = await Promise.all([
      declineOverdue(desk.db),
      ...made.map(({ id }) => outcome(decide(id, 'Approved'))),
    ]);
    await declineOverdue(desk.db);
    for (const [index, { id }] of made.entries()) {
      expect((await school.read(id)).status).toBe(index % 2 ? 'Declined' : 'Confirmed');
      expect(results[index + 1]).toBe(index % 2 ? 'Conflict' : 'Confirmed');
    }
  });
});
