import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';
import { addTypes as addAuditTypes } from '../audit/graphql.ts';
import { addTypes as addAvailabilityTypes } from '../availability/graphql.ts';
import { addTypes as addBookingTypes } from '../bookings/graphql.ts';
import { addTypes as addCalendarFeedTypes } from '../calendar-feed/graphql.ts';
import { addTypes as addChangeTypes } from '../changes/graphql.ts';
import { addTypes as addDisplayTypes } from '../displays/graphql.ts';
import { addTypes as addErasureTypes } from '../erasure/graphql.ts';
import { addTypes as addHolidayTypes } from '../holidays/graphql.ts';
import { addTypes as addIdentityTypes } from '../identity/graphql.ts';
import { addTypes as addLessonTypes } from '../lessons/graphql.ts';
import { addTypes as addMailTypes } from '../mail/graphql.ts';
import { addTypes as addOpeningHoursTypes } from '../opening-hours/graphql.ts';
import { addTypes as addProblemTypes } from '../problems/graphql.ts';
import { addTypes as addRetirementTypes } from '../retirement/graphql.ts';
import { addTypes as addTenantTypes } from '../tenants/graphql.ts';
import { addTypes as addTimetableFileTypes } from '../timetable-files/graphql.ts';
import { addTypes as addUsageTypes } from '../usage/graphql.ts';
import { addTypes as addWebhookTypes } from '../webhooks/graphql.ts';
import { createBuilder } from './builder.ts';
import { addNodes } from './nodes.ts';
import { addProblems } from './problems.ts';
import { takeResolved } from './resolved.ts';

let made: GraphQLSchema | undefined;

/** The whole schema: `serverTime`, and the types and fields of every room. It never changes, so it is made once. */
export function wholeSchema(): GraphQLSchema {
  made ??= makeSchema();
  return made;
}

function makeSchema(): GraphQLSchema {
  const builder = createBuilder();
  addProblems(builder);
  builder.queryField('serverTime', (t) =>
    t.field({
      type: 'DateTime',
      description: "The server's clock.",
      resolve: () => new Date(),
    }),
  );
  addNodes(builder);
  addTenantTypes(builder);
  addIdentityTypes(builder);
  addErasureTypes(builder);
  addRetirementTypes(builder);
  addBookingTypes(builder);
  addLessonTypes(builder);
  addTimetableFileTypes(builder);
  addOpeningHoursTypes(builder);
  addAvailabilityTypes(builder);
  addCalendarFeedTypes(builder);
  addChangeTypes(builder);
  addDisplayTypes(builder);
  addMailTypes(builder);
  addAuditTypes(builder);
  addUsageTypes(builder);
  addHolidayTypes(builder);
  addProblemTypes(builder);
  addWebhookTypes(builder);
  return takeResolved(builder.toSchema());
}

/** The text of `schema.graphql`. */
export const printSchemaText = (): string => `${printSchema(lexicographicSortSchema(wholeSchema()))}\n`;
