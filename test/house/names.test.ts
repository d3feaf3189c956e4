import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, expect, test } from '@jest/globals';
import { findSharedNames } from '../_util/names.ts';

let project: string;
beforeEach(() => {
  project = fs.mkdtempSync(path.join(os.tmpdir(), 'roomgate-names-'));
});
afterEach(() => fs.rmSync(project, { recursive: true }));

function write(file: string, text: string): void {
  fs.mkdirSync(path.dirname(path.join(project, file)), { recursive: true });
  fs.writeFileSync(path.join(project, file), text);
}

test('an exported type has a name of its own', () => {
  write('src/displays/room.ts', 'export type Room = { name: string };');
  write('src/bookings/occupation.ts', '/** A room. */\ntype Room = { id: number };');
  expect(findSharedNames(project)).toEqual([
    'the type Room is declared in src/bookings/occupation.ts, src/displays/room.ts',
  ]);
});

test('types that no file exports, row types and types of pages may share a name', () => {
  write('src/displays/room.ts', 'type Row = { name: string };');
  write('src/bookings/occupation.ts', 'type Row = { id: number };\nexport type Batch = { id: string };');
  write('src/db/tables.ts', 'export interface Batch {}');
  write('src/web/display/frames.ts', 'export type Batch = {};');
  expect(findSharedNames(project)).toEqual([]);
});
