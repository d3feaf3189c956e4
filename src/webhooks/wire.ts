/** Webhooks on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { cursorAt } from '../changes/service.ts';
import { longestCursor } from '../db/paging.ts';
import {
  count,
  flag,
  id,
  instant,
  isWebAddress,
  live,
  maybeInstant,
  maybeText,
  positive,
  recordOf,
  sentText,
  text,
  wrongWebAddress,
} from '../fields.ts';
import { longest } from '../names.ts';
import * as parameters from '../query-parameters.ts';
import {
  type Delivery,
  disabledReasons,
  eventKinds,
  longestAnswer,
  messageKinds,
  type Webhook,
  type WithSecret,
} from './service.ts';

export const eventKind = z
  .enum(eventKinds, `must be ${eventKinds.slice(0, -1).join(', ')} or ${eventKinds.at(-1)}`)
  .meta({
    id: 'EventKind',
    description:
      'The kind of event: a batch has ended; a booking was created, changed, cancelled or declined, or released; a display is silent, or is back; an item of a mail server has no booking because its room is taken.',
  });
export const messageKind = z
  .enum(messageKinds)
  .meta({ id: 'WebhookMessageKind', description: 'An event, or a test message.' });
export const disabledReason = z.enum(disabledReasons).meta({
  id: 'WebhookDisabledReason',
  description:
    'An Admin has disabled it; the receiver has answered 410; an event could not be delivered for three days; the feed no longer keeps the next changes.',
});

const descriptions = {
  name: 'Unique in the tenant, regardless of case.',
  url: 'Where messages are sent, by POST.',
  kinds: 'Which events are sent.',
  enabled: 'Whether events are sent.',
};

export const webhookRecord = z
  .object({
    Id: id('webhook', 'The id of the webhook.'),
    Name: text(longest.name, descriptions.name),
    Url: text(longest.url, descriptions.url),
    Kinds: z.array(eventKind).max(eventKinds.length).meta({ description: descriptions.kinds }),
    Enabled: flag(descriptions.enabled),
    DisabledAt: maybeInstant('Since when it is disabled; null if it is enabled.'),
    DisabledBecause: disabledReason.nullable().meta({ description: 'Why; null if it is enabled.' }),
    Cursor: live(maybeText(longestCursor, 'The place in the feed of changes up to which events were sent or wait.')),
    Waiting: live(
      count(
        'Events that have failed and are sent again, and those behind them; not those that it has not read in the feed yet.',
      ),
    ),
    Failures: live(count('Attempts that failed one after another.')),
    FailingSince: live(maybeInstant('When the first of them failed; null: the last attempt succeeded.')),
    SucceededAt: live(maybeInstant('When a message was last delivered; null: never.')),
    NextAttemptAt: live(maybeInstant('While it fails: the time of the next attempt.')),
    FormerSecretUntil: live(maybeInstant('Until when the previous secret also signs; null: it does not.')),
    Version: positive('Increases with each change of the record; its ETag.'),
  })
  .meta({ id: 'Webhook', description: 'An address to which events are sent, and the state of its deliveries.' });

export const secretRecord = z
  .object({
    ...webhookRecord.shape,
    Secret: text(100, 'The key that signs messages, beginning with `whsec_`. It is shown only this once.'),
  })
  .meta({ id: 'WebhookWithSecret', description: 'A webhook with the secret that was just made.' });

/** The address of a webhook in a body. */
const url = z.string().trim().max(longest.url).refine(isWebAddress, wrongWebAddress);
const sent = {
  Name: sentText(longest.name).meta({ description: descriptions.name }),
  Url: url.meta({
    description:
      'An https address on the internet, or of a server that the operator trusts. Redirects are not followed.',
  }),
  Kinds: z
    .array(eventKind)
    .min(1, 'must name one kind at least')
    .max(eventKinds.length)
    .meta({ description: descriptions.kinds }),
  Enabled: flag(`${descriptions.enabled} When it is enabled again, it continues where it was.`),
};
export const newWebhook = z
  .strictObject({ Name: sent.Name, Url: sent.Url, Kinds: sent.Kinds })
  .meta({ id: 'NewWebhook', description: 'A webhook to create: all events from now on are sent to it.' });
export const webhookChanges = z
  .strictObject(sent)
  .partial()
  .meta({ id: 'WebhookChanges', description: 'What to change of a webhook.' });

const mostOverlap = 168;
export const rotation = z
  .strictObject({
    OverlapHours: z
      .int()
      .min(0)
      .max(mostOverlap)
      .default(24)
      .meta({ description: 'For how many hours the previous secret also signs; use 0 if it has leaked.' }),
  })
  .meta({ id: 'WebhookRotation', description: 'How a secret is replaced.' });
export const replay = z
  .strictObject({
    Cursor: z.string().max(longestCursor).nullable().default(null).meta({
      description:
        'A `Cursor` of a delivery or of the feed of changes: events after it are sent again; `now`: only events from now on; null: all events that are kept.',
    }),
  })
  .meta({ id: 'WebhookReplay', description: 'The place in the feed from which events are sent again.' });

export const deliveryRecord = z
  .object({
    Id: id('webhookDelivery', 'The id of the delivery.'),
    WebhookId: id('webhook', 'The webhook.'),
    MessageId: text(200, 'The header `webhook-id`, which all attempts of one event share.'),
    Kind: messageKind.meta({ description: 'The kind of message.' }),
    Subject: maybeText(100, 'The record of the event: `Booking 4711`; null for a test.'),
    Attempt: positive('Which attempt it was, counted from 1.'),
    At: instant('When it was sent.'),
    Milliseconds: count('How long it took until it was answered.'),
    Status: z
      .int()
      .min(100)
      .max(999)
      .nullable()
      .meta({ description: 'The HTTP status of the answer; null: there was none.' }),
    Answer: maybeText(
      longestAnswer,
      `The first ${longestAnswer} characters of the answer; null for a server that the operator trusts.`,
    ),
    Fault: maybeText(500, 'Why the delivery failed; null: it succeeded.'),
    Cursor: maybeText(
      longestCursor,
      'The place of the event in the feed of changes: a replay from there sends the events after it.',
    ),
  })
  .meta({ id: 'WebhookDelivery', description: 'An attempt to send a message, with its answer.' });

export const deliveryFilter = z.strictObject({
  Failed: parameters.flag('Only deliveries that failed, or only those that succeeded.').optional(),
});

const toRecord = recordOf(webhookRecord);
const recordOfDelivery = recordOf(deliveryRecord);
export const toWebhookRecord = ({ seen, ...others }: Webhook) =>
  toRecord({ ...others, cursor: seen && cursorAt(seen) });
export const toSecretRecord = ({ webhook, secret }: WithSecret) => ({ ...toWebhookRecord(webhook), Secret: secret });
export const toDeliveryRecord = (delivery: Delivery) => recordOfDelivery(delivery);

export const example = {
  Id: 3,
  Name: 'Timetable board',
  Url: 'https://board.example/hooks/roomgate',
  Kinds: ['BookingCreated', 'BookingCancelled'],
  Enabled: true,
  DisabledAt: null,
  DisabledBecause: null,
  Cursor: 'cjE6Y2hhbmdlczpbNDIsMTc5NTU5NjQwMDAwMDAwMF0',
  Waiting: 0,
  Failures: 0,
  FailingSince: null,
  SucceededAt: '2026-11-20T08:00:02.000Z',
  NextAttemptAt: null,
  FormerSecretUntil: null,
  Version: 1,
};
export const secretExample = { ...example, Secret: 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSwMfKQ9r8GKYo=' };
export const deliveryExample = {
  Id: 77,
  WebhookId: 3,
  MessageId: 'evt_demo_42_hobxuqxvk0',
  Kind: 'BookingCreated',
  Subject: 'Booking 4711',
  Attempt: 1,
  At: '2026-11-20T08:00:01.000Z',
  Milliseconds: 84,
  Status: 204,
  Answer: null,
  Fault: null,
  Cursor: 'cjE6Y2hhbmdlczpbNDIsMTc5NTU5NjQwMDAwMDAwMF0',
};
