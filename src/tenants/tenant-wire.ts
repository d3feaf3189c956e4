/** The tenant itself on the wire: REST in Pascal case, GraphQL in camel case. */
import { z } from 'zod';
import { positive, recordOf, text } from '../fields.ts';
import { text as sentText } from './fields.ts';
import { parameterTypes } from './parameters.ts';
import type { Tenant } from './tenant.ts';

const told = { name: 'As it is shown.' };

const parameters = {
  PinAuthenticationAllowed: parameterTypes.PinAuthenticationAllowed.meta({
    description: 'Whether PINs count. Only whoever runs the server changes it.',
  }),
  UsersMayImport: parameterTypes.UsersMayImport.meta({
    description: 'Whether Users send, change and delete lessons, too.',
  }),
} satisfies typeof parameterTypes;

export const tenantParameters = z
  .object(parameters)
  .meta({ id: 'TenantParameters', description: 'What holds for all of a tenant.' });

export const tenantRecord = z
  .object({
    Mandator: text(64, 'Its code: the first segment of the path.'),
    Name: text(200, told.name),
    Parameters: tenantParameters,
    Version: positive('Counts the changes of name and parameters; its ETag.'),
  })
  .meta({ id: 'Tenant', description: 'A school, university or office.' });

export const parameterChanges = z
  .strictObject(parameters)
  .partial()
  .meta({ id: 'TenantParameterChanges', description: 'Parameters to set; those that are left out stay.' });

export const tenantChanges = z
  .strictObject({ Name: sentText(200).meta({ description: told.name }), Parameters: parameterChanges })
  .partial()
  .meta({ id: 'TenantChanges', description: 'What to change.' });

export const toTenantRecord: (tenant: Tenant) => z.output<typeof tenantRecord> = recordOf(tenantRecord);
