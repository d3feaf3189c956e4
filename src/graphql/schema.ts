import { type GraphQLSchema, lexicographicSortSchema, printSchema } from 'graphql';
import { addTypes as addIdentityTypes } from '../identity/graphql.ts';
import { addTypes as addLessonTypes } from '../lessons/graphql.ts';
import { addTypes as addOpeningHoursTypes } from '../opening-hours/graphql.ts';
import { addTypes as addTenantTypes } from '../tenants/graphql.ts';
import { createBuilder } from './builder.ts';

/** The whole schema: what stands here, and every room's face. */
export function createSchema(): GraphQLSchema {
  const builder = createBuilder();
  builder.queryField('serverTime', (t) =>
    t.field({
      type: 'DateTime',
      description: "The server's clock.",
      resolve: () => new Date(),
    }),
  );
  addTenantTypes(builder);
  addIdentityTypes(builder);
  addLessonTypes(builder);
  addOpeningHoursTypes(builder);
  return builder.toSchema();
}

/** The text of `schema.graphql`. */
export function printSchemaText(): string {
  return `${printSchema(lexicographicSortSchema(createSchema()))}\n`;
}
