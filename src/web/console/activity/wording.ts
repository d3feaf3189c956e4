/** Acts in words: what was done, and the members and their values as the forms call them. */

import { ask } from '../client.ts';
import { moment } from '../clock.ts';
import { type ActsQuery, NamesOfRecordsDocument } from '../generated/graphql.ts';
import { clockTimesText, datesText, ruleText } from '../master/hours-text.ts';
import { personName } from '../person-name.ts';
import { t as activity } from '../texts/activity.ts';
import { t } from '../texts/audit.ts';
import { t as hours } from '../texts/hours.ts';
import { t as master } from '../texts/master.ts';
import { labelOf } from '../texts/members.ts';
import { t as persons } from '../texts/persons.ts';
import { t as signs } from '../texts/signs.ts';
import { kindOf } from '../webhooks/data.ts';
import { readJson } from './lists.ts';
import { formatText, gridText, mappingText, roomText, termText } from './profile-words.ts';

export type Act = NonNullable<ActsQuery['audit']>['nodes'][number];
type Subject = Act['subject'];
type Words = Readonly<Record<string, string>>;
/** By the ids of the graph. */
export type Names = ReadonlyMap<string, string>;

/** `change resource` in the viewer's language, or in the words of the API if there are no others. */
export function actionText({ action, subject }: Pick<Act, 'action' | 'subject'>): string {
  const whole = (t().actions as Words)[action];
  if (whole) return whole;
  const verb = (t().verbs as Words)[action.split(' ')[0] ?? ''];
  return verb && subject ? `${t().nouns[subject]} ${verb}` : action;
}

/** Without the comma of a label that the choice in its field continues. */
export const memberText = (subject: Subject, member: string): string =>
  (labelOf(member, subject) ?? member).replace(/,$/, '');

/** The nouns of the ids that members hold. */
const nounsOfIds: Record<string, Record<string, string>> = {
  Policy: {
    MaySee: 'group',
    MayBook: 'group',
    MaySkipApproval: 'group',
    MayDecide: 'group',
    MayBookForOthers: 'group',
  },
  Group: { AddMembers: 'person', RemoveMembers: 'person' },
  Resource: { LocationId: 'location', PolicyId: 'policy', MovedTo: 'resource' },
  Display: { LocationId: 'location' },
  HolidayCalendar: { LocationId: 'location' },
  Pin: { PersonId: 'person' },
};
const idsIn = (subject: Subject, member: string, value: string): string[] | undefined => {
  const noun = nounsOfIds[subject ?? '']?.[member];
  return noun && /^\d+(, \d+)*$/.test(value) ? value.split(', ').map((id) => `${noun}_${id}`) : undefined;
};

type Period = { opens: string; closes: string };
type Exception = { fromDate: string; toDate: string; closed: boolean; periods: Period[]; reason: string | null };

function exceptionText({ closed, periods, reason, ...dates }: Exception): string {
  const open = closed ? hours().closed : periods.map(clockTimesText).join(', ');
  return [datesText(dates), open, reason && `(${reason})`].filter(Boolean).join(' ');
}
/** The words for JSON of the audit, `…` after them if it was cut. */
const jsonText =
  <Value>(say: (value: Value) => string) =>
  (text: string): string => {
    if (text === '') return text;
    const read = readJson(text);
    return read ? [say(read.value as Value), ...(read.isCut ? ['…'] : [])].filter(Boolean).join('; ') : t().tooLong;
  };
const listText = <Entry>(entryText: (entry: Entry) => string) =>
  jsonText<Entry[]>((entries) => entries.map(entryText).join('; '));
const wordOf = (words: Words, text: string) => words[text] ?? text;
/** The audit has an instant as JSON. */
const instantText = (text: string) => moment(text.replaceAll('"', ''));
/** Of members whose values are no plain text; some only of one kind of record. */
const texts: Record<string, (text: string) => string> = {
  OpeningRules: listText(ruleText),
  OpeningExceptions: listText(exceptionText),
  Term: jsonText(termText),
  Periods: listText(gridText),
  Rooms: listText(roomText),
  Mapping: jsonText(mappingText),
  Format: formatText,
  Privacy: (text) => signs().privacies[text] ?? text,
  Role: (text) => persons().roles[text as keyof ReturnType<typeof persons>['roles']] ?? text,
  FutureBookings: (text) => wordOf(master().futures, text),
  CalendarWriting: (text) => wordOf(master().calendarRules, text),
  CalendarEdits: (text) => wordOf(master().calendarRules, text),
  Kinds: (text) => text.split(', ').map(kindOf).join(', '),
  Because: (text) => (text === 'Admin' ? t().disabledByAdmin : wordOf(activity().webhookReasons, text)),
  'RoomProblem Kind': (text) => wordOf(activity().problems, text),
  State: (text) => wordOf(t().problemStates, text),
  CreatedAt: instantText,
  ExpiresAt: instantText,
};

export function valueText(subject: Subject, member: string, value: string, names: Names): string {
  const ids = idsIn(subject, member, value);
  if (ids) {
    const nameOf = (id: string, name = names.get(id)) =>
      name === undefined ? t().unnamed(id.replace(/\D/g, '')) : personName(name, id);
    return ids.map((id) => nameOf(id)).join(', ');
  }
  try {
    return (texts[`${subject} ${member}`] ?? texts[member])?.(value) ?? t().values[value] ?? value;
  } catch {
    // An earlier release recorded it in another form.
    return /^[[{]/.test(value) ? t().tooLong : value;
  }
}

/** The most that the server is asked for at once. */
const idsAtOnce = 100;

/** The names of the records whose ids are among the values. */
export async function readNames(acts: readonly Pick<Act, 'subject' | 'changes'>[], stop?: AbortSignal): Promise<Names> {
  const ids = new Set(
    acts.flatMap(({ subject, changes }) =>
      changes.flatMap(({ member, from, to }) =>
        [from, to].flatMap((value) => idsIn(subject, member, value ?? '') ?? []),
      ),
    ),
  );
  const names = new Map<string, string>();
  const all = [...ids];
  for (let from = 0; from < all.length; from += idsAtOnce) {
    const { nodes } = await ask(NamesOfRecordsDocument, { ids: all.slice(from, from + idsAtOnce) }, stop);
    for (const node of nodes ?? []) if (node && 'name' in node) names.set(node.id, node.name);
  }
  return names;
}
