/** Readings in steps, each by a connector that knows only what was stored. */
import { jest } from '@jest/globals';
import type {
  CalendarChanges,
  CalendarPage,
  Connector,
  ReadingStart,
  ReadingWindow,
  RemoteCalendar,
} from '../../../src/mail-servers/connector.ts';
import { mergePages } from '../../../src/mail-servers/pages.ts';

export type InSteps = CalendarChanges & {
  steps: number;
  /** What the steps ended with that were not at their end, in their order. */
  faults: Error[];
};

/**
 * Reads page by page, each by a connector of its own; what fails is tried again.
 * @param between is run after each page
 */
export async function readInSteps(
  open: () => Connector,
  calendar: RemoteCalendar,
  {
    cursor = null,
    window,
    between,
  }: { cursor?: string | null; window: ReadingWindow; between?: (step: number) => unknown },
): Promise<InSteps> {
  const pages: CalendarPage[] = [];
  const faults: Error[] = [];
  let continuation: string | null = null;
  for (let steps = 1; steps < 500; steps++) {
    const from: ReadingStart = { cursor, continuation };
    try {
      for await (const page of open().pages(calendar, from, window, AbortSignal.timeout(60_000))) {
        pages.push(page);
        continuation = page.cursor;
        // An empty page that asks for less from then on comes with the fault that it is about.
        if (page.groups.length + page.removed.length > 0 || page.restarts || page.isLast) break;
      }
    } catch (error) {
      faults.push(error as Error);
      continue;
    }
    const last = pages.at(-1)!;
    if (last.isLast)
      return {
        ...mergePages(pages),
        whole: last.whole,
        cursor: last.cursor,
        address: last.address,
        steps,
        faults,
      };
    await between?.(steps);
  }
  throw new Error(`no end: ${faults.at(-1)?.message}`);
}

/** From now on what reads many items waits until it is told to wait no longer. */
export function holdDeadlines() {
  const usual = AbortSignal.timeout.bind(AbortSignal);
  let last: AbortController | undefined;
  const spy = jest.spyOn(AbortSignal, 'timeout').mockImplementation((milliseconds) => {
    if (milliseconds !== 30_000) return usual(milliseconds);
    last = new AbortController();
    return last.signal;
  });
  return {
    /** The time of the last request is over. */
    pass: () => last?.abort(new DOMException('The operation was aborted due to timeout', 'TimeoutError')),
    stop: () => spy.mockRestore(),
  };
}

/** A reading to its end, from a cursor on. */
export async function readAll(
  { pages }: Connector,
  calendar: RemoteCalendar,
  cursor: string | null,
  window: ReadingWindow,
  signal: AbortSignal,
): Promise<CalendarChanges> {
  const read: CalendarPage[] = [];
  for await (const page of pages(calendar, { cursor, continuation: null }, window, signal)) {
    read.push(page);
    if (page.isLast) return { ...mergePages(read), whole: page.whole, cursor: page.cursor, address: page.address };
  }
  throw new Error('a reading has no last page');
}
