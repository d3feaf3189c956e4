import fs from 'node:fs';
import path from 'node:path';
import { afterEach, expect, jest, test } from '@jest/globals';
import { formatTable, openOutput, tell } from '../../src/cli/output.ts';
import { openProgress } from '../../src/cli/progress.ts';

const source = path.join(import.meta.dirname, '..', '..', 'src');

afterEach(() => {
  jest.restoreAllMocks();
});

test('a name with line breaks, colours or reversing characters disturbs no other column', () => {
  const names = ['Two\nlines', '\u001b[31mRed', '\u202eReversed', 'Hid\u200bden', 'Next\u2028line'];
  expect(formatTable(['Name', 'State'], [...names.map((name) => [name, 'ok'])])).toBe(
    ['Name       State', 'Two lines  ok', ' [31mRed   ok', ' Reversed  ok', 'Hid den    ok', 'Next line  ok'].join(
      '\n',
    ),
  );
});

/** Each is of another kind: of control, of direction, a separator, unseen. The joiner in the family, and the line break, stay. */
const name = 'a\u001bb\u009bc\u202ed\u2067e\u061cf\u2028g\u200bh\ufeffi\u{e0041}j 👩\u200d👧\nk\n';
const shown = 'a b c d e f g h i j 👩\u200d👧\nk\n';

test('what is printed moves, hides and colours nothing; as JSON it is the same value', () => {
  const out = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  openOutput(false).print(name, {});
  openOutput(true).print('', { name });
  const [text, json] = out.mock.calls.map(([written]) => String(written));
  expect(text).toBe(`${shown}\n`);
  expect(json).toMatch(/^\{"name":"a\\u001bb\\u009bc\\u202ed\\u2067e\\u061cf\\u2028g\\u200bh\\ufeffi\\udb40\\udc41j /);
  expect(JSON.parse(String(json))).toEqual({ name });
});

test('nor does what is told beside a result, and progress', () => {
  const err = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  tell(name);
  openProgress(process.stderr).say(name);
  expect(err.mock.calls.map(([written]) => written)).toEqual([`${shown}\n`, `${shown}\n`]);
});

test('nothing else writes to the terminal', () => {
  const files = fs.readdirSync(source, { recursive: true, encoding: 'utf8' }).filter((file) => /\.[jt]s$/.test(file));
  const writers = files.filter((file) =>
    /process\.std(out|err)\.write|console\.(log|error)\(/.test(fs.readFileSync(path.join(source, file), 'utf8')),
  );
  expect(writers.sort()).toEqual(['cli/output.ts', 'main.js']);
});
