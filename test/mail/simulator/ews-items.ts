/** A calendar item as EWS writes it, its properties in the order of the schema, and as it is read out of a request. */
import {
  type Answer,
  type Appointment,
  changeKeyOf,
  type Draft,
  type Mailbox,
  type Occurrence,
  type Sensitivity,
  type ShownAs,
} from './mailboxes.ts';
import { type DayName, dayNames, type Repeat } from './series.ts';
import { child, type Element, el, leaf } from './xml.ts';
import { toInstant, toLocal, weekday, windowsName, zoneOfWindows } from './zones.ts';

const answers: Record<Answer, string> = {
  accepted: 'Accept',
  tentative: 'Tentative',
  declined: 'Decline',
  none: 'NoResponseReceived',
  organizer: 'Organizer',
};
const shown: Record<ShownAs, string> = {
  free: 'Free',
  tentative: 'Tentative',
  busy: 'Busy',
  oof: 'OOF',
  elsewhere: 'WorkingElsewhere',
};
const sensitivities: Record<Sensitivity, string> = {
  normal: 'Normal',
  personal: 'Personal',
  private: 'Private',
  confidential: 'Confidential',
};
const keyOf = <Key extends string>(names: Record<Key, string>, text: string | undefined) =>
  (Object.keys(names) as Key[]).find((key) => names[key] === text);

const time = (instant: number) => new Date(instant).toISOString().replace('.000', '');

function writeRepeat({ repeat, start, zone }: Appointment): string {
  if (!repeat) return '';
  const local = toLocal(start, zone).slice(0, 10);
  const { every, interval = 1, days = [dayNames[weekday(local)]!], count, until } = repeat;
  const pattern =
    every === 'day'
      ? el('t:DailyRecurrence', {}, leaf('t:Interval', interval))
      : every === 'week'
        ? el('t:WeeklyRecurrence', {}, leaf('t:Interval', interval), leaf('t:DaysOfWeek', days.join(' ')))
        : el(
            't:AbsoluteMonthlyRecurrence',
            {},
            leaf('t:Interval', interval),
            leaf('t:DayOfMonth', Number(local.slice(8))),
          );
  const from = leaf('t:StartDate', local);
  const range =
    count !== undefined
      ? el('t:NumberedRecurrence', {}, from, leaf('t:NumberOfOccurrences', count))
      : until !== undefined
        ? el('t:EndDateRecurrence', {}, from, leaf('t:EndDate', until))
        : el('t:NoEndRecurrence', {}, from);
  return el('t:Recurrence', {}, pattern, range);
}

const zoneOf = (name: string, zone: string) => el(name, { Name: zone, Id: windowsName(zone) });

type Shape = { appointment: Appointment; occurrence: Occurrence | null; mailbox: Mailbox };

/** By `item:Subject` or `calendar:Start`: what is written; undefined where there is nothing. In the order of the schema. */
const properties: Record<string, (shape: Shape) => string | undefined> = {
  'item:ParentFolderId': ({ mailbox }) => el('t:ParentFolderId', { Id: mailbox.calendarId, ChangeKey: 'AgAAAA==' }),
  'item:ItemClass': ({ occurrence }) =>
    leaf(
      't:ItemClass',
      occurrence?.isException ? 'IPM.OLE.CLASS.{00061055-0000-0000-C000-000000000046}' : 'IPM.Appointment',
    ),
  'item:Subject': (shape) => leaf('t:Subject', factsOf(shape).subject),
  'item:Sensitivity': (shape) => leaf('t:Sensitivity', sensitivities[factsOf(shape).sensitivity]),
  'item:Size': () => leaf('t:Size', 4_096),
  'item:Importance': () => leaf('t:Importance', 'Normal'),
  'item:IsDraft': () => leaf('t:IsDraft', false),
  'item:DateTimeCreated': ({ appointment }) => leaf('t:DateTimeCreated', time(appointment.createdAt)),
  'item:HasAttachments': () => leaf('t:HasAttachments', false),
  'item:LastModifiedTime': ({ appointment }) => leaf('t:LastModifiedTime', time(appointment.changedAt)),
  'calendar:UID': ({ appointment }) => leaf('t:UID', appointment.uid),
  'calendar:RecurrenceId': ({ occurrence }) =>
    occurrence?.originalStart != null ? leaf('t:RecurrenceId', time(occurrence.originalStart)) : undefined,
  'calendar:Start': (shape) => leaf('t:Start', time(factsOf(shape).start)),
  'calendar:End': (shape) => leaf('t:End', time(factsOf(shape).end)),
  'calendar:OriginalStart': ({ occurrence }) =>
    occurrence?.originalStart != null ? leaf('t:OriginalStart', time(occurrence.originalStart)) : undefined,
  'calendar:IsAllDayEvent': ({ appointment }) => leaf('t:IsAllDayEvent', appointment.isWholeDay),
  'calendar:LegacyFreeBusyStatus': (shape) => leaf('t:LegacyFreeBusyStatus', shown[factsOf(shape).shownAs]),
  'calendar:Location': ({ mailbox }) => leaf('t:Location', mailbox.name),
  'calendar:IsMeeting': ({ appointment }) => leaf('t:IsMeeting', appointment.organizer !== null),
  'calendar:IsCancelled': (shape) => leaf('t:IsCancelled', factsOf(shape).isCancelled),
  'calendar:IsRecurring': ({ occurrence }) => leaf('t:IsRecurring', occurrence?.originalStart != null),
  'calendar:CalendarItemType': (shape) => leaf('t:CalendarItemType', typeOf(shape)),
  'calendar:MyResponseType': (shape) => leaf('t:MyResponseType', answers[factsOf(shape).answer]),
  'calendar:Organizer': ({ appointment, mailbox }) => {
    const { name, email } = appointment.organizer ?? { name: mailbox.name, email: mailbox.address };
    const person = [leaf('t:Name', name), leaf('t:EmailAddress', email), leaf('t:RoutingType', 'SMTP')];
    return el('t:Organizer', {}, el('t:Mailbox', {}, ...person));
  },
  'calendar:AppointmentSequenceNumber': ({ appointment }) => leaf('t:AppointmentSequenceNumber', appointment.sequence),
  'calendar:AppointmentState': (shape) =>
    leaf('t:AppointmentState', (shape.appointment.organizer ? 3 : 0) + (factsOf(shape).isCancelled ? 4 : 0)),
  'calendar:Recurrence': (shape) => (shape.occurrence ? undefined : writeRepeat(shape.appointment) || undefined),
  'calendar:StartTimeZone': ({ appointment }) => zoneOf('t:StartTimeZone', appointment.zone),
  'calendar:EndTimeZone': ({ appointment }) => zoneOf('t:EndTimeZone', appointment.zone),
};

const factsOf = ({ appointment, occurrence }: Shape) => occurrence ?? appointment;

function typeOf({ appointment, occurrence }: Shape): string {
  if (!appointment.repeat) return 'Single';
  if (!occurrence) return 'RecurringMaster';
  return occurrence.isException ? 'Exception' : 'Occurrence';
}

const byDefault = [
  ...['item:Subject', 'item:HasAttachments', 'calendar:Start', 'calendar:End', 'calendar:LegacyFreeBusyStatus'],
  ...['calendar:Location', 'calendar:CalendarItemType', 'calendar:Organizer'],
];

/** Of an extended property. */
export const extendedKey = ({ attributes }: Element) =>
  `${attributes['PropertySetId'] ?? attributes['DistinguishedPropertySetId'] ?? ''} ${attributes['PropertyName'] ?? attributes['PropertyTag'] ?? ''}`.toLowerCase();

export type Wanted = { named: string[]; extended: Element[] };

/** Which properties an ItemShape asks for. */
export function wantedProperties(itemShape: Element | undefined): Wanted {
  const base = child(itemShape, 't:BaseShape')?.text;
  const more = child(itemShape, 't:AdditionalProperties')?.children ?? [];
  const asked = more.map(({ attributes }) => attributes['FieldURI']);
  const all = Object.keys(properties);
  const wanted = new Set(base === 'AllProperties' ? all : [...(base === 'Default' ? byDefault : []), ...asked]);
  return {
    named: all.filter((property) => wanted.has(property)),
    extended: more.filter(({ name }) => name === 't:ExtendedFieldURI'),
  };
}

const writeExtended = ({ extended }: Appointment, asked: readonly Element[]) =>
  asked.flatMap((uri) => {
    const value = extended[extendedKey(uri)];
    return value === undefined
      ? []
      : el('t:ExtendedProperty', {}, el('t:ExtendedFieldURI', uri.attributes), leaf('t:Value', value));
  });

/** @param isView what FindItem leaves out: the address of the organizer */
export function writeItem(shape: Shape, wanted: Wanted, isView: boolean): string {
  const { appointment, occurrence } = shape;
  const id = { Id: occurrence?.id ?? appointment.id, ChangeKey: changeKeyOf(appointment.revision) };
  const write = (property: string) =>
    isView && property === 'calendar:Organizer'
      ? el('t:Organizer', {}, el('t:Mailbox', {}, leaf('t:Name', appointment.organizer?.name ?? shape.mailbox.name)))
      : (properties[property]?.(shape) ?? '');
  const [ofItem, ofCalendar] = ['item:', 'calendar:'].map((kind) =>
    wanted.named.filter((property) => property.startsWith(kind)).map(write),
  ) as [string[], string[]];
  const extended = writeExtended(appointment, wanted.extended);
  return el('t:CalendarItem', {}, el('t:ItemId', id), ...ofItem, ...extended, ...ofCalendar);
}

function readRepeat(element: Element | undefined): Repeat | null {
  const [pattern, range] = element?.children ?? [];
  if (!pattern || !range) return null;
  const every = {
    't:DailyRecurrence': 'day',
    't:WeeklyRecurrence': 'week',
    't:AbsoluteMonthlyRecurrence': 'month',
  }[pattern.name] as Repeat['every'] | undefined;
  if (!every) throw new Error(`${pattern.name} is not kept here`);
  const days = child(pattern, 't:DaysOfWeek')?.text.split(' ') as DayName[] | undefined;
  const count = child(range, 't:NumberOfOccurrences')?.text;
  const until = child(range, 't:EndDate')?.text.slice(0, 10);
  return {
    every,
    interval: Number(child(pattern, 't:Interval')?.text ?? 1),
    ...(days && { days }),
    ...(count && { count: Number(count) }),
    ...(until && { until }),
  };
}

/** An instant, or by the clock of the zone where the text has none. */
const instantOf = (text: string, zone: string) =>
  /(Z|[+-]\d\d:\d\d)$/.test(text) ? Date.parse(text) : toInstant(text.slice(0, 19), zone);

/** What a CalendarItem of a request says; absent is what it does not say. */
export function readItem(item: Element, mailbox: Mailbox): Partial<Draft> {
  const text = (name: string) => child(item, `t:${name}`)?.text;
  const zone = zoneOfWindows(child(item, 't:StartTimeZone')?.attributes['Id'] ?? '') ?? mailbox.zone;
  const [start, end, isWholeDay] = [text('Start'), text('End'), text('IsAllDayEvent')];
  const shownAs = keyOf(shown, text('LegacyFreeBusyStatus'));
  const sensitivity = keyOf(sensitivities, text('Sensitivity'));
  const subject = text('Subject');
  const extended = item.children
    .filter(({ name }) => name === 't:ExtendedProperty')
    .map((one) => [extendedKey(child(one, 't:ExtendedFieldURI')!), child(one, 't:Value')?.text ?? '']);
  return {
    ...(child(item, 't:StartTimeZone') && { zone }),
    ...(start !== undefined && { start: instantOf(start, zone) }),
    ...(end !== undefined && { end: instantOf(end, zone) }),
    ...(isWholeDay !== undefined && { isWholeDay: isWholeDay === 'true' || isWholeDay === '1' }),
    ...(shownAs && { shownAs }),
    ...(sensitivity && { sensitivity }),
    ...(subject !== undefined && { subject }),
    ...(child(item, 't:Recurrence') && { repeat: readRepeat(child(item, 't:Recurrence')) }),
    ...(extended.length > 0 && { extended: Object.fromEntries(extended) }),
  };
}

export const itemIdOf = ({ id, revision }: Appointment) => el('t:ItemId', { Id: id, ChangeKey: changeKeyOf(revision) });
