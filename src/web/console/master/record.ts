/**
 * A record in a form. Only the typed values are sent, for the version that was read. If somebody else was faster, the new state
 * is read, the typed values stay, and the form says who has changed what.
 */
import { useState } from 'preact/hooks';
import { memberText, type Names, readNames, valueText } from '../activity/wording.ts';
import { ask, type Refusal } from '../client.ts';
import { ownZone, timeText } from '../clock.ts';
import { type AuditSubject, LatestActDocument, type LatestActQuery } from '../generated/graphql.ts';
import { Dialog } from '../parts/dialog.ts';
import { submit } from '../parts/field.ts';
import { type Child, h, html } from '../parts/html.ts';
import { RefusedBox, toastRefusal } from '../parts/refused.ts';
import { toast } from '../parts/toast.ts';
import { t } from '../texts/master.ts';

type Versioned = { id: string; version: number; name: string };
type Answer<Record> = { done: Record; refused?: never } | { refused: Refusal; done?: never };

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

type Act = NonNullable<LatestActQuery['audit']>['nodes'][number];
export type Stale = {
  subject: AuditSubject;
  act: Act | undefined;
  /** Of the records that the act refers to. */
  names: Names;
  isGone: boolean;
};

/** Reads who was faster from the latest act. Changes by an earlier release or a tenant file have none. */
async function readStale(subject: AuditSubject, id: string): Promise<Stale> {
  const act = (await ask(LatestActDocument, { subject, id })).audit?.nodes[0];
  const names = await readNames(act ? [{ subject, changes: act.changes }] : []);
  return { subject, act, names, isGone: false };
}

/**
 * What was read, and why a change of it was refused. If somebody else was faster, the new state is read.
 * @param readNow reads the present state; nothing if it is gone
 */
export function useBase<Read extends object | null>(
  first: Read,
  subject: AuditSubject,
  readNow: (id: string) => Promise<Read | undefined | null>,
) {
  const [base, setBase] = useState(first);
  const [refusal, setRefusal] = useState<Refusal>();
  const [stale, setStale] = useState<Stale>();
  /** @param refused nothing after a success @param id of what was changed; nothing for a new record */
  async function settle(refused: Refusal | undefined, id: string | undefined): Promise<void> {
    setRefusal(refused);
    const isMissing = refused?.code === 'NotFound';
    if ((!isMissing && refused?.code !== 'PreconditionFailed') || id === undefined) return;
    const now = await readNow(id);
    // Another record that the input names is missing.
    if (isMissing && now) return;
    if (now) setBase(() => now);
    setStale(now ? await readStale(subject, id) : { subject, act: undefined, names: new Map(), isGone: true });
    setRefusal(undefined);
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

/** A list of records, which nobody would read as one text. */
const isLong = (value: string | null): boolean => value !== null && /^[[{]/.test(value);

export function StaleBox({ stale: { subject, act, names, isGone } }: { stale: Stale }) {
  if (isGone) return html`<p class="stale" role="alert">${t().isGone}</p>`;
  const who = act?.person?.displayName ?? t().somebody;
  const when = act ? timeText(ownZone, Date.parse(act.at)) : '';
  const changes = act?.changes ?? [];
  const changeText = ({ member, from, to }: Act['changes'][number]) => {
    const label = memberText(subject, member);
    const said = (value: string | null) => value && valueText(subject, member, value, names);
    // The audit keeps no names or addresses of persons.
    const isShown = (from !== null || to !== null) && !isLong(from) && !isLong(to);
    return isShown ? t().memberChange(label, said(from), said(to)) : label;
  };
  return html`
    <div class="stale" role="alert">
      <p>${t().changedBy(who, when)}${changes.length > 0 ? ':' : '.'}</p>
      ${changes.length > 0 && html`<ul>${changes.map((change) => html`<li>${changeText(change)}</li>`)}</ul>`}
      <p>${t().typedStays}</p>
    </div>
  `;
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
