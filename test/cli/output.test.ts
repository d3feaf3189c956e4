import { expect, test } from '@jest/globals';
import { formatTable } from '../../src/cli/output.ts';

test('a name with line breaks, colours or reversing characters disturbs no other column', () => {
  const names = ['Two\nlines', '\u001b[31mRed', '\u202eReversed'];
  expect(formatTable(['Name', 'State'], [...names.map((name) => [name, 'ok'])])).toBe(
    ['Name       State', 'Two lines  ok', ' [31mRed   ok', ' Reversed  ok'].join('\n'),
  );
});
