/** All batches as a live list, filtered by the address. */

import { useEffect, useState } from 'preact/hooks';
import { lessonLimits } from '../../../names.ts';
import { addressWith, go, place } from '../address.ts';
import { ask } from '../client.ts';
import { momentOr } from '../clock.ts';
import { readFirst } from '../first-pages.ts';
import { BatchesDocument, type BatchFilter, FollowBatchesDocument } from '../generated/graphql.ts';
import { follow } from '../live.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Check, Field } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { opening } from '../parts/link.ts';
import { table } from '../parts/table.ts';
import { personName } from '../person-name.ts';
import { person } from '../session.ts';
import { t } from '../texts/timetables.ts';
import { type Batch, hasEnded, kindText, states, stateText } from './batch.ts';

type Wish = { state: string; mine: boolean; job: string };

const isOpen = (batch: Batch) => !hasEnded(batch);
const chosen: Record<string, (batch: Batch) => boolean> = {
  open: isOpen,
  done: ({ importStatus }) => importStatus === 'LessonsCreated',
  failed: ({ importStatus }) => importStatus === 'LessonsImportFailed',
};
const statesOf = (state: string) => {
  if (state === 'open') return states.slice(0, 2);
  return state === 'done' ? states.slice(2, 3) : state === 'failed' ? states.slice(3) : states;
};

function readWish(): Wish {
  const { state = '', mine, job = '' } = place.value;
  return { state: state in chosen ? state : '', mine: mine === 'yes', job };
}

/** The batches of a filter, kept up to date. */
function useBatches({ state, mine, job }: Wish) {
  const [more, setMore] = useState(1);
  const [live, setLive] = useState<ReadonlyMap<string, Batch>>(new Map());
  const me = person.value?.id;
  const asked = useAsked(
    (stop) => {
      const filter: BatchFilter = { importStatus: [...statesOf(state)], mine, ...(job && { jobKey: job }) };
      return readFirst(more, async (after) => (await ask(BatchesDocument, { filter, after }, stop)).batches);
    },
    [state, mine, job, more],
  );
  useEffect(
    () =>
      follow(
        FollowBatchesDocument,
        { states: [...states] },
        {
          next: ({ batches }) => batches && setLive((known) => new Map(known).set(batches.id, batches)),
        },
      ),
    [],
  );
  const { nodes = [], hasMore = false } = asked.data ?? {};
  const listed = new Set(nodes.map(({ id }) => id));
  const newest = nodes[0]?.createdAt ?? '';
  // A frame does not name the jobs of a new batch: with a filter by job the next reading brings it.
  const fresh = job
    ? []
    : [...live.values()].filter(
        (batch) => !listed.has(batch.id) && batch.createdAt >= newest && (!mine || batch.createdBy.personId === me),
      );
  const rows = [...fresh, ...nodes]
    .map((batch) => live.get(batch.id) ?? batch)
    .filter((batch) => chosen[state]?.(batch) ?? true)
    .toSorted((one, other) => other.createdAt.localeCompare(one.createdAt));
  return { asked, rows, more: hasMore ? () => setMore((pages) => pages + 1) : undefined };
}

const Filters: Component<{ wish: Wish }> = ({ wish }) => {
  const [typed, setTyped] = useState(wish.job);
  useEffect(() => setTyped(wish.job), [wish.job]);
  useEffect(() => {
    if (typed === wish.job) return undefined;
    const timer = setTimeout(() => go({ job: typed, page: undefined }, 'replace'), 250);
    return () => clearTimeout(timer);
  }, [typed]);
  return html`
    <div class="tools" role="group" aria-label=${t().which}>
      ${h(Field, {
        label: t().state,
        value: wish.state,
        choices: [
          { value: '', text: t().allStates },
          ...Object.keys(chosen).map((value) => ({ value, text: t().stateFilters[value] ?? value })),
        ],
        onInput: (state) => go({ state, page: undefined }),
      })}
      ${h(Field, { label: t().jobKey, type: 'search', value: typed, onInput: setTyped, maxLength: lessonLimits.key })}
      ${h(Check, { label: t().mine, checked: wish.mine, onChange: (mine) => go({ mine: mine ? 'yes' : undefined, page: undefined }) })}
    </div>
  `;
};

const open = (id: string) => opening(() => go({ batch: id, filter: undefined, sort: undefined, page: undefined }));

export const BatchList: Component<object> = () => {
  const wish = readWish();
  const { asked, rows, more } = useBatches(wish);
  const isFiltered = Boolean(wish.state || wish.mine || wish.job);
  const list = () =>
    rows.length === 0
      ? html`<p class="state">${isFiltered ? t().noneFits : t().noBatches}</p>`
      : table<Batch>({
          caption: t().batches,
          name: 'timetables',
          rows,
          id: ({ id }) => id,
          more,
          columns: [
            {
              key: 'created',
              title: t().sentAt,
              value: ({ createdAt }) => createdAt,
              show: ({ id, createdAt }) =>
                html`<a href=${addressWith({ batch: id })} onClick=${open(id)}>${momentOr(createdAt)}</a>`,
            },
            { key: 'kind', title: t().what, value: kindText },
            { key: 'source', title: t().source, value: ({ source }) => source ?? '' },
            {
              key: 'by',
              title: t().sender,
              value: ({ createdBy }) => personName(createdBy.displayName, createdBy.personId),
            },
            { key: 'status', title: t().state, value: stateText },
            { key: 'lessons', title: t().lessons, align: 'end', value: ({ lessonCount }) => lessonCount },
            { key: 'errors', title: t().errors, align: 'end', value: ({ errorCount }) => errorCount },
            { key: 'warnings', title: t().warnings, align: 'end', value: ({ warningCount }) => warningCount },
          ],
        });
  return html`${h(Filters, { wish })}${showAsked(asked, list)}`;
};
