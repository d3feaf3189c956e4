import { afterAll, beforeAll, beforeEach, describe, expect, test } from '@jest/globals';
import { sql } from 'kysely';
import {
  ewsBody,
  ewsFault,
  graphBody,
  graphItem,
  join,
  paths,
  push,
  readInbox,
  readMarks,
  secretsOf,
  stateChange,
  webhookPath,
} from '../_util/notifications.ts';
import { type Service, startService } from '../_util/service.ts';
import { forgetMail, makeCalendar, makeSubscription } from '../mail/_util/rows.ts';

let service: Service;
let ews: Subject;
let graph: Subject;
let cyrus: Subject;
let google: Subject;

type Subject = { id: number; calendarId: number; k: string; clientState: string };

const okBody =
  '<?xml version="1.0" encoding="utf-8"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><SendNotificationResult xmlns="http://schemas.microsoft.com/exchange/services/2006/messages"><SubscriptionStatus>OK</SubscriptionStatus></SendNotificationResult></s:Body></s:Envelope>';
const unsubscribeBody = okBody.replace('>OK<', '>Unsubscribe<');

beforeAll(async () => {
  service = await startService({ Role: 'Web' }, ['R1', 'R2', 'R3', 'R4']);
});
afterAll(() => service.stop());

async function subject(index: number, kind: 'Ews' | 'Graph' | 'CalDav' | 'Google'): Promise<Subject> {
  const { db } = service.context;
  const { mandatorId, resources } = service.tenant;
  const mailbox = `Room${index + 1}@rooms.test`;
  const calendarId = await makeCalendar(db, { mandatorId, resourceId: resources[index]!.id }, { kind, mailbox });
  const of = kind === 'CalDav' ? null : calendarId;
  const id = await makeSubscription(db, { mandatorId, calendarId: of }, ['AwaitingFirstPush'], { kind });
  return { id, calendarId, ...secretsOf(service, id) };
}
beforeEach(async () => {
  const { db } = service.context;
  await forgetMail(db);
  ews = await subject(0, 'Ews');
  graph = await subject(1, 'Graph');
  cyrus = await subject(2, 'CalDav');
});

const at = (path: string, query = '') => `${service.url}${join(path, query)}`;

async function subscription({ id }: Subject) {
  const { rows } = await sql<{
    state: string;
    seen: boolean;
    watermark: string | null;
    text: string | null;
    due: boolean;
  }>`
    select state, seen_at is not null as seen, watermark, fault_text as text, due_at <= now() as due
    from mail_subscription where id = ${id}`.execute(service.context.db);
  return rows[0];
}

const verdicts = async () => (await readInbox(service)).map(({ verdict }) => verdict);
const marked = async () => (await readMarks(service)).filter(({ marks }) => marks > 0).map(({ id }) => id);

describe.each(paths)('on the %s path', (_name, path) => {
  describe('Google', () => {
    beforeEach(async () => {
      google = await subject(3, 'Google');
    });
    const tell = (more: Record<string, string> = {}, query = google.k, body = '') =>
      push(at(path, query), body, {
        headers: {
          'X-Goog-Channel-ID': 'c1',
          'X-Goog-Channel-Token': google.clientState,
          'X-Goog-Resource-State': 'exists',
          'X-Goog-Message-Number': '2',
          ...more,
        },
      });

    test('is answered 200 with nothing, marks its calendar, and is stored without its token', async () => {
      expect(await tell({ 'X-Goog-Resource-State': 'sync', 'X-Goog-Message-Number': '1' })).toMatchObject({
        status: 200,
        text: '',
      });
      expect(await marked()).toEqual([]);
      expect(await tell()).toMatchObject({ status: 200, text: '' });
      expect(await tell()).toMatchObject({ status: 200 });
      expect(await verdicts()).toEqual(['Accepted', 'Accepted', 'Duplicate']);
      expect(await marked()).toEqual([google.calendarId]);
      expect(await subscription(google)).toMatchObject({ state: 'Active', seen: true });
      const [stored] = await readInbox(service);
      expect(stored).toMatchObject({ dialect: 'Google', kind: 'Status', externalId: 'c1', subscription: google.id });
      expect(JSON.stringify(await readInbox(service))).not.toContain(google.clientState);
    });

    test.each<[string, () => Record<string, string>]>([
      ['a wrong token', () => ({ 'X-Goog-Channel-Token': `${google.clientState.slice(0, -1)}_` })],
      ['no token', () => ({ 'X-Goog-Channel-Token': '' })],
      ['the secret of the callback', () => ({ 'X-Goog-Channel-Token': google.k.slice(2) })],
      ['the token of a subscription of Graph', () => ({ 'X-Goog-Channel-Token': graph.clientState })],
      ['a token of many tokens', () => ({ 'X-Goog-Channel-Token': `${google.clientState}, ${google.clientState}` })],
      ['a long token', () => ({ 'X-Goog-Channel-Token': 'x'.repeat(5_000) })],
    ])('is Rejected with %s, whatever its callback proves', async (_, more) => {
      expect(await tell({ ...more(), 'X-Goog-Channel-ID': `c${'\u00ff'.repeat(300)}` })).toMatchObject({
        status: 200,
        text: '',
      });
      expect(await verdicts()).toEqual(['Rejected']);
      expect(await marked()).toEqual([]);
    });

    test('proves no other dialect, and its headers decide beside a body of another', async () => {
      await tell({ 'X-Goog-Channel-Token': '' }, ews.k, ewsBody());
      expect(await marked()).toEqual([]);
      await tell({}, '', ewsBody());
      expect(await marked()).toEqual([google.calendarId]);
    });

    test('of a channel that was given up changes nothing', async () => {
      await sql`update mail_subscription set state = 'Active' where id = ${google.id}`.execute(service.context.db);
      await sql`update mail_subscription set state = 'Replaced' where id = ${google.id}`.execute(service.context.db);
      expect(await tell()).toMatchObject({ status: 200 });
      expect(await marked()).toEqual([]);
    });
  });

  describe('Exchange', () => {
    test.each(['soap11', 'soap', 's'])('is answered OK, whatever its prefixes: %s', async (prefix) => {
      const body = ewsBody({ prefix });
      const answer = await push(at(path, ews.k), body, {
        headers: { 'Content-Type': 'text/xml; charset=utf-8' },
      });
      expect(answer).toMatchObject({ status: 200, type: 'text/xml; charset=utf-8', text: okBody });
      expect(await readInbox(service)).toMatchObject([
        {
          dialect: 'Ews',
          kind: 'Change',
          verdict: 'Accepted',
          subscription: ews.id,
          externalId: 'HwBleA==',
          text: body,
        },
      ]);
      expect(await subscription(ews)).toMatchObject({ state: 'Active', seen: true, watermark: 'AQAA1' });
      expect(await readMarks(service)).toMatchObject([
        { marks: 1, jobs: 1 },
        { marks: 0, jobs: 0 },
        { marks: 0, jobs: 0 },
      ]);
    });

    test('is known by the body, not by its type', async () => {
      for (const type of ['text/plain', 'application/json', 'application/soap+xml', 'nonsense'])
        expect(
          await push(at(path, ews.k), `\uFEFF${ewsBody({ watermark: type })}`, {
            headers: { 'Content-Type': type },
          }),
        ).toMatchObject({
          status: 200,
          text: okBody,
        });
    });

    test.each(['Created', 'Modified', 'Deleted', 'Moved', 'Copied', 'NewMail', 'FreeBusyChanged'])(
      'says with %sEvent that something has changed',
      async (name) => {
        await push(at(path, ews.k), ewsBody({ events: ['StatusEvent', `${name}Event`] }));
        expect(await marked()).toEqual([ews.calendarId]);
      },
    );

    test('is not suspected any more when it is heard of again, be it with the same words', async () => {
      const body = ewsBody({ events: ['StatusEvent'] });
      await push(at(path, ews.k), body);
      await sql`update mail_subscription set state = 'Suspect', fault_text = 'silent' where id = ${ews.id}`.execute(
        service.context.db,
      );
      await push(at(path, ews.k), body);
      expect(await verdicts()).toEqual(['Accepted', 'Duplicate']);
      expect(await subscription(ews)).toMatchObject({ state: 'Active', text: null });
    });

    test('may say several things at once: what they share is kept once', async () => {
      const [, one = ''] = /(<m:SendNotificationResponseMessage.*<\/m:SendNotificationResponseMessage>)/.exec(
        ewsBody(),
      )!;
      const others = ['AQAA2', 'AQAA3'].map((watermark) => one.replaceAll('AQAA1', watermark));
      const body = ewsBody().replace(one, [one, ...others].join(''));
      expect(await push(at(path, ews.k), body)).toMatchObject({ status: 200, text: okBody });
      const bytes = Buffer.byteLength(body);
      expect(await readInbox(service)).toMatchObject([
        { verdict: 'Accepted', text: body, bytes },
        { verdict: 'Accepted', text: '', bytes },
        { verdict: 'Accepted', text: '', bytes },
      ]);
      expect(await subscription(ews)).toMatchObject({ watermark: 'AQAA3' });
    });

    test('may call its subscription as it likes', async () => {
      for (const id of ["a\"b\\c,{d} 'e'", 'NULL', '{}', 'ä\n😀'])
        await push(at(path, ews.k), ewsBody({ id, watermark: `w${id}` }));
      expect((await readInbox(service)).map(({ verdict, externalId }) => [verdict, externalId])).toEqual([
        ['Accepted', "a\"b\\c,{d} 'e'"],
        ['Accepted', 'NULL'],
        ['Accepted', '{}'],
        ['Accepted', 'ä\n😀'],
      ]);
    });

    test('says with StatusEvent alone that it is alive, and nothing of the calendar', async () => {
      const body = ewsBody({ events: ['StatusEvent'], previous: 'AQAA1' });
      expect(await push(at(path, ews.k), body)).toMatchObject({ status: 200, text: okBody });
      expect(await readInbox(service)).toMatchObject([{ kind: 'Status', verdict: 'Accepted' }]);
      expect(await subscription(ews)).toMatchObject({ state: 'Active', seen: true });
      expect(await marked()).toEqual([]);
    });

    test('has left something out if it continues where it did not stop', async () => {
      await push(at(path, ews.k), ewsBody({ events: ['StatusEvent'], watermark: 'AQAA1' }));
      await push(at(path, ews.k), ewsBody({ events: ['StatusEvent'], previous: 'AQAA1', watermark: 'AQAA2' }));
      expect(await marked()).toEqual([]);
      await push(at(path, ews.k), ewsBody({ events: ['StatusEvent'], previous: 'AQAA7', watermark: 'AQAA8' }));
      expect(await marked()).toEqual([ews.calendarId]);
    });

    test('ends a subscription with an error, and is asked to forget it', async () => {
      const answer = await push(at(path, ews.k), ewsFault('HwBleA=='));
      expect(answer).toMatchObject({ status: 200, text: unsubscribeBody });
      expect(await readInbox(service)).toMatchObject([{ kind: 'Fault', verdict: 'Accepted', externalId: 'HwBleA==' }]);
      expect(await subscription(ews)).toMatchObject({
        state: 'Dead',
        text: 'The mail server says that it has ended: ErrorReadEventsFailed.',
      });
      expect(await marked()).toEqual([ews.calendarId]);
    });

    test.each(['Dead', 'Failed', 'Replaced', 'Disabled'])(
      'is asked to forget a subscription that is %s, which marks its calendar all the same',
      async (state) => {
        await sql`update mail_subscription set state = ${state} where id = ${ews.id}`.execute(service.context.db);
        expect(await push(at(path, ews.k), ewsBody())).toMatchObject({ status: 200, text: unsubscribeBody });
        expect(await subscription(ews)).toMatchObject({ state });
        expect(await marked()).toEqual([ews.calendarId]);
      },
    );

    test('is accepted before the answer that names the subscription', async () => {
      const { mandatorId } = service.tenant;
      await sql`update mail_subscription set state = 'Replaced' where id = ${graph.id}`.execute(service.context.db);
      const id = await makeSubscription(service.context.db, { mandatorId, calendarId: graph.calendarId }, []);
      const { k } = secretsOf(service, id);
      expect(await push(at(path, k), ewsBody({ id: 'its name', events: ['StatusEvent'] }))).toMatchObject({
        text: okBody,
      });
      expect(await push(at(path, k), ewsBody({ id: 'its name' }))).toMatchObject({ text: okBody });
      expect(await subscription({ ...graph, id })).toMatchObject({ state: 'Provisioning', seen: true });
      expect(await marked()).toEqual([graph.calendarId]);
    });
  });

  describe('a notification that nothing proves', () => {
    const wrong = () => [
      '',
      'k=',
      'k=1',
      `${ews.k}x`,
      ews.k.replace(/^k=\d+/, 'k=99999'),
      `k=${ews.clientState}`,
      graph.k,
    ];

    test('of Exchange is answered as a proven one, and has no effect', async () => {
      const proven = await push(at(path, ews.k), ewsBody());
      for (const k of wrong()) {
        const answer = await push(at(path, k), ewsBody());
        expect([answer.status, answer.type, answer.text]).toEqual([proven.status, proven.type, proven.text]);
      }
      expect(await verdicts()).toEqual(['Accepted', ...wrong().map(() => 'Rejected')]);
      expect((await readMarks(service)).map(({ marks }) => marks)).toEqual([1, 0, 0]);
    });

    test('of Exchange is asked to be forgotten once it has come for ten minutes', async () => {
      expect(await push(at(path), ewsBody({ id: 'orphan' }))).toMatchObject({ text: okBody });
      await sql`update mail_notification set received_at = received_at - interval '11 minutes'`.execute(
        service.context.db,
      );
      expect(await push(at(path), ewsBody({ id: 'orphan' }))).toMatchObject({
        status: 200,
        text: unsubscribeBody,
      });
      expect(await push(at(path), ewsBody({ id: 'another' }))).toMatchObject({ text: okBody });
    });

    test('of Graph or JMAP has no effect, and its answer does not tell', async () => {
      const item = graphItem({ clientState: `${graph.clientState}x` });
      expect(await push(at(path, graph.k), graphBody(item))).toMatchObject({ status: 202, text: '' });
      expect(await push(at(path), stateChange({ room3: { CalendarEvent: 's1' } }))).toMatchObject({
        status: 202,
      });
      expect(await verdicts()).toEqual(['Rejected', 'Rejected']);
      expect(await marked()).toEqual([]);
      expect([await subscription(graph), await subscription(cyrus)]).toMatchObject([{ seen: false }, { seen: false }]);
    });

    test('costs one row, however many come at a time', async () => {
      const [, one = ''] = /(<m:SendNotificationResponseMessage.*<\/m:SendNotificationResponseMessage>)/.exec(
        ewsBody(),
      )!;
      const items = Array.from({ length: 1_000 }, (_, index) => graphItem({ clientState: `${index}` }));
      await push(at(path, graph.k), graphBody(...items));
      await push(at(path), ewsBody().replace(one, one.repeat(1_000)));
      expect(await readInbox(service)).toMatchObject([
        { dialect: 'Graph', verdict: 'Rejected', count: 1_000 },
        { dialect: 'Ews', verdict: 'Rejected', count: 1_000, externalId: 'HwBleA==' },
      ]);
    });

    test('is kept with its first KiB', async () => {
      const body = ewsBody({ events: Array(20).fill('CreatedEvent') });
      await push(at(path), body);
      expect(await readInbox(service)).toMatchObject([{ text: body.slice(0, 1_024), bytes: body.length }]);
    });
  });

  describe('Graph', () => {
    test('is answered 202 with nothing; each of its items is a notification of its own', async () => {
      const { clientState } = graph;
      const body = graphBody(
        graphItem({ clientState }),
        graphItem({ clientState: 'wrong', resource: 'other' }),
        graphItem({ clientState, resource: "users/622E/events('AAMk2')" }),
        'nonsense',
      );
      const answer = await push(at(path), body, { headers: { 'Content-Type': 'application/json' } });
      expect([answer.status, answer.text, answer.type]).toEqual([202, '', null]);
      const inbox = await readInbox(service);
      expect(inbox.map(({ verdict, count }) => [verdict, count])).toEqual([
        ['Accepted', 1],
        ['Accepted', 1],
        ['Rejected', 2],
      ]);
      expect(JSON.parse(inbox[0]!.text)).toEqual(graphItem({ clientState: '[secret]' }));
      expect(await subscription(graph)).toMatchObject({ state: 'Active' });
      expect((await readMarks(service)).map(({ marks, jobs }) => [marks, jobs])).toEqual([
        [0, 0],
        [1, 1],
        [0, 0],
      ]);
    });

    test('asks to renew a subscription', async () => {
      const { clientState } = graph;
      await sql`update mail_subscription set state = 'Active', due_at = now() + interval '1 day' where id = ${graph.id}`.execute(
        service.context.db,
      );
      await push(
        at(path),
        graphBody({
          ...graphItem({ clientState }),
          changeType: undefined,
          lifecycleEvent: 'reauthorizationRequired',
        }),
      );
      expect(await readInbox(service)).toMatchObject([{ kind: 'Lifecycle', verdict: 'Accepted' }]);
      expect(await subscription(graph)).toMatchObject({ state: 'Active', due: true });
      expect(await marked()).toEqual([]);
    });

    test('says that it has removed a subscription, or missed something', async () => {
      const { clientState } = graph;
      const lifecycle = (lifecycleEvent: string) => graphBody({ subscriptionId: 's', clientState, lifecycleEvent });
      await push(at(path), lifecycle('missed'));
      await push(at(path), lifecycle('missed'));
      expect((await readMarks(service))[1]).toMatchObject({ marks: 2 });
      await push(at(path), lifecycle('subscriptionRemoved'));
      expect(await subscription(graph)).toMatchObject({ state: 'Dead' });
      await push(at(path), lifecycle('somethingNew'));
      expect(await verdicts()).toEqual(['Accepted', 'Accepted', 'Accepted', 'Accepted']);
    });

    test('may not send more than a thousand at a time', async () => {
      expect(await push(at(path), graphBody(...Array(1_001).fill({})))).toMatchObject({ status: 413 });
      const { clientState } = graph;
      const items = Array.from({ length: 1_000 }, (_, index) =>
        graphItem({ clientState, resource: `events('${index}')` }),
      );
      expect(await push(at(path), graphBody(...items))).toMatchObject({ status: 202 });
      expect(await verdicts()).toEqual(Array(1_000).fill('Accepted'));
    });
  });

  describe('JMAP', () => {
    test('marks the calendars of the accounts that it names, by address or its local part', async () => {
      const answer = await push(
        at(path, cyrus.k),
        stateChange({ ROOM3: { CalendarEvent: 's1' }, nobody: { Calendar: 's2' } }),
      );
      const [stored] = await readInbox(service);
      expect(answer).toMatchObject({ status: 202, type: 'application/json; charset=utf-8' });
      expect(JSON.parse(answer.text)).toEqual({ Received: true, NotificationId: stored?.id });
      expect(stored).toMatchObject({
        dialect: 'Jmap',
        kind: 'Change',
        verdict: 'Accepted',
        subscription: cyrus.id,
      });
      expect(await marked()).toEqual([cyrus.calendarId]);
      await push(at(path, cyrus.k), stateChange({ 'room3@rooms.test': { Calendar: 's3' }, room1: { Calendar: 's3' } }));
      expect((await readMarks(service)).map(({ marks }) => marks)).toEqual([0, 0, 2]);
    });

    test('with changes of mail alone says that it is alive', async () => {
      await push(at(path, cyrus.k), stateChange({ room3: { Email: 's1' } }));
      expect(await readInbox(service)).toMatchObject([{ kind: 'Status', verdict: 'Accepted' }]);
      expect(await subscription(cyrus)).toMatchObject({ state: 'Active' });
      expect(await marked()).toEqual([]);
    });

    test('is stored and answered when it says something else, as is any JSON object', async () => {
      for (const body of [
        '{"@type":"PushVerification","verificationCode":"v"}',
        '{}',
        '{"value":7}',
        '{"@type":"StateChange","changed":[]}',
      ]) {
        const answer = await push(at(path, cyrus.k), body);
        expect(answer.status).toBe(202);
        expect(JSON.parse(answer.text)).toMatchObject({ Received: true });
      }
      expect(await verdicts()).toEqual(Array(4).fill('Unrecognised'));
    });
  });

  test('the same notification again is stored as a duplicate, without effect', async () => {
    const bodies: [string, string][] = [
      [ews.k, ewsBody()],
      [ews.k, ewsBody({ events: ['StatusEvent'], watermark: 'AQAA3', previous: 'AQAA1' })],
      ['', graphBody(graphItem({ clientState: graph.clientState }))],
      [cyrus.k, stateChange({ room3: { CalendarEvent: 's1' } })],
    ];
    for (const [k, body] of bodies) await push(at(path, k), body);
    const before = await readMarks(service);
    await sql`update mail_subscription set seen_at = null`.execute(service.context.db);
    for (const [k, body] of bodies) expect((await push(at(path, k), body)).status).toBeLessThan(300);
    expect(await verdicts()).toEqual([...Array(4).fill('Accepted'), ...Array(4).fill('Duplicate')]);
    expect(await readMarks(service)).toEqual(before);
    expect(await subscription(ews)).toMatchObject({ seen: true });
  });

  describe('400', () => {
    test.each([
      ['a DTD', '<!DOCTYPE x [<!ENTITY e "e">]><x>&e;</x>'],
      ['malformed XML', '<x>'],
      ['XML of no dialect', '<x/>'],
      ['SOAP that is no notification', ewsBody().replaceAll('SendNotification', 'GetEvents')],
      ['malformed JSON', '{"value":['],
      ['JSON that is no object', '[{"value":[]}]'],
      ['deep JSON', `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`],
      ['a text', 'hello'],
      ['nothing', ''],
      ['bytes', '\0\xff'],
    ])('%s', async (_what, body) => {
      const answer = await push(at(path, ews.k), body, { headers: { 'Content-Type': 'text/xml' } });
      expect(answer).toMatchObject({ status: 400, type: 'application/problem+json; charset=utf-8' });
      expect(JSON.parse(answer.text)).toMatchObject({ Code: 'Malformed', status: 400 });
      expect(await readInbox(service)).toMatchObject([{ verdict: 'Unrecognised', dialect: 'Unknown' }]);
    });

    test('an address that cannot be decoded', async () => {
      expect(await push(at(path, 'k=%ff'), ewsBody())).toMatchObject({ status: 400 });
    });
  });

  test('405 with Allow for every other method, 413 beyond the limit, 415 for what is encoded', async () => {
    for (const method of ['GET', 'PUT', 'DELETE', 'PATCH']) {
      const answer = await push(at(path), null, { method });
      expect([method, answer.status, answer.headers.get('allow')]).toEqual([method, 405, 'POST']);
    }
    const large = await push(at(path, ews.k), `${ewsBody()}${' '.repeat(1_048_576)}`);
    expect(large).toMatchObject({ status: 413, type: 'application/problem+json; charset=utf-8' });
    expect(await push(at(path, ews.k), ewsBody(), { headers: { 'Content-Encoding': 'gzip' } })).toMatchObject({
      status: 415,
    });
    expect(await readInbox(service)).toEqual([]);
  });
});

describe('the tenant of the legacy path', () => {
  test.each(['?', '?school&', '?other&', '?nobody&', '?tenant=school&', '?%zz&'])(
    'decides nothing: %s',
    async (tenant) => {
      const answer = await push(`${service.url}/WebServices/SyncNotification.svc${tenant}${ews.k}`, ewsBody());
      expect(answer).toMatchObject({ status: 200, text: okBody });
      expect(await verdicts()).toEqual(['Accepted']);
      expect(answer.headers.get('deprecation')).toMatch(/^@\d+$/);
    },
  );
});

describe('?validationToken=', () => {
  const token = 'Validation: Testing client application reachability for subscription Request-Id: 877cb92e-a60b';
  const handshake = (query: string, path: string = webhookPath) =>
    push(at(path, query), '', { headers: { 'Content-Type': 'text/plain; charset=utf-8' } });
  const encoded = encodeURIComponent(token);

  test.each(paths)('is echoed as text while a subscription is being made: %s path', async (_name, path) => {
    for (const written of [encoded, encoded.replaceAll('%20', '+'), encoded.replaceAll('%3A', ':')]) {
      const answer = await handshake(`${graph.k}&validationToken=${written}`, path);
      expect(answer).toMatchObject({ status: 200, type: 'text/plain; charset=utf-8', text: token });
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
      expect(answer.headers.get('content-security-policy')).toBe("default-src 'none'; sandbox");
    }
    expect(await readInbox(service)).toMatchObject(
      Array(3).fill({ dialect: 'Graph', kind: 'Handshake', verdict: 'Handshake', subscription: graph.id }),
    );
    expect(await subscription(graph)).toMatchObject({ state: 'AwaitingFirstPush', seen: false });
  });

  test.each([
    ['%2B%25+%2525', '+% %25'],
    ['%C3%A4%F0%9F%98%80', 'ä😀'],
    [`${'x'.repeat(2_048)}`, 'x'.repeat(2_048)],
    ['"quoted"\'&x=1', '"quoted"\''],
  ])('is decoded once: %s', async (written, read) => {
    expect(await handshake(`${graph.k}&validationToken=${written}`)).toMatchObject({
      status: 200,
      text: read,
    });
  });

  test.each([
    ['markup', 'validationToken=%3Cscript%3Ealert(1)%3C%2Fscript%3E'],
    ['markup as it is', 'validationToken=<b>'],
    ['CR and LF', 'validationToken=a%0D%0AX-Evil:%201'],
    ['a control character', 'validationToken=a%00'],
    ['more than 2,048 characters', `validationToken=${'x'.repeat(2_049)}`],
    ['nothing', 'validationToken='],
    ['broken encoding', 'validationToken=%E4'],
    ['two of them', 'validationToken=a&validationToken=a'],
  ])('is refused with %s', async (_what, query) => {
    const answer = await handshake(`${graph.k}&${query}`);
    expect(answer).toMatchObject({ status: 400, type: 'application/problem+json; charset=utf-8' });
    expect(answer.text).not.toMatch(/script|<b>|Evil/);
    expect(await readInbox(service)).toEqual([]);
  });

  describe.each(paths)('without a subscription, on the %s path', (_name, path) => {
    test('is echoed all the same, and is no handshake', async () => {
      const { db } = service.context;
      await sql`update mail_subscription set state = 'Replaced' where id = ${graph.id}`.execute(db);
      const proven = await handshake(`${graph.k}&validationToken=${encoded}`, path);
      expect(proven).toMatchObject({ status: 200, type: 'text/plain; charset=utf-8', text: token });
      const told = ({ headers }: typeof proven) =>
        ['x-content-type-options', 'content-security-policy', 'cache-control'].map((name) => headers.get(name));
      for (const query of ['', 'k=', 'k=1.wrong', `${graph.k}x`, ews.k]) {
        const answer = await handshake(`${query}&validationToken=${encoded}`, path);
        expect(answer).toMatchObject({ status: 200, type: proven.type, text: token });
        expect(told(answer)).toEqual(['nosniff', "default-src 'none'; sandbox", 'no-store']);
        expect(told(answer)).toEqual(told(proven));
      }
      expect(await verdicts()).toEqual(Array(6).fill('Rejected'));
      expect(await marked()).toEqual([]);
    });

    test('is refused with markup as anywhere else', async () => {
      expect(await handshake('validationToken=%3Cb%3E', path)).toMatchObject({
        status: 400,
        type: 'application/problem+json; charset=utf-8',
      });
    });
  });

  test.each(['?', '?school&', '?other&', '?nobody&', '?%zz&'])(
    'is echoed for whatever tenant the legacy path names: %s',
    async (tenant) => {
      const url = `${service.url}/WebServices/SyncNotification.svc${tenant}validationToken=${encoded}`;
      expect(await push(url, '')).toMatchObject({ status: 200, text: token });
    },
  );
});
