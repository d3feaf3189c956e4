/** Bookings are written into calendars of a Cyrus, as python3-caldav sees them, and changes there are booked here. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import path from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { createPin } from '../../src/identity/service.ts';
import { lessonClient } from '../_util/lessons.ts';
import { pepper } from '../_util/pepper.ts';
import { killPrograms } from '../_util/process.ts';
import { tokenFor } from '../_util/token.ts';
import { type Cyrus, missingCyrus, startCyrus } from '../mail/_util/cyrus.ts';
import { describeReal, timeUntil } from '../mail/_util/real-servers.ts';
import { type MailService, startMailService } from '../mail/_util/service.ts';

const script = path.join(import.meta.dirname, 'calendar_client.py');
/** Debian's own Python has its packages, whichever other one comes first. */
const python = ['/usr/bin/python3', 'python3'].find((each) => spawnSync(each, ['-c', 'import caldav']).status === 0);
const missing =
  missingCyrus() ??
  (python === undefined ? 'python3 has no caldav; apt-get install --no-install-recommends python3-caldav' : undefined);

const [hour, day] = [3_600_000, 86_400_000];
const midnight = Math.ceil(Date.now() / day) * day + day;
const at = (days: number, hours: number) =>
  `${new Date(midnight + days * day + hours * hour).toISOString().slice(0, 19)}Z`;
const rooms = ['room1', 'room2'];
const [putBack, takenOver] = ['room1', 'room2'] as const;
const downMs = 60_000;

type One = { uid: string; start: string; end: string; summary: string };

/** The other client, as a process: one command at a time. */
function startClient(told: object) {
  const child: ChildProcess = spawn(python!, [script, JSON.stringify(told)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const lines = createInterface(child.stdout!);
  return {
    async ask<Answer = null>(command: { do: string; room: string } & Record<string, unknown>): Promise<Answer> {
      child.stdin!.write(`${JSON.stringify(command)}\n`);
      const [line] = (await once(lines, 'line')) as [string];
      const { is, error } = JSON.parse(line) as { is: Answer; error?: string };
      if (error !== undefined) throw new Error(`${command.do}: ${error}`);
      return is;
    },
    stop: () => child.kill('SIGKILL'),
  };
}

describeReal('Cyrus, both ways', missing, () => {
  let cyrus: Cyrus;
  let service: MailService;
  let client: ReturnType<typeof startClient>;
  let token: string;

  beforeAll(async () => {
    cyrus = await startCyrus(['writer', ...rooms]);
    await cyrus.letRead('writer', rooms, 'lrswitedn');
    const account = { User: 'writer', Password: cyrus.password };
    service = await startMailService(
      { Url: `${cyrus.url}/dav/calendars/user/{user}/Default/`, ...account },
      rooms.map(cyrus.addressOf),
    );
    const { db, tenant } = service;
    await sql`update mandator set parameters = parameters || '{"CalendarWriting": "Full"}'`.execute(db);
    await sql`update resource set calendar_edits = 'TakeOver' where name = 'R1'`.execute(db);
    await service.start();
    const isRead = async () =>
      (await sql`select from mail_calendar where read_at is not null`.execute(db)).rows.length === rooms.length;
    await timeUntil('the calendars are there', 60_000, isRead);
    cyrus.tell(await service.callback());
    const { pin } = await createPin(db, pepper, {
      mandatorId: tenant.mandatorId,
      personId: tenant.person('Admin').id,
    });
    token = await tokenFor(service.url, pin);
    client = startClient({ url: cyrus.url, password: cyrus.password, rooms });
  });
  afterAll(async () => {
    client?.stop();
    await service?.stop();
    await killPrograms();
    await cyrus?.stop();
  });

  async function send(method: string, path: string, body?: object): Promise<Record<string, unknown>> {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', 'If-Match': '*' };
    const answer = await fetch(`${service.url}/school/api/v1.0${path}`, {
      method,
      headers,
      ...(body && { body: JSON.stringify(body) }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }
  const resourceOf = (room: string) => service.tenant.resources[rooms.indexOf(room)]!;
  const book = async (room: string, days: number, hours: number, Subject: string): Promise<number> => {
    const times = { Start: at(days, hours), End: at(days, hours + 1) };
    return (await send('POST', '/bookings', { ResourceId: resourceOf(room).id, Subject, ...times }))['Id'] as number;
  };
  const see = (room: string, one: Partial<One>, gone = false) =>
    client.ask<One[]>({ do: 'see', room, one, gone, seconds: 180 });

  /** `start/end subject` of all that occupies a room here. */
  async function ledger(room: string): Promise<string[]> {
    const { rows } = await sql<{ start: Date; end: Date; subject: string }>`
      select lower(occupied) as start, upper(occupied) as "end", coalesce(subject, 'Belegt') as subject from booking
      where resource_id = ${resourceOf(room).id} and status in ('Confirmed', 'Tentative')`.execute(service.db);
    const iso = (date: Date) => `${date.toISOString().slice(0, 19)}Z`;
    return rows.map(({ start, end, subject }) => `${iso(start)}/${iso(end)} ${subject}`).sort();
  }
  const remote = async (room: string) =>
    (await client.ask<One[]>({ do: 'list', room }))
      .map(({ start, end, summary }) => `${start}/${end} ${summary}`)
      .sort();
  const isHere = async (room: string, line: string) => (await ledger(room)).includes(line);
  const [second, ten] = [1_000, 10];
  const report = (what: string, times: number[]) => {
    const sorted = times.toSorted((one, other) => one - other);
    const of = (part: number) => Math.round(sorted[Math.floor(sorted.length * part)]!);
    process.stderr.write(`Cyrus, both ways: ${times.length} ${what}: p50 ${of(0.5)} ms, p90 ${of(0.9)} ms\n`);
    return of(0.5);
  };

  test('both ledgers are equal, also after a minute without the server, and there are no echoes', async () => {
    const made: { room: string; id: number }[] = [];
    const seen: number[] = [];
    async function written(act: () => Promise<unknown>, room: string, one: Partial<One>): Promise<void> {
      await act();
      const begin = performance.now();
      await see(room, one);
      seen.push(performance.now() - begin);
    }
    for (let round = 0; round < ten; round += 1) {
      const room = rooms[round % 2]!;
      const summary = `Choir ${round}`;
      let id = 0;
      await written(async () => (id = await book(room, round, 8, summary)), room, { start: at(round, 8), summary });
      made.push({ room, id });
      const times = { Start: at(round, 9), End: at(round, 11) };
      const moved = { start: at(round, 9), end: at(round, 11), summary };
      await written(() => send('PATCH', `/bookings/${id}`, times), room, moved);
    }
    const lessons = lessonClient({ url: service.url, tenant: service.tenant }, token);
    await written(
      () =>
        lessons.importJobs([
          {
            JobID: 'J1',
            Bezeichnung: 'Latin',
            LektionList: Array.from({ length: ten }, (_, nth) => ({
              LektionId: `L${nth}`,
              Titel: 'Latin',
              RessourceName: nth % 2 === 0 ? 'R0' : 'R1',
              Beginn: at(nth, 13),
              Ende: at(nth, 14),
            })),
          },
        ]),
      takenOver,
      { start: at(9, 13) },
    );

    const booked: number[] = [];
    for (let round = 0; round < ten; round += 1) {
      const room = rooms[round % 2]!;
      const one = { uid: `theirs-${round}`, start: at(round, 16), end: at(round, 17), summary: `Theirs ${round}` };
      const later = { ...one, start: at(round, 18), end: at(round, 19) };
      const lineOf = ({ start, end, summary }: One) => `${start}/${end} ${summary}`;
      for (const [act, told, expected] of [
        ['add', one, true],
        ['move', later, true],
        ['remove', later, false],
      ] as const) {
        await client.ask({ do: act, room, one: told });
        const begin = performance.now();
        await timeUntil(`${act} ${round}`, 180 * second, async () => (await isHere(room, lineOf(told))) === expected);
        booked.push(performance.now() - begin);
      }
    }

    // A minute without the server: what is booked meanwhile comes after it.
    await cyrus.goDown();
    const down = performance.now();
    for (const [nth, room] of [...rooms, ...rooms].entries()) await book(room, 20 + nth, 8, `Meanwhile ${nth}`);
    await timeUntil('a minute has passed, and it was tried', 2 * downMs, async () => {
      const { rows } = await sql`select from mail_calendar where writing_failures = 0`.execute(service.db);
      return rows.length === 0 && performance.now() - down > downMs;
    });
    await cyrus.comeBack();
    for (const [nth, room] of [...rooms, ...rooms].entries()) await see(room, { summary: `Meanwhile ${nth}` });

    // Ten of ours are changed there by each rule: five are moved, five removed.
    const ours = Array.from({ length: 2 * ten }, (_, nth) => {
      const summary = `Ours ${nth}`;
      const moved = { start: at(30 + nth, 10), end: at(30 + nth, 12) };
      return { room: rooms[nth % 2]!, isMoved: nth % 4 < 2, days: 30 + nth, summary, moved };
    });
    for (const { room, days, summary } of ours) await book(room, days, 8, summary);
    for (const { room, isMoved, summary, moved } of ours) {
      const [one] = await see(room, { summary });
      await client.ask({ do: isMoved ? 'move' : 'remove', room, one: { ...one!, ...moved } });
    }
    for (const { room, isMoved, days, summary, moved } of ours) {
      const line = `${moved.start}/${moved.end} ${summary}`;
      const isCancelled = async () => !(await ledger(room)).some((one) => one.endsWith(` ${summary}`));
      if (room === putBack) await see(room, { summary, start: at(days, 8), end: at(days, 9) });
      else if (isMoved) await timeUntil(`${summary} follows`, 180 * second, () => isHere(room, line));
      else await timeUntil(`${summary} is cancelled`, 180 * second, isCancelled);
    }

    for (const room of rooms)
      await timeUntil(`both ledgers of ${room}`, 180 * second, async () => {
        const [here, there] = [await ledger(room), await remote(room)];
        return JSON.stringify(here) === JSON.stringify(there);
      });
    const { rows: counted } = await sql<Record<string, number>>`
      select (select count(*)::int from booking where kind = 'MailItem' and mail_item_id like 'booking-%') as echoes,
        sum(put_backs)::int as "putBacks", sum(taken_over)::int as "takenOver", sum(items_written)::int as written
      from mail_calendar`.execute(service.db);
    process.stderr.write(`Cyrus, both ways: ${JSON.stringify(counted[0])}\n`);
    expect(counted[0]).toMatchObject({ echoes: 0, putBacks: ten, takenOver: ten });
    expect(made).toHaveLength(ten);
    expect(report('bookings and changes here seen there', seen)).toBeLessThan(second);
    report('changes there booked here', booked);
  }, 600_000);
});
