/** Ten moves of a tenant with 100,000 bookings that is written all the time, with kills of the mover and of both databases. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { sql } from 'kysely';
import { pepper } from '../_util/pepper.ts';
import { keepBooking, nothing, startPair } from './_util/pair.ts';

const project = path.join(import.meta.dirname, '..', '..');
const moves = 10;

test('nothing is lost or doubled, whatever dies', async () => {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'moves-'));
  const pair = await startPair();
  const tenant = await pair.makeTenantIn(0, 'muni');
  const { mandatorId, resources } = tenant;
  // In parts, since a busy machine takes longer for all than a statement may.
  for (let n = 0; n < 100_000; n += 10_000)
    await sql`
      insert into booking (mandator_id, resource_id, kind, status, origin, occupied)
      select ${mandatorId}, ${resources[1]!.id}, 'Booking', 'Confirmed', 'Api', tstzrange(at, at + interval '5 minutes')
      from generate_series(${n}::integer, ${n + 9_999}::integer) as number,
        lateral (select date_trunc('hour', now()) + interval '1 day' + interval '5 minutes' * number as at) as place`.execute(
      pair.cells[0].db,
    );
  const token = await pair.signIn(tenant);
  const writer = keepBooking(pair, { ...tenant, token });

  // A client as a sign is one: it subscribes, and again when its stream ends.
  const gaps: number[] = [];
  const closing = new AbortController();
  const watching = (async () => {
    for (let endedAt = performance.now(); !closing.signal.aborted; await sleep(200)) {
      const answer = await fetch(`${pair.baseOf('muni')}/graphql`, {
        method: 'POST',
        signal: closing.signal,
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json', Accept: 'text/event-stream' },
        body: JSON.stringify({
          query: `subscription { bookings(filter: { resourceId: ["${resources[0]!.id}"] }) { cursor } }`,
        }),
      }).catch(() => undefined);
      const decoder = new TextDecoder();
      let isServed = false;
      const chunks = answer?.body ?? [];
      try {
        for await (const chunk of chunks as AsyncIterable<Uint8Array>) {
          if (isServed || !/"cursor"/.test(decoder.decode(chunk))) continue;
          isServed = true;
          gaps.push(performance.now() - endedAt);
        }
      } catch {}
      if (isServed) endedAt = performance.now();
    }
  })();

  const stops: number[] = [];
  let kills = 0;
  let tries = 0;
  for (let n = 0; n < moves; n++) {
    const [from, to] = n % 2 === 0 ? [0, 1] : [1, 0];
    const [source, target] = [pair.cells[from]!, pair.cells[to]!];
    const routed = path.join(folder, `routed-${n}`);
    const watcher = setInterval(() => fs.existsSync(routed) && pair.routes.set('muni', to), 10);
    for (let isDone = false; !isDone; tries++) {
      const mover = spawn(
        process.execPath,
        [
          ...['src/main.js', 'tenant', 'move', '--mandator', 'muni', '--to', target.url, '--json'],
          ...['--route', `touch ${routed}`],
        ],
        {
          cwd: project,
          env: { ...process.env, DatabaseUrl: source.url, Pepper: pepper, LogLevel: 'error', Cell: String(from) },
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      );
      let said = '';
      for (const output of [mover.stdout, mover.stderr]) output.on('data', (text) => (said += String(text)));
      // In the first tries something dies somewhere between the start and the end; later ones are left alone.
      const victim =
        n % 2 === 1 && tries % 3 < 2 ? ['mover', 'source', 'target'][Math.floor(Math.random() * 3)] : undefined;
      const killing =
        victim &&
        (async () => {
          await sleep(Math.random() * 9_000);
          if (mover.exitCode !== null) return;
          kills++;
          if (victim === 'mover') mover.kill('SIGKILL');
          else {
            const { server } = victim === 'source' ? source : target;
            await server.stop('SIGQUIT');
            await server.start();
          }
        })();
      const [code] = (await once(mover, 'exit')) as [number | null];
      await killing;
      isDone = code === 0 || said.includes('served at the other installation');
      const stopped = /"StoppedMs":(\d+)/.exec(said)?.[1];
      if (stopped && Number(stopped) > 0) stops.push(Number(stopped));
      if (!isDone) process.stdout.write(`move ${n}, ${victim ?? 'nobody'} killed: ${said.trim().split('\n').at(-1)}\n`);
      expect(tries).toBeLessThan(100);
    }
    clearInterval(watcher);
    pair.routes.set('muni', to);
    const before = writer.acknowledged.length;
    for (let waited = 0; waited < 90_000 && writer.acknowledged.length < before + 3 && !writer.refused[0]; waited += 20)
      await sleep(20);
    expect(writer.refused).toEqual([]);
    expect(await pair.remainsOf(from, mandatorId)).toEqual(nothing);
  }
  closing.abort();
  await watching.catch(() => {});
  const { refused } = await writer.stop();
  const { rows } = await sql<{ id: number; subject: string }>`
    select id, subject from booking where mandator_id = ${mandatorId} and subject like 'n%'`.execute(
    pair.cells[pair.routes.get('muni')!]!.db,
  );
  const ids = new Set(rows.map(({ id }) => id));
  const lost = writer.acknowledged.filter((id) => !ids.has(id)).length;
  const doubled = rows.length - new Set(rows.map(({ subject }) => subject)).size;
  stops.sort((one, other) => one - other);
  gaps.sort((one, other) => one - other);
  process.stdout.write(
    `${moves} moves in ${tries} tries with ${kills} kills: ${writer.acknowledged.length} acknowledged, ${lost} lost, ${doubled} doubled; ` +
      `writes stopped ${stops.join(', ')} ms; a stream was back after ${Math.round(gaps.at(-1) ?? 0)} ms at most (${gaps.length} times)\n`,
  );
  expect({ refused, lost, doubled }).toEqual({ refused: [], lost: 0, doubled: 0 });
  await pair.stop();
  fs.rmSync(folder, { recursive: true });
}, 1_800_000);
