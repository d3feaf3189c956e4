/** The weekly hours of a location or a room: drawn, or typed in a form; saved as one list in the version that was read. */
import { useMemo, useState } from 'preact/hooks';
import { minutesOf } from '../../../time/days.ts';
import { clockText } from '../clock.ts';
import type { RulesFragment } from '../generated/graphql.ts';
import { Dialog } from '../parts/dialog.ts';
import { Check, Field, submit } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { useKeys } from '../parts/keys.ts';
import { useOpened } from '../parts/opened.ts';
import { RefusedBox, toastRefusal } from '../parts/refused.ts';
import { StaleBox } from '../parts/stale.ts';
import { toast } from '../parts/toast.ts';
import { t } from '../texts/hours.ts';
import { labels } from '../texts/members.ts';
import { lateHint, sayOverlaps } from './hours-text.ts';
import type { Owner, OwnRules } from './owner.ts';
import { useBase } from './record.ts';
import { TouchedByWeek } from './touched.ts';
import {
  closingOf,
  type Period,
  periodsOf,
  periodText,
  rulesOf,
  type Season,
  seasonKey,
  seasonOf,
  weekdays,
} from './week.ts';
import { WeekGrid } from './week-grid.ts';

type FormProperties = {
  /** Undefined for new hours. */
  period: Period | undefined;
  season: Season;
  onDone: (periods: readonly Period[]) => void;
  onClose: () => void;
};

const PeriodForm: Component<FormProperties> = ({ period, season, onDone, onClose }) => {
  const [opens, setOpens] = useState(clockText(period?.from ?? 480));
  const [closes, setCloses] = useState(clockText(period?.to ?? 1080));
  const [days, setDays] = useState<readonly number[]>(period ? [period.day] : [1, 2, 3, 4, 5]);
  const [valid, setValid] = useState(season);
  const from = minutesOf(opens);
  const to = closingOf(from, closes);
  const done = () => {
    onDone(days.map((day) => ({ day, from, to, validFrom: valid.validFrom || null, validTo: valid.validTo || null })));
    onClose();
  };
  const body = html`
    <form onSubmit=${submit(done)}>
      <div class="fields">
        ${h(Field, { label: labels().opens, type: 'time', value: opens, onInput: setOpens, required: true, autofocus: true })}
        ${h(Field, { label: labels().closes, type: 'time', value: closes, onInput: setCloses, required: true, hint: lateHint(from, to) })}
      </div>
      <fieldset>
        <legend>${t().on}</legend>
        <div class="fields">
          ${weekdays.map((day) => h(Check, { key: day, label: t().days[day] ?? '', checked: days.includes(day), onChange: (checked) => setDays(checked ? [...days, day].sort() : days.filter((each) => each !== day)) }))}
        </div>
      </fieldset>
      <div class="fields">
        ${h(Field, { label: labels().validFrom, type: 'date', value: valid.validFrom ?? '', onInput: (validFrom) => setValid({ ...valid, validFrom }) })}
        ${h(Field, { label: labels().validTo, type: 'date', value: valid.validTo ?? '', onInput: (validTo) => setValid({ ...valid, validTo }) })}
      </div>
      <p class="hint">${t().validHint}</p>
      <div class="buttons">
        ${
          period &&
          html`<button type="button" class="danger" onClick=${() => {
            onDone([]);
            onClose();
          }}>${t().remove}</button>`
        }
        <span class="gap"></span>
        <button class="main" disabled=${days.length === 0}>${t().take}</button>
      </div>
    </form>
  `;
  return h(Dialog, {
    title: period ? `${t().days[period.day]} ${periodText(period)}` : t().newPeriod,
    onClose,
    children: body,
  });
};

type WeeklyProperties = { owner: Owner; rules: OwnRules; onSaved: () => void };

export const Weekly: Component<WeeklyProperties> = ({ owner, rules, onSaved }) => {
  const { base, refusal, stale, settle } = useBase(
    rules,
    owner.subject,
    async () => (await owner.read()).rules,
    'replace opening rules',
  );
  const [typed, setTyped] = useState<readonly Period[]>();
  const [season, setSeason] = useState<Season>({ validFrom: null, validTo: null });
  const { opened, show, close } = useOpened<{ period: Period | undefined }>('hours');
  const [isBusy, setBusy] = useState(false);
  useKeys(() => t().keys);
  const read = useMemo(() => periodsOf(base.items), [base]);
  const periods = typed ?? read;
  const seasons = [...new Map([season, ...periods].map((each) => [seasonKey(each), seasonOf(each)])).values()];
  const shown = periods.filter((period) => seasonKey(period) === seasonKey(season));

  /** A refusal is about what was sent. */
  function edit(next: readonly Period[] | undefined): void {
    setTyped(next);
    void settle(undefined, undefined);
  }
  const replace = (before: Period | undefined, after: readonly Period[]) =>
    edit(
      [...periods.filter((period) => period !== before), ...after].toSorted(
        (one, other) => one.day - other.day || one.from - other.from,
      ),
    );
  async function undo(version: number, items: RulesFragment['items']): Promise<void> {
    const { refused } = await owner.setRules(version, items);
    if (refused) toastRefusal(refused);
    else onSaved();
  }
  async function save(): Promise<void> {
    if (isBusy) return;
    setBusy(true);
    const items = rulesOf(periods);
    const { done, refused } = await owner.setRules(base.version, items);
    setBusy(false);
    await settle(sayOverlaps(refused, items), owner.id);
    if (!done) return;
    toast(t().saved(owner.name), { undo: () => void undo(done.version, base.items) });
    onSaved();
  }
  const seasonText = ({ validFrom, validTo }: Season) =>
    validFrom || validTo ? t().season(validFrom, validTo) : t().always;
  return html`
    <div class="panel form">
      <div class="tools">
        <h2>${t().weekly}</h2>
        ${seasons.length > 1 && h(Field, { label: t().valid, hideLabel: true, value: seasonKey(season), onInput: (key) => setSeason(seasons.find((each) => seasonKey(each) === key) ?? season), choices: seasons.map((each) => ({ value: seasonKey(each), text: seasonText(each) })) })}
        <span class="gap"></span>
        <button type="button" onClick=${() => show({ period: undefined })}>${t().newPeriod} …</button>
      </div>
      ${periods.length === 0 && html`<p>${owner.subject === 'Resource' ? t().ofLocation : t().alwaysOpen}</p>`}
      ${stale && h(StaleBox, { stale })}
      ${h(WeekGrid, { periods: shown, hasHours: periods.length > 0, season, onChange: (before, after) => replace(before, after ? [after] : []), onOpen: (period) => show({ period }) })}
      <p class="hint">${t().gridHint}</p>
      ${typed && h(TouchedByWeek, { owner, stored: read, periods })}
      ${h(RefusedBox, { refusal })}
      ${
        typed &&
        html`<div class="buttons end">
          <button type="button" onClick=${() => edit(undefined)}>${t().discard}</button>
          <button type="button" class="main" disabled=${isBusy} onClick=${() => void save()}>${t().save}</button>
        </div>`
      }
    </div>
    ${
      opened &&
      h(PeriodForm, {
        period: opened.period,
        season,
        onDone: (after) => {
          replace(opened.period, after);
          if (after[0]) setSeason(seasonOf(after[0]));
        },
        onClose: close,
      })
    }
  `;
};
