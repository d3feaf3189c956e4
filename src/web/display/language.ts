/** The languages of the pages; only the chosen one is loaded. */
import type { Text } from './german.ts';

export type Language = 'de' | 'en';

export async function loadText(language: Language): Promise<Text> {
  return language === 'de' ? (await import('./german.ts')).german : (await import('./english.ts')).english;
}

/** @param wanted the language in the address @param ofBrowser as in navigator.languages */
export function chooseLanguage(wanted: string | null, ofBrowser: readonly string[]): Language {
  for (const tag of wanted === null ? ofBrowser : [wanted, ...ofBrowser]) {
    const language = tag.slice(0, 2).toLowerCase();
    if (language === 'de' || language === 'en') return language;
  }
  return 'en';
}
