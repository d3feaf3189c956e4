/** The messages of webhooks, for the section `webhooks` of the OpenAPI document. */
import { z } from 'zod';
import type { ZodOpenApiPathsObject } from 'zod-openapi';
import { eventKinds, messageKinds, typeOf } from './service.ts';

const header = (description: string, most: number, example: string) =>
  z.string().max(most).meta({ description, example });

const headers = z.object({
  'webhook-id': header(
    'Identifies the message: all attempts of one event have the same.',
    200,
    'evt_demo_42_hobxuqxvk0',
  ),
  'webhook-timestamp': header('When this attempt was made, in seconds since 1970.', 20, '1795161600'),
  'webhook-signature': header(
    '`v1,` and the Base64 of the HMAC-SHA256 of `id.timestamp.body`; while a secret is being replaced, two of them with a space in between.',
    500,
    'v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=',
  ),
});

const record: Record<string, string> = {
  Batch: '`BatchEntry`, as `GET /v2.0/jobs/batches` lists it',
  Booking: '`Booking`',
  Display: '`Display`',
  Mail: 'the mail item: the members of `MailConflict` but `Decline`, with `Id`, `ResourceId`, `ResourceName` and `Mailbox`',
  Test: 'the `Id` and the `Name` of the webhook',
};
const recordOfKind = (kind: string) => record[/^[A-Z][a-z]+/.exec(kind)?.[0] ?? ''] ?? '';

const message = z
  .object({
    type: z.enum(messageKinds.map(typeOf)).meta({ description: 'The kind of event.' }),
    timestamp: z.iso.datetime().meta({ description: 'When it happened.' }),
    data: z.looseObject({}).meta({
      description: `The record as it is when the message is sent, in Pascal case and as an Admin sees it; if it no longer exists, only its \`Id\`. ${[...eventKinds, 'Test' as const].map((kind) => `\`${typeOf(kind)}\`: ${recordOfKind(kind)}.`).join(' ')}`,
    }),
  })
  .meta({ id: 'WebhookMessage', description: 'A message as specified by Standard Webhooks.' });

const example = {
  type: 'booking.created',
  timestamp: '2026-11-20T08:00:00.000Z',
  data: { Id: 4711, ResourceName: 'HS 101', Start: '2026-11-20T09:00:00.000Z', Status: 'Confirmed' },
};

/** One entry, as all messages are sent to one address. */
export const eventMessages: ZodOpenApiPathsObject = {
  event: {
    post: {
      operationId: 'receiveEvent',
      summary: 'Receive an event',
      description:
        'The message that a webhook sends to its address. Check the signature, answer 2xx within 10 seconds, and do the work afterwards. After any other answer the message is sent again; 410 disables the webhook. An event may arrive twice; events of one record arrive in order.',
      tags: ['Webhooks'],
      security: [],
      requestParams: { header: headers },
      requestBody: { required: true, content: { 'application/json': { schema: message, example } } },
      responses: {
        '204': { description: 'It was accepted.' },
        '4XX': { description: 'It is sent again; 410 disables the webhook, 429 with `Retry-After` makes it wait.' },
      },
    },
  },
};
