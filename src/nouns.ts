/** The nouns of records, as their ids name them: GraphQL writes an id as `<noun>_<id in REST>`. */
import { z } from 'zod';
import { mostId, mostLongId } from './storable.ts';

/** The greatest id of each noun; a text if the ids are UUIDs or keys of clients. */
export const nouns = {
  act: mostLongId,
  batch: 'text',
  booking: mostLongId,
  calendarToken: mostId,
  change: mostLongId,
  display: mostId,
  group: mostId,
  holiday: mostId,
  holidayCalendar: mostId,
  lesson: 'text',
  lessonJob: 'text',
  location: mostId,
  mailAttempt: mostLongId,
  mailSubscription: mostId,
  openingException: mostId,
  openingRule: mostId,
  person: mostId,
  pin: mostId,
  policy: mostId,
  resource: mostId,
  roomProblem: mostId,
  series: mostLongId,
  tenant: mostId,
  timetableProfile: mostId,
  webhook: mostId,
  webhookDelivery: mostLongId,
} as const;

export type IdNoun = keyof typeof nouns;
/** What REST takes and gives as the id of a noun. */
export type IdOf<Name extends IdNoun> = (typeof nouns)[Name] extends number ? number : string;

const named = z.registry<{ noun: IdNoun }>();

/** A schema whose values are ids of the noun. */
export const naming = <Schema extends z.core.$ZodType>(noun: IdNoun, schema: Schema): Schema => {
  named.add(schema, { noun });
  return schema;
};

type Definition = {
  innerType?: z.core.$ZodType;
  element?: z.core.$ZodType;
  in?: z.core.$ZodType;
  out?: z.core.$ZodType;
};

/** The noun of the ids that a schema, or the schema that it wraps or lists, has as values. */
export function nounOf(schema: z.core.$ZodType): IdNoun | undefined {
  const known = named.get(schema)?.noun;
  if (known) return known;
  const { innerType, element, in: taken, out } = schema._zod.def as Definition;
  for (const inner of [innerType, element, taken, out]) {
    const noun = inner && nounOf(inner);
    if (noun) return noun;
  }
  return undefined;
}
