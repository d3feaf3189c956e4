import { execFile, spawnSync } from 'node:child_process';
import path from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from '@jest/globals';
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
      const { itemId } = await server.appoint(room, {
        ...{ subject: 'Seminar', start: '2026-12-07T09:00:00', end: '2026-12-07T10:00:00' },
        repeat: { every: 'week', count: 4 },
      });
      const moved = { start: '2026-12-14T11:00:00', end: '2026-12-14T12:30:00' };
      await server.change(itemId!, { originalStart: '2026-12-14T09:00:00', ...moved });
      await server.remove(itemId!, '2026-12-21T09:00:00');
      const { ews, user, password } = server;
      const told = { ews, user, password, room, starts: ['07 08:00', '14 10:00', '28 08:00'] };
      const { stdout } = await promisify(execFile)(python!, [script, JSON.stringify(told)], {
        timeout: 60_000,
      });
      const { heard } = JSON.parse(stdout) as { heard: string[] };
      expect(heard[0]).toBe('StatusEvent');
      process.stderr.write(`exchangelib: understood ${heard.length} events: ${[...new Set(heard)].join(', ')}\n`);
    } finally {
      await server.stop();
    }
  });
});
