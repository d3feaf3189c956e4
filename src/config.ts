/** Settings: `appsettings.json`, overridden by environment variables, as one frozen typed object (contract 1 and 6). */
import fs from 'node:fs';
import path from 'node:path';
import { closestMatch } from 'leven';
import { z } from 'zod';
import { mailboxForm, reservedNames } from './names.ts';

const flag = z.union([z.boolean(), z.stringbool({ truthy: ['true'], falsy: ['false'] })], {
  error: 'must be true or false',
});
const url = z.url({ protocol: /^https?$/, error: 'must be an absolute http or https URL' });
const networkNames = z.enum(['loopback', 'linklocal', 'uniquelocal']);
const network = z.union([networkNames, z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

/** Not coerced: that would read null, [] and '' as 0, and true as 1. */
function wholeNumber(least: number, most: number) {
  const error = `must be a whole number from ${least} to ${most}`;
  const digits = z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number);
  return z
    .union([z.int(), digits], { error })
    .refine((number) => number >= least && number <= most, { error });
}

const wrongProxy =
  'must be a number of hops from 0 to 10, or addresses and networks with commas between them';
const networks = z
  .string()
  .refine((text) => text.split(',').every((part) => network.safeParse(part.trim()).success), wrongProxy);
const mebibyte = 1024 * 1024;

const limitSettings = z.strictObject({
  /** Bytes of a lesson-job body, after inflating. */
  JobBodyBytes: wholeNumber(1, 1024 * mebibyte).default(32 * mebibyte),
  /** Bytes of every other body. */
  BodyBytes: wholeNumber(1, 64 * mebibyte).default(mebibyte),
  /** Bytes of what a mail server sends at once; some of them must fit in memory beside each other. */
  WebhookBodyBytes: wholeNumber(1, 16 * mebibyte).default(mebibyte),
  /** Seconds for which a body may bring no byte, and that it may take beyond what its bytes are given. */
  BodySeconds: wholeNumber(1, 3_600).default(15),
  /** Bytes that give a body one more second. */
  BodyBytesPerSecond: wholeNumber(1, 1024 * mebibyte).default(32 * 1024),
  JobsPerBatch: wholeNumber(1, 1_000_000).default(10_000),
  LessonsPerBatch: wholeNumber(1, 10_000_000).default(100_000),
  /** Batches of a tenant that wait or run. */
  OpenBatches: wholeNumber(1, 10_000).default(20),
  /** Days for which an ended batch and its errors are kept. */
  BatchDays: wholeNumber(1, 10_000).default(90),
  /** Wrong PINs per client and address within 15 minutes. */
  WrongPins: wholeNumber(1, 1_000).default(10),
  /** GraphQL streams that one token may hold open on one process. */
  StreamsPerToken: wholeNumber(1, 10_000).default(50),
  /** Seconds for which the reader of a stream may take nothing of it. */
  StalledReaderSeconds: wholeNumber(1, 3_600).default(60),
  /** Requests per token, over all processes; an operation over WebSocket is one. */
  RequestsPerMinute: wholeNumber(1, 1_000_000).default(600),
  /** Notifications per address that come without a valid secret, over all processes. */
  NotificationsPerMinute: wholeNumber(1, 10_000_000).default(6_000),
  UnknownNotificationsPerMinute: wholeNumber(1, 10_000_000).default(6_000),
  /** Requests for tokens per address, of IPv6 per /64, over all processes. */
  TokenRequestsPerMinute: wholeNumber(1, 1_000_000).default(30),
});

const isLoopback = ({ hostname }: URL) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

/** Secrets and keys travel there: without TLS only inside this machine. */
function isSafeAuthority(text: string): boolean {
  const url = URL.parse(text);
  if (!url || url.username || url.password || url.search || url.hash) return false;
  return url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url));
}

const notSafe = 'must be an https URL (http on this machine only), without query or password';

const identityProvider = z
  .strictObject({
    /** Our own identity provider; none, with the PIN in each call; or an outside one. */
    Mode: z.enum(['Embedded', 'None', 'External']).default('Embedded'),
    /** External: the issuer, from which discovery leads to the rest. */
    Authority: z.string().refine(isSafeAuthority, notSafe).optional(),
    /** External: what tokens must be made for. */
    Audience: z.string().min(1).default('service_api'),
    /** External: who we are when opaque tokens are asked about; without it only JWTs are taken. */
    ClientId: z.string().min(1).optional(),
    ClientSecret: z.string().min(1).optional(),
    /** External: the claim that names the mandator. */
    TenantClaim: z.string().min(1).default('tenant'),
    /** External: the claim that holds the e-mail address by which the person is found. */
    EmailClaim: z.string().min(1).default('email'),
  })
  .refine(({ Mode, Authority }) => Mode !== 'External' || Authority !== undefined, {
    path: ['Authority'],
    error: 'must be the URL of the identity provider when Mode is External',
  })
  .refine(({ ClientId, ClientSecret }) => ClientSecret === undefined || ClientId !== undefined, {
    path: ['ClientId'],
    error: 'must be set beside ClientSecret',
  });

const clientSettings = z.strictObject({
  Enabled: flag.default(true),
  ClientId: z.string().min(1),
  ClientName: z.string().default(''),
  ClientSecrets: z.array(z.strictObject({ Value: z.string().min(1) })).default([]),
  AllowedGrantTypes: z.array(z.string()),
  AllowedScopes: z.array(z.string()),
  RequireConsent: flag.default(false),
  RequirePkce: flag.default(true),
  RequireClientSecret: flag.default(true),
});

const mailCalendar = z.strictObject({
  /** The room's address on the mail server. */
  Mailbox: z.string().max(254).regex(mailboxForm, 'must be an e-mail address or the name of an account'),
  ResourceName: z.string().min(1),
  /** Where several locations have a resource of this name. */
  LocationName: z.string().min(1).optional(),
});

type SignInSetting = 'User' | 'Password' | 'ClientId' | 'ClientSecret' | 'TokenUrl';

/** How a tenant's mail server is reached (contract 7). */
const mailServer = z
  .strictObject(
    {
      Kind: z.enum(['Ews', 'Graph', 'CalDav']),
      /** Ews: `https://…/EWS/Exchange.asmx`. Graph: `https://graph.microsoft.com/v1.0`. CalDav: its root, or a calendar's with {user} or {mailbox}. */
      Url: z.string({ error: notSafe }).refine(isSafeAuthority, notSafe),
      /** Ews and CalDav: the account that reads the rooms' calendars. */
      User: z.string().min(1).optional(),
      Password: z.string().min(1).optional(),
      /** Graph, and Ews with tokens: the OAuth 2.0 token endpoint, and as whom one is asked for. */
      TokenUrl: z.string().refine(isSafeAuthority, notSafe).optional(),
      ClientId: z.string().min(1).optional(),
      ClientSecret: z.string().min(1).optional(),
      Scope: z.string().min(1).optional(),
      /** Which calendars; absent: those of all active resources that have a Mailbox. */
      Calendars: z
        .array(mailCalendar, { error: 'must be a list, which an environment variable holds as JSON' })
        .max(10_000)
        .optional(),
      /** Days before and after today of which items are booked. */
      PastDays: wholeNumber(0, 31).default(1),
      FutureDays: wholeNumber(1, 1_098).default(365),
    },
    {
      error:
        'must be an object with the settings of one mandator: {"MailServer": {"<mandator>": {"Kind": …}}}; a variable names one of them: MailServer__<mandator>__Password',
    },
  )
  .superRefine((server, context) => {
    const missing = (name: SignInSetting, message: string) =>
      context.addIssue({ code: 'custom', path: [name], message });
    const tokens = ['ClientId', 'ClientSecret', 'TokenUrl'] as const;
    if (server.Kind === 'Graph' || server.ClientId !== undefined) {
      for (const name of tokens)
        if (server[name] === undefined)
          missing(
            name,
            `must be set together with ${tokens.filter((other) => other !== name).join(' and ')}`,
          );
      return;
    }
    for (const [name, other] of [
      ['User', 'Password'],
      ['Password', 'User'],
    ] as const)
      if (server[name] === undefined)
        missing(name, `must be set together with ${other}, or ClientId, ClientSecret and TokenUrl instead`);
  });

const mandator = z
  .string()
  .refine((code) => !reservedNames.has(code.toLowerCase()), {
    error: 'no mandator can have this name, it is reserved',
    abort: true,
  })
  .regex(/^[a-z0-9_-]{1,64}$/i, 'a mandator is named by 1 to 64 of a-z, 0-9, - and _');

/** By mandator, which may be written in any case and is kept in lower case. */
const mailServers = z
  .record(mandator, mailServer)
  .superRefine((servers, context) => {
    const seen = new Map<string, string>();
    for (const name of Object.keys(servers)) {
      const other = seen.get(name.toLowerCase());
      if (other !== undefined)
        context.addIssue({
          ...{ code: 'custom', path: [name], params: { isAboutName: true } },
          message: `it is the same mandator as ${other}; keep one of them`,
        });
      seen.set(name.toLowerCase(), name);
    }
  })
  .transform((servers) =>
    Object.fromEntries(Object.entries(servers).map(([name, server]) => [name.toLowerCase(), server])),
  );

/** Mail servers add their own query to it. */
const endpoint = z.string().refine((text) => {
  const url = URL.parse(text);
  return url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.hash;
}, 'must be an absolute http or https URL, without a password and without #');

const settings = z.strictObject({
  Host: z.string().min(1).default('127.0.0.1'),
  Port: wholeNumber(0, 65_535).default(8080),
  /** Root of the REST and GraphQL routes as clients see it; `http://Host:Port` when empty. Likewise the next two. */
  BaseUrl: url.optional(),
  IdpUrl: url.optional(),
  RoomsHost: url.optional(),
  /** Empty: a local PostgreSQL out of npm packages, its data under `.data/`. */
  DatabaseUrl: z
    .string()
    .regex(/^(postgres(ql)?:\/\/.+)?$/, 'must be empty or a URL that begins with postgres://')
    .default(''),
  Role: z.enum(['All', 'Web', 'Worker']).default('All'),
  /** At least 32 characters. Keys the PIN hashes and encrypts the signing keys; never change it lightly. */
  Pepper: z.string().min(32, 'must have at least 32 characters').optional(),
  IdentityProvider: identityProvider.prefault({}),
  /** Takes the header APIKEY beside bearer tokens, where there is an identity provider. */
  LegacyApiKeyEnabled: flag.default(false),
  /** The file with the `Clients` of the identity provider; relative to the settings file. */
  IdentitySettingsFile: z.string().min(1).default('identitysettings.json'),
  /** Swagger UI at `/swagger`. */
  SwaggerEnabled: flag.default(false),
  GraphiQLEnabled: flag.default(false),
  Limits: limitSettings.prefault({}),
  MailServer: mailServers.prefault({}),
  /** Where mail servers send their notifications, instead of IdpUrl. */
  MailServerPushNotificationEndpointUrl: endpoint.optional(),
  /** They send them to the path of the former product, below RoomsHost. */
  MailServerPushNotificationUseLegacyEndpoint: flag.default(false),
  /** Fixes the PIN of the demo tenant, for scripts; random when empty. */
  DemoPin: z
    .string()
    .refine(
      (pin) => pin.replace(/[\s-]/g, '').length >= 8,
      'must have at least 8 characters besides spaces and dashes',
    )
    .optional(),
  LogLevel: z.enum(['trace', 'debug', 'info', 'warn', 'error', 'silent']).default('info'),
  /** Which proxies may say who is calling: a number of hops, or their addresses and networks. */
  TrustProxy: z.union([wholeNumber(0, 10), networks], { error: wrongProxy }).default(0),
});

const identitySettings = z.strictObject({ Clients: z.array(clientSettings) });

export type Client = z.output<typeof clientSettings>;
export type MailServerSettings = z.output<typeof mailServer>;
export type Config = Readonly<
  z.output<typeof settings> & {
    BaseUrl: string;
    IdpUrl: string;
    RoomsHost: string;
    Clients: readonly Client[];
  }
>;

/** A fault in the settings: one line per fault, naming the setting, its value and what is allowed. */
export class ConfigError extends Error {}

/** For a Pepper that is well-formed, and not the one of the database. */
export const wrongPepper =
  'Pepper: is not the one that the secrets of this database were made with, so that no PIN, token or display would count; set that one again, or see "Restoring a backup" in the README if it is lost';

const secretSettings = /^(DatabaseUrl|Pepper|DemoPin)\b|\b(ClientSecrets?|Password)\b|^MailServer(\.[^.]*)?$/;

/** `setting` is the one that names another file. */
function readJson(file: string, setting: string): unknown {
  let text: string;
  try {
    text = fs.readFileSync(file, 'utf8');
  } catch {
    throw new ConfigError(`${file}: cannot be read; set ${setting} to another file, or make this one`);
  }
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    // The parser may quote the file, and the place may hold a secret.
    const reason = (error as Error).message.replace(/, (\.\.\.)?".*"(\.\.\.)? is not valid JSON$/s, '');
    throw new ConfigError(`${file}: is not JSON: ${reason}`);
  }
}

type Tree = { [name: string]: unknown };

const isTree = (value: unknown): value is Tree =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The spelling of the schema for a name in any case. */
function knownName(names: readonly string[], name: string): string | undefined {
  return names.find((known) => known.toLowerCase() === name.toLowerCase());
}

const namesIn: Record<string, readonly string[]> = {
  Limits: Object.keys(limitSettings.shape),
  IdentityProvider: Object.keys(identityProvider.shape),
};

type Input = {
  tree: Tree;
  /** Which environment variable set a setting, by its dotted name. */
  variables: ReadonlyMap<string, string>;
};

/** Of `MailServer__<mandator>__<setting>`; a mandator may have underscores of its own, a setting has none. */
const mailServerVariable = /^MailServer__(.+)__([a-z]+)$/i;

/** A list in a variable is JSON. A text that is none is told of as one. */
function readList(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

/** @returns whether it was a variable of a mail server */
function setMailServer(tree: Tree, variables: Map<string, string>, variable: string, text: string): boolean {
  const [, written = '', inner = ''] = mailServerVariable.exec(variable) ?? [];
  if (!inner) return false;
  const servers = isTree(tree['MailServer']) ? tree['MailServer'] : {};
  const name = knownName(Object.keys(servers), written) ?? written;
  if (text === '' && !(name in servers)) return true;
  const setting = knownName(Object.keys(mailServer.shape), inner) ?? inner;
  const value = text === '' ? undefined : setting === 'Calendars' ? readList(text) : text;
  const server = isTree(servers[name]) ? servers[name] : {};
  tree['MailServer'] = { ...servers, [name]: { ...server, [setting]: value } };
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
    const value = text === '' ? undefined : text;
    const inner = rest.join('__');
    const innerName = knownName(namesIn[name] ?? [], inner) ?? inner;
    variables.set(inner ? `${name}.${innerName}` : name, variable);
    tree[name] = inner ? { ...(isTree(tree[name]) ? tree[name] : {}), [innerName]: value } : value;
  }
  return { tree, variables };
}

function valueAt(tree: unknown, keys: readonly PropertyKey[]): unknown {
  return keys.reduce<unknown>(
    (value, key) => (value as Record<PropertyKey, unknown> | undefined)?.[key],
    tree,
  );
}

const everyName = [
  settings,
  limitSettings,
  identityProvider,
  clientSettings,
  mailServer,
  mailCalendar,
].flatMap(({ shape }) => Object.keys(shape));

function suggestion(unknown: string): string {
  const near = closestMatch(
    unknown.toLowerCase(),
    everyName.map((name) => name.toLowerCase()),
    { maxDistance: 2 },
  );
  const name = everyName.find((known) => known.toLowerCase() === near);
  return name ? `; did you mean ${name}?` : '';
}

function show(name: string, value: unknown): string {
  if (secretSettings.test(name)) return '(secret)';
  if (Array.isArray(value)) return 'a list';
  // A URL may carry a password.
  return isTree(value) ? 'an object' : JSON.stringify(value).replace(/\/\/\S*@/, '//(secret)@');
}

/** What is wrong, by the dotted name of the setting. */
function describe(issue: z.core.$ZodIssue, input: unknown): [name: string, fault: string][] {
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => [
      [...issue.path, key].join('.'),
      `there is no such setting${suggestion(key)}`,
    ]);
  const name = issue.path.join('.');
  if (issue.code === 'invalid_key') return [[name, issue.issues[0]?.message ?? issue.message]];
  if (issue.code === 'custom' && issue.params?.['isAboutName']) return [[name, issue.message]];
  const value = valueAt(input, issue.path);
  const allowed =
    issue.code === 'invalid_value' ? `must be one of ${issue.values.join(', ')}` : issue.message;
  if (value !== undefined) return [[name, `is ${show(name, value)}; ${allowed}`]];
  // The parser's own words say once more that it is missing.
  return [[name, issue.message.endsWith('received undefined') ? 'is missing' : `is missing; ${allowed}`]];
}

/** Where a setting was written: in a variable, within the list that a variable holds, or in the file. */
function placeOf(name: string, file: string, variables: Input['variables'] = new Map()): string {
  const own = variables.get(name);
  if (own !== undefined) return own;
  for (const [setting, variable] of variables)
    if (name.startsWith(`${setting}.`)) return `${variable}: ${name.slice(setting.length + 1)}`;
  return `${file}: ${name}`;
}

function parse<T extends z.ZodType>(
  schema: T,
  input: unknown,
  file: string,
  variables?: Input['variables'],
): z.output<T> {
  const result = schema.safeParse(input);
  if (result.success) return result.data;
  const lines = result.error.issues
    .flatMap((issue) => describe(issue, input))
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
  if (!isTree(written)) throw new ConfigError(`${file}: must be a JSON object`);
  const { tree, variables } = withEnvironment(written, environment);
  const read = parse(settings, tree, path.basename(file), variables);
  const identityFile = path.resolve(path.dirname(file), read.IdentitySettingsFile);
  const { Clients } = parse(
    identitySettings,
    readJson(identityFile, 'IdentitySettingsFile'),
    path.basename(identityFile),
  );
  const root = (value: string | undefined) => value?.replace(/\/+$/, '') ?? ownRoot(read);
  return Object.freeze({
    ...read,
    BaseUrl: root(read.BaseUrl),
    IdpUrl: root(read.IdpUrl),
    RoomsHost: root(read.RoomsHost),
    Clients,
  });
}

/** Where the server itself listens, as a URL. */
export function ownRoot({ Host, Port }: { Host: string; Port: number }): string {
  return `http://${Host.includes(':') ? `[${Host}]` : Host}:${Port}`;
}

/** The same settings once the server listens: with Port 0 the system has chosen one, and the default roots follow it. */
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
