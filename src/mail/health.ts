/** The doctor's findings about mail servers: one for each tenant with a mail server, and one for each calendar with trouble. */
import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import { type Finding, findingsOf } from '../finding.ts';
import type { Fault, ServerKind } from '../mail-servers/service.ts';
import { examineCallback } from '../mail-subscriptions/service.ts';
import { hour, minute } from '../time/durations.ts';
import { listSettingsFaults } from './calendars.ts';
import { mostDeaths } from './deaths.ts';
import { listUnreadable, type UnreadableItem } from './item-lists.ts';
import { type CalendarTrouble, itemTroubles, since, writingTrouble } from './item-troubles.ts';
import { type CalendarStatus, listCalendars, pushWorks } from './status.ts';

/** Calendars of a tenant that are reported one by one. */
const mostTold = 20;
/** The number of changes found by polling from which on push is in doubt. */
const fewChanges = 5;

const olderThan = (at: Date | null, milliseconds: number) => at !== null && Date.now() - at.getTime() > milliseconds;

const toGrant: Record<ServerKind, string> = {
  Ews: 'See that the mailbox exists, give the account of MailServer the RBAC role ApplicationImpersonation for it, and see that its password is right and EWS is enabled.',
  Graph:
    'See that the mailbox exists, grant the application Calendars.Read for it (an application permission), and see that its ClientSecret has not expired.',
  CalDav: 'See that the calendar exists, let the account of MailServer read it, and see that its password is right.',
  Google:
    'See that the calendar exists and is shared with the service account of MailServer (ACL: make changes to events), and that its key was not revoked.',
  ICalendar: 'See that the calendar is published at the Url of Calendars, and to whom.',
};
/** Mentions the command, as the pauses after faults grow to hours. */
const again = 'It is tried again by itself, at once with "roomgate mail read".';
const refused =
  'Correct the account in MailServer and restart the workers, which then try at once. Otherwise they try by themselves after that time; "roomgate mail read" does not shorten it.';
const remedies: Record<Exclude<Fault, 'AccessLost'>, string> = {
  Unreachable: `See that Url of MailServer is right, the mail server runs, and this machine reaches it. ${again}`,
  Throttled: 'Nothing is to be done at once; if it stays, raise the limits of this account on the mail server.',
  StateLost: 'It is read anew by itself; if it stays, look into the log.',
  Unreadable: 'See that Url of MailServer leads to the mail server and to nothing before it, such as a login page.',
  TooLarge: 'Lower PastDays and FutureDays of MailServer, or tidy up the calendar.',
};

/** Remedies for an Unreachable server that has answered: the network is not the cause. */
const answered = {
  wrongAddress: `The mail server answers, but not for this calendar: correct Url of MailServer, or the Mailbox of the room. ${again}`,
  failure: `The mail server answers that it fails: look into its log. ${again}`,
};

function remedyOf({ kind, fault, faultUntil }: CalendarStatus): string {
  if (!fault) return '';
  if (fault.kind === 'AccessLost') return faultUntil ? refused : `${toGrant[kind]} ${again}`;
  if (fault.kind !== 'Unreachable' || fault.status === null) return remedies[fault.kind];
  return fault.status >= 500 ? answered.failure : answered.wrongAddress;
}

const whatKills = `The log of the worker tells what ended it ("uncaught", or the kernel: out of memory). Take what was put into this calendar last out of it. ${again}`;

function readingTrouble(calendar: CalendarStatus): CalendarTrouble | undefined {
  const { fault, lastReadAt, dirtySince, deaths, reading } = calendar;
  if (fault && deaths >= mostDeaths) return { level: 'fault', text: fault.text, remedy: whatKills };
  if (fault) {
    const isLasting = fault.kind === 'AccessLost' || lastReadAt === null || olderThan(lastReadAt, hour);
    return {
      level: isLasting ? 'fault' : 'warning',
      text: `cannot be read (${fault.kind}: ${fault.text}), last read: ${since(lastReadAt)}`,
      remedy: remedyOf(calendar),
    };
  }
  if (reading && olderThan(dirtySince, 5 * minute))
    return {
      level: 'warning',
      text: `has been read since ${since(new Date(reading.since))} and is not at its end, with ${reading.items} items so far`,
      remedy: 'Nothing needs to be done: reading a large calendar from a slow mail server takes time.',
    };
  if (olderThan(dirtySince, 5 * minute))
    return {
      level: 'warning',
      text: `changes since ${since(dirtySince)} have not been read`,
      remedy: 'See that a worker runs (Role=All or Role=Worker), and look into its log.',
    };
  return undefined;
}

const noPush: Record<ServerKind, string> = {
  Ews: 'See that Exchange reaches the callback URL: proxy of EWS (web.config), certificate, firewall; its event log has ids 6 and 7 of MSExchange Web Services.',
  Graph: 'See that Microsoft 365 reaches the callback URL: public name, certificate, firewall.',
  CalDav: 'Let the mail server send its changes to the URL of "roomgate mail callback".',
  Google: 'See that Google reaches the callback URL: public name, https with a certificate that is valid, firewall.',
  ICalendar: '',
};

/** Whether changes are never pushed. */
const isPublished = (kind: ServerKind) => kind === 'ICalendar';

/** Never worse than a warning, as polls find the changes, only later. */
function pushTrouble(calendar: CalendarStatus): CalendarTrouble | undefined {
  const { kind, state, stateSince, stateText, fault, expiresAt, renewAt, foundByPush, foundByPoll } = calendar;
  if (isPublished(kind)) return undefined;
  if (!pushWorks(calendar)) {
    const isNew = state === null || (state === 'Provisioning' && !olderThan(stateSince, 5 * minute));
    // `readingTrouble` reports the same text.
    const reason = stateText && stateText !== fault?.text ? `: ${stateText}` : '';
    const why = state === null ? '' : ` (${state} since ${since(stateSince)}${reason})`;
    return {
      level: 'warning',
      text: isNew ? `has no push yet${why}` : `push does not work${why}; changes are found by asking`,
      remedy:
        isNew && kind !== 'CalDav'
          ? 'It is asked for by itself; a worker must run.'
          : [noPush[kind], ...(state === 'Failed' ? [again] : [])].join(' '),
    };
  }
  if (expiresAt && expiresAt.getTime() - Date.now() < 24 * hour && olderThan(renewAt, 0))
    return {
      level: 'warning',
      text: `its subscription ends at ${since(expiresAt)} and is not renewed${stateText ? `: ${stateText}` : ''}`,
      remedy: toGrant[kind],
    };
  if (foundByPoll >= fewChanges && foundByPoll > foundByPush)
    return {
      level: 'warning',
      text: `${foundByPoll} changes were found by polling and ${foundByPush} by push, which seems to miss some`,
      remedy: noPush[kind],
    };
  return undefined;
}

/** One finding for all troubles of a calendar, the worst first. */
function examineCalendar(
  calendar: CalendarStatus,
  mandator: string,
  unreadable: readonly UnreadableItem[],
): Finding | undefined {
  const troubles = [
    readingTrouble(calendar),
    writingTrouble(calendar),
    pushTrouble(calendar),
    ...itemTroubles(calendar, unreadable),
  ].flatMap((trouble) => trouble ?? []);
  const worst = troubles.find(({ level }) => level === 'fault') ?? troubles[0];
  if (!worst) return undefined;
  const others = troubles.filter((trouble) => trouble !== worst);
  // The text may quote a mail server, so control characters go.
  const text = [worst, ...others].map((trouble) => trouble.text.replace(/\p{Cc}+/gu, ' ')).join('; ');
  return {
    check: 'Calendar',
    ...worst,
    text: `${mandator}/${calendar.resourceName} (${calendar.mailbox}): ${text}`,
  };
}

function summarise(kind: ServerKind, calendars: readonly CalendarStatus[]): string {
  const pushed = calendars.filter(pushWorks);
  const instants = calendars.flatMap(({ lastReadAt }) => lastReadAt?.getTime() ?? []);
  const unread = calendars.length - instants.length;
  const sum = (of: (calendar: CalendarStatus) => number) =>
    calendars.reduce((total, calendar) => total + of(calendar), 0);
  const sinces = pushed.flatMap(({ stateSince }) => stateSince?.getTime() ?? []);
  return [
    `${calendars.length} ${calendars.length === 1 ? 'calendar' : 'calendars'}`,
    pushed.length === 0
      ? isPublished(kind)
        ? 'read every few minutes'
        : 'push works for none'
      : `push works for ${pushed.length}, for all of these since ${since(new Date(Math.max(...sinces)))}`,
    instants.length === 0
      ? 'none was read yet'
      : `${unread > 0 ? `${unread} never read, the others` : 'all'} read since ${since(new Date(Math.min(...instants)))}`,
    `changes by push ${sum(({ foundByPush }) => foundByPush)}, by asking ${sum(({ foundByPoll }) => foundByPoll)}`,
  ].join(', ');
}

function examineTenant(
  mandator: string,
  kind: ServerKind,
  calendars: readonly CalendarStatus[],
  unreadable: ReadonlyMap<number, readonly UnreadableItem[]>,
): Finding[] {
  if (calendars.length === 0)
    return [
      {
        check: 'Mail',
        level: 'warning',
        text: `${mandator}: ${kind}, no calendar is read`,
        remedy: 'Give resources a Mailbox, or name them in Calendars of MailServer; a worker must run.',
      },
    ];
  const unwell = calendars.flatMap(
    (calendar) => examineCalendar(calendar, mandator, unreadable.get(calendar.id) ?? []) ?? [],
  );
  const text = `${mandator}: ${kind}, ${summarise(kind, calendars)}`;
  const level = unwell.length > 0 ? 'warning' : 'ok';
  const more = unwell.length - mostTold;
  const told = unwell
    .toSorted((one, other) => Number(other.level === 'fault') - Number(one.level === 'fault'))
    .slice(0, mostTold);
  const rest: Finding = {
    check: 'Calendar',
    level,
    text: `${mandator}: ${more} more have problems`,
    remedy: '"roomgate mail list" names them.',
  };
  return [{ check: 'Mail', level, text }, ...told, ...(more > 0 ? [rest] : [])];
}

/** Reports calendars of tenants that have no mail server in the settings of this process. */
function examineUnset(
  calendars: ReadonlyMap<string, readonly CalendarStatus[]>,
  { MailServer }: Context['config'],
): Finding[] {
  return [...calendars]
    .filter(([mandator]) => !Object.hasOwn(MailServer, mandator))
    .map(([mandator, { length }]) => ({
      check: 'Mail',
      level: 'warning',
      text: `${mandator}: ${length} ${length === 1 ? 'calendar is' : 'calendars are'} kept for a mail server that is not set here`,
      remedy:
        'The settings of the worker are others than those of this shell: run the doctor with the same variables and the same appsettings.json. If MailServer was taken away on purpose, a worker must run to retire them.',
    }));
}

async function examineSettings(db: Database, config: Context['config']): Promise<Finding[]> {
  const faults = await listSettingsFaults(db, config);
  return faults.map((fault) => ({ check: 'Mail settings', level: 'fault', ...fault }));
}

/** Examines the mail servers of all tenants. */
export const examineMail = (context: Pick<Context, 'config' | 'db'>): Promise<Finding[]> =>
  findingsOf('Mail', () => examine(context));

async function examine({ config, db }: Pick<Context, 'config' | 'db'>): Promise<Finding[]> {
  const servers = Object.entries(config.MailServer);
  const all = await listCalendars(db, null);
  const calendars = Map.groupBy(all, ({ mandator }) => mandator);
  const unreadable = Map.groupBy(
    await listUnreadable(
      db,
      all.filter(({ unreadableCount }) => unreadableCount > 0),
    ),
    ({ calendarId }) => calendarId,
  );
  const unset = examineUnset(calendars, config);
  if (servers.length === 0 && unset.length === 0)
    return [{ check: 'Mail', level: 'ok', text: 'no mail server is set' }];
  const found = servers.flatMap(([mandator, { Kind }]) =>
    examineTenant(mandator, Kind, calendars.get(mandator) ?? [], unreadable),
  );
  const callbacks = await Promise.all(
    servers.filter(([, { Kind }]) => !isPublished(Kind)).map(([mandator]) => examineCallback(config, mandator)),
  );
  return [...(await examineSettings(db, config)), ...callbacks, ...found, ...unset];
}
