/** PINs as clients see them: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { id, instant, maybeInstant, maybeText, recordOf, sentInstant, sentText, text } from '../fields.ts';
import { longest } from '../names.ts';
import type { Pin } from './pins.ts';

export const pinRecord = z
  .object({
    PinId: id('pin', 'The id of the PIN.'),
    PersonId: id('person', 'The person to whom it belongs.'),
    Label: maybeText(longest.label, 'What the PIN is for.'),
    CreatedAt: instant('When it was created.'),
    ExpiresAt: maybeInstant('When it expires; null: never.'),
    RevokedAt: maybeInstant('When it was revoked; null while it is valid.'),
    LastUsedAt: maybeInstant('When it was last exchanged for a token or sent.'),
  })
  .meta({ id: 'Pin', description: 'A PIN, without the PIN itself.' });

export const newPin = z
  .strictObject({
    Label: sentText(longest.label).nullable().default(null).meta({ description: 'What the PIN is for.' }),
    ExpiresAt: sentInstant()
      .refine((at) => at.getTime() > Date.now(), 'must be in the future')
      .nullable()
      .default(null)
      .meta({ description: 'When it expires; null: never.' }),
  })
  .meta({ id: 'NewPin', description: 'A PIN to create.' });

export const createdPin = z
  .object({
    Pin: text(40, 'The PIN. It is shown only this once.'),
    ...pinRecord.shape,
  })
  .meta({ id: 'CreatedPin', description: 'A PIN that was created.' });

export const toPinRecord = recordOf(pinRecord);

export const toCreatedPin = ({ pin, record }: { pin: string; record: Pin }) => ({
  Pin: pin,
  ...toPinRecord(record),
});

const example = {
  PinId: 3,
  PersonId: 1,
  Label: 'Timetable program',
  CreatedAt: '2026-11-20T08:00:00.000Z',
  ExpiresAt: '2099-12-31T23:00:00.000Z',
  RevokedAt: null,
  LastUsedAt: null,
};
export const examples = {
  new: { Label: example.Label, ExpiresAt: example.ExpiresAt },
  created: { Pin: '7RSVH-2KE76-RK8WV-D5KZK', ...example },
  page: { Items: [example], NextCursor: null },
  revoked: { ...example, RevokedAt: '2026-11-20T09:00:00.000Z' },
};
