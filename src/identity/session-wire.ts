/** The session of a browser, as the console sees it. */
import { z } from 'zod';
import type { Viewer } from '../context.ts';
import { id, instant, text } from '../fields.ts';
import * as parameters from '../query-parameters.ts';
import type { SessionTerms } from './sessions.ts';

export const newSession = z
  .strictObject({ Pin: z.string().min(1).max(200).meta({ description: 'The PIN of the person.', format: 'password' }) })
  .meta({ id: 'NewSession', description: 'Who signs in.' });

export const sessionEnd = z.strictObject({
  Everywhere: parameters.flag('Whether all sessions of the person end, in all browsers, and not only this one.'),
});

export const sessionRecord = z
  .object({
    Mandator: text(64, 'The code of the tenant.'),
    TenantName: text(200, 'Its name for people.'),
    Person: z
      .object({
        Id: id('person', 'The id of the person.'),
        Name: text(200, 'The name.'),
        Email: text(320, 'The e-mail address.'),
        TimeZone: text(64, 'The IANA time zone of the person.'),
        Role: z.enum(['Admin', 'Importer', 'User', 'Display']),
      })
      .meta({ description: 'The person who has signed in.' }),
    SignedInBy: z.enum(['Pin', 'Provider']),
    EndsAt: instant('When the session ends, even if it is used.'),
    IdleMinutes: z.int().min(1).max(10_080).meta({ description: 'Minutes without a call after which it ends.' }),
  })
  .meta({ id: 'Session', description: 'The session of a browser.' });

export function toSessionRecord(
  viewer: Viewer,
  { tenantName, endsAt }: SessionTerms,
  idleMinutes: number,
): z.input<typeof sessionRecord> {
  return {
    Mandator: viewer.mandator,
    TenantName: tenantName,
    Person: {
      Id: viewer.personId,
      Name: viewer.displayName,
      Email: viewer.email,
      TimeZone: viewer.timeZone,
      Role: viewer.role,
    },
    SignedInBy: viewer.pinId === null ? 'Provider' : 'Pin',
    EndsAt: endsAt,
    IdleMinutes: idleMinutes,
  };
}

export const sessionOptions = z
  .object({
    Pin: z.boolean().meta({ description: 'Whether people sign in by PIN.' }),
    Provider: z
      .object({
        Name: text(253, 'The name of the provider.'),
        Start: z
          .string()
          .max(2_000)
          .meta({ description: 'The address at which a browser begins to sign in there, below the tenant.' }),
      })
      .nullable()
      .meta({ description: 'The outside identity provider; null if people cannot sign in there.' }),
  })
  .meta({ id: 'SessionOptions', description: 'The ways to sign in to the console.' });

export const sessionExample: z.input<typeof sessionRecord> = {
  Mandator: 'demo',
  TenantName: 'Demo School',
  Person: {
    Id: 7,
    Name: 'Ada Admin',
    Email: 'ada@demo.example',
    TimeZone: 'Europe/Berlin',
    Role: 'Admin',
  },
  SignedInBy: 'Pin',
  EndsAt: new Date('2026-11-22T20:00:00Z'),
  IdleMinutes: 120,
};
