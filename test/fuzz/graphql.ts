/** Operations on every field of the SDL, valid ones and ones with a fault. */
import fs from 'node:fs';
import path from 'node:path';
import {
  buildSchema,
  type GraphQLArgument,
  type GraphQLInputField,
  type GraphQLInputType,
  type GraphQLOutputType,
  getNamedType,
  isAbstractType,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isListType,
  isNonNullType,
  isObjectType,
  type OperationTypeNode,
} from 'graphql';
import type { Dice } from '../_util/dice.ts';
import { project } from '../_util/generate.ts';
import * as hostile from './hostile.ts';
import { bytesOf, membersNamed, type Sent, schemas } from './rest.ts';
import type { Known } from './right.ts';
import { dateNear, instantNear, type Maker, valueFor } from './values.ts';
import { tenantCode, type World } from './world.ts';

const schema = buildSchema(fs.readFileSync(path.join(project, 'src/graphql/schema.graphql'), 'utf8'));

export const fields = (['query', 'mutation', 'subscription'] as const).flatMap((operation) =>
  Object.values(schema.getRootType(operation as OperationTypeNode)?.getFields() ?? {}).map((field) => ({
    operation,
    field,
  })),
);

type Field = (typeof fields)[number];

export type Operation = {
  isSubscription: boolean;
  params: { query: string; variables?: unknown; operationName?: unknown; extensions?: unknown };
};

function selectionOf(type: GraphQLOutputType, dice: Dice, depth: number): string {
  const named = getNamedType(type);
  if (isAbstractType(named)) {
    const possible = schema.getPossibleTypes(named);
    // Fields of one name that differ between nodes must not stand in one selection.
    const asked = isInterfaceType(named) ? [dice.oneOf(possible)] : possible;
    const parts = asked.map((one) => `... on ${one.name} ${selectionOf(one, dice, depth)}`);
    return `{ __typename ${parts.join(' ')} }`;
  }
  if (!isObjectType(named)) return '';
  const chosen = Object.values(named.getFields()).flatMap((field) => {
    const isLeaf = selectionIsLeaf(field.type);
    if (field.args.some(isRequired) || (!isLeaf && (depth === 0 || dice.roll() < 0.5))) return [];
    return isLeaf && dice.roll() < 0.2 ? [] : [`${field.name} ${selectionOf(field.type, dice, depth - 1)}`];
  });
  return `{ __typename ${chosen.join(' ')} }`;
}

const selectionIsLeaf = (type: GraphQLOutputType) => {
  const named = getNamedType(type);
  return !isObjectType(named) && !isAbstractType(named);
};
/** A body's members are judged together, so that the types of their fields leave open what must be there. */
const isRequired = ({ type, description }: GraphQLArgument | GraphQLInputField) =>
  isNonNullType(type) || description?.startsWith('Required.') === true;

function scalarFor(type: string, name: string, maker: Maker): unknown {
  const { dice } = maker;
  const alike = membersNamed(name).filter((one) => type !== 'Int' || one.type === 'integer');
  if ((type === 'Int' || type === 'String') && alike.length > 0) return valueFor(name, dice.oneOf(alike), maker);
  if (type === 'Int') return valueFor(name, { type: 'integer', minimum: 0, maximum: dice.oneOf([2, 60, 300]) }, maker);
  if (type === 'Float') return dice.oneOf(hostile.numbers);
  if (type === 'Boolean') return dice.roll() < 0.5;
  if (type === 'Date') return dice.roll() < 0.1 ? dice.oneOf(hostile.dates) : dateNear(name, dice);
  if (type === 'DateTime') return dice.roll() < 0.1 ? dice.oneOf(hostile.instants) : instantNear(name, dice);
  return valueFor(name, { type: 'string' }, maker);
}

function inputFor(name: string, type: GraphQLInputType, maker: Maker): unknown {
  const { dice } = maker;
  if (isNonNullType(type)) return inputFor(name, type.ofType, maker);
  if (isListType(type)) return Array.from({ length: dice.below(4) }, () => inputFor(name, type.ofType, maker));
  if (isEnumType(type)) return dice.oneOf(type.getValues()).name;
  if (isInputObjectType(type))
    return Object.fromEntries(
      Object.values(type.getFields())
        .filter((field) => isRequired(field) || dice.roll() < 0.3)
        .map((field) => [field.name, inputFor(field.name, field.type, maker)]),
    );
  return scalarFor(type.name, name, maker);
}

/** A value as a literal of the document; an enumeration by its bare name. */
function literalOf(value: unknown, type: GraphQLInputType): string {
  if (isNonNullType(type)) return literalOf(value, type.ofType);
  if (value === null || value === undefined) return 'null';
  if (isListType(type) && Array.isArray(value))
    return `[${value.map((item) => literalOf(item, type.ofType)).join(' ')}]`;
  if (isEnumType(type)) return typeof value === 'object' ? '{}' : String(value);
  if (isInputObjectType(type) && typeof value === 'object') {
    const members = type.getFields();
    const parts = Object.entries(value).flatMap(([name, member]) =>
      members[name] ? [`${name}: ${literalOf(member, members[name].type)}`] : [],
    );
    return `{ ${parts.join(' ')} }`;
  }
  return JSON.stringify(value);
}

/** Documents that are odd as a whole. */
const oddDocuments = [
  ...['', '{', '}', '{ me }', 'query { me { id } } query { me { id } }', '{ ...a } fragment a on Query { ...a }'],
  ...['{ __schema { types { name fields { name } } } }', `{ ${'a: me { id } '.repeat(300)} }`, '\0', '{ \ud800 }'],
  ...[
    `{ ${'me { '.repeat(100)}id${' }'.repeat(101)}`,
    'query ($a: Int = 99999999999) { resources(first: $a) { nodes { id } } }',
  ],
  ...[
    'query a($b: [[[[ID!]!]!]!]) { resource(id: $b) { id } }',
    '{ resource(id: """\n  1\n""") { id } }',
    '{ me @skip(if: 1) { id } }',
  ],
  ...[
    'query ($n: String) { lessons(filter: { jobKey: $n }) { nodes { jobKey } } }',
    '{ resource(id: 1e400) { id } }',
    '#'.repeat(9_000),
  ],
];

export function makeOperation(dice: Dice, world: World, { operation, field }: Field, known?: Known): Operation {
  const maker: Maker = { dice, world, schemas };
  const isSubscription = operation === 'subscription';
  if (!known && dice.roll() < 0.03) return { isSubscription: false, params: { query: dice.oneOf(oddDocuments) } };
  const args = field.args.filter((arg) => isRequired(arg) || dice.roll() < 0.6);
  const values = args.map((arg) => {
    let value = known?.members[arg.name] ?? inputFor(arg.name, arg.type, maker);
    if (!known && dice.roll() < 0.25) value = hostile.spoil({ value }, dice);
    else value = { value };
    return (value as { value?: unknown } | null)?.value;
  });
  const byLiteral = dice.roll() < 0.25;
  const declared = byLiteral ? '' : args.map(({ name, type }) => `$${name}: ${type}`).join(' ');
  const passed = args
    .map((arg, at) => `${arg.name}: ${byLiteral ? literalOf(values[at], arg.type) : `$${arg.name}`}`)
    .join(' ');
  const head = `${operation} ${declared && `(${declared})`}`;
  const query = `${head} { ${field.name}${passed && `(${passed})`} ${selectionOf(field.type, dice, 2)} }`;
  const variables = Object.fromEntries(args.map(({ name }, at) => [name, values[at]]));
  return {
    isSubscription,
    params: {
      query,
      ...(!byLiteral && { variables }),
      ...(dice.roll() < 0.02 && { operationName: hostile.anything(dice) }),
    },
  };
}

/** The same over HTTP; what streams asks for events. */
export function makeGraphqlRequest(dice: Dice, world: World, field: Field, known?: Known): Sent {
  const { isSubscription, params } = makeOperation(dice, world, field, known);
  const { name, authorization } = known?.caller ?? dice.oneOf(world.callers);
  const whole = dice.roll() < 0.04 ? hostile.spoil(params, dice) : params;
  const { body, headers } = bytesOf(whole, 'application/json', dice);
  return {
    caller: name,
    method: dice.roll() < 0.01 ? 'GET' : 'POST',
    path: `/${tenantCode}/graphql`,
    headers: {
      ...headers,
      Accept: isSubscription || dice.roll() < 0.03 ? 'text/event-stream' : 'application/json',
      ...(authorization && { Authorization: authorization }),
    },
    body,
    mayBeUnavailable: true,
    isMutation: params.query.startsWith('mutation'),
  };
}
