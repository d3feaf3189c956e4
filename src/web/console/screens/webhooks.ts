/** Webhooks: which programs get events, how their deliveries go, and what was sent to each. */
import { go, place } from '../address.ts';
import { act } from '../client.ts';
import { moment } from '../clock.ts';
import { DeleteHookDocument } from '../generated/graphql.ts';
import { useDeletion } from '../master/delete.ts';
import { listTools } from '../master/list.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { type Component, h, html } from '../parts/html.ts';
import { useOpened } from '../parts/opened.ts';
import { nameColumn, table } from '../parts/table.ts';
import { labels } from '../texts/members.ts';
import { t } from '../texts/webhooks.ts';
import { type Hook, isBad, kindOf, readHooks, stateOf } from '../webhooks/data.ts';
import { Details } from '../webhooks/details.ts';
import { SecretDialog } from '../webhooks/dialogs.ts';
import { HookForm } from '../webhooks/form.ts';

const List: Component<{ hooks: readonly Hook[] }> = ({ hooks }) => {
  const open = (record: string) => () => go({ record, filter: undefined, sort: undefined, page: undefined });
  return table({
    caption: t().title,
    name: 'webhooks',
    rows: hooks,
    id: ({ id }) => id,
    columns: [
      nameColumn(labels().name, open),
      {
        key: 'url',
        title: labels().url,
        value: ({ url }) => url,
        show: ({ url }) => html`<span class="address">${url}</span>`,
      },
      { key: 'events', title: labels().kinds, value: ({ kinds }) => kinds.map(kindOf).join(', ') },
      {
        key: 'state',
        title: t().state,
        value: stateOf,
        show: (hook) => (isBad(hook) ? html`<strong class="bad">${stateOf(hook)}</strong>` : stateOf(hook)),
      },
      { key: 'waiting', title: t().waiting, value: ({ waiting }) => waiting, align: 'end' },
      {
        key: 'taken',
        title: t().taken,
        value: ({ succeededAt }) => succeededAt,
        show: ({ succeededAt }) => (succeededAt ? moment(succeededAt) : t().never),
      },
    ],
  });
};

export const Screen: Component<object> = () => {
  const asked = useAsked(readHooks, []);
  const made = useOpened<{ name: string; secret: string }>('secret');
  const { hidden, remove, close } = useDeletion((which) => act(DeleteHookDocument, which), asked.reload);
  const { record } = place.value;
  const isNew = record === 'new';
  const show = (hook: Hook, secret: string) => made.show({ name: hook.name, secret });
  const back = () => go({ record: undefined, failed: undefined, filter: undefined, sort: undefined, page: undefined });
  const list = (hooks: readonly Hook[]) => {
    const shown = hooks.filter(({ id }) => id !== hidden);
    return html`
      ${listTools(`${t().make} …`, t().what)}
      ${shown.length === 0 ? html`<p class="state">${t().none}</p>` : h(List, { hooks: shown })}
    `;
  };
  const one = (hook: Hook | undefined) => html`
    <div class="tools"><button type="button" class="link" onClick=${back}>← ${t().all}</button></div>
    ${
      hook
        ? h(Details, { key: hook.id, hook, onChanged: asked.reload, onSecret: show, onDelete: remove })
        : html`<p class="state">${t().gone}</p>`
    }
  `;
  return html`
    <div class="page">
      <h1>${t().title}</h1>
      ${showAsked(asked, (hooks) => (record && !isNew ? one(hooks.find(({ id }) => id === record)) : list(hooks)))}
      ${isNew && h(HookForm, { hook: null, onSaved: asked.reload, onSecret: show, onClose: close })}
      ${made.opened && h(SecretDialog, { ...made.opened, onClose: made.close })}
    </div>
  `;
};
