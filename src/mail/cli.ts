import { type AddCommands, CommandFailed, commandGroup } from '../cli/command.ts';
import { formatMinute, formatTable } from '../cli/output.ts';
import { toSecond } from '../log.ts';
import {
  type CalendarStatus,
  type ListedItems,
  listCalendarsOf,
  listItems,
  openCallback,
  requestReadings,
} from './service.ts';
import { toCalendarRecord } from './wire.ts';

type Options = { mandator?: string };

const none = (mandator: string | undefined) =>
  new CommandFailed(
    `No calendar${mandator === undefined ? '' : ` of ${mandator}`} is read: set MailServer, give resources a Mailbox, and check that a worker runs.`,
  );

const headings = [
  'Mandator',
  'Resource',
  'Mailbox',
  'Kind',
  'Push',
  'Since',
  'Server heard',
  'Last read',
  'By push',
  'By poll',
  'Conflicts',
  'Unreadable',
  'Unwritten',
  'Fault',
];

/** The faults of reading and of writing, in short; the doctor has the details. */
const faultsOf = ({ fault, writingFault }: CalendarStatus): string =>
  [...(fault ? [fault.kind] : []), ...(writingFault === null ? [] : ['CannotWrite'])].join(', ');

const toRow = (calendar: CalendarStatus) => [
  calendar.mandator,
  calendar.resourceName,
  calendar.mailbox,
  calendar.kind,
  calendar.state ?? 'none',
  formatMinute(calendar.stateSince),
  formatMinute(calendar.lastPushAt),
  formatMinute(calendar.lastReadAt) || 'never',
  calendar.foundByPush,
  calendar.foundByPoll,
  calendar.conflictCount,
  calendar.unreadableCount,
  calendar.unwrittenCount,
  faultsOf(calendar),
];

/** The table of unreadable items. They are never booked, so operators would not notice them otherwise. */
function formatUnreadable(
  calendars: readonly CalendarStatus[],
  itemsOf: (calendar: CalendarStatus) => ListedItems,
): string {
  const rows = calendars.flatMap((calendar) =>
    itemsOf(calendar).unreadable.map(({ uid, itemId, reason, since }) => [
      calendar.mandator,
      calendar.mailbox,
      uid ?? itemId,
      formatMinute(since),
      reason ?? '',
    ]),
  );
  return rows.length === 0
    ? ''
    : `\n\n${formatTable(['Mandator', 'Mailbox', 'Unreadable item', 'Since', 'Why'], rows)}`;
}

type Waiting = { calendar: CalendarStatus; until: Date; why: string };

/** A pause of the calendar that a request cannot shorten; undefined if there is none. */
function findWaiting(calendar: CalendarStatus): Waiting | undefined {
  const { fault, faultUntil, nextReadAt } = calendar;
  if (fault?.kind === 'AccessLost' && faultUntil)
    return { calendar, until: faultUntil, why: 'the mail server has refused the account (401)' };
  return fault?.kind === 'Throttled' && nextReadAt.getTime() > Date.now()
    ? { calendar, until: nextReadAt, why: 'the mail server has asked for a pause' }
    : undefined;
}

function describeReadings(count: number, waiting: readonly Waiting[], whole: boolean): string {
  const now = count - waiting.length;
  const asWhole = whole ? ', as a whole' : '';
  const lines = waiting.map(
    ({ calendar, until, why }) =>
      `${calendar.mandator}/${calendar.resourceName} (${calendar.mailbox}) waits until ${toSecond(until)}: ${why}.`,
  );
  if (now > 0)
    lines.unshift(`${now} ${now === 1 ? 'calendar is' : 'calendars are'} read by the worker within seconds${asWhole}.`);
  if (waiting.some(({ calendar }) => calendar.fault?.kind === 'AccessLost'))
    lines.push('Correct the account in MailServer and restart the workers: they then try at once.');
  return lines.join('\n');
}

export const addCommands: AddCommands = (program, action) => {
  const { group, ofTenant, example } = commandGroup(program, 'mail', 'the calendars of rooms on the mail server');

  group
    .command('list')
    .description(
      'the state of each calendar: push, readings, conflicts, declined and unwritten items (with --json each of them), unreadable items, faults',
    )
    .option('--mandator <code>', 'the tenant; all if left out')
    .addHelpText('after', example('list --mandator demo'))
    .action(
      action(async (cli, options: Options) => {
        const { db } = cli.context;
        const calendars = await listCalendarsOf(db, options.mandator);
        const itemsOf = await listItems(db, calendars);
        const text =
          calendars.length > 0
            ? formatTable(headings, calendars.map(toRow)) + formatUnreadable(calendars, itemsOf)
            : none(options.mandator).message;
        cli.print(
          text,
          calendars.map((calendar) => ({
            Mandator: calendar.mandator,
            ...toCalendarRecord(calendar, itemsOf(calendar)),
          })),
        );
      }),
    );

  ofTenant('callback')
    .description('print the URL to which the mail server of a tenant sends its changes')
    .addHelpText('after', example('callback --mandator demo'))
    .action(
      action(
        async ({ context, print }, options: Required<Options>) => {
          const { kind, url } = await openCallback(context, options.mandator);
          const text =
            kind === 'CalDav'
              ? `${url}\nWhoever has this URL can cause calendars to be read, and nothing else. It does not change.`
              : `${url}\nNo action is needed: the service passes it to the mail server itself, with a secret for each calendar.`;
          print(text, { Kind: kind, Url: url, GivenByService: kind !== 'CalDav' });
        },
        { makesSecrets: true },
      ),
    );

  group
    .command('read')
    .description(
      'have calendars read now, including those that wait after a fault, and retry what could not be written',
    )
    .option('--mandator <code>', 'the tenant; all if left out')
    .option('--mailbox <address>', 'only this calendar')
    .option('--whole', 'the whole calendar, not only what has changed')
    .addHelpText('after', example('read --mandator demo --mailbox aula@demo.example --whole'))
    .action(
      action(async (cli, options: Options & { mailbox?: string; whole?: true }) => {
        const { mailbox, whole = false } = options;
        const { db } = cli.context;
        const isMeant = (calendar: CalendarStatus) =>
          mailbox === undefined || calendar.mailbox.toLowerCase() === mailbox.toLowerCase();
        const calendars = (await listCalendarsOf(db, options.mandator)).filter(isMeant);
        const count = calendars.length;
        if (count === 0 && mailbox !== undefined)
          throw new CommandFailed(
            `No calendar has the mailbox ${mailbox}; "roomgate mail list" lists those that are read.`,
          );
        if (count === 0) throw none(options.mandator);
        for (const [mandatorId, some] of Map.groupBy(calendars, (calendar) => calendar.mandatorId))
          await requestReadings(
            db,
            mandatorId,
            some.map(({ id }) => id),
            { whole },
          );
        const waiting = calendars.flatMap((calendar) => findWaiting(calendar) ?? []);
        cli.print(describeReadings(count, waiting, whole), {
          Calendars: count,
          Whole: whole,
          Waiting: waiting.map(({ calendar, until, why }) => ({
            Mandator: calendar.mandator,
            Mailbox: calendar.mailbox,
            Until: until,
            Why: why,
          })),
        });
      }),
    );
};
