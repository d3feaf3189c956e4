/** All load of clients, and what must be true of it in the end. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import { createPin } from '../../src/identity/service.ts';
import type { Dice } from '../_util/dice.ts';
import { makeTenant } from '../_util/factories.ts';
import { pepper } from '../_util/pepper.ts';
import type { MailServer } from '../mail/_util/mail-server.ts';
import { startBookings } from './bookings.ts';
import { openClient } from './client.ts';
import { followChanges } from './feed.ts';
import type { Ledger } from './ledger.ts';
import { startLessons } from './lessons.ts';
import { startAppointments } from './mail.ts';
import type { Site } from './site.ts';
import { watchBatch, watchRoom } from './streams.ts';

/** The tenant whose rooms are on the mail server. */
export const mailTenant = 'mailed';

const lessonRooms = Array.from({ length: 10 }, (_, number) => `L${number}`);
const bookedRooms = ['B0', 'B1', 'B2'];

/** How long what is told of the present may need until it is right, once all has ended. */
const settleSeconds = 90;

type Options = {
  site: Pick<Site, 'db'> & { webs: readonly Pick<Site['webs'][number], 'url'>[] };
  ledger: Ledger;
  /** Each gives other draws: what one does does not change what another draws. */
  nextDice(): Dice;
  mailServer: MailServer | undefined;
  say(line: string): void;
};

export type Load = Awaited<ReturnType<typeof startLoad>>;

export async function startLoad({ site, ledger, nextDice, mailServer, say }: Options) {
  const { db } = site;
  const over = new AbortController();
  const urls = site.webs.map(({ url }) => url);

  async function enter(code: string) {
    const tenant = await makeTenant(db, { code, rooms: [...lessonRooms, ...bookedRooms] });
    const { mandatorId } = tenant;
    const { pin } = await createPin(db, pepper, { mandatorId, personId: tenant.person('Admin').id });
    const client = openClient({ urls, mandator: code, pin, ledger, over: over.signal });
    const booked = tenant.resources.filter(({ name }) => bookedRooms.includes(name)).map(({ id }) => id);
    return { mandatorId, client, booked, tenant };
  }
  const [east, west, busy] = [await enter('east'), await enter('west'), await enter('busy')];

  // The two whose batches may be large, and one that does everything and is watched in everything.
  const large = [east, west].map(({ client, mandatorId }) => ({
    mandatorId,
    lessons: startLessons({
      client,
      ledger,
      dice: nextDice(),
      rooms: lessonRooms,
      open: 2,
      pause: 1_500,
    }),
  }));
  const watched: ReturnType<typeof watchBatch>[] = [];
  const small = startLessons({
    client: busy.client,
    ledger,
    dice: nextDice(),
    rooms: lessonRooms,
    open: 2,
    pause: 1_200,
    onAccepted: (batch) => void watched.push(watchBatch(busy.client, batch, ledger, over.signal)),
  });
  const lessons = [...large, { mandatorId: busy.mandatorId, lessons: small }];
  const bookings = [
    ...[east, west].map((one) => ({ ...one, name: 'a' })),
    ...['a', 'b', 'c'].map((name) => ({ ...busy, name })),
  ].map(({ client, mandatorId, booked, name }) => ({
    mandatorId,
    bookings: startBookings({ client, ledger, dice: nextDice(), name, resourceIds: booked, pause: 300 }),
  }));
  const signs = busy.booked.map((room) => watchRoom(busy.client, room, ledger, over.signal));
  const feed = followChanges(busy.client, ledger);
  const mail = mailServer && (await openMail(mailServer));

  async function openMail(server: MailServer) {
    const { tenant } = await enter(mailTenant);
    const rooms = tenant.resources
      .slice(0, 3)
      .map(({ id, name }) => ({ resourceId: id, address: `${name}@mailed.test`.toLowerCase() }));
    for (const { address, resourceId } of rooms) {
      await server.addRoom(address, { zone: 'Europe/Berlin' });
      await sql`update resource set mailbox = ${address} where id = ${resourceId}`.execute(db);
    }
    return startAppointments(server, rooms, nextDice(), ledger, 1_500);
  }

  /** Waits until nothing is wrong any more. @returns what is still wrong after the allowed time */
  async function settled(look: () => Promise<string[]>): Promise<string[]> {
    for (const end = Date.now() + settleSeconds * 1_000; ; await sleep(500)) {
      const found = await look();
      if (found.length === 0 || Date.now() > end) return found;
    }
  }

  return {
    wantLarge() {
      for (const { lessons } of large) lessons.wantLarge();
    },
    /** Reads something at one of the Web processes, as a client that knows no other. */
    async isAnswering(url: string): Promise<boolean> {
      const sent = { method: 'GET', path: '/v2.0/jobs/batches?Limit=1', patience: 5_000 };
      const answer = await east.client.call(url, sent).catch(() => undefined);
      return answer?.status === 200;
    },
    figures: () =>
      `${ledger.count('batch')} batches, ${ledger.count('booking')} operations on bookings, ${mail?.count ?? 0} appointments`,
    /** Lets everything end, and compares it with what was acknowledged. @param seconds that it may take to end @param spoil harms what is stored, to see that it is found */
    async verify(seconds: number, spoil?: (db: Database) => Promise<void>): Promise<void> {
      const ending = Promise.all([
        ...lessons.map(({ lessons }) => lessons.stop()),
        ...bookings.map(({ bookings }) => bookings.stop()),
        mail?.stop(),
      ]);
      const isDone = await Promise.race([ending.then(() => true), sleep(seconds * 1_000, false, { ref: false })]);
      if (!isDone)
        for (const {
          lessons: { batches, mandator },
        } of lessons)
          for (const { id, work, final } of batches)
            if (final === undefined)
              ledger.blame('stuck', `batch ${id} of ${mandator} has not ended ${seconds} s after all was over`, work);
      say('verifying');
      await mail?.settle(db);
      await spoil?.(db);
      for (const { mandatorId, lessons: one } of lessons) await one.verify(db, mandatorId);
      for (const { mandatorId, bookings: one } of bookings) await one.verify(db, mandatorId);
      const wrongEnds = () =>
        watched.filter(({ batch }) => batch.final !== undefined).flatMap((one) => one.difference() ?? []);
      for (const text of await settled(async () => wrongEnds())) ledger.blame('stuck', text);
      for (const sign of signs) sign.blame(await settled(() => sign.differences(db)));
      if (mail) {
        await settled(() => mail.differences(db));
        await mail.verify(db);
      }
      await feed.verify(db, busy.mandatorId);
    },
    close: () => over.abort(),
  };
}
