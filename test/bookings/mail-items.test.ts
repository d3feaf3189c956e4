import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { sql } from 'kysely';
import { bookMailItems, type MailWish } from '../../src/bookings/mail-items.ts';
import { type Asking, type MailPlace, planPlaces } from '../../src/bookings/mail-places.ts';
import { lockRooms } from '../../src/bookings/occupation.ts';
import { type Database, openDatabase } from '../../src/db/database.ts';
import { openLog } from '../../src/log.ts';
import { firstStored, insertBookings } from '../_util/bookings-table.ts';
import { makeTenant } from '../_util/factories.ts';
import { cloneDatabase } from '../_util/postgres.ts';

const hour = 3_600_000;
const overlap = (one: MailPlace, other: MailPlace) => one.from < other.to && other.from < one.to;

type Item = Asking & { name: string };

/** Places on a few hours, of which `others` and those that are there do not overlap: as the database holds them. */
const places = fc
  .array(
    fc.record({
      from: fc.nat(20),
      length: fc.integer({ min: 1, max: 5 }),
      role: fc.constantFrom('other', 'there', 'new'),
      precedence: fc.nat(2),
    }),
    {
      maxLength: 14,
    },
  )
  .map((wanted) => {
    const taken: MailPlace[] = [];
    const others: MailPlace[] = [];
    const items: Item[] = [];
    for (const [index, { from, length, role, precedence }] of wanted.entries()) {
      const place = { from, to: from + length };
      const isFree = !taken.some((one) => overlap(one, place));
      if (role !== 'new' && isFree) taken.push(place);
      if (role === 'other' && isFree) others.push(place);
      else
        items.push({
          ...place,
          name: `${index}`,
          key: `${index % 3} ${index}`,
          isThere: role === 'there' && isFree,
          precedence,
        });
    }
    return { items, others };
  });

/** The rule of `planPlaces`, as documented. */
function oracle(items: readonly Item[], others: readonly MailPlace[]): Set<string> {
  const placed: (MailPlace & { name?: string })[] = [...others];
  const take = (some: readonly Item[]) => {
    for (const item of some) if (!placed.some((one) => overlap(one, item))) placed.push(item);
  };
  for (const precedence of [0, 1, 2]) {
    const equals = items.filter((item) => item.precedence === precedence);
    take(equals.filter(({ isThere }) => isThere));
    const rest = equals.filter(({ isThere }) => !isThere);
    const starts = [...new Set(rest.map(({ from }) => from))].sort((one, other) => one - other);
    for (const start of starts)
      take(rest.filter(({ from }) => from === start).sort((one, other) => (one.key < other.key ? -1 : 1)));
  }
  return new Set(placed.flatMap(({ name }) => name ?? []));
}

describe('who gets a place', () => {
  test("what others have stays; of items the room's answer decides, then who is there, then who begins first", () => {
    fc.assert(
      fc.property(places, ({ items, others }) => {
        const ways = planPlaces(items, others);
        const winners = items.filter((_, index) => ways[index] === null);
        expect(new Set(winners.map(({ name }) => name))).toEqual(oracle(items, others));
        for (const [index, way] of ways.entries())
          if (way) {
            expect(overlap(way, items[index]!)).toBe(true);
            expect([...others, ...winners]).toContain(way);
          }
      }),
      { numRuns: 1_000 },
    );
  });

  test('20,000 items among 20,000 bookings, with little more than twice the looks of 10,000', () => {
    /** How often a place is looked at. */
    const countLooks = (length: number) => {
      let looks = 0;
      const place = (from: number, to: number) => ({
        get from() {
          looks += 1;
          return from;
        },
        to,
      });
      const others = Array.from({ length }, (_, index) => place(index * 10, index * 10 + 5));
      const items = Array.from({ length }, (_, index) => {
        const at = (length - 1 - index) * 10;
        return Object.assign(place(at + 4 + (index % 2), at + 9), { key: `${index}`, isThere: false, precedence: 0 });
      });
      expect(planPlaces(items, others).filter((way) => way === null)).toHaveLength(length / 2);
      return looks;
    };
    expect(countLooks(20_000) / countLooks(10_000)).toBeLessThan(2.5);
  });
});

describe('bookings of items', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  let db: Database;
  let tenant: Awaited<ReturnType<typeof makeTenant>>;
  let rooms = 0;

  beforeAll(async () => {
    database = await cloneDatabase();
    db = openDatabase(database.url, { max: 3, log: openLog('silent'), statementTimeout: 0 });
    tenant = await makeTenant(db, { rooms: Array.from({ length: 400 }, (_, index) => `R${index}`) });
  });
  afterAll(async () => {
    await db.destroy();
    await database.drop();
  });

  const book = (resourceId: number, wishes: readonly MailWish[]) =>
    db.transaction().execute(async (trx) => {
      await lockRooms(trx, tenant.mandatorId, [resourceId]);
      return await bookMailItems(trx, tenant.mandatorId, resourceId, wishes);
    });

  const wish = (key: string, bookingId: number | null, place: MailPlace | null, more: object = {}): MailWish => ({
    key,
    bookingId,
    booking: place && {
      start: new Date(firstStored + place.from * hour),
      end: new Date(firstStored + place.to * hour),
      status: 'Confirmed',
      precedence: 0,
      subject: key,
      isPrivate: false,
      organizer: null,
      uid: key,
      ...more,
    },
  });

  async function active(resourceId: number): Promise<string[]> {
    const { rows } = await sql<{ told: string }>`
      select subject || ' ' || extract(epoch from lower(occupied) - ${new Date(firstStored)}) / 3600 || '-'
        || extract(epoch from upper(occupied) - ${new Date(firstStored)}) / 3600 as told
      from booking where resource_id = ${resourceId} and kind = 'MailItem' and status in ('Confirmed', 'Tentative')`.execute(
      db,
    );
    return rows.map(({ told }) => told.replaceAll(/\.0+(?=$|-)/g, '')).sort();
  }

  const names = ['a', 'b', 'c', 'd', 'e', 'f'];
  const reading = fc.array(
    fc.record({
      name: fc.constantFrom(...names),
      place: fc.option(fc.record({ from: fc.nat(9), length: fc.integer({ min: 1, max: 3 }) })),
    }),
    { minLength: 1, maxLength: 8 },
  );

  test('after each reading they have the places of the rule', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(reading, { minLength: 1, maxLength: 6 }),
        fc.subarray([0, 3, 6, 9]),
        async (readings, blocked) => {
          const resourceId = tenant.resources[rooms++]!.id;
          const others = blocked.map((from) => ({ from, to: from + 1 }));
          for (const { from } of others) await insertBookings(db, tenant.mandatorId, resourceId, { first: from });
          const model = new Map<string, MailPlace>();
          const ids = new Map<string, number>();
          for (const steps of readings) {
            const changed = new Map(
              steps.map(({ name, place }) => [name, place && { from: place.from, to: place.from + place.length }]),
            );
            const asking = [...changed].flatMap(([name, place]): Item[] => {
              const now = model.get(name);
              return place
                ? [
                    {
                      ...place,
                      name,
                      key: name,
                      precedence: 0,
                      isThere: now?.from === place.from && now.to === place.to,
                    },
                  ]
                : [];
            });
            const untouched = [...model].flatMap(([name, place]) => (changed.has(name) ? [] : [place]));
            const placed = oracle(asking, [...others, ...untouched]);
            const { outcomes } = await book(
              resourceId,
              [...changed].map(([name, place]) => wish(name, ids.get(name) ?? null, place)),
            );
            for (const [index, [name, place]] of [...changed].entries()) {
              const { bookingId, inTheWay } = outcomes[index]!;
              expect([name, bookingId !== null, inTheWay !== null]).toEqual([
                name,
                placed.has(name),
                place !== null && !placed.has(name),
              ]);
              if (bookingId === null) {
                model.delete(name);
                ids.delete(name);
              } else {
                if (ids.has(name)) expect(bookingId).toBe(ids.get(name));
                model.set(name, place as MailPlace);
                ids.set(name, bookingId);
              }
            }
            expect(await active(resourceId)).toEqual(
              [...model].map(([name, { from, to }]) => `${name} ${from}-${to}`).sort(),
            );
          }
        },
      ),
      { numRuns: 30 },
    );
  });

  test('the same input again changes nothing', async () => {
    const resourceId = tenant.resources[rooms++]!.id;
    const first = await book(resourceId, [wish('a', null, { from: 1, to: 2 })]);
    const [{ bookingId } = { bookingId: null }] = first.outcomes;
    const again = await book(resourceId, [wish('a', bookingId, { from: 1, to: 2 })]);
    expect([first.changes, again.changes, again.outcomes[0]!.bookingId]).toEqual([1, 0, bookingId]);
    const { rows } = await sql`select version from booking where id = ${bookingId}`.execute(db);
    expect(rows).toEqual([{ version: 1 }]);
  });

  test('a booking of another room, or of another kind, is not taken for its own', async () => {
    const [one, other] = [tenant.resources[rooms++]!.id, tenant.resources[rooms++]!.id];
    const [manual] = await insertBookings(db, tenant.mandatorId, one);
    const elsewhere = await book(other, [wish('x', null, { from: 5, to: 6 })]);
    const ids = [manual!, elsewhere.outcomes[0]!.bookingId!];
    await book(
      one,
      ids.map((id, index) => wish(`${index}`, id, null)),
    );
    const { rows } = await sql`select status from booking where id = any (${ids})`.execute(db);
    expect(rows).toEqual([{ status: 'Confirmed' }, { status: 'Confirmed' }]);
  });

  test('5,000 items at once', async () => {
    const resourceId = tenant.resources[rooms++]!.id;
    const organizer = { name: 'Vera', email: 'VERA@outside.example' };
    const wishes = Array.from({ length: 5_000 }, (_, index) =>
      wish(`item ${index}`, null, { from: index, to: index + 1 }, { organizer }),
    );
    const { outcomes, changes } = await book(resourceId, wishes);
    expect(changes).toBe(5_000);
    expect(new Set(outcomes.map(({ bookingId }) => bookingId)).size).toBe(5_000);
  });
});
