/** The doctor's findings about mail servers: one for each tenant with a mail server, and one for each calendar with trouble. */
import type { Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import { type Finding, findingsOf, type Judgment } from '../finding.ts';
import type { Fault, ServerKind } from '../mail-servers/service.ts';
import { examineCallback } from '../mail-subscriptions/service.ts';
import { hour, minute } from '../time/durations.ts';
import { listSettingsFaults } from './calendars.ts';
import { mostDeaths } from './deaths.ts';
import { listUnreadable, type UnreadableItem } from './item-lists.ts';
import { itemTroubles, since, writingTrouble } from './item-troubles.ts';
import { type CalendarStatus, listCalendars, pushWorks } from './status.ts';

/** Calendars of a tenant that are reported one by one. */
const mostTold = 20;
/** The number of changes found by polling from which on push is in doubt. */
const fewChanges = 5;

const olderThan = (at: Date | null, milliseconds: number) => at !== null && Date.now() - at.getTime() > milliseconds;

const toGrant: Record<ServerKind, string> = {
  Ews: 'Check that the mailbox exists, that the account of MailServer has the RBAC role ApplicationImpersonation for it, that its password is right and that EWS is enabled.',
  Graph:
    'Check that the mailbox exists, that the application has Calendars.Read for it (an application permission), and that its ClientSecret has not expired.',
  CalDav: 'Check that the calendar exists, that the account of MailServer may read it, and that its password is right.',
  Google:
    'Check that the calendar exists, that it is shared with the service account of MailServer (ACL: make changes to events), and that its key was not revoked.',
  ICalendar: 'Check that the calendar is published at the Url of Calendars, and for whom.',
};
/** Mentions the command, as the pauses after faults grow to hours. */
const again = 'It is retried automatically, or at once with "roomgate mail read".';
const refused =
  'Correct the account in MailServer and restart the workers, which then retry at once. Otherwise they retry after that time; "roomgate mail read" does not shorten it.';
const remedies: Record<Exclude<Fault, 'AccessLost'>, string> = {
  Unreachable: `Check that Url of MailServer is right, that the mail server runs, and that this machine reaches it. ${again}`,
  Throttled: 'No action is needed at first; if this persists, raise the limits of this account on the mail server.',
  StateLost: 'It is read again from the beginning automatically; if this persists, see the log.',
  Unreadable: 'Check that Url of MailServer leads to the mail server itself, and not to a login page or the like.',
  TooLarge: 'Lower PastDays and FutureDays of MailServer, or remove items from the calendar.',
};

/** Remedies for an Unreachable server that has answered: the network is not the cause. */
const answered = {
  wrongAddress: `The mail server answers, but not for this calendar: correct Url of MailServer, or the Mailbox of the room. ${again}`,
  failure: `The mail server answers with a failure: look into its log. ${again}`,
};

function remedyOf({ kind, fault, faultUntil }: CalendarStatus): string {
  if (!fault) return '';
  if (fault.kind === 'AccessLost') return faultUntil ? refused : `${toGrant[kind]} ${again}`;
  if (fault.kind !== 'Unreachable' || fault.status === null) return remedies[fault.kind];
  return fault.status >= 500 ? answered.failure : answered.wrongAddress;
}

const whatKills = `The log of the worker shows what ended it ("uncaught", or the kernel: out of memory). Remove what was last added to this calendar. ${again}`;

function readingTrouble(calendar: CalendarStatus): Judgment | undefined {
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
      text: `is still being read: the reading began at ${since(new Date(reading.since))} and has ${reading.items} items so far`,
      remedy: 'No action is needed: reading a large calendar from a slow mail server takes time.',
    };
  if (olderThan(dirtySince, 5 * minute))
    return {
      level: 'warning',
      text: `changes since ${since(dirtySince)} have not been read`,
      remedy: 'Check that a worker runs (Role=All or Role=Worker), and look into its log.',
    };
  return undefined;
}

const noPush: Record<ServerKind, string> = {
  Ews: 'Check that Exchange can reach the callback URL: proxy of EWS (web.config), certificate, firewall; its event log has ids 6 and 7 of MSExchange Web Services.',
  Graph: 'Check that Microsoft 365 can reach the callback URL: public name, certificate, firewall.',
  CalDav: 'Have the mail server send its changes to the URL of "roomgate mail callback".',
  Google: 'Check that Google can reach the callback URL: public name, https with a valid certificate, firewall.',
  ICalendar: '',
};

/** Whether changes are never pushed. */
const isPublished = (kind: ServerKind) => kind === 'ICalendar';

/** Never worse than a warning, as polls find the changes, only later. */
function pushTrouble(calendar: CalendarStatus): Judgment | undefined {
  const { kind, state, stateSince, stateText, fault, expiresAt, renewAt, foundByPush, foundByPoll } = calendar;
  if (isPublished(kind)) return undefined;
  if (!pushWorks(calendar)) {
    const isNew = state === null || (state === 'Provisioning' && !olderThan(stateSince, 5 * minute));
    // `readingTrouble` reports the same text.
    const reason = stateText && stateText !== fault?.text ? `: ${stateText}` : '';
    const why = state === null ? '' : ` (${state} since ${since(stateSince)}${reason})`;
    return {
      level: 'warning',
      text: isNew ? `has no push yet${why}` : `push does not work${why}; changes are found by polling`,
      remedy:
        isNew && kind !== 'CalDav'
          ? 'It is requested automatically; a worker must run.'
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
  const text = [worst, ...others].map((trouble) => trouble.text).join('; ');
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
    `changes by push ${sum(({ foundByPush }) => foundByPush)}, by polling ${sum(({ foundByPoll }) => foundByPoll)}`,
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
    remedy: '"roomgate mail list" lists them.',
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
      text: `${mandator}: ${length} ${length === 1 ? 'calendar is' : 'calendars are'} stored for a mail server that is not set here`,
      remedy:
        'The worker has other settings than this shell: run the doctor with the same variables and the same appsettings.json. If MailServer was removed on purpose, run a worker, which then retires the calendars.',
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
