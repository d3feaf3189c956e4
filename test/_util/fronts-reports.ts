/** Free rooms, usage, audit and the like through each front, as `fronts.ts` has the lesson API. */
import type { Asking, Paging, Request } from './fronts-bookings.ts';
import * as operations from './operations/generated/graphql.ts';

export type ReportCalls = {
  audit: Paging & {
    personId?: string;
    action?: string;
    subject?: string;
    subjectId?: string;
    from?: string;
    to?: string;
  };
  freeResources: {
    from?: string;
    minutes?: number;
    setupMinutes?: number;
    teardownMinutes?: number;
    locationId?: string;
    search?: string;
    kind?: string;
    minCapacity?: number;
    equipment?: string;
    limit?: number;
  };
  usage: {
    list: 'resources' | 'hours' | 'weeks';
    query: { from?: string; to?: string; locationId?: string; resourceIds?: string; search?: string };
  };
  organizers: Paging & { search?: string };
};
export type ReportCall = { [Name in keyof ReportCalls]: { name: Name; args: ReportCalls[Name] } }[keyof ReportCalls];

export function reportRequest({ name, args }: ReportCall): Request {
  switch (name) {
    case 'audit':
      return { route: 'GET /v1.0/audit', query: args };
    case 'freeResources':
      return { route: 'GET /v1.0/availability/free', query: args };
    case 'usage':
      return { route: `GET /v1.0/usage/${args.list}`, query: args.query };
    case 'organizers':
      return { route: 'GET /v1.0/persons/organizers', query: args };
  }
}

export async function askReport({ name, args }: ReportCall, { ask, pageOf, listOf }: Asking): Promise<unknown> {
  const whole = (items: unknown) => ({ items, nextCursor: null });
  switch (name) {
    case 'audit': {
      const { limit, cursor, ...filter } = args;
      const variables = { filter: filter as operations.ActFilter, ...pageOf({ limit, cursor } as Paging) };
      return await ask('Query.audit', operations.ListActsDocument, variables, ({ audit }) => listOf(audit as object));
    }
    case 'freeResources': {
      const { equipment, ...others } = args;
      const input = { ...others, ...(equipment !== undefined && { equipment: [equipment] }) };
      return await ask('Query.freeResources', operations.ListFreeResourcesDocument, { input }, (data) =>
        whole(data.freeResources),
      );
    }
    case 'usage': {
      const input = args.query as object as operations.UsageInput;
      const choice = {
        resources: args.list === 'resources',
        hours: args.list === 'hours',
        weeks: args.list === 'weeks',
      };
      return await ask('Query.usage', operations.ReadUsageDocument, { input, ...choice }, ({ usage }) =>
        whole(usage?.[args.list]),
      );
    }
    case 'organizers': {
      const { limit, cursor, ...filter } = args;
      const variables = { filter, ...pageOf({ limit, cursor } as Paging) };
      return await ask('Query.organizers', operations.ListOrganizersDocument, variables, (data) =>
        listOf(data.organizers as object),
      );
    }
  }
}
