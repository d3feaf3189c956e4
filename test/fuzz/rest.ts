/** Requests of every route of the OpenAPI document, valid ones and ones with a fault. */
import fs from 'node:fs';
import { gzipSync } from 'node:zlib';
import { documentFile } from '../_util/contract.ts';
import type { Dice } from '../_util/dice.ts';
import * as hostile from './hostile.ts';
import type { Known } from './right.ts';
import { type Maker, type Schema, valueFor } from './values.ts';
import { tenantCode, type World } from './world.ts';

/** A request as it is sent. */
export type Sent = {
  caller: string;
  method: string;
  /** Of ASCII characters alone. */
  path: string;
  headers: Record<string, string | string[]>;
  body: Buffer | undefined;
  /** Whether the document says that it may be answered 503. */
  mayBeUnavailable: boolean;
  isMutation?: boolean;
};

type Parameter = { $ref?: string; name: string; in: 'path' | 'query' | 'header'; schema: Schema };
type Operation = {
  parameters?: Parameter[];
  requestBody?: { content: Record<string, { schema: Schema; example?: unknown }> };
  responses: Record<string, unknown>;
};
type Route = { method: string; template: string; operation: Operation };

const document = JSON.parse(fs.readFileSync(documentFile, 'utf8')) as {
  paths: Record<string, Record<string, Operation>>;
  components: { schemas: Record<string, Schema>; parameters: Record<string, Parameter> };
};
export const { schemas } = document.components;
/** What members of a name hold, in whichever records have it: GraphQL has the same ones, and says less of them. */
const members = Map.groupBy(
  Object.values(schemas).flatMap(({ properties = {} }) => Object.entries(properties)),
  ([name]) => name.toLowerCase(),
);
export const membersNamed = (name: string): Schema[] =>
  (members.get(name.toLowerCase()) ?? []).map(([, schema]) => schema);
export const routes: readonly Route[] = Object.entries(document.paths).flatMap(([template, operations]) =>
  Object.entries(operations).map(([method, operation]) => ({
    method: method.toUpperCase(),
    template,
    operation,
  })),
);

const resolved = (parameter: Parameter) =>
  parameter.$ref ? (document.components.parameters[parameter.$ref.split('/').at(-1) ?? ''] as Parameter) : parameter;

/** Percent-encoded, also what is no text: half of a surrogate pair as its three bytes. */
const encode = (text: string) =>
  [...Buffer.from(text, 'utf8')].map((byte) => `%${byte.toString(16).padStart(2, '0')}`).join('');
const asText = (value: unknown) => (typeof value === 'object' ? JSON.stringify(value) : String(value));
/** What a header may hold, so that Node's client sends it. */
const asHeader = (value: unknown) =>
  asText(value)
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?')
    .slice(0, 9_000);

const rawSegments = ['%00', '%ff', '%ED%A0%80', '%C0%80', '%', '%2', '%2F', '..', '%2e%2e', '%25', ';x=1', "'"];

function segmentFor(parameter: Parameter, maker: Maker): string {
  const { dice } = maker;
  if (dice.roll() < 0.04) return dice.oneOf(rawSegments);
  if (dice.roll() < 0.06) return encode(dice.oneOf(hostile.texts)).slice(0, 9_000) || '%20';
  if (parameter.name === 'mandator')
    return dice.roll() < 0.92 ? tenantCode : dice.oneOf(['SCHOOL', 'stranger', 'nowhere']);
  return encode(asText(valueFor(parameter.name, parameter.schema, maker))).slice(0, 9_000) || '%20';
}

/** A wait is for its own tests: here it would only hold a lane. */
const isWait = (name: string) => name === 'WaitSeconds';

function queryFor(parameters: Parameter[], maker: Maker, known: Known['query'] = {}): string {
  const { dice } = maker;
  const parts = parameters.flatMap(({ name, schema }) => {
    if (known[name] !== undefined) return [`${name}=${known[name]}`];
    if (dice.roll() < 0.45) return [];
    const wrong = dice.roll() < 0.1;
    const value = wrong ? dice.oneOf([...hostile.texts, ...hostile.dates, ...hostile.instants]) : undefined;
    const right = isWait(name) ? 0 : valueFor(name, schema, maker);
    const texts = [value ?? right].flat().map((one) => `${name}=${encode(asText(one)).slice(0, 12_000)}`);
    return dice.roll() < 0.05 ? [...texts, ...texts] : texts;
  });
  if (dice.roll() < 0.05) parts.push(dice.oneOf(['%', 'x=%ff', '=', '&&', 'A[]=1', '__proto__=1', 'limit=%00']));
  if (dice.roll() < 0.005) parts.push('A=1&'.repeat(3_000));
  if (dice.roll() < 0.05) return parts.join('&').replaceAll(/(^|&)([A-Z])/g, (first) => first.toLowerCase());
  return parts.join('&').slice(0, 14_000);
}

function headersFor(
  parameters: Parameter[],
  maker: Maker,
  version: number | undefined,
): Record<string, string | string[]> {
  const { dice } = maker;
  const headers: Record<string, string | string[]> = {};
  for (const { name, schema } of parameters) {
    const chance = dice.roll();
    if (name === 'If-Match' && version !== undefined) headers[name] = `"${version}"`;
    else if (name === 'If-Match' && chance < 0.6) headers[name] = '*';
    else if (chance < 0.4) continue;
    else if (name === 'If-Match' && chance < 0.8) headers[name] = dice.oneOf(['*', '"1"', '"2"', `"${dice.below(9)}"`]);
    else if (chance < 0.85) headers[name] = asHeader(valueFor(name, schema, maker));
    else if (chance < 0.97) headers[name] = asHeader(dice.oneOf(hostile.texts));
    else headers[name] = [asHeader(valueFor(name, schema, maker)), asHeader(dice.oneOf(hostile.texts))];
  }
  if (dice.roll() < 0.05) headers['Accept'] = dice.oneOf(['text/html', '*/*;q=0', 'a/b/c', '', 'application/*']);
  if (dice.roll() < 0.02) headers['Range'] = 'bytes=0-1';
  return headers;
}

const mostBytes = 3_000_000;

type Bodied = { body: Buffer; headers: Record<string, string> };

/** Bytes that say what a value is, more or less. */
export function bytesOf(value: unknown, type: string, dice: Dice): Bodied {
  let text = (JSON.stringify(value) ?? 'null').slice(0, mostBytes);
  const act = dice.below(60);
  if (act === 0) text = text.slice(0, dice.below(text.length));
  if (act === 1) text = text.replace(/\d+/, dice.oneOf(['1e400', '-0', '00', '1E+2', '9'.repeat(400)]));
  if (act === 2) text = `\ufeff${text}`;
  if (act === 3) text = text.replace('{', '{"A":1,"a":2,"A":3,');
  if (act === 4) text = `${'['.repeat(50_000)}`;
  let body = Buffer.from(text);
  if (act === 5) body = Buffer.concat([body.subarray(0, 5), Buffer.from([0xff, 0xfe, 0]), body.subarray(5)]);
  const headers: Record<string, string> = { 'Content-Type': type };
  if (act === 6) headers['Content-Type'] = dice.oneOf(['text/plain', '', 'application/json; charset=latin1', 'x']);
  if (act === 7 || act === 8) headers['Content-Encoding'] = dice.oneOf(['gzip', 'gzip', 'br', 'deflate', 'x']);
  if (act === 7) body = gzipSync(body);
  if (act === 9)
    return {
      body: gzipSync(Buffer.alloc(4_000_000, ' ')),
      headers: { ...headers, 'Content-Encoding': 'gzip' },
    };
  return { body, headers };
}

function bodyFor({ requestBody }: Operation, maker: Maker, known: Known | undefined): Bodied | undefined {
  const { dice } = maker;
  const types = Object.entries(requestBody?.content ?? {});
  if (types.length === 0 || (!known && dice.roll() < 0.03)) return undefined;
  const [type, { schema, example }] = dice.oneOf(types);
  let value = known?.body ?? (example !== undefined && dice.roll() < 0.3 ? example : valueFor('', schema, maker));
  if (!known) for (let times = dice.below(5); times > 2; times--) value = spoiled(value, dice);
  if (type === 'application/x-www-form-urlencoded') {
    const pairs = Object.entries((value ?? {}) as object).map(([name, one]) => `${name}=${encode(asText(one))}`);
    return { body: Buffer.from(pairs.join('&')), headers: { 'Content-Type': type } };
  }
  if (type === 'text/xml') return { body: Buffer.from(asText(value)), headers: { 'Content-Type': type } };
  return bytesOf(value, type, dice);
}

const spoiled = (value: unknown, dice: Dice) => hostile.spoil(value, dice);

export function makeRestRequest(dice: Dice, world: World, { method, template, operation }: Route, known?: Known): Sent {
  const maker = { dice, world, schemas };
  const parameters = (operation.parameters ?? []).map(resolved);
  const inPlace = (place: Parameter['in']) => parameters.filter((one) => one.in === place);
  const path = template.replaceAll(/\{(\w+)\}/g, (_, name) => {
    if (known) return name === 'mandator' ? tenantCode : String(known.members[name]);
    const parameter = parameters.find((one) => one.name === name);
    return segmentFor(parameter ?? { name, in: 'path', schema: {} }, maker);
  });
  const query = queryFor(inPlace('query'), maker, known?.query);
  const bodied = bodyFor(operation, maker, known);
  const { name, authorization } = known?.caller ?? dice.oneOf(world.callers);
  return {
    caller: name,
    method,
    mayBeUnavailable: '503' in operation.responses,
    path: `${path}${query && `?${query}`}`,
    headers: {
      ...headersFor(inPlace('header'), maker, known?.version),
      ...(authorization && { Authorization: authorization }),
      ...bodied?.headers,
    },
    body: bodied?.body,
  };
}
