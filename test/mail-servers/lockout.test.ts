/** A wrong password or secret of a mail server does not lock its account out. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, jest, test } from '@jest/globals';
import type { MailServerSettings } from '../../src/config.ts';
import { openLog } from '../../src/log.ts';
import type { Connector, ServerFault } from '../../src/mail-servers/connector.ts';
import { openConnectors } from '../../src/mail-servers/service.ts';
import { type Asked, type ScriptedServer, startScriptedServer } from '../_util/scripted-server.ts';
import { readAll } from '../mail/_util/in-steps.ts';

const window = { start: new Date('2026-11-01T00:00:00Z'), end: new Date('2026-12-01T00:00:00Z') };
const [minute, begin] = [60_000, Date.parse('2026-11-10T08:00:00Z')];
const json = { 'content-type': 'application/json' };

let server: ScriptedServer;
let connector: Connector;
beforeAll(async () => {
  server = await startScriptedServer();
});
afterAll(() => server.close());
const clock = jest.spyOn(Date, 'now');
beforeEach(() => {
  clock.mockReturnValue(begin);
});
afterEach(() => {
  clock.mockReset();
});

function open(settings: object): void {
  const days = { PastDays: 1, FutureDays: 30 };
  connector = openConnectors({ log: openLog('silent') })({ ...days, ...settings } as MailServerSettings);
}
const openEws = () =>
  open({ Kind: 'Ews', Url: `${server.origin}/EWS/Exchange.asmx`, User: 'rooms', Password: 'hunter2' });
const openGraph = () =>
  open({
    Kind: 'Graph',
    Url: `${server.origin}/v1.0`,
    TokenUrl: `${server.origin}/token`,
    ClientId: 'client',
    ClientSecret: 'hunter2',
  });
const isToken = ({ path }: Asked) => path === '/token';

/** The calendars of as many rooms are read at the same time. @returns what each of them comes to */
async function readEach(rooms: number): Promise<ServerFault[]> {
  const readings = Array.from({ length: rooms }, (_, index) =>
    readAll(
      connector,
      { mailbox: `room-${index}@x.example`, address: null },
      null,
      window,
      AbortSignal.timeout(60_000),
    ),
  );
  const done = await Promise.allSettled(readings);
  return done.flatMap((one) => (one.status === 'rejected' ? [one.reason as ServerFault] : []));
}
/** How often it was asked by this. */
async function countAsks(rooms: number): Promise<number> {
  const before = server.asked.length;
  await readEach(rooms);
  return server.asked.length - before;
}
const pass = (milliseconds: number) => clock.mockReturnValue(Date.now() + milliseconds);

describe('a password that is not accepted', () => {
  beforeEach(() => {
    openEws();
    server.answer(() => ({ status: 401 }));
  });

  test('is tried by requests in flight only: all others fail with the reason and the time of the next attempt', async () => {
    const faults = await readEach(300);
    expect(server.asked.length).toBeLessThanOrEqual(8);
    expect(new Set(faults.map(({ fault, retryAt }) => `${fault} ${retryAt?.toISOString()}`))).toEqual(
      new Set(['AccessLost 2026-11-10T08:01:00.000Z']),
    );
    expect(faults).toHaveLength(300);
    expect(faults.at(-1)!.message).toBe(
      `${server.origin} answers 401 to SyncFolderItems /EWS/Exchange.asmx; are User and Password of MailServer right? The account is not used again before 2026-11-10T08:01:00Z.`,
    );
    expect(await countAsks(300)).toBe(0);
    pass(minute - 1);
    expect(await countAsks(300)).toBe(0);
  });

  test('is tried once after each pause, which doubles up to a quarter of an hour', async () => {
    await readEach(20);
    for (const minutes of [1, 2, 4, 8, 15, 15]) {
      pass(minutes * minute - 1);
      expect(await countAsks(20)).toBe(0);
      pass(1);
      expect(await countAsks(20)).toBe(1);
    }
  });

  test('any other answer ends the pause, and the next one is short again', async () => {
    await readEach(20);
    pass(minute);
    await readEach(1);
    pass(2 * minute);
    server.answer(() => ({ status: 404 }));
    expect(await countAsks(1)).toBe(1);
    expect(await countAsks(20)).toBe(20);
    server.answer(() => ({ status: 401 }));
    const [refused] = await readEach(1);
    expect(refused!.retryAt!.getTime() - Date.now()).toBe(minute);
  });

  test('if the one that tries has no answer, another one tries a little later', async () => {
    await readEach(20);
    pass(minute);
    server.answer(() => ({ body: (response) => response.destroy() }));
    expect(await countAsks(20)).toBe(1);
    pass(15_000);
    expect(await countAsks(20)).toBe(1);
  });

  test('another connector has a pause of its own', async () => {
    await readEach(1);
    openEws();
    expect(await countAsks(1)).toBe(1);
  });
});

describe('a secret that is refused', () => {
  test.each([
    [401, 'unauthorized'],
    [400, 'invalid_client'],
  ])('%i %s by the token endpoint: it is asked once in a minute', async (status, error) => {
    openGraph();
    server.answer(() => ({ status, headers: json, body: { error } }));
    const faults = await readEach(30);
    expect(server.asked).toHaveLength(1);
    expect(new Set(faults.map(({ fault }) => fault))).toEqual(new Set(['AccessLost']));
    expect(faults[0]!.message).toContain('are ClientId and ClientSecret of MailServer right?');
    expect(await countAsks(30)).toBe(0);
    pass(minute);
    expect(await countAsks(30)).toBe(1);
  });

  test('a token that is renewed in vain counts as one refusal', async () => {
    openGraph();
    server.answer((one) =>
      isToken(one)
        ? { headers: json, body: { token_type: 'Bearer', access_token: 't', expires_in: 3_599 } }
        : {
            status: 401,
            headers: json,
            body: { error: { code: 'InvalidAuthenticationToken', message: 'x' } },
          },
    );
    const [refused] = await readEach(1);
    expect(server.asked.filter(isToken)).toHaveLength(2);
    expect(refused!.message).toContain(
      '401 to GET calendarView/delta /v1.0/users/room-0@x.example/calendarView/delta: InvalidAuthenticationToken x',
    );
    expect(refused!.retryAt!.getTime() - Date.now()).toBe(minute);
    expect(await countAsks(5)).toBe(0);
  });
});
