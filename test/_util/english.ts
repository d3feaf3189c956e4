/** Lessons are written with the German names of REST everywhere; GraphQL takes and gives English ones. */
import { lowerFirst, upperFirst } from '../../src/fields.ts';
import { english, nameOf } from '../../src/graphql/names.ts';

/** Jobs, lessons and filters with GraphQL's names. */
export function inEnglish<Sent>(value: Sent): never {
  const inner = (sent: unknown): unknown => {
    if (Array.isArray(sent)) return sent.map(inner);
    if (typeof sent !== 'object' || sent === null) return sent;
    return Object.fromEntries(
      Object.entries(sent).map(([name, member]) => {
        const known = nameOf(upperFirst(name));
        return [english.has(upperFirst(name)) ? known : name, inner(member)];
      }),
    );
  };
  return inner(value) as never;
}

/** REST's name of a member that GraphQL names. */
export const german = new Map([...english].map(([wire, name]) => [name, wire]));

/** A finding of GraphQL with the names of REST, its pointer in camel case. */
export function inGerman<Found extends object>(finding: Found): Found {
  const { field, pointer, ...others } = finding as Found & { field?: string | null; pointer?: string | null };
  const wire = (name: string) => german.get(name) ?? name;
  const parts = pointer?.replace(/^\/jobs/, '').split('/');
  return {
    ...others,
    ...(field !== undefined && { field: field && wire(field) }),
    ...(pointer !== undefined && { pointer: parts ? parts.map((part) => lowerFirst(wire(part))).join('/') : null }),
  } as Found;
}
