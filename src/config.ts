/** Reads the settings: `appsettings.json`, overridden by environment variables, as one frozen object (contract 1 and 6). */
import fs from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { isJsonObject, readJsonText } from './json-text.ts';
import { findMisspelt, groups, knownName, suggestion } from './setting-names.ts';
import { type clientSettings, identitySettings, mailServer, settings, showSetting } from './settings.ts';
import { wordingOf } from './wording.ts';

export type Client = z.output<typeof clientSettings>;
export type MailServerSettings = z.output<typeof mailServer>;
export type Config = Readonly<
  z.output<typeof settings> & {
    BaseUrl: string;
    IdpUrl: string;
    RoomsHost: string;
    Clients: readonly Client[];
    /** One line for each variable that looks like a misspelt setting, and for each member of the files that looks like none. */
    warnings: readonly string[];
  }
>;

/** Faults in the settings: one line per fault, with the setting, its value and what is allowed. */
export class ConfigError extends Error {}

/** The refusal of a well-formed Pepper that is not the one of the database. */
export const wrongPepper =
  'Pepper: does not match the secrets of this database, so that no PIN, token or display would be valid; set the right one, or see docs/recovery.md#when-the-pepper-is-lost if it is lost';

/** @param setting the setting that names the file, for the message */
function readJson(file: string, setting: string): unknown {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'EISDIR') throw new ConfigError(`${file}: is a folder; name a file in ${setting}`);
    const remedy = code === 'ENOENT' ? 'create this one' : 'let this account read it';
    throw new ConfigError(`${file}: cannot be read (${code}); name another file in ${setting}, or ${remedy}`);
  }
  try {
    return readJsonText(text);
  } catch (error) {
    throw new ConfigError(`${file}: is not JSON: ${(error as Error).message}`);
  }
}

type Tree = { [name: string]: unknown };

const namesIn: Record<string, readonly string[]> = Object.fromEntries(
  Object.entries(groups).map(([group, { shape }]) => [group, Object.keys(shape)]),
);

type Input = {
  tree: Tree;
  /** The environment variable that set a setting, by the setting's dotted name. */
  variables: ReadonlyMap<string, string>;
};

/** `MailServer__<mandator>__<setting>`. A mandator may contain underscores, a setting does not. */
const mailServerVariable = /^MailServer__(.+)__([a-z]+)$/i;

/** Settings that are lists, separated by commas in a variable. */
const lists = new Set(['Cors.Origins', 'Holidays.TrustedOrigins', 'Webhooks.TrustedOrigins', 'TrustedOrigins']);

/** Reads the value of a variable. Calendars are JSON; if they cannot be parsed, the text is kept, and the schema refuses it. */
function readText(setting: string, text: string): unknown {
  if (lists.has(setting) && text !== '') return text.split(',').map((part) => part.trim());
  try {
    return setting === 'Calendars' ? JSON.parse(text) : text || undefined;
  } catch {
    return text || undefined;
  }
}

/** @returns whether the variable is one of a mail server */
function setMailServer(tree: Tree, variables: Map<string, string>, variable: string, text: string): boolean {
  const [, written = '', inner = ''] = mailServerVariable.exec(variable) ?? [];
  if (!inner) return false;
  const servers = isJsonObject(tree['MailServer']) ? tree['MailServer'] : {};
  const name = knownName(Object.keys(servers), written) ?? written;
  if (text === '' && !(name in servers)) return true;
  const setting = knownName(Object.keys(mailServer.shape), inner) ?? inner;
  const server = isJsonObject(servers[name]) ? servers[name] : {};
  tree['MailServer'] = { ...servers, [name]: { ...server, [setting]: readText(setting, text) } };
  variables.set(`MailServer.${name}.${setting}`, variable);
  return true;
}

/**
 * Lays the environment over the file: `Limits__LessonsPerBatch=5000` is Limits.LessonsPerBatch, in any case. An empty
 * variable leaves the default.
 */
function withEnvironment(file: Tree, environment: NodeJS.ProcessEnv): Input {
  const tree: Tree = { ...file };
  const variables = new Map<string, string>();
  for (const [variable, text] of Object.entries(environment)) {
    const [first = '', ...rest] = variable.split('__');
    if (text !== undefined && setMailServer(tree, variables, variable, text)) continue;
    const name = knownName(Object.keys(settings.shape), first);
    if (!name || text === undefined) continue;
    const inner = rest.join('__');
    const innerName = knownName(namesIn[name] ?? [], inner) ?? inner;
    const value = readText(`${name}.${innerName}`, text);
    variables.set(inner ? `${name}.${innerName}` : name, variable);
    tree[name] = inner ? { ...(isJsonObject(tree[name]) ? tree[name] : {}), [innerName]: value } : value;
  }
  return { tree, variables };
}

function valueAt(tree: unknown, keys: readonly PropertyKey[]): unknown {
  return keys.reduce<unknown>((value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key], tree);
}

/** The faults of an issue, each with the dotted name of its setting. */
function describe(
  issue: z.core.$ZodIssue,
  input: unknown,
  variables: Input['variables'] = new Map(),
): [name: string, fault: string][] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => {
      const name = [...issue.path, key].join('.');
      return [name, `there is no such setting${suggestion(issue.path, key, variables.has(name))}`];
    });
  const name = issue.path.join('.');
  if (issue.code === 'invalid_key') return [[name, issue.issues[0]?.message ?? issue.message]];
  if (issue.code === 'custom' && issue.params?.['isAboutName']) return [[name, issue.message]];
  const value = valueAt(input, issue.path);
  if (value !== undefined) return [[name, `is ${showSetting(name, value)}; ${issue.message}`]];
  // A message of the setting's schema is shown; a bare type is not.
  const isMereType = issue.code === 'invalid_type' && issue.message === wordingOf(issue);
  return [[name, isMereType ? 'is missing' : `is missing; ${issue.message}`]];
}

/** Where a setting was set: in a variable, in a list in a variable, or in the file. */
function placeOf(name: string, file: string, variables: Input['variables'] = new Map()): string {
  const own = variables.get(name);
  if (own !== undefined) return own;
  for (const [setting, variable] of variables)
    if (name.startsWith(`${setting}.`)) return `${variable}: ${name.slice(setting.length + 1)}`;
  return `${file}: ${name}`;
}

/** Unknown members of a file that resemble no setting: other products may keep theirs in the same files. */
function findForeign(error: z.ZodError, isInFile: (name: string) => boolean): PropertyKey[][] {
  return error.issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys
          .filter((key) => isInFile([...issue.path, key].join('.')) && suggestion(issue.path, key, false) === '')
          .map((key) => [...issue.path, key])
      : [],
  );
}

function without(input: unknown, paths: readonly PropertyKey[][]): unknown {
  const copy = structuredClone(input);
  for (const path of paths) delete (valueAt(copy, path.slice(0, -1)) as Tree)[path.at(-1) as string];
  return copy;
}

/** @param warnings gets a line for each member that is ignored */
function parse<T extends z.core.$ZodType>(
  schema: T,
  input: unknown,
  file: string,
  warnings: string[],
  variables?: Input['variables'],
): z.output<T> {
  const result = z.safeParse(schema, input);
  if (result.success) return result.data;
  const foreign = findForeign(result.error, (name) => placeOf(name, file, variables) === `${file}: ${name}`);
  if (foreign.length > 0) {
    warnings.push(...foreign.map((path) => `${file}: ${path.join('.')}: there is no such setting; it is ignored`));
    return parse(schema, without(input, foreign), file, warnings, variables);
  }
  const lines = result.error.issues
    .flatMap((issue) => describe(issue, input, variables))
    .map(([name, fault]) => `${placeOf(name, file, variables)}: ${fault}`);
  throw new ConfigError(lines.join('\n'));
}

/**
 * Reads the settings file, the environment and the identity settings.
 * @throws ConfigError with one line per fault
 */
export function readConfig(environment: NodeJS.ProcessEnv, projectDirectory: string): Config {
  const file = environment['APPSETTINGS_FILE'] ?? path.join(projectDirectory, 'appsettings.json');
  const written = readJson(file, 'APPSETTINGS_FILE');
  if (!isJsonObject(written)) throw new ConfigError(`${file}: must be a JSON object`);
  const { tree, variables } = withEnvironment(written, environment);
  const warnings = findMisspelt(environment);
  const read = parse(settings, tree, path.basename(file), warnings, variables);
  const identityFile = path.resolve(path.dirname(file), read.IdentitySettingsFile);
  const { Clients } = parse(
    identitySettings,
    readJson(identityFile, 'IdentitySettingsFile'),
    path.basename(identityFile),
    warnings,
  );
  const root = (value: string | undefined) => value?.replace(/\/+$/, '') ?? ownRoot(read);
  return Object.freeze({
    ...read,
    BaseUrl: root(read.BaseUrl),
    IdpUrl: root(read.IdpUrl),
    RoomsHost: root(read.RoomsHost),
    Clients,
    warnings,
  });
}

/** The URL on which the server itself listens. */
export function ownRoot({ Host, Port }: { Host: string; Port: number }): string {
  return `http://${Host.includes(':') ? `[${Host}]` : Host}:${Port}`;
}

/** The settings with the port that the server listens on, as the system chooses one for Port 0. Default root URLs use it. */
export function listeningOn(config: Config, port: number): Config {
  const root = (value: string) => (value === ownRoot(config) ? ownRoot({ ...config, Port: port }) : value);
  return Object.freeze({
    ...config,
    Port: port,
    BaseUrl: root(config.BaseUrl),
    IdpUrl: root(config.IdpUrl),
    RoomsHost: root(config.RoomsHost),
  });
}
