import { execFile, spawnSync } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
import { openLog } from '../../src/log.ts';
import { openEws } from '../../src/mail-servers/ews.ts';
import { startMailServer } from '../mail/_util/mail-server.ts';
import { describeReal } from '../mail/_util/real-servers.ts';

const script = path.join(import.meta.dirname, 'exchangelib_judge.py');
/** Debian's own Python has its packages, whichever other one comes first. */
const python = ['/usr/bin/python3', 'python3'].find(
  (each) => spawnSync(each, ['-c', 'import exchangelib']).status === 0,
);
const missing =
  python === undefined
    ? 'python3 has no exchangelib; apt-get install --no-install-recommends python3-exchangelib'
    : undefined;

describeReal('exchangelib, an independent client of Exchange', missing, () => {
  test('it understands what the mail server of the tests answers and sends', async () => {
    const server = await startMailServer();
    try {
      const room = 'room1@contoso.test';
      await server.addRoom(room);
      const writtenRoom = 'room2@contoso.test';
      const invitedRoom = 'room3@contoso.test';
      await server.addRoom(writtenRoom);
      const { itemId } = await server.appoint(room, {
        subject: 'Seminar',
        start: '2026-12-07T09:00:00',
        end: '2026-12-07T10:00:00',
        repeat: { every: 'week', count: 4 },
      });
      const moved = { start: '2026-12-14T11:00:00', end: '2026-12-14T12:30:00' };
      await server.change(itemId!, { originalStart: '2026-12-14T09:00:00', ...moved });
      await server.remove(itemId!, '2026-12-21T09:00:00');
      const { ews, user, password } = server;
      const connector = openEws(
        { Kind: 'Ews', Url: ews, User: user, Password: password, PastDays: 1, FutureDays: 365 },
        openLog('silent'),
      );
      const items = ['Choir', 'Prüfung "1" & <2>', 'x'.repeat(200)].map((subject, n) => ({
        origin: `booking-${n}@school`,
        subject,
        isPrivate: n === 1,
        start: new Date(Date.UTC(2027, 0, 4 + n, 8)),
        end: new Date(Date.UTC(2027, 0, 4 + n, 9)),
      }));
      const outcomes = await connector.writes!.write(
        { mailbox: writtenRoom, address: null },
        items.map((item) => ({ do: 'Create', item })),
        AbortSignal.timeout(60_000),
      );
      expect(outcomes.map(({ is }) => is)).toEqual(['Done', 'Done', 'Done']);
      const written = items.map(({ origin, subject, isPrivate, start, end }) => ({
        origin,
        subject,
        sensitivity: isPrivate ? 'Private' : 'Normal',
        start: start.toISOString().replace('.000Z', '+00:00'),
        end: end.toISOString().replace('.000Z', '+00:00'),
      }));
      const [truth] = await server.truth(writtenRoom, items[0]!.start, items[0]!.end);
      const [mark] = Object.keys(truth!.extended);
      // One invitation is declined by the service, and another by exchangelib.
      await server.addRoom(invitedRoom, { allowConflicts: true });
      for (const hour of [10, 12]) {
        const times = { start: `2027-02-01T${hour}:00:00Z`, end: `2027-02-01T${hour + 1}:00:00Z` };
        await server.appoint(invitedRoom, { ...times, subject: 'Board' });
      }
      const comment = 'Taken: "1" & <2>\n09:00 – 10:00';
      const [ours] = await server.truth(invitedRoom);
      const place = { id: ours!.id, group: ours!.uid, occurrence: '' };
      const invited = { mailbox: invitedRoom, address: null };
      const found = await connector.invitation!(invited, place, AbortSignal.timeout(60_000));
      if (found.is !== 'Open') throw new Error(found.is);
      expect(await found.decline(comment, AbortSignal.timeout(60_000))).toEqual({ is: 'Done' });
      const told = {
        invitedRoom,
        comment,
        ews,
        user,
        password,
        room,
        writtenRoom,
        written,
        mark,
        starts: ['07 08:00', '14 10:00', '28 08:00'],
      };
      const { stdout } = await promisify(execFile)(python!, [script, JSON.stringify(told)], {
        timeout: 60_000,
      });
      const [one, other] = await server.answers(invitedRoom);
      expect(one).toMatchObject({ to: 'erika@contoso.test', comment });
      expect({ ...other, uid: '', start: '' }).toEqual({ ...one, uid: '', start: '' });
      expect(await server.truth(invitedRoom)).toEqual([]);
      const { heard } = JSON.parse(stdout) as { heard: string[] };
      expect(heard[0]).toBe('StatusEvent');
      process.stderr.write(`exchangelib: understood ${heard.length} events: ${[...new Set(heard)].join(', ')}\n`);
    } finally {
      await server.stop();
    }
  });
});
