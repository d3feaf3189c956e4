/** What needs attention first: signs, calendars, imports, problems of rooms, requests, webhooks and PINs, each with the screen where it can be fixed. */

import { dayLength } from '../../../time/days.ts';
import { ask, pages } from '../client.ts';
import { dayAt, dayText, moment, ownZone } from '../clock.ts';
import {
  MailToMindDocument,
  type MailToMindQuery,
  type PersonToMindFragment,
  PinsToMindDocument,
  SignsToMindDocument,
  type SignsToMindQuery,
  WebhooksToMindDocument,
  type WebhooksToMindQuery,
  WorkToMindDocument,
  type WorkToMindQuery,
} from '../generated/graphql.ts';
import { type Problem, readOpenProblems } from '../open-problems.ts';
import { personName } from '../person-name.ts';
import { present } from '../present.ts';
import { t } from '../texts/activity.ts';

export type Matter = {
  key: string;
  level: 'fault' | 'warning';
  text: string;
  screen: string;
  members?: Record<string, string>;
  /** A problem, which can be settled here. */
  problem?: Problem;
  /** A webhook, which can be enabled here. */
  webhook?: Webhook;
};

type Sign = NonNullable<SignsToMindQuery['displays']>['nodes'][number];
export type Webhook = NonNullable<WebhooksToMindQuery['webhooks']>['nodes'][number];
type Calendar = NonNullable<MailToMindQuery['mailSubscriptions']>[number];

const lowBattery = 15;
const [batchDays, signDays, pinDays] = [7, 14, 30];

const date = (at: string) => dayText(dayAt(ownZone, Date.parse(at)), 'medium');
const isWithin = (at: string, days: number) => Date.parse(at) - present() < days * dayLength;

function* ofSign({ id, name, heardAt, silentSince, expiresAt, revokedAt, health }: Sign): Generator<Matter> {
  if (revokedAt) return;
  const of = { screen: 'signs', members: { sign: id } };
  // It was heard last some time before it was found silent.
  const since = silentSince && (heardAt ?? silentSince);
  if (since) yield { key: `silent ${id}`, level: 'fault', text: t().silent(name, moment(since)), ...of };
  if (isWithin(expiresAt, signDays))
    yield { key: `ends ${id}`, level: 'warning', text: t().signsEnd(name, date(expiresAt)), ...of };
  const { battery = null, note = null } = health ?? {};
  if (battery !== null && battery <= lowBattery)
    yield { key: `battery ${id}`, level: 'warning', text: t().battery(name, battery), ...of };
  if (note) yield { key: `note ${id}`, level: 'warning', text: t().note(name, note), ...of };
}

function* ofCalendar(calendar: Calendar): Generator<Matter> {
  const { id, resource, fault, conflictCount, unreadableCount, unwrittenCount, writingFault } = calendar;
  const of = { screen: 'mail', members: { calendar: id } };
  const { name } = resource;
  if (fault) {
    const why = t().mailFaults[fault.kind] ?? fault.text;
    yield { key: `fault ${id}`, level: 'fault', text: t().mailFault(name, why), ...of };
  }
  if (conflictCount > 0)
    yield { key: `conflicts ${id}`, level: 'warning', text: t().conflicts(name, conflictCount), ...of };
  if (unreadableCount > 0)
    yield { key: `unreadable ${id}`, level: 'warning', text: t().unreadable(name, unreadableCount), ...of };
  if (writingFault)
    yield { key: `unwritable ${id}`, level: 'warning', text: t().unwritable(name, writingFault), ...of };
  else if (unwrittenCount > 0)
    yield { key: `unwritten ${id}`, level: 'warning', text: t().unwritten(name, unwrittenCount), ...of };
}

function* ofWork({ batches, bookings }: WorkToMindQuery): Generator<Matter> {
  for (const { id, createdAt, createdBy, validateOnly, failureKind, errorCount } of batches?.nodes ?? [])
    if (!validateOnly && failureKind !== 'Cancelled')
      yield {
        key: id,
        level: 'fault',
        screen: 'timetables',
        members: { batch: id },
        text: t().batch(personName(createdBy.displayName), moment(createdAt), errorCount),
      };
  const { nodes = [], pageInfo } = bookings ?? {};
  if (nodes.length > 0)
    yield {
      key: 'requests',
      level: 'warning',
      screen: 'rooms',
      text: t().requests(nodes.length, pageInfo?.hasNextPage === true),
    };
}

function* ofWebhook(webhook: Webhook): Generator<Matter> {
  const { id, name, failures, failingSince, disabledAt, disabledBecause } = webhook;
  if (disabledAt && disabledBecause && disabledBecause !== 'Admin') {
    const text = t().webhookDisabled(name, t().webhookReasons[disabledBecause] ?? disabledBecause, moment(disabledAt));
    yield { key: id, level: 'fault', text, screen: 'activity', webhook };
  } else if (!disabledAt && failingSince && failures > 1)
    yield {
      key: id,
      level: 'warning',
      text: t().webhookFails(name, moment(failingSince)),
      screen: 'webhooks',
      members: { record: id },
    };
}

function ofProblem(problem: Problem): Matter {
  const { id, kind, text, reportedAt, resourceName } = problem;
  const told = t().problem(resourceName, t().problems[kind] ?? kind, text, moment(reportedAt));
  return { key: id, level: 'warning', text: told, screen: 'rooms', problem };
}

function* ofPerson({ name, pins }: PersonToMindFragment): Generator<Matter> {
  for (const { id, label, expiresAt, revokedAt } of pins?.nodes ?? []) {
    if (revokedAt || !expiresAt || !isWithin(expiresAt, pinDays)) continue;
    const ended = Date.parse(expiresAt) < present();
    if (ended && present() - Date.parse(expiresAt) > batchDays * dayLength) continue;
    const text = (ended ? t().pinEnded : t().pinEnds)(name, label, date(expiresAt));
    yield { key: id, level: 'warning', text, screen: 'master', members: { part: 'persons' } };
  }
}

/** The data from which the texts are made when they are shown, in the current language. */
export type Minded = {
  signs: Sign[];
  calendars: readonly Calendar[];
  work: WorkToMindQuery;
  persons: PersonToMindFragment[];
  problems: readonly Problem[];
  webhooks: readonly Webhook[];
};

export async function readAttention(stop: AbortSignal): Promise<Minded> {
  const since = new Date(present() - batchDays * dayLength).toISOString();
  async function readSigns(): Promise<Sign[]> {
    const signs: Sign[] = [];
    for await (const some of pages(async (after) => (await ask(SignsToMindDocument, { after }, stop)).displays))
      signs.push(...some);
    return signs;
  }
  const [signs, { mailSubscriptions }, work, { admins, importers }, problems, { webhooks }] = await Promise.all([
    readSigns(),
    ask(MailToMindDocument, {}, stop),
    ask(WorkToMindDocument, { since }, stop),
    ask(PinsToMindDocument, {}, stop),
    readOpenProblems(stop),
    ask(WebhooksToMindDocument, {}, stop),
  ]);
  const persons = [...(admins?.nodes ?? []), ...(importers?.nodes ?? [])];
  return { signs, calendars: mailSubscriptions ?? [], work, persons, problems, webhooks: webhooks?.nodes ?? [] };
}

/** All matters, faults first. */
export function mattersOf({ signs, calendars, work, persons, problems, webhooks }: Minded): Matter[] {
  const all = [
    ...signs.flatMap((sign) => [...ofSign(sign)]),
    ...calendars.flatMap((calendar) => [...ofCalendar(calendar)]),
    ...ofWork(work),
    ...problems.map(ofProblem),
    ...webhooks.flatMap((webhook) => [...ofWebhook(webhook)]),
    ...persons.flatMap((person) => [...ofPerson(person)]),
  ];
  return all.toSorted((one, other) => Number(other.level === 'fault') - Number(one.level === 'fault'));
}
