/** The attempts to deliver to a webhook, with their answers. */
import { useState } from 'preact/hooks';
import { go, place } from '../address.ts';
import { ask } from '../client.ts';
import { moment } from '../clock.ts';
import { readFirst } from '../first-pages.ts';
import { HookDeliveriesDocument, type HookDeliveryFragment } from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { Check } from '../parts/field.ts';
import { type Component, h, html } from '../parts/html.ts';
import { table } from '../parts/table.ts';
import { t } from '../texts/webhooks.ts';
import { kindOf } from './data.ts';

type Delivery = HookDeliveryFragment;

const readDeliveries = (id: string, failed: boolean, pageCount: number, stop: AbortSignal) =>
  readFirst(pageCount, async (after) => {
    const filter = failed ? { failed } : null;
    const { node } = await ask(HookDeliveriesDocument, { id, filter, after }, stop);
    return node?.__typename === 'Webhook' ? node.deliveries : null;
  });

export function useDeliveries(id: string) {
  const [pageCount, setPageCount] = useState(1);
  const failed = place.value['failed'] !== undefined;
  const asked = useAsked((stop) => readDeliveries(id, failed, pageCount, stop), [id, failed, pageCount]);
  return { ...asked, more: () => setPageCount((count) => count + 1) };
}

const answerText = ({ status, fault }: Delivery): string => [status ?? t().noAnswer, fault].filter(Boolean).join(': ');

type DeliveriesProperties = { asked: ReturnType<typeof useDeliveries>; onReplay: (cursor: string) => void };

export const Deliveries: Component<DeliveriesProperties> = ({ asked, onReplay }) => {
  const show = (delivery: Delivery) => {
    const { fault, answer } = delivery;
    if (fault === null) return answerText(delivery);
    return html`<strong class="bad">${answerText(delivery)}</strong>${answer && html`<br /><small class="answer">${answer}</small>`}`;
  };
  const again = ({ cursor, kind, at }: Delivery) =>
    cursor &&
    html`<button type="button" aria-label=${t().againHint(kindOf(kind), moment(at))} onClick=${() => onReplay(cursor)}>${t().again}</button>`;
  return html`
    <section class="form" aria-busy=${asked.isLoading}>
      <div class="tools">
        <h3>${t().deliveries}</h3><span class="gap"></span>
        ${h(Check, { label: t().failedOnly, checked: place.value['failed'] !== undefined, onChange: (is) => go({ failed: is ? 'yes' : undefined, page: undefined }, 'replace') })}
        <button type="button" onClick=${asked.reload}>${t().refresh}</button>
      </div>
      <p class="hint">${t().deliveriesHint}</p>
      ${showAsked(
        asked,
        ({ nodes, hasMore }) =>
          table({
            caption: t().deliveries,
            name: 'webhook-deliveries',
            rows: nodes,
            id: ({ id }) => id,
            more: hasMore ? asked.more : undefined,
            columns: [
              { key: 'at', title: t().at, value: ({ at }) => at, show: ({ at }) => moment(at) },
              { key: 'event', title: t().event, value: ({ kind }) => kindOf(kind) },
              { key: 'of', title: t().record, value: ({ subject }) => subject },
              { key: 'attempt', title: t().attempt, value: ({ attempt }) => attempt, align: 'end' },
              { key: 'answer', title: t().answer, value: answerText, show },
              { key: 'ms', title: t().duration, value: ({ milliseconds }) => milliseconds, align: 'end' },
              { key: 'again', title: t().replay, value: ({ cursor }) => cursor, show: again },
            ],
          }),
        { when: ({ nodes }) => nodes.length === 0, text: t().noDeliveries },
      )}
    </section>
  `;
};
