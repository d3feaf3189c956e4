/** The tenant, erasure and retirement through each front, as `fronts.ts` has the lesson API. */
import type { Asking, Request } from './fronts-bookings.ts';
import * as operations from './operations/generated/graphql.ts';

type Versioned = { version: number; input: object };
export type MasterDataCalls = {
  tenant: object;
  changeTenant: Versioned;
  erasePerson: { id: string; alsoKnownAs?: string[] };
  retirement: { id: string };
  retireResource: Versioned & { id: string };
};
export type MasterDataCall = {
  [Name in keyof MasterDataCalls]: { name: Name; args: MasterDataCalls[Name] };
}[keyof MasterDataCalls];

export function masterDataRequest({ name, args }: MasterDataCall): Request {
  switch (name) {
    case 'tenant':
      return { route: 'GET /v1.0/tenant' };
    case 'changeTenant':
      return { route: 'PATCH /v1.0/tenant', version: args.version, body: args.input };
    case 'erasePerson':
      return { route: 'POST /v1.0/persons/:id/erasure', body: { alsoKnownAs: args.alsoKnownAs ?? [] } };
    case 'retirement':
      return { route: 'GET /v1.0/resources/:id/retirement' };
    case 'retireResource':
      return { route: 'POST /v1.0/resources/:id/retirement', version: args.version, body: args.input };
  }
}

export const isMasterData = (call: { name: string }): call is MasterDataCall =>
  ['tenant', 'changeTenant', 'erasePerson', 'retirement', 'retireResource'].includes(call.name);

export async function askMasterData({ name, args }: MasterDataCall, asking: Asking): Promise<unknown> {
  const { ask, problemOf, orNotFound } = asking;
  const record = ({ result }: { result: object }) => ('code' in result ? problemOf(result) : result);
  switch (name) {
    case 'tenant':
      return await ask('Query.tenant', operations.ReadTenantDocument, {}, ({ tenant }) => tenant);
    case 'changeTenant':
      return await ask('Mutation.changeTenant', operations.ChangeTenantDocument, args, record);
    case 'erasePerson':
      return await ask('Mutation.erasePerson', operations.ErasePersonDocument, args, record);
    case 'retirement':
      return await ask('Query.retirementPreview', operations.PreviewRetirementDocument, args, (data) =>
        orNotFound(data.retirementPreview, (found) => found),
      );
    case 'retireResource': {
      const { input, ...others } = args;
      const variables = { ...others, input: input as operations.RetireResourceInput };
      return await ask('Mutation.retireResource', operations.RetireResourceDocument, variables, record);
    }
  }
}
