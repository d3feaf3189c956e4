/** The sign-in: a page of its own before anything is shown, and a dialog over the screen when a session has ended. */
import { useState } from 'preact/hooks';
import { addressOf, isSessionLost, mandator } from '../client.ts';
import { keepPlace, options, person, providerFault, signIn } from '../session.ts';
import { t } from '../texts/shell.ts';
import { Dialog } from './dialog.ts';
import { Field, type RefusedFault, submit } from './field.ts';
import { h, html } from './html.ts';
import { sayRefusal } from './refused.ts';

/** @param isOver whether it is a dialog over a screen, which stays: the provider then opens in another tab */
function SignInForm({ isOver = false }: { isOver?: boolean }) {
  const [pin, setPin] = useState('');
  const [fault, setFault] = useState<RefusedFault>();
  const [isBusy, setBusy] = useState(false);
  const { Pin, Provider } = options.value;
  const provider = providerFault.value;
  const send = async () => {
    if (isBusy) return;
    setBusy(true);
    const wrong = await signIn(pin.trim());
    setBusy(false);
    setFault(wrong && { text: wrong.code === 'NotAuthenticated' ? t().pinWrong : sayRefusal(wrong), of: wrong });
    if (!wrong) setPin('');
  };
  return html`
    ${provider && html`<p class="refused" role="alert">${t().providerFaults[provider.code] ?? t().providerFaults['ProviderRefused']}${provider.traceId ? ` (${provider.traceId})` : ''}</p>`}
    ${
      Pin &&
      html`
      <form onSubmit=${submit(send)}>
        ${h(Field, {
          label: t().pin,
          type: 'password',
          value: pin,
          onInput: setPin,
          hint: t().pinHint,
          fault,
          required: true,
          autofocus: true,
          autocomplete: 'current-password',
        })}
        <button class="main" disabled=${isBusy}>${t().signIn}</button>
      </form>
    `
    }
    ${Pin && Provider && html`<p class="or">${t().or}</p>`}
    ${Provider && html`<a class="button" href=${new URL(Provider.Start, addressOf(''))} target=${isOver ? '_blank' : undefined} onClick=${keepPlace}>${t().signInWith(Provider.Name)}</a>`}
    ${Provider && isOver && html`<p class="hint">${t().inOtherTab}</p>`}
    ${!Pin && !Provider && html`<p>${t().noSignIn}</p>`}
  `;
}

export const SignInPage = () => html`
  <main id="main" class="sign-in">
    <h1>roomgate <small>${mandator}</small></h1>
    ${h(SignInForm, {})}
  </main>
`;

export function SignInAgain() {
  if (!isSessionLost.value || !person.value) return null;
  const body = html`<p>${t().sessionLost}</p>${h(SignInForm, { isOver: true })}`;
  return h(Dialog, { title: t().signIn, covering: true, children: body });
}
