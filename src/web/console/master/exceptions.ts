/** Exceptions from the weekly hours, on single dates: each change writes the list in the version that was read, and can be undone. */
import { useState } from 'preact/hooks';
import { longest } from '../../../names.ts';
import { minutesOf } from '../../../time/days.ts';
import { dayAt, daysBetween, dayText, ownZone } from '../clock.ts';
import type { OpeningExceptionInput } from '../generated/graphql.ts';
import { Dialog } from '../parts/dialog.ts';
import { Check, Field, once, submit } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { useOpened } from '../parts/opened.ts';
import { RefusedBox, toastRefusal } from '../parts/refused.ts';
import { StaleBox } from '../parts/stale.ts';
import { table } from '../parts/table.ts';
import { toast } from '../parts/toast.ts';
import { present } from '../present.ts';
import { t } from '../texts/hours.ts';
import { labels } from '../texts/members.ts';
import { clockTimesText, datesText, lateHint, sayOverlaps } from './hours-text.ts';
import type { OwnExceptions, Owner } from './owner.ts';
import { useBase } from './record.ts';
import { type Exception, Touched } from './touched.ts';
import { closingOf } from './week.ts';

type ExceptionsProperties = { owner: Owner; exceptions: OwnExceptions; onSaved: () => void };
type FormProperties = ExceptionsProperties & { at: number | undefined; onClose: () => void };

const hoursText = ({ closed, periods }: Exception) => (closed ? t().closed : periods.map(clockTimesText).join(', '));
const inputOf = ({ fromDate, toDate, closed, periods, reason }: Exception): OpeningExceptionInput => ({
  fromDate,
  toDate,
  closed,
  periods: closed ? [] : periods.map(({ opens, closes }) => ({ opens, closes })),
  reason: reason || null,
});

const lengthOf = ({ fromDate, toDate }: Exception) => daysBetween(fromDate, toDate);
/** The most other exceptions that are named. */
const mostNamed = 5;

/** Says of other exceptions with dates of this one which of the two applies: that of fewer days, else the one saved last. */
const Sharing: Component<{ wanted: Exception; others: readonly Exception[] }> = ({ wanted, others }) => {
  const sharing = others.filter(({ fromDate, toDate }) => fromDate <= wanted.toDate && wanted.fromDate <= toDate);
  if (sharing.length === 0) return null;
  return html`
    <div role="status">
      ${sharing.slice(0, mostNamed).map((other) => html`<p class="hint">${t().sharesDates([datesText(other), hoursText(other)].join(', '), lengthOf(other) >= lengthOf(wanted))}</p>`)}
      ${sharing.length > mostNamed && html`<p class="hint">${t().moreShare(sharing.length - mostNamed)}</p>`}
    </div>
  `;
};

const ExceptionForm: Component<FormProperties> = ({ owner, exceptions, onSaved, at, onClose }) => {
  const readNow = async () => (await owner.read()).exceptions;
  const { base, refusal, stale, settle } = useBase(exceptions, owner.subject, readNow, 'replace opening exceptions');
  const today = dayAt(ownZone, present());
  const old: Exception | undefined = at === undefined ? undefined : exceptions.items[at];
  const [wanted, setWanted] = useState<Exception>(
    old ?? { fromDate: today, toDate: today, closed: true, periods: [], reason: null },
  );
  const others = base.items.filter((each) => JSON.stringify(each) !== JSON.stringify(old));
  const [isEndChosen, setEndChosen] = useState(wanted.fromDate !== wanted.toDate);
  const set = (changes: Partial<Exception>) => setWanted({ ...wanted, ...changes });
  const { fromDate, toDate, closed, periods, reason } = wanted;
  const chooseEnd = (text: string) => {
    setEndChosen(true);
    set({ toDate: text });
  };
  const setPeriod = (index: number, changes: Partial<Exception['periods'][number]>) =>
    set({ periods: periods.map((period, place) => (place === index ? { ...period, ...changes } : period)) });

  async function undo(version: number): Promise<void> {
    const { refused } = await owner.setExceptions(version, base.items.map(inputOf));
    if (refused) toastRefusal(refused);
    else onSaved();
  }
  /** @param next the exceptions in place of the old one */
  async function write(next: readonly Exception[]): Promise<void> {
    const items = [...others, ...next].map(inputOf);
    const { done, refused } = await owner.setExceptions(base.version, items);
    await settle(sayOverlaps(refused, items), owner.id);
    if (!done) return;
    toast(t().saved(owner.name), { undo: () => void undo(done.version) });
    onSaved();
    onClose();
  }
  const body = html`
    <form onSubmit=${submit(() => write([wanted]))}>
      ${stale && h(StaleBox, { stale })}
      <div class="fields">
        ${h(Field, { label: t().from, type: 'date', value: fromDate, onInput: (text) => set({ fromDate: text, ...(!isEndChosen && { toDate: text }) }), required: true, autofocus: true })}
        ${h(Field, { label: t().to, type: 'date', value: toDate, min: fromDate, onInput: chooseEnd, required: true })}
      </div>
      ${h(Sharing, { wanted, others })}
      ${h(Field, { label: labels().reason, value: reason ?? '', onInput: (text) => set({ reason: text }), maxLength: longest.reason })}
      ${h(Check, { label: t().closedAll, checked: closed, onChange: (checked) => set({ closed: checked, ...(!checked && periods.length === 0 && { periods: [{ opens: '08:00', closes: '18:00' }] }) }) })}
      ${
        !closed &&
        periods.map(
          ({ opens, closes }, index) => html`
            <div class="fields" key=${index}>
              ${h(Field, { label: labels().opens, type: 'time', value: opens, onInput: (text) => setPeriod(index, { opens: text }), required: true })}
              ${h(Field, { label: labels().closes, type: 'time', value: closes === '24:00' ? '00:00' : closes, onInput: (text) => setPeriod(index, { closes: text }), required: true, hint: opens && closes && lateHint(minutesOf(opens), closingOf(minutesOf(opens), closes)) })}
              ${periods.length > 1 && html`<button type="button" onClick=${() => set({ periods: periods.filter((_, place) => place !== index) })}>${t().remove}</button>`}
            </div>
          `,
        )
      }
      ${!closed && html`<div class="buttons"><button type="button" onClick=${() => set({ periods: [...periods, { opens: '13:00', closes: '17:00' }] })}>${t().anotherPeriod}</button></div>`}
      ${h(Touched, { owner, exception: wanted, old })}
      ${h(RefusedBox, { refusal })}
      <div class="buttons">
        ${old && html`<button type="button" class="danger" onClick=${once(() => write([]))}>${t().remove}</button>`}
        <span class="gap"></span>
        <button class="main">${t().save}</button>
      </div>
    </form>
  `;
  return h(Dialog, { title: old ? dayText(old.fromDate) : t().newException, onClose, children: body });
};

export const Exceptions: Component<ExceptionsProperties> = (properties) => {
  const { exceptions, owner } = properties;
  const { opened, show, close } = useOpened<{ at: number | undefined }>('exception');
  const rows = exceptions.items.map((exception, at) => ({ ...exception, at }));
  return html`
    <div class="panel form">
      <div class="tools">
        <h2>${t().exceptions}</h2>
        <span class="gap"></span>
        <button type="button" onClick=${() => show({ at: undefined })}>${t().newException} …</button>
      </div>
      ${
        rows.length === 0
          ? html`<p class="hint">${t().noExceptions}</p>`
          : table({
              caption: t().exceptions,
              name: `exceptions-${owner.name}`,
              rows,
              id: ({ at }) => String(at),
              columns: [
                {
                  key: 'from',
                  title: t().from,
                  value: ({ fromDate }) => fromDate,
                  show: ({ at, fromDate }) =>
                    html`<button type="button" class="link" onClick=${() => show({ at })}>${dayText(fromDate, 'medium')}</button>`,
                },
                {
                  key: 'to',
                  title: t().to,
                  value: ({ toDate }) => toDate,
                  show: ({ toDate }) => dayText(toDate, 'medium'),
                },
                { key: 'hours', title: t().hours, value: hoursText },
                { key: 'reason', title: labels().reason, value: ({ reason }) => reason },
              ],
            })
      }
    </div>
    ${opened && h(ExceptionForm, { ...properties, at: opened.at, onClose: close })}
  `;
};
