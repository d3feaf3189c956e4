/** A written item that a program moves within its calendar is found again, on real servers. */
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { openLog } from '../../src/log.ts';
import { openCalDav } from '../../src/mail-servers/caldav.ts';
import { killPrograms } from '../_util/process.ts';
import { missingCyrus, startCyrus } from '../mail/_util/cyrus.ts';
import { missingRadicale, startRadicale } from '../mail/_util/radicale.ts';
import { describeReal } from '../mail/_util/real-servers.ts';

const user = 'room1';
const origin = 'booking-7@0d9f3a52-5c1e-4a43-9d5e-0f5a3f0f8d11';
const others = 'booking-17@0d9f3a52-5c1e-4a43-9d5e-0f5a3f0f8d11';
const times = { start: new Date('2031-01-06T08:00:00Z'), end: new Date('2031-01-06T09:00:00Z') };
const item = { origin, ...times, subject: 'Choir', isPrivate: false };
const soon = () => AbortSignal.timeout(60_000);

const servers = {
  Cyrus: { missing: missingCyrus(), start: startCyrus, folder: `/dav/calendars/user/${user}/Default/` },
  Radicale: { missing: missingRadicale(), start: startRadicale, folder: `/${user}/calendar/` },
};

for (const [name, { missing, start, folder }] of Object.entries(servers))
  describeReal(`${name}: an item that somebody moves`, missing, () => {
    let server: { url: string; password: string; stop(): Promise<unknown> };
    beforeAll(async () => {
      server = await start([user]);
    });
    afterAll(async () => {
      await server?.stop();
      await killPrograms();
    });

    test('is found by its UID, changed and removed where it stands', async () => {
      const account = { User: user, Password: server.password };
      const settings = {
        Url: `${server.url}${folder.replace(user, '{user}')}`,
        ...account,
        PastDays: 1,
        FutureDays: 365,
      };
      const { writes } = openCalDav({ Kind: 'CalDav', ...settings }, openLog('silent'));
      const calendar = { mailbox: `${user}@rooms.test`, address: null, timeZone: 'UTC' };
      const find = () => writes!.find(calendar, [origin, 'booking-1@nowhere'], soon());
      const another = { ...item, origin: others };
      const made = await writes!.write(
        calendar,
        [item, another].map((one) => ({ do: 'Create', item: one }) as const),
        soon(),
      );
      expect(made).toMatchObject([{ is: 'Done' }, { is: 'Done' }]);
      const [first] = await find();
      const moved = await fetch(new URL(first!.id, server.url), {
        method: 'MOVE',
        headers: {
          authorization: `Basic ${Buffer.from(`${user}:${server.password}`).toString('base64')}`,
          destination: `${server.url}${folder}moved.ics`,
        },
      });
      expect(moved.status).toBe(201);
      const [found, ...more] = await find();
      expect(more).toEqual([]);
      expect(found).toMatchObject({ id: `${folder}moved.ics`, item });
      const later = { ...item, subject: 'Tenors' };
      expect(await writes!.write(calendar, [{ do: 'Change', item: later, at: found! }], soon())).toMatchObject([
        { is: 'Done', at: { id: `${folder}moved.ics` } },
      ]);
      const [changed] = await find();
      expect(changed).toMatchObject({ item: later });
      expect(await writes!.write(calendar, [{ do: 'Remove', origin, at: changed! }], soon())).toMatchObject([
        { is: 'Done' },
      ]);
      expect(await find()).toEqual([]);
    });
  });
