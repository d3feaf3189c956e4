/** The details of a webhook: how it is doing, what can be done with it, and its deliveries. */
import { act } from '../client.ts';
import { momentOr } from '../clock.ts';
import { ChangeHookDocument, TestHookDocument } from '../generated/graphql.ts';
import { fact } from '../parts/fact.ts';
import { type Component, h, html } from '../parts/html.ts';
import { useOpened } from '../parts/opened.ts';
import { toastRefusal } from '../parts/refused.ts';
import { toast } from '../parts/toast.ts';
import { labels } from '../texts/members.ts';
import { t } from '../texts/webhooks.ts';
import { type Hook, isBad, kindOf, stateOf } from './data.ts';
import { Deliveries, useDeliveries } from './deliveries.ts';
import { ReplayDialog, RotateDialog } from './dialogs.ts';
import { HookForm } from './form.ts';

type DetailsProperties = {
  hook: Hook;
  /** Reads the list again. */
  onChanged: () => void;
  onSecret: (hook: Hook, secret: string) => void;
  onDelete: (hook: Hook) => void;
};

export const Details: Component<DetailsProperties> = ({ hook, onChanged, onSecret, onDelete }) => {
  const { id, name, url, kinds, enabled, waiting, succeededAt, nextAttemptAt, formerSecretUntil } = hook;
  const { opened: dialog, show, close } = useOpened<'change' | 'rotate' | { cursor: string }>('webhook');
  const deliveries = useDeliveries(id);
  async function turn({ version }: Hook, on: boolean): Promise<void> {
    const { done, refused } = await act(ChangeHookDocument, { id, version, input: { enabled: on } });
    onChanged();
    if (refused) return toastRefusal(refused);
    toast(on ? t().enabled(name) : t().disabledNow(name), { undo: () => void turn(done, !on) });
  }
  async function test(): Promise<void> {
    const { done, refused } = await act(TestHookDocument, { id });
    if (refused) return toastRefusal(refused);
    const { status, fault, milliseconds } = done;
    if (fault === null) toast(t().testTaken(status ?? 0, milliseconds));
    else toast(t().testFailed(fault), { kind: 'fault' });
    deliveries.reload();
  }
  const button = (text: string, onClick: () => void, kind = '') =>
    html`<button type="button" class=${kind} onClick=${onClick}>${text}</button>`;
  return html`
    <section class="panel form">
      <h2>${name}</h2>
      <dl class="facts">
        ${fact(t().state, isBad(hook) ? html`<strong class="bad">${stateOf(hook)}</strong>` : stateOf(hook))}
        ${fact(labels().url, html`<span class="address">${url}</span>`)}
        ${fact(labels().kinds, kinds.map(kindOf).join(', '))}
        ${fact(t().waiting, t().waits(waiting))}
        ${fact(t().next, momentOr(nextAttemptAt))}
        ${fact(t().taken, momentOr(succeededAt, t().never))}
        ${fact(t().former, momentOr(formerSecretUntil))}
      </dl>
      <div class="buttons">
        ${button(t().test, () => void test(), 'main')}
        ${button(enabled ? t().disable : t().enable, () => void turn(hook, !enabled))}
        ${button(`${t().change} …`, () => show('change'))}
        ${button(`${t().rotate} …`, () => show('rotate'))}
        ${button(`${t().replay} …`, () => show({ cursor: '' }))}
        <span class="gap"></span>
        ${button(t().delete, () => onDelete(hook), 'danger')}
      </div>
    </section>
    ${h(Deliveries, { asked: deliveries, onReplay: (cursor) => show({ cursor }) })}
    ${dialog === 'change' && h(HookForm, { hook, onSaved: onChanged, onSecret, onClose: close })}
    ${dialog === 'rotate' && h(RotateDialog, { hook, onDone: onChanged, onSecret, onClose: close })}
    ${typeof dialog === 'object' && h(ReplayDialog, { hook, cursor: dialog.cursor, onDone: onChanged, onClose: close })}
  `;
};
