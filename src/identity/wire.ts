/** PINs as clients see them: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import type { Pin } from './pins.ts';

const id = (description: string) => z.int().min(1).meta({ description });
const maybeInstant = (description: string) => z.date().nullable().meta({ description });

export const pinRecord = z
  .object({
    PinId: id('The id of the PIN.'),
    PersonId: id('The person who holds it.'),
    Label: z.string().max(200).nullable().meta({ description: 'What it is for.' }),
    CreatedAt: z.date().meta({ description: 'When it was made.' }),
    ExpiresAt: maybeInstant('When it ends by itself; null for never.'),
    RevokedAt: maybeInstant('When it was ended; null while it counts.'),
    LastUsedAt: maybeInstant('When it was last exchanged or sent.'),
  })
  .meta({ id: 'Pin', description: 'A PIN, without the PIN itself.' });

export const newPin = z
  .strictObject({
    Label: z
      .string('must be a text in quotes')
      .trim()
      .normalize('NFC')
      .min(1, 'must not be empty')
      .max(200, 'must have at most 200 characters')
      .nullable()
      .default(null)
      .meta({ description: 'What it is for.' }),
    ExpiresAt: z.iso
      .datetime({ offset: true, error: 'must be a date-time such as 2027-02-01T08:00:00Z' })
      .max(40)
      .transform((written) => new Date(written))
      .refine((at) => at.getTime() > Date.now(), 'must be in the future')
      .nullable()
      .default(null)
      .meta({ description: 'When it ends by itself; null for never.' }),
  })
  .meta({ id: 'NewPin', description: 'A PIN to be made.' });

export const createdPin = z
  .object({
    Pin: z.string().max(40).meta({ description: 'The PIN. It is told this once and can never be read again.' }),
    ...pinRecord.shape,
  })
  .meta({ id: 'CreatedPin', description: 'A PIN that was made.' });

export function toPinRecord(pin: Pin) {
  return {
    PinId: pin.pinId,
    PersonId: pin.personId,
    Label: pin.label,
    CreatedAt: pin.createdAt,
    ExpiresAt: pin.expiresAt,
    RevokedAt: pin.revokedAt,
    LastUsedAt: pin.lastUsedAt,
  };
}

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
