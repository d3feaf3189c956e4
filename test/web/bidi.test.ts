import { expect, test } from '@jest/globals';
import { inPlace, line } from '../../src/web/bidi.ts';
import { toCsv } from '../../src/web/console/parts/csv.ts';

test('names move nothing beside them: those from right to left are isolated once, what turns others around is removed', () => {
  expect(inPlace('חדר 12')).toBe('\u2068חדר 12\u2069');
  expect(inPlace('غرفة 3')).toBe('\u2068غرفة 3\u2069');
  expect(inPlace('Aula \u202e1\u2069')).toBe('Aula 1');
  expect(inPlace('\u2069חדר\u202e 12')).toBe('\u2068חדר 12\u2069');
  const sentence = `Booked: ${line`${'חדר 12'}, ${'10:00–11:00'}`}.`;
  expect(sentence).toBe('Booked: \u2068חדר 12\u2069, 10:00–11:00.');
  expect(inPlace(sentence)).toBe(sentence);
  expect(inPlace(`\u2068${sentence}`)).toBe(sentence);
});

test('a CSV has names without what isolates them', () => {
  expect(toCsv([[line`${'חדר 12'} at ${'10:00'}`, inPlace('=1')]])).toBe("\ufeffחדר 12 at 10:00;'=1\r\n");
});
