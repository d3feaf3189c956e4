/** Merges what several lines say of one lesson, no further than a lesson can hold. */
import { lessonLimits } from '../names.ts';
import { type EntrySource, sorted } from './entries.ts';
import type { Rules } from './planned.ts';

/** Thrown once a fault is reported: the job is not planned to its end. */
export class Unplannable extends Error {}

type Capacity = { most: number; sizeOf: (text: string) => number; excess: string };

/** The different texts of the lines, sorted. */
async function unite<Line extends EntrySource>(
  lines: readonly Line[],
  textsOf: (line: Line) => readonly string[],
  { most, sizeOf, excess }: Capacity,
  { report, nextSlice }: Rules,
): Promise<string[]> {
  const texts = new Set<string>();
  let size = 0;
  for (const line of lines) {
    await nextSlice();
    for (const text of textsOf(line)) {
      if (text === '' || texts.has(text)) continue;
      texts.add(text);
      size += sizeOf(text);
    }
    if (size <= most) continue;
    report.fault(line, 'TooLong', `with this line, the lesson has more than ${excess}; is this the right file?`);
    throw new Unplannable();
  }
  return sorted(texts);
}

/** The names that the lines have in this field. @throws Unplannable */
export const uniteNames = <Field extends 'classes' | 'teachers'>(
  lines: readonly (EntrySource & Record<Field, readonly string[]>)[],
  field: Field,
  rules: Rules,
): Promise<string[]> =>
  unite(
    lines,
    (line) => line[field],
    { most: lessonLimits.names, sizeOf: () => 1, excess: `${lessonLimits.names} ${field}` },
    rules,
  );

/** The texts that the lines have in this field, as one text. @throws Unplannable */
export async function uniteTexts<Field extends 'subject' | 'remark'>(
  lines: readonly (EntrySource & { [each in Field]?: string | undefined })[],
  field: Field,
  separator: string,
  rules: Rules,
): Promise<string> {
  const most = lessonLimits.text + separator.length;
  const sizeOf = (text: string) => text.length + separator.length;
  const excess = `${lessonLimits.text} characters of ${field}s`;
  return (await unite(lines, (line) => [line[field] ?? ''], { most, sizeOf, excess }, rules)).join(separator);
}
