import { lowerFirst } from '../fields.ts';

/** The name that GraphQL has for a member of REST. */
export const nameOf = (member: string): string => lowerFirst(member);

/** The names of a JSON pointer into a body of REST as GraphQL has them. */
export const inNames = (pointer: string): string =>
  pointer.replaceAll(/(?<=\/)[A-Za-z]\w*/g, (member) => nameOf(member));
