import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { findSmuggled } from '../_util/doors.ts';

let project: string;
beforeEach(() => {
  project = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-doors-'));
  fs.mkdirSync(path.join(project, 'src/bookings'), { recursive: true });
});
afterEach(() => fs.rmSync(project, { recursive: true }));

function faultsOf(text: string, file = 'service.ts'): string[] {
  fs.writeFileSync(path.join(project, 'src/bookings', file), text);
  return findSmuggled(project);
}

test.each([
  "\nexport { getResource } from '../tenants/service.ts';",
  "\nexport {\n  getResource,\n  type Resource,\n} from '../tenants/service.ts';",
  "import { getResource } from '../tenants/service.ts';\nexport { getResource };",
  "import { getResource as get } from '../tenants/service.ts';\nexport { get as getResource };",
  "import type { Resource } from '../tenants/service.ts';\nexport type { Resource };",
  "import * as tenants from '../tenants/service.ts';\nexport { tenants };",
  "import tenants from '../tenants/service.ts';\nexport { tenants as default };",
])('a room exports nothing of another room: %j', (text) => {
  expect(faultsOf(text)).toEqual([
    expect.stringMatching(/^src\/bookings\/service\.ts:2: exports what is another room's/),
  ]);
});

test.each([
  "export { getBooking } from './reading.ts';",
  "export { toFields } from '../fields.ts';",
  "import { getResource } from '../tenants/service.ts';\nexport const getResourceOf = () => getResource();",
])('a room exports what is its own: %j', (text) => {
  expect(faultsOf(text)).toEqual([]);
});

test.each([
  ['cli.ts', "\nexport { getBooking } from './service.ts';"],
  ['edges-graphql.ts', "import { getBooking } from './service.ts';\nexport { getBooking };"],
  ['rest.ts', "import * as bookings from './service.ts';\nexport { bookings };"],
])('a face exports nothing of its service: %s', (file, text) => {
  expect(faultsOf(text, file)).toEqual([
    `src/bookings/${file}:2: exports what is its service's; import the service there`,
  ]);
});

test.each([
  ['cli.ts', "import { getBooking } from './service.ts';\nexport const addCommands = () => getBooking();"],
  ['rest.ts', "export { occupiedMembers } from './occupied-wire.ts';"],
])('a face exports what is its own: %s', (file, text) => {
  expect(faultsOf(text, file)).toEqual([]);
});
