import { type Connector, ServerFault } from './connector.ts';
import { ServerFailed } from './faults.ts';

const mostFailures = 3;

/**
 * Turns the third failure (5xx) in a row at the same cursor into StateLost, as some servers fail at a cursor that they no longer
 * know instead of saying so. Failures are counted in this process only.
 */
export function givingUpCursors(pages: Connector['pages']): Connector['pages'] {
  const failures = new Map<string, { cursor: string; count: number }>();
  return async function* (calendar, from, window, signal) {
    const { mailbox } = calendar;
    let cursor = from.continuation ?? from.cursor;
    try {
      for await (const page of pages(calendar, from, window, signal)) {
        failures.delete(mailbox);
        cursor = page.cursor;
        yield page;
      }
    } catch (error) {
      if (!(error instanceof ServerFailed) || cursor === null) throw error;
      const before = failures.get(mailbox);
      const count = before?.cursor === cursor ? before.count + 1 : 1;
      if (count < mostFailures) {
        failures.set(mailbox, { cursor, count });
        throw error;
      }
      failures.delete(mailbox);
      throw new ServerFault('StateLost', `${error.message} (${count} times with the same cursor)`);
    }
  };
}
