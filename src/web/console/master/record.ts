/**
 * A record in a form. Only the typed values are sent, for the version that was read. If somebody else was faster, the new state
 * is read, the typed values stay, and the form says who has changed what.
 */

import { useState } from 'preact/hooks';
import { memberText, type Names, readNames, valueText } from '../activity/wording.ts';
import { type Answer, ask, type Refusal } from '../client.ts';
import { type AuditSubject, LatestActsDocument, type LatestActsQuery } from '../generated/graphql.ts';
import { Dialog } from '../parts/dialog.ts';
import { submit } from '../parts/field.ts';
import { type Child, h, html } from '../parts/html.ts';
import { RefusedBox, toastRefusal } from '../parts/refused.ts';
import { gone, refusalIn, type Stale, StaleBox, type Told } from '../parts/stale.ts';
import { toast } from '../parts/toast.ts';
import { personName } from '../person-name.ts';
import { t } from '../texts/master.ts';
import { t as shell } from '../texts/shell.ts';

type Versioned = { id: string; version: number; name: string };

export type RecordPlan<Values extends object, Read extends Versioned> = {
  /** Null for a new record. */
  record: Read | null;
  subject: AuditSubject;
  valuesOf: (record: Read | null) => Values;
  read: (id: string) => Promise<Read | null | undefined>;
  create: (values: Values) => Promise<Answer<Read>>;
  change: (record: Read, changes: Partial<Values>) => Promise<Answer<Read>>;
  /** What is said of a new record, if another verb than that of master data fits. */
  made?: (name: string) => string;
  /** Called when the record was saved, or a saved change was undone. */
  onSaved: (record: Read) => void;
};

type Act = NonNullable<LatestActsQuery['audit']>['nodes'][number];
/** What is in a form: a record with its version, or a list of opening hours, which an act of its own replaces. */
type Base = { version: number; lastAct?: string | undefined };
export type HoursAct = 'replace opening rules' | 'replace opening exceptions';

/** The most acts that are told. */
const mostTold = 10;

/** Acts that make no version of the record: those on its hours, and those that only do something with it. */
const withoutVersion = /^(replace|replay|retire|test) /;

/** A list of records, which nobody would read as one text. */
const isLong = (value: string | null): boolean => value !== null && /^[[{]/.test(value);

function changeText({ member, from, to }: Act['changes'][number], subject: AuditSubject, names: Names): string {
  const label = memberText(subject, member);
  const said = (value: string | null) => value && valueText(subject, member, value, names);
  // The audit keeps no names or addresses of persons.
  const isShown = (from !== null || to !== null) && !isLong(from) && !isLong(to);
  return isShown ? shell().stale.member(label, said(from), said(to)) : label;
}

/**
 * Reads who has changed what since a state was read. Changes by an earlier release have no acts.
 * @param before the state that was in the form @param now the present one
 */
async function readStale(
  { subject, action }: { subject: AuditSubject; action?: HoursAct | undefined },
  id: string,
  before: Base,
  now: Base,
): Promise<Stale> {
  const filter = { subject, subjectId: id, ...(action && { action }) };
  const acts = (await ask(LatestActsDocument, { filter })).audit?.nodes ?? [];
  const known = acts.findIndex((act) => act.id === before.lastAct);
  const since = action
    ? acts.slice(0, known < 0 ? undefined : known)
    : acts.filter((act) => !withoutVersion.test(act.action)).slice(0, now.version - before.version);
  const told = since.slice(0, mostTold).toReversed();
  const names = await readNames(told.map(({ changes }) => ({ subject, changes })));
  const inWords = ({ person, at, changes }: Act): Told => ({
    who: person ? personName(person.displayName) : undefined,
    at,
    changes: changes.map((change) => changeText(change, subject, names)),
  });
  return {
    isGone: false,
    hasEarlier: since.length > told.length,
    tell: () => (told.length > 0 ? told.map(inWords) : [{ changes: [] }]),
  };
}

/** Where the audit cannot be read. */
const untold: Stale = { isGone: false, tell: () => [{ changes: [] }] };

/**
 * What was read, and why a change of it was refused. If somebody else was faster, the new state is read.
 * @param readNow reads the present state; nothing if it is gone @param action of a list of opening hours
 */
export function useBase<Read extends Base | null>(
  first: Read,
  subject: AuditSubject,
  readNow: (id: string) => Promise<Read | undefined | null>,
  action?: HoursAct,
) {
  const [base, setBase] = useState(first);
  const [refusal, setRefusal] = useState<Refusal>();
  const [stale, setStale] = useState<Stale>();
  /** @param refused nothing after a success @param id of what was changed; nothing for a new record */
  async function settle(refused: Refusal | undefined, id: string | undefined): Promise<void> {
    const mayBeStale = refused?.code === 'NotFound' || refused?.code === 'PreconditionFailed';
    const isAgain = mayBeStale && id !== undefined && base !== null;
    setRefusal(isAgain ? await readAgain(refused, id, base).catch(refusalIn) : refused);
  }
  /** @returns why it was refused; nothing if it is said what others have done, which says more @throws Refused */
  async function readAgain(refused: Refusal, id: string, before: Read & Base): Promise<Refusal | undefined> {
    const now = await readNow(id);
    // Another record that the input names is missing.
    if (refused.code === 'NotFound' && now) return refused;
    const next = now
      ? await readStale({ subject, action }, id, before, now).catch((error) => refusalIn(error) && untold)
      : gone;
    if (now) setBase(() => now);
    setStale(next);
    return undefined;
  }
  return { base, refusal, stale, settle };
}

export function useRecord<Values extends object, Read extends Versioned>(plan: RecordPlan<Values, Read>) {
  const { subject, valuesOf, read, create, change, made = t().made, onSaved } = plan;
  const { base, refusal, stale, settle } = useBase(plan.record, subject, read);
  const [typed, setTyped] = useState<Partial<Values>>({});
  const [isBusy, setBusy] = useState(false);
  const before = valuesOf(base);
  const values: Values = { ...before, ...typed };
  const members = Object.keys(typed) as (keyof Values)[];
  const changed = members.filter((key) => values[key] !== before[key]);
  const pick = (from: Values) => Object.fromEntries(changed.map((key) => [key, from[key]])) as Partial<Values>;

  async function undo(after: Read): Promise<void> {
    const { done, refused } = await change(after, pick(before));
    if (refused) toastRefusal(refused);
    else onSaved(done);
  }
  async function send(): Promise<boolean> {
    if (base && changed.length === 0) return true;
    const { done, refused } = await (base ? change(base, pick(values)) : create(values));
    if (refused) {
      await settle(refused, base?.id);
      return false;
    }
    toast(base ? t().changed(done.name) : made(done.name), base ? { undo: () => void undo(done) } : {});
    onSaved(done);
    return true;
  }
  return {
    base,
    values,
    refusal,
    stale,
    isBusy,
    set: (changes: Partial<Values>) => setTyped((last) => ({ ...last, ...changes })),
    async save(): Promise<boolean> {
      if (isBusy) return false;
      setBusy(true);
      return await send().finally(() => setBusy(false));
    },
  };
}

type RecordDialogProperties = {
  title: string;
  draft: Pick<ReturnType<typeof useRecord>, 'base' | 'refusal' | 'stale' | 'isBusy' | 'save'>;
  /** The fields that show their own faults. */
  fields: readonly string[];
  onClose: () => void;
  wide?: boolean;
  /** The text of the button that makes a new record. */
  make?: string;
  children: Child;
  /** Shown beside the button that saves. */
  more?: Child;
};

export function RecordDialog(properties: RecordDialogProperties) {
  const { title, draft, fields, onClose, wide = false, make = t().make, children, more } = properties;
  const { base, refusal, stale, isBusy, save } = draft;
  const send = async () => {
    if (await save()) onClose();
  };
  const form = html`
    <form onSubmit=${submit(send)}>
      ${stale && h(StaleBox, { stale })}
      ${children}
      ${h(RefusedBox, { refusal, fields })}
      <div class="buttons">
        ${more}
        <span class="gap"></span>
        <button class="main" disabled=${isBusy || stale?.isGone}>${base ? t().save : make}</button>
      </div>
    </form>
  `;
  return h(Dialog, { title, onClose, wide, children: form });
}
