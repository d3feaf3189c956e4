/** Language and theme: the browser's, until somebody switches; the choice is stored in this browser. */
import { computed, effect, signal } from '@preact/signals';
import { inPlace } from '../bidi.ts';

export const languages = ['de', 'en'] as const;
export type Language = (typeof languages)[number];
export const themes = ['auto', 'light', 'dark'] as const;
export type Theme = (typeof themes)[number];
export const stays = ['while', 'always'] as const;
/** How long messages stay: for a while, or until they are closed. */
export type Stay = (typeof stays)[number];

const chosen = <Choice extends string>(name: string, choices: readonly Choice[], otherwise: Choice): Choice =>
  choices.find((choice) => choice === localStorage.getItem(`roomgate ${name}`)) ?? otherwise;

const spoken = navigator.languages.map((tag) => tag.slice(0, 2));
export const language = signal<Language>(
  chosen(
    'language',
    languages,
    languages.find((known) => spoken.find((tag) => tag === 'de' || tag === 'en') === known) ?? 'en',
  ),
);
export const theme = signal<Theme>(chosen('theme', themes, 'auto'));
export const stay = signal<Stay>(chosen('stay', stays, 'while'));

/** The locale of dates and numbers: the browser's variety of the language, such as de-AT. */
export const locale = computed(
  () =>
    navigator.languages.find((tag) => tag.slice(0, 2) === language.value) ?? (language.value === 'de' ? 'de' : 'en-GB'),
);

effect(() => {
  document.documentElement.lang = language.value;
  localStorage.setItem('roomgate language', language.value);
});
effect(() => {
  document.documentElement.dataset['theme'] = theme.value;
  localStorage.setItem('roomgate theme', theme.value);
});

effect(() => localStorage.setItem('roomgate stay', stay.value));

/** The same texts, with the names in them isolated (bidi.ts). */
function withNamesInPlace<Some>(some: Some): Some {
  const place = (value: unknown): unknown =>
    typeof value === 'string' ? inPlace(value) : Array.isArray(value) ? value.map(place) : value;
  if (typeof some === 'function') return ((...values: unknown[]) => some(...values.map(place))) as Some;
  if (typeof some !== 'object' || some === null || Array.isArray(some)) return some;
  return Object.fromEntries(Object.entries(some).map(([name, text]) => [name, withNamesInPlace(text)])) as Some;
}

/**
 * Texts in both languages; one that is missing does not compile. Call the result where a text is shown, so that it follows
 * the language.
 */
export function texts<Texts>(de: Texts, en: NoInfer<Texts>): () => Texts {
  const both = { de: withNamesInPlace(de), en: withNamesInPlace(en) };
  return () => both[language.value];
}
