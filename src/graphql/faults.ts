/**
 * Translates errors of services from REST to GraphQL: messages get GraphQL's names, and pointers begin at the
 * arguments. This is done here for all fields, based on their arguments in the schema.
 */
import SchemaBuilder, { BasePlugin, type PothosOutputFieldConfig, type SchemaTypes } from '@pothos/core';
import {
  type GraphQLArgument,
  type GraphQLField,
  type GraphQLInputField,
  type GraphQLResolveInfo,
  getNamedType,
  getNullableType,
  isInputObjectType,
  isListType,
} from 'graphql';
import { DomainError, type FieldError } from '../errors.ts';
import { upperFirst } from '../fields.ts';
import { leadingMembers } from '../names.ts';
import type { Resolver } from './arguments.ts';
import { inNames, nameOf } from './names.ts';

declare global {
  export namespace PothosSchemaTypes {
    export interface Plugins<Types extends SchemaTypes> {
      faults: FaultsPlugin<Types>;
    }
  }
}

const pluginName = 'faults';

/** Arguments that are the body of REST as a whole; others are members of it. */
const bodies = ['input', 'jobs'];

/** Parameters and headers with another name in REST. */
const ofRest: ReadonlyMap<string, string> = new Map([
  ['Cursor', 'after'],
  ['Idempotency-Key', 'idempotencyKey'],
  ['Limit', 'first'],
  ['X-timezone-locationId', 'timezoneLocationId'],
]);

type Spelling = {
  /** The names of the arguments and of all members below them. */
  names: ReadonlySet<string>;
  /** The pointer to each of these names, except within lists. If several have one name, the outermost counts. */
  places: ReadonlyMap<string, string>;
  /** The pointer to the body of REST. */
  body: string;
};

type Part = GraphQLArgument | GraphQLInputField;

function readArguments(args: readonly Part[]): Spelling {
  const names = new Set<string>();
  const places = new Map<string, string>();
  const seen = new Set<unknown>();
  let level = args.map((part) => ({ part, place: `/${part.name}` as string | undefined }));
  while (level.length > 0)
    level = level.flatMap(({ part: { name, type }, place }) => {
      names.add(name);
      if (place !== undefined && !places.has(name)) places.set(name, place);
      const inner = getNamedType(type);
      if (!isInputObjectType(inner) || seen.has(inner)) return [];
      seen.add(inner);
      const within = isListType(getNullableType(type)) ? undefined : place;
      return Object.values(inner.getFields()).map((below) => ({
        part: below,
        place: within === undefined ? undefined : `${within}/${below.name}`,
      }));
    });
  const body = bodies.find((name) => args.some((argument) => argument.name === name));
  return { names, places, body: body === undefined ? '' : `/${body}` };
}

const spellings = new WeakMap<object, Spelling>();

function spellingOf({ parentType, fieldName }: GraphQLResolveInfo): Spelling {
  const field = parentType.getFields()[fieldName] as GraphQLField<unknown, unknown>;
  const known = spellings.get(field);
  if (known) return known;
  const spelling = readArguments(field.args);
  spellings.set(field, spelling);
  return spelling;
}

/** The name of a member of REST, if the field has an argument or a member of it. */
function ownName(word: string, { names }: Spelling): string | undefined {
  if (word !== upperFirst(word)) return undefined;
  return [nameOf(word), ofRest.get(word)].find((name) => name !== undefined && names.has(name));
}

/** Text in quotes is the caller's, and is left as it is. */
const quotedOrWord = /"(?:[^"\\]|\\.)*"?|[A-Za-z][\w-]*/g;

const respellText = (text: string, spelling: Spelling): string =>
  text.replaceAll(quotedOrWord, (word) => ownName(word, spelling) ?? word);

/** The pointer into the arguments for a pointer into a body of REST or a field's name; others are left as they are. */
function placeOf({ field, pointer }: FieldError, spelling: Spelling): string | null {
  const { names, places, body } = spelling;
  const ofField = field === null ? undefined : places.get(ownName(field, spelling) ?? field);
  if (pointer === null) return ofField ?? null;
  const first = pointer.split('/', 2)[1] ?? '';
  if (places.get(first) === `/${first}`) return pointer;
  const respelled = inNames(pointer);
  const name = respelled.split('/', 2)[1] ?? '';
  const outer = body === '' && names.has(name) ? places.get(name) : undefined;
  return outer === undefined ? `${body}${respelled}` : `${outer}${respelled.slice(name.length + 1)}`;
}

/** The faults of an error that are named only in its message. */
function faultsOf({ message, code }: DomainError, { places }: Spelling): FieldError[] {
  const paths = leadingMembers.exec(message)?.[1]?.split(', ') ?? [];
  return paths.flatMap((path) => {
    const [first = '', ...others] = path.split(/[.[\]]+/).filter((part) => part !== '');
    const place = places.get(first);
    if (place === undefined) return [];
    const field = [first, ...others].findLast((part) => !/^\d/.test(part)) ?? first;
    return [
      { field, pointer: [place, ...others].join('/'), code: code === 'Malformed' ? code : 'InvalidValue', message },
    ];
  });
}

function respell(error: DomainError, spelling: Spelling): void {
  error.message = respellText(error.message, spelling);
  for (const fault of error.errors) {
    fault.pointer = placeOf(fault, spelling);
    const other = fault.otherPointer && placeOf({ ...fault, pointer: fault.otherPointer }, spelling);
    if (other) fault.otherPointer = other;
    fault.message = respellText(fault.message, spelling);
    if (fault.field !== null)
      fault.field = ofRest.has(fault.field) ? (ownName(fault.field, spelling) ?? fault.field) : nameOf(fault.field);
  }
  if (error.errors.length === 0 && (error.code === 'Malformed' || error.code === 'InvalidInput'))
    error.errors.push(...faultsOf(error, spelling));
}

/** Queries that every authenticated caller may ask. The others are nullable: if one is refused, the rest is still answered. */
const alwaysAnswered = new Set(['me', 'serverTime', 'tenant']);

const respelling =
  <Types extends SchemaTypes>(resolver: Resolver<Types>): Resolver<Types> =>
  async (...call) => {
    try {
      return await resolver(...call);
    } catch (error) {
      if (error instanceof DomainError) respell(error, spellingOf(call[3]));
      throw error;
    }
  };

class FaultsPlugin<Types extends SchemaTypes> extends BasePlugin<Types> {
  override onOutputFieldConfig(field: PothosOutputFieldConfig<Types>): PothosOutputFieldConfig<Types> {
    if (field.kind !== 'Query' || alwaysAnswered.has(field.name)) return field;
    return { ...field, type: { ...field.type, nullable: true } };
  }

  override wrapResolve(resolver: Resolver<Types>, { args }: PothosOutputFieldConfig<Types>): Resolver<Types> {
    return Object.keys(args).length === 0 ? resolver : respelling(resolver);
  }

  override wrapSubscribe(
    subscribe: Resolver<Types> | undefined,
    { args }: PothosOutputFieldConfig<Types>,
  ): Resolver<Types> | undefined {
    return subscribe === undefined || Object.keys(args).length === 0 ? subscribe : respelling(subscribe);
  }
}

SchemaBuilder.registerPlugin(pluginName, FaultsPlugin);

export default pluginName;
