/** What holds for the whole schema: descriptions, names, and how it may change. */
import fs from 'node:fs';
import path from 'node:path';
import { describe, expect, test } from '@jest/globals';
import {
  buildSchema,
  findBreakingChanges,
  isEnumType,
  isInputObjectType,
  isInterfaceType,
  isObjectType,
} from 'graphql';
import { lowerFirst } from '../../src/fields.ts';
import { createBuilder } from '../../src/graphql/builder.ts';
import { english } from '../../src/graphql/names.ts';

const root = path.join(import.meta.dirname, '..', '..');
const read = (file: string) => fs.readFileSync(path.join(root, file), 'utf8');
const schema = buildSchema(read('src/graphql/schema.graphql'));
const types = Object.values(schema.getTypeMap()).filter(({ name }) => !name.startsWith('__'));
const own = types.filter(({ name }) => !['Boolean', 'Float', 'ID', 'Int', 'String'].includes(name));

type Member = { place: string; name: string; description: string | null | undefined };

/** Every field, argument and member of an input. */
const members: Member[] = own.flatMap((type) => {
  if (!isObjectType(type) && !isInterfaceType(type) && !isInputObjectType(type)) return [];
  return Object.values(type.getFields()).flatMap((field) => {
    const place = `${type.name}.${field.name}`;
    const args = 'args' in field ? field.args : [];
    return [
      { place, name: field.name, description: field.description },
      ...args.map(({ name, description }: Omit<Member, 'place'>) => ({
        place: `${place}(${name})`,
        name,
        description,
      })),
    ];
  });
});

test('no description is empty', () => {
  const ofTypes = own.map(({ name, description }) => ({ place: name, description }));
  const values = own.filter(isEnumType).flatMap((type) => type.getValues());
  const empty = [...ofTypes, ...members].filter(({ description }) => !description?.trim());
  expect(members.length).toBeGreaterThan(500);
  expect(empty.map(({ place }) => place)).toEqual([]);
  expect(values.filter(({ description }) => description === '')).toEqual([]);
});

test('a query that may be refused is nullable: its refusal leaves the others their answers', () => {
  const fields = Object.values(schema.getQueryType()!.getFields());
  const never = fields.filter(({ type }) => String(type).endsWith('!')).map(({ name }) => name);
  expect(never).toEqual(['me', 'serverTime', 'tenant']);
});

/** To break it deliberately: say so in CHANGELOG.md, and copy src/graphql/schema.graphql to released.graphql. */
test('the schema changes additively: it breaks nothing that released.graphql has', () => {
  const released = buildSchema(read('test/graphql/_util/released.graphql'));
  expect(findBreakingChanges(released, schema).map(({ description }) => description)).toEqual([]);
});

describe('names are English', () => {
  const german = new Set([...english.keys()].map(lowerFirst));

  test('where those of REST are German, as the description says', () => {
    expect(members.filter(({ name }) => german.has(name)).map(({ place }) => place)).toEqual([]);
    expect(own.map(({ name }) => name).filter((name) => /Lektion/.test(name))).toEqual([]);
    for (const wire of english.keys()) {
      const told = members.filter(({ description }) => description?.includes(`REST: \`${wire}\`.`));
      expect([wire, told.length > 0]).toEqual([wire, true]);
      expect(told.every(({ name }) => name === english.get(wire))).toBe(true);
    }
  });

  test('as the page has them', () => {
    const rows = [...read('docs/graphql.md').matchAll(/^\| `(\w+)` \| `(\w+)` \|$/gm)].map(([, wire, name]) => [
      wire,
      name,
    ]);
    expect(rows).toEqual([...english]);
  });
});

test('a check of all arguments of a field together, which would not be made, is refused when the schema is built', () => {
  const builder = createBuilder();
  builder.queryField('checked', (t) =>
    t.boolean({ description: 'x', args: { a: t.arg.int() }, validate: [() => false], resolve: () => true }),
  );
  expect(() => builder.toSchema()).toThrow(
    'Query.checked: validate its arguments, or their input type, not the field.',
  );
});
