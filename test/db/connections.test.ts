/** How many connections each role opens, and that they are there. */
import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from '@jest/globals';
import { mostConnections } from '../../src/db/connections.ts';
import { scarcityOf } from '../../src/db/direct.ts';

const project = path.join(import.meta.dirname, '../..');

test('docs/operating.md tells how many connections each role opens', () => {
  const page = fs.readFileSync(path.join(project, 'docs/operating.md'), 'utf8');
  for (const Role of ['Web', 'Worker', 'All'] as const) {
    const [, told] = new RegExp(`^\\| \`${Role}\` \\|.*\\*\\*(\\d+)\\*\\* \\|$`, 'm').exec(page) ?? [];
    expect([Role, Number(told)]).toEqual([Role, mostConnections({ Role, PooledDatabaseUrl: undefined }).direct]);
    const { direct, pooled } = mostConnections({ Role, PooledDatabaseUrl: 'postgres://pool' });
    expect(page).toContain(`| \`${Role}\` with \`PooledDatabaseUrl\` | ${pooled} | ${direct} |`);
  }
});

test('too few connections are told of at the start', () => {
  const all = { Role: 'All', PooledDatabaseUrl: undefined } as const;
  expect(scarcityOf({ most: 100, free: 46 }, all)).toBeUndefined();
  expect(scarcityOf({ most: 100, free: 45 }, all)).toBe(
    'max_connections is 100, of which 45 are free; this process may need 46',
  );
});
