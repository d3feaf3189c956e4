/** The keys and what they do, for the help that `?` opens. A screen adds its own while it is shown. */
import { signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import { go, leave, place } from '../address.ts';
import { t } from '../texts/shell.ts';
import { Dialog } from './dialog.ts';
import { h, html } from './html.ts';

export type KeyText = readonly [keys: string, does: string];

const ofScreen = signal<() => readonly KeyText[]>(() => []);
const help = 'keys';
export const openHelp = (): void => go({ dialog: help });

/** @param list called when the help opens, so that the texts are in the present language */
export function useKeys(list: () => readonly KeyText[]): void {
  useEffect(() => {
    ofScreen.value = list;
    return () => {
      ofScreen.value = () => [];
    };
  }, []);
}

const isTyping = (target: EventTarget | null) =>
  target instanceof HTMLElement && target.matches('input, textarea, select, [contenteditable]');

export function listenForHelp(): void {
  addEventListener('keydown', (event) => {
    if (event.key !== '?' || isTyping(event.target) || document.querySelector('dialog[open]')) return;
    event.preventDefault();
    openHelp();
  });
}

export function Help() {
  if (place.value['dialog'] !== help) return null;
  const all: KeyText[] = [...ofScreen.value(), ['Tab', t().keyTab], ['Esc', t().keyEsc], ['?', t().keyHelp]];
  const list = html`<dl class="keys">
    ${all.map(([keys, does]) => html`<div><dt>${keys.split(' ').map((key) => html`<kbd>${key}</kbd> `)}</dt><dd>${does}</dd></div>`)}
  </dl>`;
  return h(Dialog, { title: t().keysHere, onClose: () => leave('dialog'), children: list });
}
