/** Activity: what needs attention first, then who changed what. */
import { Acts } from '../activity/acts.ts';
import { type Matter, mattersOf, readAttention, type Webhook } from '../activity/attention.ts';
import { act } from '../client.ts';
import {
  ChangeHookDocument,
  FailedBatchesDocument,
  MailNewsDocument,
  ProblemNewsDocument,
  SettleProblemDocument,
  SignNewsDocument,
} from '../generated/graphql.ts';
import { showAsked, useAsked } from '../parts/asked.ts';
import { type Component, h, html } from '../parts/html.ts';
import { ScreenLink } from '../parts/link.ts';
import { useRefresh } from '../parts/refresh.ts';
import { RefusedBox, toastRefusal } from '../parts/refused.ts';
import { useRevocation } from '../parts/revoke.ts';
import { t } from '../texts/activity.ts';

const Attention: Component<object> = () => {
  const asked = useAsked(readAttention, []);
  const { reload } = asked;
  useRefresh(reload, FailedBatchesDocument, SignNewsDocument, MailNewsDocument, ProblemNewsDocument);
  const { revoke: settle, isGoing } = useRevocation(
    ({ id, version }: { id: string; version: number }) => act(SettleProblemDocument, { id, version }),
    t().willSettle,
    reload,
  );
  const enable = async ({ id, version }: Webhook) => {
    const { refused } = await act(ChangeHookDocument, { id, version, input: { enabled: true } });
    if (refused) toastRefusal(refused);
    reload();
  };
  const button = (name: string, text: string, onClick: () => void) =>
    html`<button type="button" aria-label=${`${name}: ${text}`} onClick=${onClick}>${name}</button>`;
  const remedyOf = ({ text, screen, members, problem, webhook }: Omit<Matter, 'key' | 'level'>) => {
    if (problem) return button(t().settle, text, () => settle(problem));
    if (webhook) return button(t().enable, text, () => void enable(webhook));
    return h(ScreenLink, { screen, ...(members && { members }), children: t().open[screen] ?? screen });
  };
  const body = showAsked(asked, (minded) => {
    const matters = mattersOf(minded).filter(({ problem }) => !problem || !isGoing(problem));
    if (matters.length === 0) return html`<p class="state">${t().nothing}</p>`;
    return html`<ul class="matters">
      ${matters.map(
        (matter) => html`<li key=${matter.key} class=${matter.level}>
          <b class="level">${t().levels[matter.level]}</b><span>${matter.text}</span>
          ${remedyOf(matter)}
        </li>`,
      )}
    </ul>`;
  });
  return html`
    <section class="panel" aria-busy=${asked.isLoading}>
      <div class="tools">
        <h2>${t().attention}</h2><span class="gap"></span>
        <button type="button" onClick=${reload}>${t().refresh}</button>
      </div>
      ${asked.data && h(RefusedBox, { refusal: asked.refusal })}
      ${body}
    </section>
  `;
};

export const Screen: Component<object> = () => html`
  <div class="page">
    <h1>${t().title}</h1>
    ${h(Attention, {})}
    ${h(Acts, {})}
  </div>
`;
