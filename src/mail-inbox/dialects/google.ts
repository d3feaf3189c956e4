/** Google's channel notifications: requests without a body, whose content is in the headers. */
import type { IncomingHttpHeaders } from 'node:http';
import { dedupeKeyOf, nameOf, notification, type ReadNotifications } from './notification.ts';

export const isGoogle = (headers: IncomingHttpHeaders) => headers['x-goog-channel-id'] !== undefined;

/** `sync` is the first message of a channel; the others mean that the calendar has changed. */
const kinds: Readonly<Record<string, 'Status' | 'Change'>> = { sync: 'Status', exists: 'Change', not_exists: 'Change' };

export function readGoogle(headers: IncomingHttpHeaders): ReadNotifications {
  const read = (name: string) => nameOf(headers[`x-goog-${name}`]);
  const externalId = read('channel-id');
  const state = read('resource-state');
  const number = read('message-number');
  const kind = (Object.hasOwn(kinds, state ?? '') && kinds[state ?? '']) || 'Unknown';
  // The token is not kept: whoever reads it could forge notifications.
  const told = {
    channel: externalId,
    resource: read('resource-id'),
    state,
    number,
    expiration: read('channel-expiration'),
  };
  const one = notification({
    kind,
    externalId,
    clientState: read('channel-token'),
    dedupeKey: number === null || kind === 'Unknown' ? null : dedupeKeyOf(externalId, number),
    marks: kind === 'Change',
    body: Buffer.from(JSON.stringify(told)),
  });
  return { dialect: 'Google', notifications: [one] };
}
