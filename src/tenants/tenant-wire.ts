/** The tenant itself on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { maybeText, positive, recordOf, sentText, text } from '../fields.ts';
import { longest } from '../names.ts';
import { lookFields } from './look.ts';
import { parameterTypes } from './parameters.ts';
import type { Tenant } from './tenant.ts';

const descriptions = {
  name: 'The display name.',
  colour: 'The colour of its signs and boards, such as #1e6b47, with text in black or white. Null for none.',
  logo: 'The logo of its signs and boards: a PNG, JPEG or WebP as a data URL, which is public at `/{mandator}/logo`. Null for none.',
};

const parameters = {
  PinAuthenticationAllowed: parameterTypes.PinAuthenticationAllowed.meta({
    description: 'Whether PINs are accepted. Only the operator of the server changes it.',
  }),
  UsersMayImport: parameterTypes.UsersMayImport.meta({
    description: 'Whether Users may also send, change and delete lessons.',
  }),
  CalendarWriting: parameterTypes.CalendarWriting,
  CalendarEdits: parameterTypes.CalendarEdits,
  DeclineConflicts: parameterTypes.DeclineConflicts,
} satisfies typeof parameterTypes;

export const tenantParameters = z
  .object(parameters)
  .meta({ id: 'TenantParameters', description: 'The parameters of a tenant.' });

export const tenantRecord = z
  .object({
    Mandator: text(64, 'Its code: the first segment of the path.'),
    Name: text(longest.name, descriptions.name),
    Parameters: tenantParameters,
    Colour: maybeText(7, descriptions.colour),
    Logo: maybeText(90_000, descriptions.logo),
    Version: positive('Increases with each change of the tenant; its ETag.'),
  })
  .meta({ id: 'Tenant', description: 'A school, university or office.' });

export const parameterChanges = z
  .strictObject(parameters)
  .partial()
  .meta({ id: 'TenantParameterChanges', description: 'The parameters to set; those that are left out stay.' });

export const tenantChanges = z
  .strictObject({
    Name: sentText(longest.name).meta({ description: descriptions.name }),
    Parameters: parameterChanges,
    Colour: lookFields.Colour.meta({ description: descriptions.colour }),
    Logo: lookFields.Logo.meta({ description: descriptions.logo }),
  })
  .partial()
  .meta({ id: 'TenantChanges', description: 'Changes.' });

export const toTenantRecord: (tenant: Tenant) => z.output<typeof tenantRecord> = recordOf(tenantRecord);
