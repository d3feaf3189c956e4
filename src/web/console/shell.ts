/** The frame of all screens: sections, account, connection, messages. */
import { effect } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { isSessionLost, type Refusal } from './client.ts';
import { type Language, language, languages, type Stay, stay, stays, type Theme, theme, themes } from './look.ts';
import { Connection } from './parts/connection.ts';
import { openDialogs } from './parts/dialog.ts';
import { once } from './parts/field.ts';
import { type Child, h, html } from './parts/html.ts';
import { Help, openHelp } from './parts/keys.ts';
import { ScreenLink } from './parts/link.ts';
import { RefusedBox, toastRefusal } from './parts/refused.ts';
import { SignInAgain, SignInPage } from './parts/sign-in.ts';
import { Stage } from './parts/stage.ts';
import { Toasts } from './parts/toast.ts';
import { type Screen, screenOf, screens } from './routes.ts';
import { options, person, readOptions, signOut } from './session.ts';
import { t } from './texts/shell.ts';

function Sections({ current }: { current: Screen | undefined }) {
  const who = person.value;
  return html`
    <nav aria-label=${t().navigation}>
      ${screens
        .filter(({ isFor }) => who && isFor(who))
        .map(({ name, title }) =>
          h(ScreenLink, {
            key: name,
            screen: name,
            isCurrent: name === current?.name,
            children: title[language.value],
          }),
        )}
    </nav>
  `;
}

const pick = (change: (value: string) => void) => (event: Event) =>
  change((event.currentTarget as HTMLSelectElement).value);
const names = { de: 'Deutsch', en: 'English' } satisfies Record<Language, string>;

const leave = (where: 'here' | 'everywhere') =>
  once(async () => {
    const refused = await signOut(where);
    if (refused) toastRefusal(refused);
  });

const Account = () => html`
  <button type="button" class="quiet account" popovertarget="account">${person.value?.name ?? t().account}</button>
  <div id="account" popover>
    <p>${t().signedInAs(person.value?.name ?? '')}<br /><small>${person.value?.email}</small></p>
    <label>${t().language}
      <select value=${language.value} onChange=${pick((value) => (language.value = value as Language))}>
        ${languages.map((each) => html`<option value=${each} lang=${each}>${names[each]}</option>`)}
      </select>
    </label>
    <label>${t().theme}
      <select value=${theme.value} onChange=${pick((value) => (theme.value = value as Theme))}>
        ${themes.map((each) => html`<option value=${each}>${t().themes[each]}</option>`)}
      </select>
    </label>
    <label>${t().stay}
      <select value=${stay.value} onChange=${pick((value) => (stay.value = value as Stay))}>
        ${stays.map((each) => html`<option value=${each}>${t().stays[each]}</option>`)}
      </select>
    </label>
    <button type="button" popovertarget="account" onClick=${openHelp}>${t().keys} <kbd>?</kbd></button>
    <button type="button" onClick=${leave('here')}>${t().signOut}</button>
    <button type="button" onClick=${leave('everywhere')}>${t().signOutEverywhere}</button>
  </div>
`;

const toContent = (event: Event) => {
  event.preventDefault();
  document.querySelector<HTMLElement>('#main')?.focus();
};

const frame = (current: Screen | undefined, content: Child) => html`
  <a class="skip" href="#main" onClick=${toContent}>${t().skip}</a>
  <header id="top">
    <span class="brand">${person.value?.tenantName}</span>
    ${h(Sections, { current })}
    ${h(Account, {})}
  </header>
  ${h(Connection, {})}
  <main id="main" tabindex="-1" aria-label=${current?.title[language.value]}>${content}</main>
`;

/** Sets the title to the name of a new screen, and moves the focus there, unless the page has just been opened. */
function useTitle(current: Screen | undefined): void {
  const title = current?.title[language.value] ?? '';
  useEffect(() => {
    document.title = [title, person.value?.tenantName, 'roomgate'].filter(Boolean).join(' – ');
  }, [title, person.value]);
  const [first] = useState(current?.name);
  useEffect(() => {
    if (current && current.name !== first) document.querySelector<HTMLElement>('#main')?.focus();
  }, [current?.name]);
}

export function Console({ refusal }: { refusal?: Refusal | undefined }) {
  const who = person.value;
  const current = who ? screenOf(who) : undefined;
  useTitle(current);
  const content = current
    ? h(Stage, { screen: current })
    : html`<div class="state"><h1>${t().nothingAtAll}</h1><p>${t().nothingAllowed}</p></div>`;
  const page = refusal
    ? html`<main id="main" class="sign-in"><h1>roomgate</h1>${h(RefusedBox, { refusal })}<button type="button" onClick=${() => location.reload()}>${t().again}</button></main>`
    : who === undefined
      ? html`<main id="main" class="sign-in"><h1>roomgate</h1><p aria-busy="true">${t().loading}</p></main>`
      : who === null
        ? h(SignInPage, {})
        : frame(current, content);
  return html`${page}${h(Help, {})}${h(SignInAgain, {})}${h(Toasts, { isTop: openDialogs.value.length === 0 })}`;
}

// A session that was found at the start may end: only now are the ways to sign in needed.
effect(() => {
  if (isSessionLost.value && !options.value.Provider) void readOptions().catch(() => undefined);
});
