/** The parameters of a tenant (specification 5.2, "global parameter"): their names, types and defaults. */
import { z } from 'zod';
import { InvalidInput } from '../errors.ts';
import { calendarEdits, calendarWriting, declineConflicts } from './fields.ts';
import { remedyFor } from './nearest.ts';

const flag = z.boolean();

/** The messages say what is allowed. */
export const parameterTypes = {
  PinAuthenticationAllowed: flag,
  UsersMayImport: flag,
  CalendarWriting: calendarWriting,
  CalendarEdits: calendarEdits,
  DeclineConflicts: declineConflicts,
};

const parameters = z.object(parameterTypes).partial();
const unset: Required<z.output<typeof parameters>> = {
  PinAuthenticationAllowed: false,
  UsersMayImport: false,
  CalendarWriting: 'Off',
  CalendarEdits: 'PutBack',
  DeclineConflicts: false,
};

export type Parameters = typeof unset;
export type ParameterName = keyof Parameters;

/**
 * Parameters that an Admin reads but does not change: if PINs were switched off in an installation without an outside identity
 * provider, nobody of the tenant could sign in, not even the Admin to undo it.
 */
const ofOperator: ReadonlySet<ParameterName> = new Set(['PinAuthenticationAllowed']);
export const isForOperator = (name: ParameterName): boolean => ofOperator.has(name);

/** All parameters of a tenant: the stored ones, and defaults. */
export function withDefaults(stored: unknown): Parameters {
  return { ...unset, ...(parameters.parse(stored) as Partial<Parameters>) };
}

/** Finds a parameter by its name in any case. @throws InvalidInput with a similar name or all names */
export function readParameterName(name: string): ParameterName {
  const known = Object.keys(unset) as ParameterName[];
  const found = known.find((one) => one.toLowerCase() === name.toLowerCase());
  if (found) return found;
  const message = `${name}: there is no such parameter; ${remedyFor(name, known, 'parameters')}`;
  throw new InvalidInput(message, [{ field: name, pointer: null, code: 'UnknownField', message }]);
}

/** Reads a value as written on a command line. @throws InvalidInput with the allowed values */
export function readParameterValue<Name extends ParameterName>(name: Name, text: string): Parameters[Name] {
  const result = parameterTypes[name].safeParse(asJson(text));
  if (result.success) return result.data as Parameters[Name];
  const message = `${name}: is ${JSON.stringify(text)}; ${result.error.issues[0]?.message}`;
  throw new InvalidInput(message, [{ field: name, pointer: null, code: 'InvalidValue', message }]);
}

function asJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
