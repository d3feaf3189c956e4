/**
 * Records that were read can be sent back with changes. The body of a PATCH or PUT may contain members that cannot be changed,
 * with the values that the GET of the same path answers; if they differ, they are refused by name. The same holds for a value
 * that can be read but not set, such as the status of a booking that waits for approval.
 */
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { type FieldError, InvalidInput } from '../errors.ts';
import { isLive, upperFirst } from '../fields.ts';
import { inPascalCase, readInput } from '../input.ts';
import { isJsonObject } from '../json-text.ts';

type Tree = { [name: string]: unknown };

/** The members of a record that its body does not have. */
export function membersReadOnly(body: z.core.$ZodType, record: z.core.$ZodType | undefined): string[] {
  const [sent, read] = [body, record].map((schema) => Object.keys((schema as z.ZodObject | undefined)?.shape ?? {}));
  return (read ?? []).filter((name) => !(sent ?? []).includes(name));
}

/** The part of a record where a part of the body belongs. Items of a list belong together by their `Id`. */
function counterpart(stored: unknown, sent: unknown, key: string): unknown {
  if (isJsonObject(stored)) return stored[upperFirst(key)];
  const item = Array.isArray(sent) ? sent[Number(key)] : undefined;
  if (!Array.isArray(stored) || !isJsonObject(item)) return undefined;
  const id = item['Id'] ?? item['id'];
  return id === undefined ? undefined : stored.find((other) => isJsonObject(other) && other['Id'] === id);
}

/** A faulty member of the body, and the record's value of it. */
type Place = { parent: Tree; key: string; isKnown: boolean; stored: unknown };

/** @param kept the body, perhaps without some members @returns undefined for what is not a member of an object */
function follow(pointer: string, { sent, kept }: { sent: unknown; kept: unknown }, record: Tree): Place | undefined {
  const keys = pointer
    .split('/')
    .slice(1)
    .map((key) => key.replaceAll('~1', '/').replaceAll('~0', '~'));
  const key = keys.pop();
  let [place, parent, stored] = [sent, kept, record as unknown];
  for (const each of keys) {
    stored = counterpart(stored, place, each);
    [place, parent] = [place, parent].map((value) => (value as Tree | undefined)?.[each]) as [unknown, unknown];
  }
  if (key === undefined || !isJsonObject(parent) || !Object.hasOwn(parent, key)) return undefined;
  const name = upperFirst(key);
  const isKnown = isJsonObject(stored) && Object.hasOwn(stored, name);
  return { parent, key, isKnown, stored: isKnown ? (stored as Tree)[name] : undefined };
}

/** Each round removes as many members as faults are reported for a body: enough rounds for the longest list. */
const mostRounds = 5;

/**
 * Reads a body as `readInput` does, but accepts faulty members that equal those of the record.
 * @param record reads the record as REST answers it; called only when the body has faults
 * @param isPast whether the record has another version than the one to change: then all such members are accepted,
 * because the change is about to be refused for its version
 * @returns the body, and the record if it was read
 * @throws InvalidInput with code ReadOnly for a member that differs and cannot be changed; as `readInput`
 */
export async function readSentBack<T extends z.core.$ZodType>(
  schema: T,
  sent: unknown,
  { schema: recordSchema, read }: { schema: z.core.$ZodType | undefined; read(): Promise<unknown> },
  isPast: (record: Tree) => boolean,
): Promise<{ body: z.output<T>; record?: Tree }> {
  const first = tryInput(schema, sent);
  if ('body' in first) return first;
  if (!isJsonObject(sent)) throw first.error;
  const record = inPascalCase(JSON.parse(JSON.stringify(await read()))) as Tree;
  const isAnyTaken = isPast(record);
  const { shape = {} } = recordSchema as z.ZodObject;
  const kept = JSON.parse(JSON.stringify(sent)) as Tree;
  const readOnly: FieldError[] = [];
  let outcome: ReturnType<typeof tryInput<T>> = first;
  for (let round = 0; round < mostRounds && 'error' in outcome; round++) {
    const { errors } = outcome.error;
    const dropped = errors.filter((fault) => {
      const place = follow(fault.pointer ?? '', { sent, kept }, record);
      if (!place?.isKnown) return false;
      const isTaken = isAnyTaken || (place.parent === kept && isLive(shape[upperFirst(place.key)]));
      const isSame = isTaken || isDeepStrictEqual(inPascalCase(place.parent[place.key]), place.stored);
      if (!isSame && fault.code !== 'UnknownField') return false;
      if (!isSame) readOnly.push(refusal(fault, place.stored));
      return delete place.parent[place.key];
    });
    if (dropped.length === 0) break;
    outcome = tryInput(schema, kept);
  }
  const others = 'error' in outcome ? outcome.error.errors : [];
  const faults = [...readOnly, ...others];
  if ('error' in outcome || faults.length > 0)
    throw new InvalidInput(
      faults
        .map(({ message }) => message)
        .slice(0, mostInMessage)
        .join(' '),
      faults,
    );
  return { body: outcome.body, record };
}

const mostInMessage = 20;
const longestValue = 100;

function refusal(fault: FieldError, stored: unknown): FieldError {
  const value = JSON.stringify(stored);
  const is = value.length > longestValue ? 'another' : value;
  const message = `${fault.field}: cannot be changed, and is ${is}; leave it out, or send it as it was read.`;
  return { ...fault, code: 'ReadOnly', message };
}

function tryInput<T extends z.core.$ZodType>(
  schema: T,
  sent: unknown,
): { body: z.output<T> } | { error: InvalidInput } {
  try {
    return { body: readInput(schema, sent) };
  } catch (error) {
    if (error instanceof InvalidInput) return { error };
    throw error;
  }
}
