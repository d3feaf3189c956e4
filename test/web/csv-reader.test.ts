import { describe, expect, test } from '@jest/globals';
import { openReport } from '../../src/timetable-files/faults.ts';
import { readRows } from '../../src/timetable-files/rows.ts';
import { readText } from '../../src/web/console/parts/text-file.ts';
import { parseCsv, TooManyRows } from '../../src/web/console/timetables/csv-reader.ts';

async function readByServer(text: string) {
  const { separator, rows } = await readRows(
    (async function* () {
      yield text;
    })(),
    0,
    openReport(['a.csv']),
  );
  const read: { line: number; cells: readonly string[] }[] = [];
  for await (const row of rows) read.push(row);
  return { separator, rows: read.map(({ cells }) => cells), lines: read.map(({ line }) => line) };
}

describe('the console shows the rows that the server reads', () => {
  test.each([
    ['more commas than separators in the header', 'Raum;Tag;Fach, Titel, Thema, Text\nA;1;M\nB;2;D\n'],
    ['a line that names the separator', 'sep=,\r\nRaum,Tag;Datum;Uhr\r\nA,1\r\n'],
    ['quotes, and a cell of two lines', '"Raum";"Tag"\r\n"A ""1""" ;"Mo\r\nDi"\r\n\r\nB;Mi'],
    ['an empty last cell', 'Raum\tTag\nA\t\n\t\nB\t2\n'],
    ['pieces that end anywhere', `Raum;Tag\r\n${`"A;${'x'.repeat(100)}";1\r\n`.repeat(1_000)}`],
  ])('%s', async (_what, text) => {
    expect(await parseCsv(text, 2_000)).toEqual(await readByServer(text));
  });

  test('what the server refuses stays in sight, to be corrected', async () => {
    expect(await parseCsv('Raum;Tag\n"A"b;1\nB;"2', 10)).toEqual({
      separator: ';',
      rows: [
        ['Raum', 'Tag'],
        ['Ab', '1'],
        ['B', '2'],
      ],
      lines: [1, 2, 3],
    });
    await expect(parseCsv('a;b\n'.repeat(11), 10)).rejects.toBeInstanceOf(TooManyRows);
  });
});

describe('the console decodes a file as the server does', () => {
  const text = 'Raum;Fach\r\nMüßig;Übung\r\n';
  const utf16 = Buffer.from(`\uFEFF${text}`, 'utf16le');
  test.each([
    ['UTF-8', Buffer.from(text)],
    ['UTF-16', utf16],
    ['UTF-16 in the other order', Buffer.from(utf16).swap16()],
    ['Windows-1252', Buffer.from(text, 'latin1')],
  ])('%s', async (_what, bytes) => {
    expect(await readText(new Blob([bytes]))).toBe(text);
  });

  test.each([
    [
      'UTF-8 with a line of Windows-1252',
      Buffer.concat([Buffer.from('Raum;Fach\nMüßig;Übung\n'), Buffer.from('M\xfcller;1\n', 'latin1')]),
      3,
    ],
    ['text of MS-DOS', Buffer.from('Raum;Fach\nM\x81ller;1\n', 'latin1'), 2],
  ])('%s is refused, so that no correction sends it on as other letters', async (_what, bytes, line) => {
    await expect(readText(new Blob([bytes]))).rejects.toMatchObject({ code: 'NoText', line });
  });
});
