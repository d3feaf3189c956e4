/** Reads the files of a timetable: recognises the format of each, and passes its entries on to the rules. */

import type { TextRow } from './cells.ts';
import { openCsv } from './csv.ts';
import { UnreadableFile } from './faults.ts';
import type { FileReading } from './file-reading.ts';
import { readIcal } from './ical.ts';
import { readRows } from './rows.ts';
import { BadText, decode, findEncoding, hasNoSubstitutions, type ReadBytes } from './text.ts';
import { kindOf, openUntis, type UntisKind } from './untis.ts';
import type { Format, TimetableRequest } from './wire.ts';

export type FileRead = { name: string; format: string; encoding: string; separator: string | null; lines: number };

type Reading = Omit<FileReading, 'file'> & { mapping: TimetableRequest['Mapping'] };

async function* joined(head: string, text: AsyncGenerator<string>): AsyncGenerator<string> {
  yield head;
  yield* text;
}
async function* withFirst(first: TextRow, rows: AsyncGenerator<TextRow>): AsyncGenerator<TextRow> {
  yield first;
  yield* rows;
}

const named = /GPU0(01|02|14)/i;

/** @returns what was recognised of the file; undefined once a fault is reported */
export async function readFile(
  file: { at: number; name: string; read: ReadBytes },
  wanted: Format | undefined,
  reading: Reading,
): Promise<FileRead | undefined> {
  try {
    return await readAs(file, wanted, reading);
  } catch (error) {
    if (error instanceof BadText) reading.report.fault({ file: file.at, line: error.line }, error.code, error.message);
    else if (!(error instanceof UnreadableFile)) throw error;
    return undefined;
  }
}

async function readAs(
  { at, name, read }: { at: number; name: string; read: ReadBytes },
  wanted: Format | undefined,
  { mapping, ...given }: Reading,
): Promise<FileRead> {
  const reading = { file: at, ...given };
  const { term, report } = reading;
  if ((wanted ?? 'Untis') === 'Untis' && (await hasNoSubstitutions(name, read)))
    return { name, format: 'GPU014', encoding: 'utf-8', separator: null, lines: 0 };
  const encoding = await findEncoding(read);
  const text = decode(read, encoding);
  const head = (await text.next()).value ?? '';
  const whole = joined(head, text);
  const isCalendar = /^\s{0,100}BEGIN:VCALENDAR/i.test(head);
  if (wanted === 'ICalendar' || (wanted === undefined && isCalendar)) {
    if (!isCalendar) return refuse('the file does not begin with BEGIN:VCALENDAR, so it is not iCalendar');
    const lines = await readIcal(whole, reading);
    return { name, format: 'iCalendar', encoding, separator: null, lines };
  }
  if (wanted === undefined && /^\s{0,100}<[!?a-z]/i.test(head))
    return refuse('the file is XML or a web page; export the timetable as text or CSV');
  const { separator, rows } = await readRows(whole, at, report);
  const first = (await rows.next()).value as TextRow;
  const kind = (named.exec(name)?.[0]?.toUpperCase() as UntisKind | undefined) ?? kindOf(first.cells);
  const isUntis =
    wanted === 'Untis' || (wanted === undefined && kind !== undefined && kindOf(first.cells) !== undefined);
  if (isUntis && kind === undefined)
    return refuse('the file is not GPU001, GPU002 or GPU014; export one of these, without a header');
  const isTerm = term.hasTerm || !isUntis;
  if (!isTerm) return refuse('Untis files have weekdays but no dates; send a term', 'MissingTerm');
  const takeRow = isUntis && kind ? openUntis(kind, reading) : openCsv(mapping, reading);
  let lines = 0;
  for await (const row of withFirst(first, rows)) {
    lines++;
    await takeRow(row);
  }
  return { name, format: isUntis && kind ? kind : 'CSV', encoding, separator, lines };

  function refuse(message: string, code = 'WrongFormat'): never {
    report.fault({ file: at, line: 1 }, code, message);
    throw new UnreadableFile();
  }
}
