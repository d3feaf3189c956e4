/** Reads the events of iCalendar (RFC 5545) one after another. */
import { type IcalComponent, Unreadable as NoCalendar, readComponents } from '../time/ical-lines.ts';
import { UnreadableFile } from './faults.ts';
import type { FileReading } from './file-reading.ts';
import { type IcalReading, type PropertyPlace, SkippedEvent, takeEvent } from './ical-event.ts';

const longestLine = 65_536;
const mostEvents = 200_000;
const mostLinesOfEvent = 2_000;

/** Reports a fault after which the file is not read on. */
type Refuse = (line: number, code: string, message: string) => never;

/** The unfolded lines of a text, each with the number of its first line. */
async function* unfold(text: AsyncGenerator<string>, refuse: Refuse) {
  let rest = '';
  let line = 0;
  let held: { line: number; text: string } | undefined;
  const refuseLength = () =>
    refuse(line + 1, 'LineTooLong', `more than ${longestLine} characters; is this the right file?`);
  async function* lines() {
    for await (const piece of text) {
      const whole = (rest + piece).split('\n');
      rest = whole.pop() ?? '';
      yield* whole;
      if (rest.length > longestLine) refuseLength();
    }
    if (rest) yield rest;
  }
  for await (const raw of lines()) {
    const written = raw.endsWith('\r') ? raw.slice(0, -1) : raw;
    line++;
    if (held && (written.startsWith(' ') || written.startsWith('\t'))) {
      if (held.text.length + written.length > longestLine) refuseLength();
      held.text += written.slice(1);
    } else {
      if (held) yield held;
      held = { line, text: written };
    }
  }
  if (held) yield held;
}

/** The lines of an event that have arrived. `depth` counts the components that are open. */
type EventLines = { line: number; texts: string[]; places: Map<string, PropertyPlace>; depth: number };

/** @param head the beginning of the line, in upper case */
function addLine(event: EventLines, line: number, text: string, head: string): void {
  const { texts, places, depth } = event;
  texts.push(text);
  const [name] = /^[\w-]+(?=[;:])/.exec(head) ?? [];
  if (name && depth === 1 && !places.has(name)) places.set(name, { line, column: name.length + 2 });
  if (head.startsWith('BEGIN:')) event.depth++;
  if (head.startsWith('END:')) event.depth--;
}

/** Takes a complete event, unless it has a fault, which is reported. */
async function takeLines({ line, texts, places }: EventLines, reading: IcalReading): Promise<void> {
  try {
    const { components } = readComponents(`BEGIN:VCALENDAR\n${texts.join('\n')}\nEND:VCALENDAR`);
    await takeEvent({ ...reading, component: components[0] as IcalComponent, line, places });
  } catch (error) {
    if (error instanceof NoCalendar)
      reading.report.fault({ file: reading.file, line }, 'InvalidEvent', `the event cannot be read: ${error.message}`);
    else if (!(error instanceof SkippedEvent)) throw error;
  }
}

/** @returns how many events there are. @throws UnreadableFile once a fault is reported */
export async function readIcal(text: AsyncGenerator<string>, opened: FileReading): Promise<number> {
  const reading: IcalReading = { ...opened, series: { count: 0 } };
  const refuse: Refuse = (line, code, message) => {
    reading.report.fault({ file: reading.file, line }, code, message);
    throw new UnreadableFile();
  };
  let event: EventLines | undefined;
  let [count, last] = [0, 1];
  let isClosed = false;
  for await (const { line, text: written } of unfold(text, refuse)) {
    last = line;
    const head = written.slice(0, 80).trim().toUpperCase();
    if (head === 'END:VCALENDAR') isClosed = true;
    if (head === 'BEGIN:VEVENT' && !event) {
      if (++count > mostEvents)
        refuse(line, 'TooManyLines', `more than ${mostEvents} events; send a file for each term`);
      event = { line, texts: [], places: new Map(), depth: 0 };
    }
    if (!event) continue;
    addLine(event, line, written, head);
    if (event.texts.length > mostLinesOfEvent)
      refuse(event.line, 'LineTooLong', `an event of more than ${mostLinesOfEvent} lines`);
    if (event.depth > 0) continue;
    await takeLines(event, reading);
    event = undefined;
  }
  if (!isClosed || event)
    refuse(last, 'CutOff', 'the file ends before END:VCALENDAR; it was truncated, so export it again');
  if (count === 0) refuse(1, 'EmptyFile', 'the calendar has no events');
  return count;
}
