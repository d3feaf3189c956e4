/** Whole lists that the parts of the master data share. */
import { ask, pages } from '../client.ts';
import { readFirst } from '../first-pages.ts';
import {
  MasterGroupsDocument,
  type MasterLocationFragment,
  MasterLocationsDocument,
  type MasterPersonFragment,
  MasterPersonsDocument,
  MasterPoliciesDocument,
  type MasterRoomFragment,
  MasterRoomsDocument,
  type PersonFilter,
  PolicyNamesDocument,
} from '../generated/graphql.ts';
import { locale } from '../look.ts';
import { t } from '../texts/master.ts';

export type Room = MasterRoomFragment;
export type Location = MasterLocationFragment;
export type Person = MasterPersonFragment;
export type Named = { id: string; name: string };

const order = new Intl.Collator(undefined, { numeric: true });
const byName = (one: { name: string }, other: { name: string }): number => order.compare(one.name, other.name);

/** All pages of a list, by name. */
export async function readAll<Node extends { name: string }>(read: Parameters<typeof pages<Node>>[0]): Promise<Node[]> {
  const all: Node[] = [];
  for await (const nodes of pages(read)) all.push(...nodes);
  return all.sort(byName);
}

export const readLocations = async (stop?: AbortSignal): Promise<Location[]> =>
  ((await ask(MasterLocationsDocument, {}, stop)).locations ?? []).toSorted(byName);

export const readRooms = (stop?: AbortSignal): Promise<Room[]> =>
  readAll(async (after) => (await ask(MasterRoomsDocument, { after }, stop)).resources);

export const readPolicyNames = (stop?: AbortSignal): Promise<Named[]> =>
  readAll(async (after) => (await ask(PolicyNamesDocument, { after }, stop)).policies);

export const readPolicies = (stop?: AbortSignal) =>
  readAll(async (after) => (await ask(MasterPoliciesDocument, { after }, stop)).policies);

export const readPersons = (filter: PersonFilter, stop?: AbortSignal): Promise<Person[]> =>
  readAll(async (after) => (await ask(MasterPersonsDocument, { filter, after }, stop)).persons);

/** The first pages of a list that may be long, sorted by name. */
export async function readSomePersons(filter: PersonFilter, pageCount: number, stop: AbortSignal) {
  const read = async (after: string | null) => (await ask(MasterPersonsDocument, { filter, after }, stop)).persons;
  const { nodes, hasMore } = await readFirst(pageCount, read);
  return { persons: nodes.sort(byName), hasMore };
}

export const readGroups = (stop?: AbortSignal) =>
  readAll(async (after) => (await ask(MasterGroupsDocument, { after }, stop)).groups);

export const nameIn = (list: readonly Named[], id: string | null | undefined): string =>
  list.find((each) => each.id === id)?.name ?? '';

/** How many records a text names. */
const mostNamed = 5;
export const namesOf = (list: readonly { name: string }[]): string =>
  new Intl.ListFormat(locale.value).format([
    ...list.slice(0, mostNamed).map(({ name }) => t().quoted(name)),
    ...(list.length > mostNamed ? [t().others(list.length - mostNamed)] : []),
  ]);

export const choicesOf = (list: readonly Named[]) => list.map(({ id, name }) => ({ value: id, text: name }));

/** The members of a policy that name groups. */
export const groupLists = ['maySee', 'mayBook', 'maySkipApproval', 'mayDecide', 'mayBookForOthers'] as const;

/** How much of a booking is written into calendars of mail servers, what becomes of edits there, and whether items without a room are declined. */
const calendarRules = {
  calendarWriting: ['Off', 'Busy', 'Full'],
  calendarEdits: ['PutBack', 'TakeOver'],
  declineConflicts: ['Yes', 'No'],
} as const;
export type CalendarRule = keyof typeof calendarRules;
export const choicesOfRule = (rule: CalendarRule) =>
  calendarRules[rule].map((value) => ({ value, text: t().calendarRules[value] }));

/** A number that was typed; null for none. */
export const numberOf = (text: string): number | null => (text.trim() === '' ? null : Number(text));
export const textOf = (value: number | string | null | undefined): string => (value == null ? '' : String(value));
