/** The OpenAPI description of the callback of mail servers. It is not a `Route`, as each sender is answered in its own dialect. */
import { z } from 'zod';
import type { ZodOpenApiOperationObject, ZodOpenApiResponseObject } from 'zod-openapi';
import { type HeaderName, headerRefs, parameterRefs, problemAnswer } from '../rest/openapi-parts.ts';
import type { PathsAtRoot } from '../rest/openapi-root.ts';

const ews = z.string().max(1_048_576).meta({ description: 'A SOAP envelope with SendNotification (MS-OXWSPSNTIF).' });
const anyObject = z.looseObject({}).meta({
  description:
    '`{"value": […]}`: change and lifecycle notifications of Microsoft Graph. `{"@type": "StateChange", …}`: JMAP (RFC 8620). Other objects are kept, without effect.',
});
const received = z
  .object({
    Received: z.literal(true),
    NotificationId: z.uuid().meta({ description: 'The id under which it is stored.' }),
  })
  .meta({ id: 'NotificationReceived' });

const soap = (inner: string) =>
  `<s:Envelope xmlns:s="http://schemas.xmlsoap.org/soap/envelope/"><s:Body>${inner}</s:Body></s:Envelope>`;
const messages = 'xmlns="http://schemas.microsoft.com/exchange/services/2006/messages"';

const problems: Record<number, string> = {
  400: 'The body is not a notification, or the `validationToken` cannot be echoed as text.',
  408: 'The body arrives too slowly.',
  413: 'The body is larger than its limit.',
  415: 'The body has a Content-Encoding.',
  429: 'Too many notifications, or KiB of them, of this subscription, or from this address without a valid secret.',
  500: 'Something went wrong on the side of the server; quote the `TraceId`.',
  503: 'The notification could not be recorded; send it again.',
};

function operation(
  operationId: string,
  legacy: readonly HeaderName[],
  more: Partial<ZodOpenApiOperationObject> = {},
): ZodOpenApiOperationObject {
  const names: readonly HeaderName[] = ['X-Request-Id', 'Cache-Control', ...legacy];
  const answer = (description: string, content?: ZodOpenApiResponseObject['content']): ZodOpenApiResponseObject => ({
    description,
    headers: headerRefs(...names),
    ...(content && { content }),
  });
  return {
    operationId,
    summary: 'Notify of a change in a calendar',
    description:
      'For mail servers only, at the callback URL of their subscription: its `k` proves to which subscription a notification belongs, and for Microsoft Graph so does the `clientState` of each item. A notification without proof gets the same answer and has no effect. The dialect of a body is recognised by its content, regardless of its Content-Type. A notification only means that a calendar may have changed; nothing else in it is trusted. It is recorded before it is answered; a repetition is a duplicate.',
    tags: ['Mail servers'],
    security: [],
    parameters: [
      ...parameterRefs('X-Request-Id'),
      {
        name: 'k',
        in: 'query',
        description: 'The secret of the subscription, a part of its callback URL.',
        schema: { type: 'string', maxLength: 100 },
      },
      {
        name: 'validationToken',
        in: 'query',
        description:
          'Microsoft Graph tests whether the callback URL answers: the token is returned as text to every caller. With a valid `k`, the request counts as the handshake of that subscription.',
        schema: { type: 'string', maxLength: 2_048 },
      },
    ],
    requestBody: {
      required: false,
      content: {
        'text/xml': {
          schema: ews,
          example: soap(`<SendNotification ${messages}><ResponseMessages>…</ResponseMessages></SendNotification>`),
        },
        'application/json': {
          schema: anyObject,
          example: { '@type': 'StateChange', changed: { 'aula@rooms.example': { CalendarEvent: 's17' } } },
        },
      },
    },
    responses: {
      200: answer(
        'Exchange: whether the subscription is still wanted. Graph: the `validationToken`. Google: nothing.',
        {
          'text/xml': {
            schema: z.string().max(1_000),
            example: soap(
              `<SendNotificationResult ${messages}><SubscriptionStatus>OK</SubscriptionStatus></SendNotificationResult>`,
            ),
          },
          'text/plain': {
            schema: z.string().max(2_048),
            example: 'Validation: Testing client application reachability for subscription Request-Id: 877cb92e',
          },
        },
      ),
      202: answer('JMAP and other objects: recorded. Graph: accepted.', {
        'application/json': {
          schema: received,
          example: { Received: true, NotificationId: '01a1f8da-707e-77b2-927f-0b8eb9707a33' },
        },
      }),
      ...Object.fromEntries(
        Object.entries(problems).map(([status, text]) => [status, problemAnswer(Number(status), text, names)]),
      ),
    },
    ...more,
  };
}

/** The callback path is at the server root that mail servers are given; the legacy path is at that of the other routes. */
export const describedPaths: PathsAtRoot = (rootServer) => ({
  '/api/webhooks/mailserver': { ...rootServer, post: operation('notifyOfMail', []) },
  '/WebServices/SyncNotification.svc': {
    post: operation('notifyOfMailLegacy', ['Deprecation', 'Sunset', 'Link'], {
      deprecated: true,
      summary: 'Notify of a change in a calendar, at the address of the former product',
    }),
  },
});
