/** Bookings through each front, as `fronts.ts` has the lesson API. */
import { inEnglish } from './english.ts';
import * as operations from './operations/generated/graphql.ts';

export type Paging = {
  limit?: number;
  cursor?: string;
  /** The whole list in pages of so many, which GraphQL reads from its end. */
  inPagesOf?: number;
};
type Scope = 'This' | 'Following' | 'All';
type Named = { id: string };
export type BookingQuery = Paging & {
  from?: string;
  to?: string;
  resourceId?: string | string[];
  locationId?: string;
  personId?: string;
  seriesId?: string;
  toDecide?: boolean;
  status?: string | string[];
  occupying?: boolean;
  kind?: string | string[];
  order?: string;
  klasse?: string;
  lehrperson?: string;
  fach?: string;
  search?: string;
  changedAfter?: string;
};

export type TimetableQuery = Paging & {
  klasse?: string;
  lehrperson?: string;
  resourceId?: string;
  personId?: string;
  from?: string;
  to?: string;
  order?: string;
};

export type BookingCalls = {
  book: { input: object; idempotencyKey?: string };
  booking: Named;
  bookings: BookingQuery;
  timetable: TimetableQuery;
  changeBooking: Named & {
    version?: number;
    input: object;
    scope?: Scope;
    conflictHandling?: 'Fail' | 'Skip';
  };
  cancelBooking: Named & { version?: number; scope?: Scope };
  decideBooking: Named & { version?: number; input: object; scope?: Scope };
  checkIn: Named;
  releaseBooking: Named;
  extendBooking: Named & { minutes: number; version?: number };
  undoBooking: Named & { version: number };
};
export type BookingCall = {
  [Name in keyof BookingCalls]: { name: Name; args: BookingCalls[Name] };
}[keyof BookingCalls];

type Tree = Record<string, unknown>;
export type Request = {
  route: string;
  query?: Tree;
  body?: unknown;
  key?: string | null | undefined;
  version?: number | undefined;
};

const path = '/v1.0/bookings';

export function bookingRequest({ name, args }: BookingCall): Request {
  switch (name) {
    case 'book':
      return { route: `POST ${path}`, body: args.input, key: args.idempotencyKey };
    case 'booking':
      return { route: `GET ${path}/:id` };
    case 'bookings':
      return { route: `GET ${path}`, query: args };
    case 'timetable':
      return { route: 'GET /v1.0/timetable', query: args };
    case 'changeBooking': {
      const { id: _, version, input, ...query } = args;
      return { route: `PATCH ${path}/:id`, version, body: input, query };
    }
    case 'cancelBooking': {
      const { id: _, version, ...query } = args;
      return { route: `DELETE ${path}/:id`, version, query };
    }
    case 'decideBooking': {
      const { id: _, version, input, ...query } = args;
      return { route: `POST ${path}/:id/decide`, version, body: input, query };
    }
    case 'checkIn':
      return { route: `POST ${path}/:id/check-in` };
    case 'releaseBooking':
      return { route: `POST ${path}/:id/release` };
    case 'extendBooking':
      return {
        route: `POST ${path}/:id/extend`,
        body: { minutes: args.minutes },
        version: args.version,
      };
    case 'undoBooking':
      return { route: `POST ${path}/:id/undo`, version: args.version };
  }
}

/** What `fronts.ts` gives for a GraphQL front of bookings. */
export type Asking = {
  ask<Data, Variables extends object>(
    field: string,
    document: operations.TypedDocumentString<Data, Variables>,
    variables: Variables,
    read: (data: Data) => unknown,
  ): Promise<unknown>;
  problemOf(problem: object): unknown;
  pageOf(paging: Paging): { first?: number; after?: string };
  listOf(connection: object): { items: unknown[]; nextCursor: string | null };
  orNotFound<Found>(found: Found | null | undefined, read: (found: Found) => unknown): unknown;
};

const scopeOf = (scope: Scope | undefined) => (scope === undefined ? {} : { scope });

const simple = {
  checkIn: ['Mutation.checkIn', operations.CheckInDocument],
  releaseBooking: ['Mutation.releaseBooking', operations.ReleaseBookingDocument],
} as const;

export async function askBooking({ name, args }: BookingCall, asking: Asking): Promise<unknown> {
  const { ask, problemOf, pageOf, listOf, orNotFound } = asking;
  const record = ({ result }: { result: object }) => ('code' in result ? problemOf(result) : result);
  switch (name) {
    case 'book': {
      const { input, idempotencyKey } = args;
      const sent = {
        ...input,
        ...(idempotencyKey !== undefined && { idempotencyKey }),
      } as operations.CreateBookingInput;
      return await ask('Mutation.createBooking', operations.MakeBookingDocument, { input: sent }, ({ result }) => {
        if (!('booking' in result)) return problemOf(result);
        const { booking, ...series } = result;
        return { ...booking, series: 'seriesId' in series ? series : null };
      });
    }
    case 'booking':
      return await ask('Query.booking', operations.ReadBookingDocument, args, ({ booking }) =>
        orNotFound(booking, (found) => found),
      );
    case 'bookings': {
      const { limit, cursor, order, ...filter } = args;
      return await ask(
        'Query.bookings',
        operations.ListBookingsDocument,
        {
          filter: inEnglish(filter),
          ...(order && { order: order as operations.SortOrder }),
          ...pageOf({ limit, cursor } as Paging),
        },
        ({ bookings }) => listOf(bookings as object),
      );
    }
    case 'timetable': {
      const { limit, cursor, order, ...filter } = args;
      return await ask(
        'Query.timetable',
        operations.ReadTimetableDocument,
        {
          filter: inEnglish(filter),
          ...(order && { order: order as operations.SortOrder }),
          ...pageOf({ limit, cursor } as Paging),
        },
        ({ timetable }) => listOf(timetable as object),
      );
    }
    case 'changeBooking': {
      const { scope, version, ...others } = args;
      const variables = { ...others, version: version as number, ...scopeOf(scope) };
      return await ask('Mutation.changeBooking', operations.ChangeBookingDocument, variables, record);
    }
    case 'cancelBooking': {
      const { scope, ...others } = args;
      const variables = { ...others, ...scopeOf(scope) };
      return await ask('Mutation.cancelBooking', operations.CancelBookingDocument, variables, record);
    }
    case 'decideBooking': {
      const { scope, version, input, id } = args;
      const sent = { id, version: version as number, input: input as operations.DecisionInput, ...scopeOf(scope) };
      return await ask('Mutation.decideBooking', operations.DecideBookingDocument, sent, record);
    }
    case 'extendBooking':
      return await ask('Mutation.extendBooking', operations.ExtendBookingDocument, args, record);
    case 'undoBooking':
      return await ask('Mutation.undoBooking', operations.UndoBookingDocument, args, record);
    default: {
      const [field, document] = simple[name];
      return await ask(field, document, args, record);
    }
  }
}
