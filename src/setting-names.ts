/** The names of settings: people write them in any case, and misspell them. */
import leven, { closestMatch } from 'leven';
import {
  clientSettings,
  corsSettings,
  holidaySettings,
  identityProvider,
  limitSettings,
  mailCalendar,
  mailServer,
  sessionSettings,
  settings,
  tracingSettings,
  webhookSettings,
} from './settings.ts';

/** The schema's spelling of a name, which may be given in any case. */
export function knownName(names: readonly string[], name: string): string | undefined {
  return names.find((known) => known.toLowerCase() === name.toLowerCase());
}

/** Settings that contain others. */
export const groups = {
  Cors: corsSettings,
  Holidays: holidaySettings,
  Webhooks: webhookSettings,
  Limits: limitSettings,
  Sessions: sessionSettings,
  IdentityProvider: identityProvider,
  Tracing: tracingSettings,
};

const homes: [home: string, { shape: object }][] = [
  ['', settings],
  ...Object.entries<{ shape: object }>(groups),
  ['(client)', clientSettings],
  ['(mail server)', mailServer],
  ['(calendar)', mailCalendar],
];

/** Every setting with the object that contains it; a name in brackets stands for any of several such objects. */
const everyName = homes.flatMap(([home, { shape }]) => Object.keys(shape).map((name) => ({ home, name })));

/** The object of the settings that a path is in. */
function homeOf([first, ...rest]: readonly PropertyKey[]): string {
  if (first === 'Clients') return '(client)';
  if (first === 'MailServer') return rest.length > 1 ? '(calendar)' : '(mail server)';
  return [first ?? '', ...rest].join('.');
}

const isRepeated = (home: string) => home.startsWith('(');

const inLower = (name: string) => name.toLowerCase();

const inOrder = (name: string) => [...name].sort().join('');

/** Whether a name may be a misspelling of another: at most one letter in three is wrong, or letters are swapped. */
const resembles = (name: string, other: string) =>
  3 * leven(name, other) <= Math.max(name.length, other.length) || inOrder(name) === inOrder(other);

/** Suggests the setting that was probably meant, as it would be written in that place: in a variable, with its whole path. */
export function suggestion(path: readonly PropertyKey[], unknown: string, isVariable: boolean): string {
  const written = unknown.toLowerCase();
  const names = everyName.map(({ name }) => name.toLowerCase()).filter((name) => resembles(written, name));
  const near = closestMatch(written, names, { maxDistance: 2 });
  // Within a group no other group is meant.
  const known = everyName.filter(({ name }) => name.toLowerCase() === near && (path.length === 0 || !(name in groups)));
  const here = homeOf(path);
  const meant = known.find(({ home }) => home === here) ?? known.find(({ home }) => !isRepeated(home));
  if (!meant) return '';
  const { home, name } = meant;
  const whole = isRepeated(home) ? [...path, name] : [home, name].filter(Boolean);
  const respelt = isVariable ? whole.join('__') : home === here ? name : whole.join('.');
  return `; did you mean ${respelt}?`;
}

/** Other programs' variables are in capitals, without two underscores in a row. */
const looksOurs = (variable: string) => variable.includes('__') || /[a-z]/.test(variable);

const isGroup = (name: string) => name in groups || name === 'MailServer';

/** One line for each variable that is a setting but for the spelling of its first part. */
export function findMisspelt(environment: NodeJS.ProcessEnv): string[] {
  return Object.keys(environment)
    .filter(looksOurs)
    .flatMap((variable) => {
      const [first = '', ...inner] = variable.split('__');
      const names = Object.keys(settings.shape).filter((name) => isGroup(name) === inner.length > 0);
      const written = first.toLowerCase();
      const near = closestMatch(
        written,
        names.map(inLower).filter((name) => resembles(written, name)),
      );
      if (near === undefined || near === written) return [];
      const meant = names.find((name) => inLower(name) === near);
      return meant
        ? [`${variable}: there is no such setting; did you mean ${[meant, ...inner].join('__')}? It is ignored`]
        : [];
    });
}
