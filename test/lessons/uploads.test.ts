import { once } from 'node:events';
import fs from 'node:fs';
import files, { open as openFile } from 'node:fs/promises';
import net from 'node:net';
import os from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { sql } from 'kysely';
import { LimitExceeded, Unavailable } from '../../src/errors.ts';
import { openPlaces } from '../../src/flow/places.ts';
import { openSpool, type Spool } from '../../src/lessons/spool.ts';
import { openLog } from '../../src/log.ts';
import { makeTenant } from '../_util/factories.ts';
import { countWaiting } from '../_util/hold.ts';
import { type Job, lessonClient, makeJobs } from '../_util/lessons.ts';
import { until } from '../_util/process.ts';
import { type Service, startService } from '../_util/service.ts';

describe('places', () => {
  const limits = { of: 'visits', all: 5, perTenant: 3, perPerson: 2, mostWaiting: 2, waitMs: 10_000 };
  /** The visits that were admitted, in order, and what became of the others. */
  function openHouse() {
    const places = openPlaces(limits);
    const inside: string[] = [];
    const refused: Record<string, unknown> = {};
    const leave: Record<string, () => void> = {};
    return {
      inside,
      refused,
      leave,
      /** `name` is tenant, person and visit: `11a`. */
      async come(...names: string[]) {
        for (const name of names) {
          const [mandatorId, personId] = [Number(name[0]), Number(name.slice(0, 2))];
          const stay = () =>
            new Promise<void>((resolve) => {
              inside.push(name);
              leave[name] = resolve;
            });
          places.hold({ mandatorId, personId }, stay).catch((error) => (refused[name] = error));
        }
        await settle();
      },
    };
  }
  const settle = () => new Promise(process.nextTick);
  afterEach(() => {
    jest.useRealTimers();
  });

  test('a person, and a tenant, has only so many; the others are there for the others', async () => {
    const house = openHouse();
    await house.come('11a', '11b', '11c', '12a', '12b', '21a', '21b', '31a');
    expect(house.inside).toEqual(['11a', '11b', '12a', '21a', '21b']);
  });

  test('a free one goes to the tenant that has fewest, and there to who came first', async () => {
    const house = openHouse();
    await house.come('11a', '12a', '13a', '21a', '22a', '14a', '23a', '31a', '32a');
    expect(house.inside).toEqual(['11a', '12a', '13a', '21a', '22a']);
    for (const name of ['11a', '12a', '21a', '31a']) {
      house.leave[name]!();
      await settle();
    }
    expect(house.inside.slice(5)).toEqual(['31a', '14a', '23a', '32a']);
  });

  test('a refusal says whose the others are, and when to come again', async () => {
    jest.useFakeTimers();
    const house = openHouse();
    await house.come('11a', '11b', '11c', '12a', '13a', '21a', '22a', '31a', '11d', '11e');
    expect(house.refused).toEqual({ '11e': expect.any(LimitExceeded) });
    await jest.advanceTimersByTimeAsync(10_000);
    expect(Object.entries(house.refused)).toEqual([
      ['11e', expect.objectContaining({ message: expect.stringMatching(/^2 visits of this person/) })],
      ['11c', expect.objectContaining({ code: 'LimitExceeded', retryAfter: 10 })],
      ['13a', expect.objectContaining({ message: expect.stringMatching(/^3 visits of this tenant/) })],
      ['31a', expect.any(Unavailable)],
      ['11d', expect.any(LimitExceeded)],
    ]);
    expect(jest.getTimerCount()).toBe(0);
  });

  test('a calendar address counts by itself, whoever made it, and a refusal says so', async () => {
    const places = openPlaces({ ...limits, mostWaiting: 0, perPerson: 1 });
    const holder = { mandatorId: 1, personId: 1 };
    const address = { ...holder, calendarTokenId: 1 };
    places.takeAtOnce(address);
    expect(places.takeIfFree(address)).toBeUndefined();
    await expect(places.take(address)).rejects.toThrow('1 visits of this address are under way already');
    for (const other of [holder, { ...holder, calendarTokenId: 2 }])
      expect(places.takeIfFree(other)).toEqual(expect.any(Function));
  });

  test('a visit that fails leaves', async () => {
    const places = openPlaces({ ...limits, perPerson: 1, mostWaiting: 1 });
    const holder = { mandatorId: 1, personId: 1 };
    await expect(places.hold(holder, () => Promise.reject(new Error('no')))).rejects.toThrow('no');
    expect(await places.hold(holder, async () => 'in')).toBe('in');
  });

  test('a visit that must not be refused is admitted at once, and the others wait until it has left', async () => {
    const places = openPlaces({ ...limits, perPerson: 1 });
    const holder = { mandatorId: 1, personId: 1 };
    const leave = ['a', 'b'].map(() => places.takeAtOnce(holder));
    let isInside = false;
    const other = places.hold(holder, async () => {
      isInside = true;
    });
    for (const one of leave) {
      await settle();
      expect(isInside).toBe(false);
      one();
    }
    await other;
  });
});

/** Files of this process in which bodies wait. */
const openFiles = () =>
  fs
    .readdirSync('/proc/self/fd')
    .map((fd) => `/proc/self/fd/${fd}`)
    .filter((fd) => {
      try {
        return fs.readlinkSync(fd).startsWith(path.join(os.tmpdir(), 'roomgate-'));
      } catch {
        return false;
      }
    });

describe('a file for a body', () => {
  const log = openLog('silent');
  const written = Buffer.from('0123456789'.repeat(1_000));
  let spool: Spool | undefined;
  afterEach(async () => {
    jest.restoreAllMocks();
    await spool?.close();
    spool = undefined;
  });
  async function filled() {
    spool = await openSpool(log);
    await spool.append(written);
    return spool;
  }

  test('gives back what was written, also where a read brings less than was asked for', async () => {
    const file = await filled();
    const probe = await openFile('/proc/self/status');
    const prototype = Object.getPrototypeOf(probe) as typeof probe;
    await probe.close();
    const read = prototype.read as (...args: unknown[]) => unknown;
    jest.spyOn(prototype, 'read').mockImplementation(function (this: typeof probe, ...args: unknown[]) {
      const [into, at, length, from] = args as [Buffer, number, number, number];
      return read.call(this, into, at, Math.min(length, 900), from) as never;
    } as never);
    const into = Buffer.alloc(5_000);
    await file.read(into, 10);
    expect(into.equals(written.subarray(10, 5_010))).toBe(true);
  });

  test('503 where it is shorter than what was written', async () => {
    const file = await filled();
    fs.truncateSync(openFiles()[0]!, 100);
    await expect(file.read(Buffer.alloc(1_000), 0)).rejects.toThrow(Unavailable);
  });

  test('is closed when its name cannot be taken away', async () => {
    const before = openFiles().length;
    const names = jest.spyOn(files, 'unlink').mockRejectedValue(new Error('not permitted'));
    await expect(openSpool(log)).rejects.toThrow(Unavailable);
    expect(openFiles()).toHaveLength(before);
    const [[name] = []] = names.mock.calls;
    fs.rmSync(String(name));
  });
});

describe('large imports', () => {
  let service: Service;
  let other: Awaited<ReturnType<typeof makeTenant>>;
  let url: URL;
  const open: net.Socket[] = [];

  beforeAll(async () => {
    service = await startService({ Role: 'Web' }, ['R1']);
    other = await makeTenant(service.context.db, { code: 'other', rooms: ['R1'] });
    url = new URL(service.url);
  });
  afterEach(async () => {
    for (const socket of open.splice(0)) socket.destroy();
    await until('no body waits', async () => filesOpen() === 0);
  });
  afterAll(() => service.stop());

  const filesOpen = () => openFiles().length;
  /** Of more than a MiB: none fits into memory alone. */
  const large = (prefix: string): Job[] =>
    makeJobs(150, { rooms: ['R1'], prefix, perJob: 1 }).map((job) => ({
      ...job,
      Bemerkung: 'x'.repeat(10_000),
    }));
  /** The same in one job. */
  const single = (prefix: string): Job[] =>
    makeJobs(1, { rooms: ['R1'], prefix }).map((job) => ({ ...job, Bemerkung: 'x'.repeat(3_000_000) }));
  const clientOf = async (tenant = service.tenant, role: 'Admin' | 'User' = 'User') =>
    lessonClient({ url: service.url, tenant }, await service.signIn(tenant, role));

  /** Sends the beginning of a large import, and the rest when it is told to. */
  async function begin(token: string, headers = '', jobs = large(`slow${open.length}-`)) {
    const body = JSON.stringify(jobs);
    const socket = net.connect(Number(url.port), url.hostname);
    open.push(socket);
    await once(socket, 'connect');
    socket.on('error', () => {});
    let answer = '';
    socket.on('data', (data) => (answer += data));
    socket.write(
      `POST /school/api/v2.0/jobs/create HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\n` +
        `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n${headers}\r\n${body.slice(0, -10)}`,
    );
    return {
      socket,
      finish: () => socket.write(body.slice(-10)),
      status: () => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]),
    };
  }
  const inTransactions = async () =>
    (
      await sql<{ n: number }>`
        select count(*)::int as n from pg_stat_activity
        where datname = current_database() and pid <> pg_backend_pid() and xact_start is not null`.execute(
        service.context.db,
      )
    ).rows[0]!.n;

  test('slow ones of one tenant hold neither a connection nor the import of another', async () => {
    const tokens = [await service.signIn(), await service.signIn(service.tenant, 'Admin')];
    const slow = await Promise.all([...tokens, ...tokens, ...tokens, ...tokens].map((token) => begin(token)));
    await until('four arrive', async () => filesOpen() === 4);
    await until('nobody is in the database', async () => (await inTransactions()) === 0);
    const client = await clientOf(other);
    expect((await client.post(large('other-'))).status).toBe(202);
    expect(slow.map(({ status }) => status())).toEqual(Array(8).fill(Number.NaN));
    expect(filesOpen()).toBe(4);
  });

  test('more of a person than two wait, and continue when one of them has ended or its client has gone', async () => {
    const token = await service.signIn();
    const [first, second] = [await begin(token), await begin(token)];
    await until('two arrive', async () => filesOpen() === 2);
    const third = (await clientOf()).post(large('third-'));
    const fourth = (await clientOf()).post(large('fourth-'));
    first.socket.destroy();
    second.finish();
    expect([(await third).status, (await fourth).status]).toEqual([202, 202]);
    await until('the second is answered', async () => second.status() === 202);
  });

  test('a single job takes a place too, and waits in a file', async () => {
    const token = await service.signIn();
    const bodies = ['a', 'b', 'c'].map(single);
    const slow = await Promise.all(bodies.map((jobs) => begin(token, '', jobs)));
    const sent = JSON.stringify(bodies[0]).length - 10;
    await until('two are in files but for their ends', async () => {
      const sizes = openFiles().map((file) => fs.statSync(file).size);
      return sizes.length === 2 && sizes.every((size) => size === sent);
    });
    for (const { finish } of slow) finish();
    await until('all are answered', async () => slow.every(({ status }) => status() > 0));
    expect(slow.map(({ status }) => status())).toEqual([202, 202, 202]);
  });

  test('imports of one job that are being stored take no connection from others', async () => {
    const clients = [
      ...[await clientOf(), await clientOf(service.tenant, 'Admin')],
      ...[await clientOf(other), await clientOf(other, 'Admin')],
    ];
    const { promise: isRead, resolve: release } = Promise.withResolvers<void>();
    let answers: Promise<Response[]> | undefined;
    const holding = service.context.inbox.transaction().execute(async (trx) => {
      await sql`lock table batch_job in share row exclusive mode`.execute(trx);
      answers = Promise.all(
        ['a', 'b', 'c'].flatMap((name) => clients.map((client, at) => client.post(single(`${name}${at}-`)))),
      );
      await isRead;
    });
    await until('as many are stored as have places', async () => (await countWaiting(service.context.uploads)) === 6);
    expect((await clients[0]!.call('/batches')).status).toBe(200);
    release();
    await holding;
    expect((await answers!).map(({ status }) => status)).toEqual(Array(12).fill(202));
  });

  test('two with one key make one batch', async () => {
    const token = await service.signIn();
    const jobs = large('same-');
    const both = [await begin(token, 'Idempotency-Key: same\r\n', jobs)];
    await until('the first arrives', async () => filesOpen() === 1);
    both.push(await begin(token, 'Idempotency-Key: same\r\n', jobs));
    await until('both arrive', async () => filesOpen() === 2);
    for (const { finish } of both) finish();
    await until('both are answered', async () => both.every(({ status }) => status() > 0));
    expect(both.map(({ status }) => status() === 202 || status() === 409)).toEqual([true, true]);
    const { rows } = await sql<{
      n: number;
    }>`select count(distinct batch_id)::int as n from batch_job where job_id = 'same-0'`.execute(service.context.db);
    expect(rows).toEqual([{ n: 1 }]);
  });

  test('429 before the rest is sent where the queue is full', async () => {
    const full = await startService({ Role: 'Web', Limits__OpenBatches: '1' }, ['R1']);
    const client = lessonClient(full, await full.signIn());
    expect((await client.post(makeJobs(1, { rooms: ['R1'] }))).status).toBe(202);
    const answer = await client.post(large('late-'));
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, '10']);
    await full.stop();
  });

  test('503 where there is no room for a file', async () => {
    const folder = jest.spyOn(os, 'tmpdir').mockReturnValue('/nowhere');
    const answer = await (await clientOf()).post(large('nowhere-'));
    folder.mockRestore();
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    expect(((await answer.json()) as { detail: string }).detail).toMatch(/operator/);
    expect((await (await clientOf()).post(large('again-'))).status).toBe(202);
  });
});
