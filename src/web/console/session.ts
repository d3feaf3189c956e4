/** Who is signed in. The credential is a cookie that scripts cannot read; this module knows only what the page shows. */

import { signal } from '@preact/signals';
import { minute } from '../../time/durations.ts';
import { go, place } from './address.ts';
import { ask, call, isSessionLost, mandator, type Refusal, Refused, readAnswer, refusalOf } from './client.ts';
import { MeDocument, type MeQuery, type Role } from './generated/graphql.ts';

export type Person = Omit<MeQuery['me'], 'groups'> & {
  tenantName: string;
  mayImport: boolean;
  groupIds: readonly string[];
};
export type Options = { Pin: boolean; Provider: { Name: string; Start: string } | null };

/** Null: not signed in. Undefined: not known yet. */
export const person = signal<Person | null | undefined>(undefined);
export const options = signal<Options>({ Pin: true, Provider: null });
/** Whose the things are that this browser stores. */
export const ownerKey = (): string => `${mandator} ${person.value?.id}`;
/** Why a sign-in at the provider has failed. */
export const providerFault = signal<{ code: string; traceId?: string | undefined } | null>(null);

async function readPerson(): Promise<Person> {
  const {
    me: { groups, ...me },
    tenant,
  } = await ask(MeDocument, {});
  return {
    ...me,
    tenantName: tenant.name,
    mayImport: me.role !== 'User' || tenant.parameters.usersMayImport,
    groupIds: groups.nodes.map(({ id }) => id),
  };
}

type Session = {
  TenantName: string;
  IdleMinutes: number;
  Person: { Id: number; Email: string; Name: string; Role: Role; TimeZone: string };
};
/** As in the graph. */
const idOf = ({ Id }: Session['Person']) => `person_${Id}`;
/** Displays can read only their own record. */
const displayOf = ({ TenantName, Person, Person: { Email, Name, Role, TimeZone } }: Session): Person => ({
  __typename: 'Person',
  id: idOf(Person),
  name: Name,
  email: Email,
  role: Role,
  timeZone: TimeZone,
  teacherCode: null,
  tenantName: TenantName,
  mayImport: false,
  groupIds: [],
});

const readOptions = async () => {
  const answer = await call('GET', 'session/options');
  if (answer.ok) options.value = (await answer.json()) as Options;
};

/** All tabs of this browser share one session: it begins and ends in all of them. */
const tabs = new BroadcastChannel(`roomgate session ${mandator}`);
tabs.onmessage = ({ data }) => {
  if (data === 'ended') isSessionLost.value = Boolean(person.value);
  else if (isSessionLost.value || person.value === null) void call('GET', 'session').then(welcome, () => undefined);
};

/** How often the server hears that somebody uses the page: several times before the session would end. */
let touchedEveryMs = minute;

const isAs = ({ name, email, role, timeZone }: Person, { Name, Email, Role, TimeZone }: Session['Person']) =>
  name === Name && email === Email && role === Role && timeZone === TimeZone;

/**
 * Continues with a session, and with the rights that its person has now. Calls that waited for it are repeated only for the
 * same person.
 */
async function welcome(answer: Response): Promise<void> {
  if (!answer.ok) return;
  const session = (await answer.json()) as Session;
  const { Person } = session;
  touchedEveryMs = Math.min(1, session.IdleMinutes / 4) * minute;
  if (person.value && person.value.id !== idOf(Person)) {
    location.reload();
    return;
  }
  isSessionLost.value = false;
  providerFault.value = null;
  if (!person.value || !isAs(person.value, Person))
    person.value = Person.Role === 'Display' ? displayOf(session) : await readPerson();
}

const storageKey = 'roomgate return';
/** Keeps the address while the person signs in at the provider. */
export const keepPlace = (): void => sessionStorage.setItem(storageKey, location.search);
function returnToPlace(): void {
  const search = sessionStorage.getItem(storageKey);
  sessionStorage.removeItem(storageKey);
  if (search && !location.search) go(Object.fromEntries(new URLSearchParams(search)), 'replace');
}

/** Finds out who is signed in, at the start of the page. @throws Refused */
export async function openSession(): Promise<void> {
  const { fault, trace } = place.value;
  if (fault) {
    providerFault.value = { code: fault, traceId: trace };
    go({ fault: undefined, trace: undefined }, 'replace');
  }
  returnToPlace();
  const answer = await call('GET', 'session');
  if (answer.ok) {
    await welcome(answer);
    tabs.postMessage('begun');
    return;
  }
  // A signed-in person stays signed in while the server cannot answer.
  if (answer.status !== 401) throw new Refused(refusalOf(answer, await readAnswer(answer)));
  await readOptions();
  person.value = null;
}

/** @returns what is wrong, or undefined */
export async function signIn(pin: string): Promise<Refusal | undefined> {
  try {
    const answer = await call('POST', 'session', JSON.stringify({ Pin: pin }));
    if (!answer.ok) return refusalOf(answer, await readAnswer(answer));
    await welcome(answer);
    tabs.postMessage('begun');
    return undefined;
  } catch (error) {
    if (error instanceof Refused) return error.refusal;
    throw error;
  }
}

/**
 * Ends the session on the server, then forgets all that this page knows.
 * @param where `everywhere`: all sessions of the person, also those of other browsers
 * @returns what is wrong, or undefined
 */
export async function signOut(where: 'here' | 'everywhere'): Promise<Refusal | undefined> {
  try {
    const answer = await call('DELETE', where === 'here' ? 'session' : 'session?Everywhere=true');
    // Without a session, the others can be ended only after a new sign-in.
    if (answer.status === 401) isSessionLost.value = true;
    if (!answer.ok) return refusalOf(answer, await readAnswer(answer));
  } catch (error) {
    if (error instanceof Refused) return error.refusal;
    throw error;
  }
  tabs.postMessage('ended');
  sessionStorage.clear();
  location.assign(location.pathname);
  return undefined;
}

let seen = Date.now();
/** Extends the session while somebody uses the page, even without calls. */
export function keepSession(): void {
  const touch = () => {
    if (!person.value || isSessionLost.value || Date.now() - seen < touchedEveryMs) return;
    seen = Date.now();
    void call('GET', 'session')
      .then(async (answer) => {
        if (answer.status === 401) isSessionLost.value = true;
        else await welcome(answer);
      })
      .catch(() => undefined);
  };
  for (const kind of ['pointerdown', 'keydown', 'focus']) addEventListener(kind, touch, { passive: true });
}

export { readOptions };
