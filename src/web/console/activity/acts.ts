/** Who changed what: filters in the address, and the values before and after. */

import { useState } from 'preact/hooks';
import { addDays } from '../../../time/days.ts';
import { go, place } from '../address.ts';
import { ask } from '../client.ts';
import { instantOf, isDay, moment, ownZone } from '../clock.ts';
import { readFirst } from '../first-pages.ts';
import { type ActFilter, ActingPersonsDocument, ActsDocument, type AuditSubject } from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Field } from '../parts/field.ts';
import { type Child, type Component, h, html } from '../parts/html.ts';
import { table } from '../parts/table.ts';
import { personName } from '../person-name.ts';
import { t } from '../texts/activity.ts';
import { t as audit } from '../texts/audit.ts';
import { withoutShared } from './lists.ts';
import { type Act, actionText, memberText, type Names, readNames, valueText } from './wording.ts';

/** `hidden`: in place of values that the audit does not keep. */
type Change = Pick<Act['changes'][number], 'member' | 'from' | 'to'> & { hidden: string };

const members = ['who', 'noun', 'action', 'from', 'to'] as const;

function filterOf({ who, noun, action, from, to }: Readonly<Record<string, string>>): ActFilter {
  return {
    ...(who && { personId: who }),
    ...(noun && { subject: noun as AuditSubject }),
    ...(action && { action }),
    ...(isDay(from) && { from: new Date(instantOf(ownZone, from, 0)).toISOString() }),
    ...(isDay(to) && { to: new Date(instantOf(ownZone, addDays(to, 1), 0)).toISOString() }),
  };
}

const hasValue = (value: string | null) => value !== null && value !== '';
/** Whether the audit has the values: for persons it keeps none. */
const isKept = ({ from, to }: Pick<Change, 'from' | 'to'>) => from !== null || to !== null;

/** Acts before which no member had a value. */
const firstActs = /^(create|pair) /;

/** A change as people read it. */
const inWords =
  ({ subject, action }: Act, names: Names) =>
  ({ member, ...values }: Act['changes'][number]): Change => {
    const { from, to } = withoutShared(values);
    return {
      member: memberText(subject, member),
      from: from && valueText(subject, member, from, names),
      to: to && valueText(subject, member, to, names),
      hidden: firstActs.test(action) ? t().given : t().hidden,
    };
  };

/** What it is about; a PIN has the name of its person. */
const nameOf = ({ subject, subjectName, subjectId }: Act) =>
  subjectName && personName(subjectName, subject === 'Person' ? (subjectId ?? '') : '');

const plain = (change: Change): string =>
  `${change.member}: ${isKept(change) ? `${change.from || '–'} → ${change.to || '–'}` : change.hidden}`;

function showChange({ member, from, to, hidden }: Change): Child {
  const before = hasValue(from) ? html`<del>${from}</del>` : html`<span class="hint">${t().nothingBefore}</span>`;
  const after = hasValue(to) ? html`<ins>${to}</ins>` : html`<span class="hint">${t().nothingBefore}</span>`;
  return html`<div><dt>${member}</dt><dd>${isKept({ from, to }) ? html`${hasValue(from) && html`${before} → `}${after}` : hidden}</dd></div>`;
}

/** The newest acts, with the names of what they are about. */
async function readActs(filter: ActFilter, pageCount: number, stop: AbortSignal) {
  const acts = await readFirst(pageCount, async (after) => (await ask(ActsDocument, { filter, after }, stop)).audit);
  return { ...acts, names: await readNames(acts.nodes, stop) };
}

export const Acts: Component<object> = () => {
  const wanted = filterOf(place.value);
  const [pageCount, setPageCount] = useState(1);
  const key = JSON.stringify(wanted);
  const asked = useAsked((stop) => readActs(wanted, pageCount, stop), [key, pageCount]);
  const persons = useAsked(async (stop) => (await ask(ActingPersonsDocument, {}, stop)).persons?.nodes ?? [], []);
  const put = (name: (typeof members)[number]) => (value: string) => {
    setPageCount(1);
    go({ [name]: value, page: undefined }, 'replace');
  };
  const now = place.value;
  const all = (text: string) => ({ value: '', text });
  const wordsOf = new Map((asked.data?.nodes ?? []).map((each) => [each.action, actionText(each)]));
  const actions = [...new Set([...wordsOf.keys(), now['action'] ?? ''])];
  const isFiltered = members.some((name) => now[name]);
  return html`
    <section class="panel">
      <h2>${t().audit}</h2>
      <div class="fields">
        ${h(Field, { label: t().who, value: now['who'] ?? '', onInput: put('who'), choices: [all(t().anybody), ...(persons.data ?? []).map(({ id, name }) => ({ value: id, text: name }))] })}
        ${h(Field, { label: t().noun, value: now['noun'] ?? '', onInput: put('noun'), choices: [all(t().anyNoun), ...Object.entries(audit().nouns).map(([value, text]) => ({ value, text }))] })}
        ${h(Field, { label: t().action, value: now['action'] ?? '', onInput: put('action'), choices: [all(t().anyAction), ...actions.filter(Boolean).map((action) => ({ value: action, text: wordsOf.get(action) ?? action }))] })}
        ${h(Field, { label: t().from, type: 'date', value: now['from'] ?? '', onInput: put('from') })}
        ${h(Field, { label: t().to, type: 'date', value: now['to'] ?? '', onInput: put('to') })}
        ${isFiltered && html`<button type="button" onClick=${() => go(Object.fromEntries(members.map((name) => [name, undefined])), 'replace')}>${t().clear}</button>`}
      </div>
      ${showAsked(
        asked,
        ({ nodes, names, hasMore }) =>
          table({
            caption: t().audit,
            name: 'audit',
            rows: nodes,
            id: ({ id }) => id,
            more: hasMore ? () => setPageCount(pageCount + 1) : undefined,
            columns: [
              {
                key: 'at',
                title: t().at,
                value: ({ at }) => at,
                show: ({ at }) => moment(at),
              },
              {
                key: 'person',
                title: t().who,
                value: ({ person }) => (person ? personName(person.displayName, person.personId) : t().operator),
              },
              {
                key: 'what',
                title: t().what,
                value: (act) => [actionText(act), nameOf(act)].filter(Boolean).join(': '),
                show: (act) => html`${actionText(act)}<br /><b>${nameOf(act)}</b>`,
              },
              {
                key: 'changes',
                title: t().changes,
                value: (each) => each.changes.map(inWords(each, names)).map(plain).join('; '),
                show: (each) =>
                  each.changes.length > 0 &&
                  html`<dl class="changes">${each.changes.map(inWords(each, names)).map(showChange)}</dl>`,
              },
            ],
          }),
        { when: ({ nodes }) => nodes.length === 0, text: t().noActs },
      )}
    </section>
  `;
};
