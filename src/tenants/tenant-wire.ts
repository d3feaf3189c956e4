/** The tenant itself on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { maybeText, positive, recordOf, sentText, text } from '../fields.ts';
import { lookFields } from './look.ts';
import { parameterTypes } from './parameters.ts';
import type { Tenant } from './tenant.ts';

const told = {
  name: 'As it is shown.',
  colour: 'The colour of its signs and boards, such as #1e6b47; texts on it are black or white. Null for none.',
  logo: 'The logo of its signs and boards: a PNG, JPEG or WebP as a data URL, which anybody may see at `/{mandator}/logo`. Null for none.',
};

const parameters = {
  PinAuthenticationAllowed: parameterTypes.PinAuthenticationAllowed.meta({
    description: 'Whether PINs count. Only whoever runs the server changes it.',
  }),
  UsersMayImport: parameterTypes.UsersMayImport.meta({
    description: 'Whether Users send, change and delete lessons, too.',
  }),
  CalendarWriting: parameterTypes.CalendarWriting,
  CalendarEdits: parameterTypes.CalendarEdits,
  DeclineConflicts: parameterTypes.DeclineConflicts,
} satisfies typeof parameterTypes;

export const tenantParameters = z
  .object(parameters)
  .meta({ id: 'TenantParameters', description: 'What holds for all of a tenant.' });

export const tenantRecord = z
  .object({
    Mandator: text(64, 'Its code: the first segment of the path.'),
    Name: text(200, told.name),
    Parameters: tenantParameters,
    Colour: maybeText(7, told.colour),
    Logo: maybeText(90_000, told.logo),
    Version: positive('Counts the changes of all this; its ETag.'),
  })
  .meta({ id: 'Tenant', description: 'A school, university or office.' });

export const parameterChanges = z
  .strictObject(parameters)
  .partial()
  .meta({ id: 'TenantParameterChanges', description: 'Parameters to set; those that are left out stay.' });

export const tenantChanges = z
  .strictObject({
    Name: sentText(200).meta({ description: told.name }),
    Parameters: parameterChanges,
    Colour: lookFields.Colour.meta({ description: told.colour }),
    Logo: lookFields.Logo.meta({ description: told.logo }),
  })
  .partial()
  .meta({ id: 'TenantChanges', description: 'What to change.' });

export const toTenantRecord: (tenant: Tenant) => z.output<typeof tenantRecord> = recordOf(tenantRecord);
