/** Every regular expression of the program takes linear time, or never reads input from outside. */
import fs from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, test } from '@jest/globals';
import { parse } from '@swc/core';
import { beginningOf, openLog, withoutSecrets } from '../../src/log.ts';
import { quote } from '../../src/mail-servers/faults.ts';
import { cpuTimeOf, growthOf, leastTimesOf } from '../_util/growth.ts';
import { times } from '../_util/long.ts';

const source = path.join(import.meta.dirname, '..', '..', 'src');

type Found = { file: string; pattern: string; flags: string };

/** Expressions that are slow for some texts, by file, and why nobody outside chooses these texts. */
const never: Record<string, [pattern: string, why: string][]> = {
  'cli/program.ts': [['\\/+$', 'an option of the command line']],
  'config.ts': [['\\/+$', 'a setting']],
  'mail-servers/google-api.ts': [['\\/+$', 'a setting']],
  'mail-servers/graph-api.ts': [['\\/+$', 'a setting']],
  'settings.ts': [['\\/\\/\\S*@', 'a setting']],
  'web/minify.ts': [['\\/\\*.*?\\*\\/', 'the own style sheets']],
};

/** Those that are put together while the program runs: how many, and what they are like. */
const made: Record<string, { count: number; like: string[] }> = {
  // Made when the file is loaded, and so seen there.
  'bookings/recurrence.ts': { count: 1, like: [] },
  'flow/database-errors.ts': { count: 1, like: ['^(Connection terminated|Query read timeout)'] },
  // Its words are its own.
  'graphql/names.ts': { count: 1, like: [] },
  'mail/items.ts': { count: 1, like: ['^booking-\\d+@00000000-0000-4000-8000-000000000000$'] },
  // It reads the own scripts.
  'web/minify.ts': { count: 1, like: [] },
};

/** What is repeated to make a text slow, besides what is tried with each: several parts of one pattern. */
const attacks: Record<string, string[]> = {
  'config.ts': [', "'],
  'log.ts': [
    '"pin":[',
    '"pin":"',
    '"pin":"\\',
    'eyJ.',
    'eyJa.b',
    'eyJ..',
    'eyJa..b.',
    'Bearer a',
    'Basic =B+-',
    '//a:',
    '//a:b',
    'k=a&',
    '1.1',
  ],
};

/** The literals of a file, and how many others it makes. */
async function readPatterns(file: string): Promise<{ literals: Found[]; made: number }> {
  const tree = await parse(fs.readFileSync(path.join(source, file), 'utf8'), { syntax: 'typescript' });
  const literals: Found[] = [];
  let count = 0;
  function visit(node: unknown): void {
    if (typeof node !== 'object' || node === null) return;
    const { type, pattern, flags, callee } = node as Record<string, unknown>;
    if (type === 'RegExpLiteral') literals.push({ file, pattern: String(pattern), flags: String(flags) });
    if ((callee as { value?: unknown } | undefined)?.value === 'RegExp') count++;
    for (const member of Object.values(node)) visit(member);
  }
  visit(tree);
  return { literals, made: count };
}

/** What a module makes when it is loaded, though another file of this process has loaded it before. */
async function patternsMadeBy(file: string): Promise<Found[]> {
  const found: Found[] = [];
  const Native = RegExp;
  globalThis.RegExp = new Proxy(Native, {
    construct(target, [pattern, flags = '']) {
      if (typeof pattern === 'string') found.push({ file, pattern, flags });
      return new target(pattern, flags);
    },
  });
  try {
    await import(`${path.join(source, file)}?anew`);
  } finally {
    globalThis.RegExp = Native;
  }
  return found;
}

const samples = [...'aA0_-.,:;/@=+&%"\'\\<[( \n\t\0é'];

/** The literal parts of a pattern, single characters of many kinds, and pairs of the two. */
function pumpsOf({ file, pattern }: Found): Set<string> {
  // What is escaped is moved aside, where it is no sign of the language.
  const aside = 0xe000;
  const parts = pattern
    .replaceAll(/\\[dwsbDWSBpP](\{\w+\})?/g, ' ')
    .replaceAll(/\\(.)/g, (_, escaped: string) => String.fromCharCode(aside + escaped.charCodeAt(0)))
    .split(/\(\?(?:<?[=!]|:)|\{[\d,]+\}|\[.*?\]|[()|*+?^$ ]/)
    .map((part) => part.replaceAll(/[\ue000-\ue0ff]/g, (one) => String.fromCharCode(one.charCodeAt(0) - aside)))
    .filter((part) => part !== '' && part.length < 40);
  const tokens = [...new Set(parts)].slice(0, 12);
  const pairs = tokens.flatMap((token) => samples.flatMap((sample) => [token + sample, sample + token]));
  return new Set([...tokens, ...samples, ...pairs, ...(attacks[file] ?? [])]);
}

/** Behind what is repeated something stands that most patterns do not take. */
const textOf = (pump: string, size: number) => `${pump.repeat(Math.ceil(size / pump.length))}\n\0!/`;

const shortText = times(2_000, 6_000);
/** Ten times as long as it takes to look at each character once, or more. */
const slowMicros = shortText / 8;

/** Growth beyond linear, and the text that causes it. */
function findGrowth(found: Found): { pump: string; growth: number } | undefined {
  const pattern = new RegExp(found.pattern, found.flags);
  for (const pump of pumpsOf(found)) {
    const read = (size: number) => {
      const text = textOf(pump, size);
      return () => text.replace(pattern, '');
    };
    if (cpuTimeOf(read(shortText)) < slowMicros) continue;
    // Or it was a disturbance.
    const growth = growthOf(read, shortText, 2);
    if (growth > 2.5 && cpuTimeOf(read(shortText)) >= slowMicros) return { pump, growth };
  }
  return undefined;
}

/** Whether it is slow beyond doubt: a hundred times as slow as a look at each character, or more. */
function isPlainlySlow(found: Found): boolean {
  const pattern = new RegExp(found.pattern, found.flags);
  return [...pumpsOf(found)].some((pump) => {
    const text = textOf(pump, 5 * 2_000);
    const scanned = text.repeat(100);
    const works = [() => scanned.replace(/[\ue000-\uf8ff]/, ''), () => text.replace(pattern, '')];
    const [look = 0, own = 0] = leastTimesOf(
      works,
      ([first = 0, second = 0]) => second > 2 * first || first > 2 * second,
    );
    return own > look;
  });
}

let patterns: Found[];
let makers: Record<string, number>;

beforeAll(async () => {
  const own = [
    ...(await patternsMadeBy('bookings/recurrence.ts')),
    ...Object.entries(made).flatMap(([file, { like }]) => like.map((pattern) => ({ file, pattern, flags: '' }))),
  ];
  const files = fs.globSync('**/*.ts', { cwd: source });
  const read = await Promise.all(files.map(async (file) => ({ file, ...(await readPatterns(file)) })));
  makers = Object.fromEntries(read.filter((one) => one.made > 0).map((one) => [one.file, one.made]));
  patterns = [...read.flatMap(({ literals }) => literals), ...own];
});

describe('a regular expression', () => {
  test('that is put together while the program runs is known here', () => {
    expect(makers).toEqual(Object.fromEntries(Object.entries(made).map(([file, { count }]) => [file, count])));
  });

  test('takes time in proportion to its text, unless nobody outside chooses that', () => {
    expect(patterns.length).toBeGreaterThan(150);
    const slow = patterns.flatMap((found) => {
      const grows = findGrowth(found);
      return grows ? [{ ...found, ...grows }] : [];
    });
    const known = Object.entries(never).flatMap(([file, some]) => some.map(([pattern]) => ({ file, pattern })));
    const by = (one: Omit<Found, 'flags'>) => `${one.file} ${one.pattern}`;
    expect(slow.filter((one) => !known.some((other) => by(one) === by(other)))).toEqual([]);
    const isKnown = (found: Found) => known.some((one) => by(one) === by(found));
    expect(patterns.filter((found) => isKnown(found) && !isPlainlySlow(found))).toEqual([]);
    expect(known.filter((one) => !patterns.some((found) => by(one) === by(found)))).toEqual([]);
  });
});

describe('secrets are taken out of a text', () => {
  test('in time that grows as the text does, whatever is repeated in it', () => {
    const pumps = patterns.filter(({ file }) => file === 'log.ts').flatMap((found) => [...pumpsOf(found)]);
    const slow = [...new Set(pumps)].filter((pump) => {
      const clean = (size: number) => {
        const text = textOf(pump, size);
        return () => withoutSecrets(text);
      };
      return cpuTimeOf(clean(16_000)) > 5_000 && growthOf(clean, 16_000, 2) > 3;
    });
    expect(slow).toEqual([]);
  });

  test.each<[string, (text: string) => unknown]>([
    ['a line of the log', (text) => openLog('info', { write() {} }).info({ err: text }, text)],
    ['the words of a mail server', (text) => quote(text)],
  ])('of any length, of which little is looked at: %s', (_name, tell) => {
    const prepare = (size: number) => {
      const text = 'eyJ-'.repeat(size / 4);
      return () => tell(text);
    };
    expect(growthOf(prepare, 100_000, 3)).toBeLessThan(3);
  });

  test('of which a long one is cut where no secret is cut in two', () => {
    const secret = 'rgd_'.padEnd(47, 'x');
    for (let before = 0; before < 60; before++) {
      const text = `${'a '.repeat(500)}${'b'.repeat(before)} ${secret} ${'c '.repeat(100)}`;
      expect(withoutSecrets(beginningOf(text, 1_030))).not.toMatch(/rgd_/);
    }
    expect(beginningOf('x'.repeat(100), 50)).toBe('…');
    expect(beginningOf('one two three', 9)).toBe('one two…');
  });

  test('of which a line stays one of JSON', () => {
    const lines: string[] = [];
    const log = openLog('info', { write: (line) => void lines.push(line) });
    const deep = [{ text: 'word '.repeat(10_000) }];
    log.info({ err: 'x'.repeat(20_000), deep }, '"\n'.repeat(10_000));
    expect(lines.join('').length).toBeLessThan(20_000);
    expect(JSON.parse(lines.join(''))).toMatchObject({ level: 'info', err: '…' });
  });
});
