/** The example of a front end, against a real server: Apollo Client with its default cache, typed by the served schema. */

import { afterAll, beforeAll, expect, jest, test } from '@jest/globals';
import type { Client } from '../../examples/front-end/client.ts';
import { createPin, revokePin } from '../../src/identity/service.ts';
import { ahead } from '../_util/ahead.ts';
import { layCable } from '../_util/cable.ts';
import { freePort } from '../_util/free-port.ts';
import { pepper } from '../_util/pepper.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

// One after the other: Jest cannot load graphql for the CommonJS packages below Apollo Client while it loads it for others.
await import('graphql');
const { gql } = await import('@apollo/client');
const { connect } = await import('../../examples/front-end/client.ts');
const { book, follow, listRooms, showDay, watchBookings } = await import('../../examples/front-end/rooms.ts');
const { PinRefused, tokenOf } = await import('../../examples/front-end/token.ts');

let service: Service;
let cable: Awaited<ReturnType<typeof layCable>>;
let mine: ReturnType<typeof connect>;
let theirs: Client;
let close: () => Promise<void>;

/** Gives a room a policy of its own: with a group without members, only Admins see it. */
async function setPolicy(name: string, policy: { hides?: boolean; needsApproval?: boolean }): Promise<void> {
  const { context, tenant } = service;
  const of = { mandator_id: tenant.mandatorId, name: `Policy of ${name}` };
  const group = await context.db.insertInto('person_group').values(of).returning('id').executeTakeFirstOrThrow();
  const may_see = policy.hides ? [group.id] : [];
  const made = context.db
    .insertInto('policy')
    .values({ ...of, may_see, needs_approval: policy.needsApproval ?? false });
  const { id } = await made.returning('id').executeTakeFirstOrThrow();
  await context.db.updateTable('resource').set({ policy_id: id }).where('name', '=', name).execute();
}
const dropPolicy = (name: string) =>
  service.context.db.updateTable('resource').set({ policy_id: null }).where('name', '=', name).execute();

const makePin = () =>
  createPin(service.context.db, pepper, {
    mandatorId: service.tenant.mandatorId,
    personId: service.tenant.person('User').id,
  });

beforeAll(async () => {
  service = await startService({ Role: 'Web' }, ['R1', 'R2', 'R3', 'R4', 'R5', 'R6', 'Office']);
  await setPolicy('Office', { hides: true });
  cable = await layCable(service.url);
  mine = connect(`${cable.url}/school/graphql`, tokenOf(service.url, (await makePin()).pin));
  const token = await service.signIn(service.tenant, 'Admin');
  ({ client: theirs, close } = connect(`${service.url}/school/graphql`, async () => token));
});
afterAll(async () => {
  await mine.close();
  await close();
  await cable.close();
  await service.stop();
});

const day = { from: ahead('2027-03-03T00:00:00Z'), to: ahead('2027-03-04T00:00:00Z') };
const at = (hour: number) => ahead(`2027-03-03T${String(hour).padStart(2, '0')}:00:00Z`);

async function roomNamed(name: string) {
  const room = (await listRooms(mine.client)).find((each) => each.name === name);
  if (!room) throw new Error(`There is no ${name}.`);
  return { room, shown: { resourceId: room.id, ...day } };
}

type Shown = Parameters<typeof watchBookings>[1];

/** What a page has drawn of a room, each time. */
function drawn(shown: Shown, client = mine.client) {
  const pages: string[][] = [];
  const { end } = watchBookings(client, shown, (bookings) => {
    pages.push(bookings.map(({ id, subject }) => `${id === 'booking_new' ? 'new ' : ''}${subject}`));
  });
  return { pages, end };
}

test('pages make one list', async () => {
  const rooms = await listRooms(mine.client, 2);
  expect(rooms.map(({ name }) => name)).toEqual(['R1', 'R2', 'R3', 'R4', 'R5', 'R6']);
});

test('a day is read three edges deep, and a record has one place in the cache however it was reached', async () => {
  const { room, shown } = await roomNamed('R1');
  await book(mine.client, shown, room, { subject: 'Choir', start: at(8), end: at(9) });
  const location = await showDay(mine.client, String(service.tenant.locationId), day.from, day.to);
  expect(location?.resources.nodes[0]?.bookings.nodes[0]).toMatchObject({
    subject: 'Choir',
    resource: { name: 'R1' },
    organizer: { displayName: 'User of school' },
  });
  expect(Object.keys(mine.client.cache.extract() as object)).toContain(`Resource:${room.id}`);
});

test('a booking is shown at once, and is the one of the server afterwards', async () => {
  const { room, shown } = await roomNamed('R2');
  const { pages, end } = drawn(shown);
  await until(() => pages.length > 0);
  const done = await book(mine.client, shown, room, { subject: 'Drama', start: at(8), end: at(9) });
  expect(done).toMatchObject({ booking: { subject: 'Drama', id: expect.stringMatching(/^booking_\d+$/) } });
  await until(() => pages.at(-1)?.[0] === 'Drama');
  expect(pages).toEqual([[], ['new Drama'], ['Drama']]);
  end();
});

test('a booking that is refused vanishes again, and the answer says what is free instead', async () => {
  const { room, shown } = await roomNamed('R3');
  await book(theirs, shown, room, { subject: 'Theirs', start: at(8), end: at(9) });
  const { pages, end } = drawn(shown);
  await until(() => pages.length > 0);
  const done = await book(mine.client, shown, room, { subject: 'Mine', start: at(8), end: at(9) });
  expect(done).toMatchObject({ problem: { __typename: 'ConflictProblem', code: 'Conflict' } });
  expect('problem' in done && 'alternatives' in done.problem && done.problem.alternatives.length).toBeGreaterThan(0);
  await until(() => pages.at(-1)?.join() === 'Theirs');
  expect(pages.map((page) => page.length)).toEqual([1, 2, 1]);
  end();
});

test('what others book is drawn, also what they booked while the connection was lost', async () => {
  const { room, shown } = await roomNamed('R4');
  const { pages, end } = drawn(shown);
  await until(() => pages.length > 0);
  const stop = new AbortController();
  const following = follow(mine.client, shown, stop.signal);
  await book(theirs, shown, room, { subject: 'First', start: at(8), end: at(9) });
  await until(() => pages.at(-1)?.join() === 'First');
  cable.cut();
  await book(theirs, shown, room, { subject: 'Second', start: at(10), end: at(11) });
  cable.mend();
  await until(() => pages.at(-1)?.join() === 'First,Second');
  stop.abort();
  await following;
  end();
});

test('a connection that goes silent without an end is replaced, and what was booked meanwhile is drawn', async () => {
  const { room } = await roomNamed('R5');
  const shown = { resourceId: room.id, from: ahead('2027-03-10T00:00:00Z'), to: ahead('2027-03-11T00:00:00Z') };
  const line = await layCable(service.url);
  // Only the socket goes through the cable: fetch would keep a silent connection, and Node.js give it to the next socket.
  const { fetch } = globalThis;
  const direct: typeof fetch = (to, ...rest) => fetch(String(to).replace(line.url, service.url), ...rest);
  jest.spyOn(globalThis, 'fetch').mockImplementation(direct);
  const beside = connect(`${line.url}/school/graphql`, tokenOf(service.url, (await makePin()).pin), 200);
  const { pages, end } = drawn(shown, beside.client);
  await until(() => pages.length > 0);
  const stop = new AbortController();
  const following = follow(beside.client, shown, stop.signal);
  const isSeen = (subject: string) => pages.at(-1)?.includes(subject) === true;
  await book(theirs, shown, room, {
    subject: 'Heard',
    start: ahead('2027-03-10T08:00:00Z'),
    end: ahead('2027-03-10T09:00:00Z'),
  });
  await until(() => isSeen('Heard'));
  line.strand();
  await book(theirs, shown, room, {
    subject: 'Unheard',
    start: ahead('2027-03-10T09:00:00Z'),
    end: ahead('2027-03-10T10:00:00Z'),
  });
  await until(() => isSeen('Unheard'));
  stop.abort();
  await following;
  end();
  await beside.close();
  await line.close();
  jest.restoreAllMocks();
});

/** Follows a room while `work` runs. */
async function whileFollowing(shown: Shown, work: () => Promise<void>): Promise<void> {
  const stop = new AbortController();
  const following = follow(mine.client, shown, stop.signal);
  try {
    await work();
  } finally {
    stop.abort();
    await following;
    jest.restoreAllMocks();
  }
}

test('what is booked while the list is read again is drawn, although what was read does not have it', async () => {
  const { room, shown } = await roomNamed('R6');
  const { pages, end } = drawn(shown);
  await until(() => pages.length > 0);
  const { fetch } = globalThis;
  const answered = Promise.withResolvers<void>();
  let reads = 0;
  jest.spyOn(globalThis, 'fetch').mockImplementation(async (...call) => {
    const answer = await fetch(...call);
    if (!String(call[1]?.body).includes('"Bookings"')) return answer;
    reads += 1;
    if (reads === 1) await answered.promise;
    return answer;
  });
  await whileFollowing(shown, async () => {
    await until(() => reads === 1);
    await book(theirs, shown, room, { subject: 'Meanwhile', start: at(8), end: at(9) });
    await until(() => JSON.stringify(mine.client.cache.extract()).includes('Meanwhile'));
    answered.resolve();
    await until(() => reads >= 2 && pages.at(-1)?.join() === 'Meanwhile');
  }).finally(answered.resolve);
  end();
});

test('a stream that cannot go on behind its last frame begins anew', async () => {
  const { room, shown } = await roomNamed('R6');
  const { pages, end } = drawn(shown);
  await until(() => pages.length > 0);
  const subscribe = mine.client.subscribe.bind(mine.client) as (options: Subscribing) => never;
  type Subscribing = { variables: { after?: string } };
  const asked: (string | undefined)[] = [];
  jest.spyOn(mine.client, 'subscribe').mockImplementation(((options: Subscribing) => {
    asked.push(options.variables.after);
    // As if the changes behind it had been deleted.
    return subscribe(asked.length === 2 ? { ...options, variables: { ...options.variables, after: 'none' } } : options);
  }) as never);
  await whileFollowing(shown, async () => {
    await book(theirs, shown, room, { subject: 'Before', start: at(10), end: at(11) });
    await until(() => pages.at(-1)?.includes('Before') === true);
    cable.cut();
    await book(theirs, shown, room, { subject: 'Cut', start: at(12), end: at(13) });
    cable.mend();
    await until(() => pages.at(-1)?.includes('Cut') === true);
    expect(asked).toEqual([undefined, expect.any(String), undefined]);
  });
  end();
});

/** Follows R6 in a browser of its own. */
async function followBeside(token: () => Promise<string>) {
  const { room, shown } = await roomNamed('R6');
  const beside = connect(`${service.url}/school/graphql`, token);
  const { pages, end } = drawn(shown, beside.client);
  await until(() => pages.length > 0);
  const stop = new AbortController();
  const pauses: number[] = [];
  const pause = async (ms: number) => void (pauses.push(ms) === 20 && stop.abort());
  const following = follow(beside.client, shown, stop.signal, pause);
  return {
    following,
    pauses,
    /** Somebody books, which is drawn. */
    async see(subject: string, hour: number) {
      await book(theirs, shown, room, { subject, start: at(hour), end: at(hour + 1) });
      await until(() => pages.at(-1)?.includes(subject) === true);
    },
    async close() {
      stop.abort();
      end();
      await beside.close();
    },
  };
}
const revoke = ({ pinId }: { pinId: number }) => revokePin(service.context.db, service.tenant.mandatorId, pinId);

test('a stream whose token ends goes on with another', async () => {
  const [former, later] = [await makePin(), await makePin()];
  let token = tokenOf(service.url, former.pin);
  const { following, pauses, see, close } = await followBeside(() => token());
  await see('By the former', 14);
  token = tokenOf(service.url, later.pin);
  await revoke(former);
  await until(() => pauses.length > 0);
  await see('By the later', 15);
  expect(pauses).toEqual([500]);
  await close();
  await following;
});

test('a stream whose token ends, and that has no other, ends with the reason', async () => {
  const pin = await makePin();
  const { following, pauses, see, close } = await followBeside(tokenOf(service.url, pin.pin));
  const ended = expect(following).rejects.toMatchObject({ errors: [{ extensions: { code: 'NOT_AUTHENTICATED' } }] });
  await see('By the only one', 16);
  await revoke(pin);
  await ended;
  expect(pauses).toEqual([500]);
  await close();
});

test('what cannot be cured by trying again is not tried again', async () => {
  const { shown } = await roomNamed('R6');
  const pin = await makePin();
  const stop = new AbortController();
  const pause = async () => stop.abort();
  const nowhere = connect(`${service.url}/nowhere/graphql`, tokenOf(service.url, pin.pin));
  const forbidden = { errors: [{ extensions: { code: 'FORBIDDEN' } }] };
  await expect(follow(nowhere.client, shown, stop.signal, pause)).rejects.toMatchObject(forbidden);
  await nowhere.close();
  const wrong = { errors: [{ extensions: { code: 'BAD_USER_INPUT' } }] };
  const noId = follow(mine.client, { ...shown, resourceId: 'R6' }, stop.signal, pause);
  await expect(noId).rejects.toMatchObject(wrong);
  await revoke(pin);
  const revoked = connect(`${service.url}/school/graphql`, tokenOf(service.url, pin.pin));
  await expect(follow(revoked.client, shown, stop.signal, pause)).rejects.toThrow(PinRefused);
  await revoked.close();
});

test('the pauses between attempts that fail grow to half a minute', async () => {
  const { client, close } = connect(`http://127.0.0.1:${await freePort()}/school/graphql`, async () => 'any');
  const stop = new AbortController();
  const pauses: number[] = [];
  const pause = async (ms: number) => void (pauses.push(ms) === 8 && stop.abort());
  await follow(client, { resourceId: '1', ...day }, stop.signal, pause);
  expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
  await close();
});

test('a token is got once for all calls, and another in its last minute', async () => {
  const { pin } = await makePin();
  const calls = jest.spyOn(globalThis, 'fetch');
  let now = 0;
  const token = tokenOf(service.url, pin, () => now);
  const [first, second] = await Promise.all([token(), token()]);
  expect(second).toBe(first);
  now = 59 * 60_000 - 1;
  expect(await token()).toBe(first);
  expect(calls).toHaveBeenCalledTimes(1);
  now += 1;
  await token();
  expect(calls).toHaveBeenCalledTimes(2);
  calls.mockRestore();
});

test('what begins exactly where the shown time ends is not drawn', async () => {
  const { room, shown } = await roomNamed('R6');
  const { pages, end } = drawn(shown);
  await until(() => pages.length > 0);
  await whileFollowing(shown, async () => {
    for (const [subject, start, last] of [
      ['Last', at(22), at(23)],
      ['Tomorrow', shown.to, ahead('2027-03-04T01:00:00Z')],
      ['Very last', at(23), shown.to],
    ] as const) {
      await book(theirs, shown, room, { subject, start, end: last });
      if (subject !== 'Tomorrow') await until(() => pages.at(-1)?.includes(subject) === true);
    }
  });
  expect(pages.flat()).not.toContain('Tomorrow');
  end();
});

test('a booking that is moved to a hidden room is no longer drawn', async () => {
  const { room, shown } = await roomNamed('R5');
  const done = await book(theirs, shown, room, { subject: 'Moving', start: at(14), end: at(15) });
  if (!('booking' in done)) throw new Error(done.problem.__typename);
  const { pages, end } = drawn(shown);
  await until(() => pages.at(-1)?.join() === 'Moving');
  const stop = new AbortController();
  const following = follow(mine.client, shown, stop.signal);
  // When it is drawn, the stream has begun.
  await book(theirs, shown, room, { subject: 'Staying', start: at(16), end: at(17) });
  await until(() => pages.at(-1)?.join() === 'Moving,Staying');
  const office = (await listRooms(theirs)).find(({ name }) => name === 'Office');
  const move = gql`mutation ($id: ID!, $to: ID!) {
    changeBooking(id: $id, version: 1, input: { resourceId: $to }) { ... on Booking { id } }
  }`;
  await theirs.mutate({ mutation: move, variables: { id: done.booking.id, to: office?.id } });
  await until(() => pages.at(-1)?.join() === 'Staying');
  stop.abort();
  await following;
  end();
});

test('what an Admin hides is no longer drawn, and is drawn again once it may be seen', async () => {
  const { room, shown } = await roomNamed('R6');
  const { pages, end } = drawn(shown);
  await whileFollowing(shown, async () => {
    await book(theirs, shown, room, { subject: 'Hidden', start: at(21), end: at(22) });
    await until(() => pages.at(-1)?.includes('Hidden') === true);
    await setPolicy('R6', { hides: true });
    await until(() => pages.at(-1)?.length === 0);
    await dropPolicy('R6');
    await until(() => pages.at(-1)?.includes('Hidden') === true);
  });
  end();
});

test('a booking that waits for approval is drawn, as it occupies the room', async () => {
  const { room, shown } = await roomNamed('R5');
  const late = { ...shown, from: at(20) };
  await setPolicy('R5', { needsApproval: true });
  const { pages, end } = drawn(late);
  await until(() => pages.length > 0);
  const done = await book(mine.client, late, room, { subject: 'Asked', start: at(20), end: at(21) });
  expect(done).toMatchObject({ booking: { status: 'Requested' } });
  expect(pages.at(-1)).toEqual(['Asked']);
  await dropPolicy('R5');
  end();
});

test('the cache keeps two changes of one booking apart', async () => {
  const { room, shown } = await roomNamed('R5');
  const done = await book(mine.client, shown, room, { subject: 'Chess', start: at(8), end: at(9) });
  if (!('booking' in done)) throw new Error(done.problem.__typename);
  const cancel = gql`mutation ($id: ID!) { cancelBooking(id: $id) { ... on Booking { id status } } }`;
  await mine.client.mutate({ mutation: cancel, variables: { id: done.booking.id } });
  const changes = gql`{ changes(first: 200) { items { id action booking { id status } } } }`;
  type Data = { changes: { items: { id: string; action: string; booking: { id: string } | null }[] } };
  const read = async () =>
    (await mine.client.query<Data>({ query: changes, fetchPolicy: 'network-only' })).data?.changes;
  await until(async () => {
    const items = (await read())?.items.filter(({ booking }) => booking?.id === done.booking.id) ?? [];
    return items.map(({ action }) => action).join() === 'Created,Changed';
  });
});
