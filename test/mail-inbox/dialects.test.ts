import { describe, expect, test } from '@jest/globals';
import fc from 'fast-check';
import { readBody } from '../../src/mail-inbox/dialects/detection.ts';
import { acknowledgeEws } from '../../src/mail-inbox/dialects/ews.ts';
import { isGoogle, readGoogle } from '../../src/mail-inbox/dialects/google.ts';
import {
  DialectFault,
  DialectOverflow,
  type MailNotification,
  type ReadNotifications,
} from '../../src/mail-inbox/dialects/notification.ts';
import { growthOf } from '../_util/growth.ts';
import { ewsBody, ewsFault, graphBody, graphItem, stateChange } from '../_util/notifications.ts';

const read = (body: string) => readBody(Buffer.from(body)) as ReadNotifications;
const one = (body: string) => read(body).notifications[0] as MailNotification;
const keyOf = (body: string) => one(body).dedupeKey?.toString('hex') ?? null;

describe('EWS', () => {
  test('several messages of one envelope are notifications of their own', () => {
    const [first = ''] =
      /<m:SendNotificationResponseMessage.*<\/m:SendNotificationResponseMessage>/.exec(ewsBody()) ?? [];
    const both = ewsBody().replace(first, first + first.replaceAll('HwBleA==', 'second'));
    expect(read(both).notifications.map(({ externalId }) => externalId)).toEqual(['HwBleA==', 'second']);
  });

  test('the last of its watermarks counts, and where it went on', () => {
    expect(one(ewsBody({ previous: 'w0', watermark: 'w9', events: ['CreatedEvent', 'ModifiedEvent'] }))).toMatchObject({
      watermark: 'w9',
      previousWatermark: 'w0',
      kind: 'Change',
      marks: true,
      ends: null,
    });
  });

  test('is the same by subscription and watermark; of a status by the one before too', () => {
    const key = keyOf(ewsBody());
    expect(keyOf(ewsBody({ prefix: 's', previous: 'other', events: ['DeletedEvent'] }))).toBe(key);
    expect(keyOf(ewsBody({ watermark: 'other' }))).not.toBe(key);
    expect(keyOf(ewsBody({ id: 'other' }))).not.toBe(key);
    const status = { events: ['StatusEvent'] };
    expect(keyOf(ewsBody(status))).not.toBe(keyOf(ewsBody({ ...status, previous: 'other' })));
    expect(keyOf(ewsBody({ watermark: '' }))).toBeNull();
  });

  test('of an error the id is read from its MessageXml, and its code is reported', () => {
    expect(one(ewsFault('id'))).toMatchObject({
      kind: 'Fault',
      externalId: 'id',
      marks: true,
      ends: expect.stringContaining('ErrorReadEventsFailed'),
    });
    const strange = ewsFault('id').replace('ErrorReadEventsFailed', '&lt;b&gt;');
    expect(one(strange).ends).toBe('The mail server says that it has ended: an error.');
  });

  test('names that cannot be stored count as missing', () => {
    expect(one(ewsBody({ id: 'x'.repeat(513) })).externalId).toBeNull();
    expect(one(ewsBody({ id: ' ' })).externalId).toBeNull();
  });

  test('may not send more than a thousand at a time', () => {
    const message = '<m:SendNotificationResponseMessage/>';
    const body = (count: number) =>
      ewsBody().replace(
        /<m:SendNotificationResponseMessage.*<\/m:SendNotificationResponseMessage>/,
        message.repeat(count),
      );
    expect(read(body(1_000)).notifications).toHaveLength(1_000);
    expect(() => read(body(1_001))).toThrow(DialectOverflow);
  });

  test('is acknowledged in exactly this way', () => {
    expect(acknowledgeEws('Unsubscribe')).toBe(
      '<?xml version="1.0" encoding="utf-8"?><s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body><SendNotificationResult xmlns="http://schemas.microsoft.com/exchange/services/2006/messages"><SubscriptionStatus>Unsubscribe</SubscriptionStatus></SendNotificationResult></s:Body></s:Envelope>',
    );
  });
});

describe('Google', () => {
  const headers = (more: Record<string, string> = {}) => ({
    'x-goog-channel-id': 'c1',
    'x-goog-channel-token': '7.secret',
    'x-goog-resource-id': 'r1',
    'x-goog-resource-state': 'exists',
    'x-goog-message-number': '10',
    ...more,
  });
  const ofHeaders = (more: Record<string, string> = {}) =>
    readGoogle(headers(more)).notifications[0] as MailNotification;

  test('is known by its headers, and kept without its token', () => {
    expect(isGoogle(headers())).toBe(true);
    expect(isGoogle({ 'x-goog-resource-state': 'exists' })).toBe(false);
    expect(ofHeaders()).toMatchObject({ kind: 'Change', externalId: 'c1', clientState: '7.secret', marks: true });
    expect(JSON.parse(ofHeaders().body!.toString())).toEqual({
      channel: 'c1',
      resource: 'r1',
      state: 'exists',
      number: '10',
      expiration: null,
    });
  });

  test.each([
    ['sync', 'Status', false],
    ['exists', 'Change', true],
    ['not_exists', 'Change', true],
    ['__proto__', 'Unknown', false],
    ['x'.repeat(600), 'Unknown', false],
  ])('%.20s is of the kind %s', (state, kind, marks) => {
    expect(ofHeaders({ 'x-goog-resource-state': state })).toMatchObject({ kind, marks });
  });

  test('is the same by channel and number; without a number none is the same as another', () => {
    const keyOfMessage = (more: Record<string, string>) => ofHeaders(more).dedupeKey?.toString('hex') ?? null;
    expect(keyOfMessage({ 'x-goog-resource-state': 'not_exists' })).toBe(keyOfMessage({}));
    expect(keyOfMessage({ 'x-goog-message-number': '11' })).not.toBe(keyOfMessage({}));
    expect(keyOfMessage({ 'x-goog-channel-id': 'c2' })).not.toBe(keyOfMessage({}));
    expect(keyOfMessage({ 'x-goog-message-number': '' })).toBeNull();
  });
});

describe('Graph', () => {
  const keyOfItem = (fields: object) => keyOf(graphBody(graphItem(fields)));

  test('is the same by subscription, kind of change, resource and version, however its resource is spelled', () => {
    const key = keyOfItem({});
    expect(keyOfItem({ resource: "users('622E')/events('aamk1')", clientState: 'c', tenantId: 'x' })).toBe(key);
    for (const other of [
      { subscriptionId: 'o' },
      { changeType: 'created' },
      { resource: 'o' },
      { resourceData: { '@odata.etag': 'o' } },
    ])
      expect(keyOfItem(other)).not.toBe(key);
  });

  test('an update without a version is never a duplicate', () => {
    expect(keyOfItem({ resourceData: { id: 'AAMk1' } })).toBeNull();
    expect(keyOfItem({ resourceData: undefined, id: 'n1' })).not.toBeNull();
    expect(keyOfItem({ resourceData: { id: 'AAMk1' }, changeType: 'deleted' })).not.toBeNull();
  });

  test('of its life cycle every state is the same but what was missed', () => {
    const lifecycle = (lifecycleEvent: unknown) => graphBody({ subscriptionId: 's', lifecycleEvent });
    expect(one(lifecycle('missed'))).toMatchObject({
      kind: 'Lifecycle',
      marks: true,
      dedupeKey: null,
      ends: null,
    });
    expect(one(lifecycle('reauthorizationRequired'))).toMatchObject({
      renews: true,
      marks: false,
      ends: null,
    });
    expect(one(lifecycle('subscriptionRemoved'))).toMatchObject({ marks: true, ends: expect.any(String) });
    expect(one(lifecycle({ a: 1 }))).toMatchObject({
      kind: 'Lifecycle',
      marks: false,
      renews: false,
      ends: null,
    });
  });

  test('keeps of each item all but its secret', () => {
    const item = graphItem({
      clientState: '17.secret',
      more: { deep: ['ä', null] },
      ['__proto__']: { x: 1 },
    });
    const { body, clientState } = one(graphBody(item));
    expect(clientState).toBe('17.secret');
    expect(JSON.parse(String(body))).toEqual({
      ...JSON.parse(JSON.stringify(item)),
      clientState: '[secret]',
    });
  });

  test('a value that is no text proves nothing', () => {
    for (const clientState of [1, null, ['17.x'], { toString: '17.x' }, '', 'x'.repeat(513), 'a\0b'])
      expect(one(graphBody({ subscriptionId: ['s'], clientState }))).toMatchObject({
        clientState: null,
        externalId: null,
      });
  });
});

describe('JMAP', () => {
  test('counts the accounts whose calendars have a new state', () => {
    const body = stateChange({
      A1: { CalendarEvent: 's1', Email: 's2' },
      a2: { Calendar: 's3' },
      a3: { Mailbox: 's4' },
      a4: { CalendarEvent: 7 },
      a5: null,
      a6: [],
    });
    expect(one(body)).toMatchObject({ kind: 'Change', accounts: ['a1', 'a2'] });
  });

  test('is the same by the states, in whatever order', () => {
    const states = { a: { CalendarEvent: '1', Calendar: '2' }, b: { CalendarEvent: '3' } };
    const turned = { b: { CalendarEvent: '3', Email: 'x' }, a: { Calendar: '2', CalendarEvent: '1' } };
    expect(keyOf(stateChange(turned))).toBe(keyOf(stateChange(states)));
    expect(keyOf(stateChange({ ...states, b: { CalendarEvent: '4' } }))).not.toBe(keyOf(stateChange(states)));
  });
});

describe('any body', () => {
  test('is read, or refused with a fault of its own, in little time', () => {
    const seeds = [ewsBody(), ewsFault(), graphBody(graphItem()), stateChange({ a: { Calendar: 's' } })];
    const changed = fc
      .tuple(fc.constantFrom(...seeds), fc.nat(), fc.nat(40), fc.string({ unit: 'binary', maxLength: 20 }))
      .map(([seed, at, length, text]) => {
        const from = at % seed.length;
        return seed.slice(0, from) + text + seed.slice(from + length);
      });
    fc.assert(
      fc.property(fc.oneof(changed, fc.string({ unit: 'binary' })), (body) => {
        try {
          const reading = read(body);
          if ((reading as unknown) !== 'Object') expect(reading.notifications.length).toBeLessThanOrEqual(1_000);
        } catch (error) {
          if (!(error instanceof DialectFault)) throw error;
        }
      }),
      { numRuns: 500 },
    );
  });

  test.each([
    ['items', (size: number) => `{"value":[${'1,'.repeat(size / 2)}1]}`],
    ['members of an object', (size) => `{${Array.from({ length: size / 8 }, (_, i) => `"${i}":0`).join(',')}}`],
    ['levels of objects', (size) => `${'{"a":'.repeat(size / 6)}0${'}'.repeat(size / 6)}`],
    ['escapes in a text', (size) => `{"a":"${'\\u0000'.repeat(size / 6)}"}`],
    ['digits of a number', (size) => `{"a":${'9'.repeat(size)}}`],
    ['spaces', (size) => ' '.repeat(size)],
    ['brackets in a text', (size) => `{"a":"${'['.repeat(size)}"}`],
  ])('%s', (_what, makeBody) => {
    const prepare = (size: number) => {
      const bytes = Buffer.from(makeBody(size));
      return () => {
        try {
          readBody(bytes);
        } catch (error) {
          if (!(error instanceof DialectFault || error instanceof DialectOverflow)) throw error;
        }
      };
    };
    expect(growthOf(prepare, 250_000, 2)).toBeLessThan(3);
  });
});
