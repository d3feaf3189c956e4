/** Values that fit a JSON schema more or less, as far as the OpenAPI document and the SDL tell. */
import type { Dice } from '../_util/dice.ts';
import * as hostile from './hostile.ts';
import type { World } from './world.ts';

export type Schema = {
  $ref?: string;
  type?: string | string[];
  format?: string;
  enum?: unknown[];
  const?: unknown;
  example?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  minItems?: number;
  items?: Schema;
  properties?: Record<string, Schema>;
  required?: string[];
  readOnly?: boolean;
  anyOf?: Schema[];
  oneOf?: Schema[];
  allOf?: Schema[];
};

export type Maker = { dice: Dice; world: World; schemas: Record<string, Schema> };

const minute = 60_000;
const day = 1_440 * minute;

/** One of few, so that beginnings and ends often fit each other, and meet what is there. */
export function instantNear(name: string, { below, roll }: Dice): string {
  const later = /^(end|ende|to|validTo|createdBefore)$/i.test(name) ? 45 : 0;
  const today = Math.floor(Date.now() / day) * day;
  const hours = roll() < 0.2 ? new Date().getUTCHours() : 6 + 3 * below(5);
  return new Date(today + below(3) * day + (hours * 60 + later) * minute).toISOString();
}
export const dateNear = (name: string, dice: Dice) => instantNear(name, dice).slice(0, 10);

function textFor(name: string, { format, minLength = 0, maxLength = 40 }: Schema, dice: Dice): string {
  if (format === 'date') return dice.roll() < 0.1 ? dice.oneOf(hostile.dates) : dateNear(name, dice);
  if (format === 'date-time' || /^(beginn|ende|start|end|from|to)$/i.test(name))
    return dice.roll() < 0.1 ? dice.oneOf(hostile.instants) : instantNear(name, dice);
  if (format === 'email' || name.toLowerCase() === 'email') return `p${dice.below(40)}@school.example`;
  if (/^(opens|closes)$/i.test(name)) return dice.oneOf(['00:00', '09:00', '17:30', '22:00', '24:00', '23:59']);
  const length = dice.oneOf([minLength, minLength + 1, Math.min(maxLength, 12), maxLength]);
  return dice.oneOf(['N', 'ß', '9', 'N']).repeat(Math.min(length, 600)) + (length > 3 ? dice.below(20) : '');
}

function numberFor({ minimum = 0, maximum = 1_000, type }: Schema, dice: Dice): number {
  const number = dice.oneOf([minimum, maximum, minimum + dice.below(Math.min(maximum - minimum, 60) + 1)]);
  return type === 'number' && dice.roll() < 0.1 ? number + 0.5 : number;
}

/** @param name of the member or parameter that it is for */
export function valueFor(name: string, schema: Schema, maker: Maker, depth = 0): unknown {
  const { dice, world, schemas } = maker;
  if (schema.$ref) return valueFor(name, schemas[schema.$ref.split('/').at(-1) ?? ''] ?? {}, maker, depth);
  const { anyOf, oneOf = anyOf, allOf } = schema;
  if (oneOf) return valueFor(name, dice.oneOf(oneOf), maker, depth);
  if (allOf) return Object.assign({}, ...allOf.map((part) => valueFor(name, part, maker, depth) as object));
  const isLeaf = schema.type !== 'object' && schema.type !== 'array';
  const known = isLeaf && dice.roll() < 0.6 ? world.pool.find(name, dice) : undefined;
  if (known !== undefined) return known;
  if ('const' in schema) return schema.const;
  if (schema.enum) return dice.oneOf(schema.enum);
  if (schema.example !== undefined && isLeaf && dice.roll() < 0.3) return schema.example;
  const type = Array.isArray(schema.type) ? dice.oneOf(schema.type) : schema.type;
  if (type === 'null') return null;
  if (type === 'boolean') return dice.roll() < 0.5;
  if (type === 'integer' || type === 'number') return numberFor({ ...schema, type }, dice);
  if (type === 'array') {
    const length = Math.max(schema.minItems ?? 0, dice.below(depth > 3 ? 2 : 4));
    return Array.from({ length }, () => valueFor(name, schema.items ?? {}, maker, depth + 1));
  }
  if (type === 'object' || schema.properties) return objectFor(schema, maker, depth);
  return textFor(name, schema, dice);
}

function objectFor({ properties = {}, required = [] }: Schema, maker: Maker, depth: number): object {
  const names = Object.keys(properties).filter(
    (name) => !properties[name]?.readOnly && (required.includes(name) || maker.dice.roll() < 0.5),
  );
  return Object.fromEntries(names.map((name) => [name, valueFor(name, properties[name] as Schema, maker, depth + 1)]));
}
