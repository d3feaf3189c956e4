/** All settings with their types, defaults and descriptions. `npm run generate` writes docs/settings.md from them. */
import { z } from 'zod';
import { mailboxForm } from './names.ts';
import {
  endpoint,
  flag,
  holidaySettings,
  identityProvider,
  isSafeAuthority,
  mandator,
  mebibyte,
  networks,
  notSafe,
  origins,
  sessionSettings,
  text,
  url,
  webhookSettings,
  wholeNumber,
  wrongProxy,
} from './setting-values.ts';

export { holidaySettings, identityProvider, sessionSettings, webhookSettings } from './setting-values.ts';

const limit = (preset: number, most: number, meaning: string) => wholeNumber(1, most).default(preset).describe(meaning);

export const limitSettings = z.strictObject({
  JobBodyBytes: limit(32 * mebibyte, 1024 * mebibyte, 'Bytes of the largest body of lesson jobs, inflated.'),
  BodyBytes: limit(
    mebibyte,
    64 * mebibyte,
    'The largest other body in bytes. One of JSON, and the variables of a GraphQL call, may hold 50,000 values, each object of JSON 2,000 members.',
  ),
  WebhookBodyBytes: limit(mebibyte, 16 * mebibyte, 'The largest notification of a mail server in bytes.'),
  BodySeconds: limit(
    15,
    3_600,
    'For how many seconds a body may bring no byte, and how long it may take beyond what its bytes are given; then 408.',
  ),
  BodyBytesPerSecond: limit(
    32 * 1024,
    1024 * mebibyte,
    'How many bytes give a body one more second: 1 MiB has 47 seconds in all, 32 MiB has 17 minutes.',
  ),
  JobsPerBatch: limit(10_000, 1_000_000, 'Jobs of a batch; past them it fails with `LimitExceeded`.'),
  LessonsPerBatch: limit(100_000, 10_000_000, 'Lessons of a batch; past them it fails with `LimitExceeded`.'),
  OpenBatches: limit(20, 10_000, 'Batches of a tenant that wait or run; past them 429.'),
  BatchDays: limit(90, 10_000, 'Days for which an ended batch and its errors are kept.'),
  AuditDays: limit(730, 10_000, 'Days for which the audit keeps what an Admin has done.'),
  ProblemDays: limit(180, 10_000, 'Days for which a problem of a room is kept after it was settled.'),
  WrongPins: limit(10, 1_000, 'Wrong PINs per client and address within 15 minutes; past them 429.'),
  StreamsPerToken: limit(50, 10_000, 'GraphQL streams that one token may hold open on one process.'),
  StalledReaderSeconds: limit(
    60,
    3_600,
    'For how many seconds the reader of a stream may take nothing of it; then it is cut.',
  ),
  RequestsPerMinute: limit(
    600,
    1_000_000,
    'Requests per token, over all processes; in GraphQL each field of a mutation is one.',
  ),
  NotificationsPerMinute: limit(
    6_000,
    10_000_000,
    'Notifications of one subscription of a mail server, or KiB of them where these are more.',
  ),
  UnknownNotificationsPerMinute: limit(
    6_000,
    10_000_000,
    'The same of notifications without a valid secret, per address.',
  ),
  TokenRequestsPerMinute: limit(
    30,
    1_000_000,
    'Requests for tokens per address (of IPv6 per /64), over all processes.',
  ),
});

export const corsSettings = z.strictObject({
  Origins: origins
    .default([])
    .describe(
      'The sites whose pages may call from browsers: tokens, REST, GraphQL over HTTP and WebSocket. Pages of the service itself need no entry, nor do programs that are no browsers.',
    ),
});

export const clientSettings = z.strictObject({
  Enabled: flag.default(true).describe('Whether it may ask for tokens.'),
  ClientId: text.describe('Its name in requests for tokens.'),
  ClientName: z.string().default('').describe('Its name for people.'),
  ClientSecrets: z
    .array(z.strictObject({ Value: text }))
    .default([])
    .describe(
      'Objects with the member `Value`: the secret itself, or `sha256:` and its hash in base64. Any of them will do.',
    ),
  AllowedGrantTypes: z.array(z.string()).describe('Must contain `apikey`.'),
  AllowedScopes: z.array(z.string()).describe('Must contain `service_api`.'),
  RequireConsent: flag.default(false).describe('Read and not used: there is no page that asks for consent.'),
  RequirePkce: flag.default(true).describe('Read and not used: there is no authorization code to protect.'),
  RequireClientSecret: flag
    .default(true)
    .describe('Where it is false, a secret that is sent is ignored. A string or a boolean.'),
});

export const mailCalendar = z.strictObject({
  Mailbox: z
    .string()
    .max(254)
    .regex(mailboxForm, 'must be an e-mail address or the name of an account')
    .describe("The room's address on the mail server."),
  ResourceName: text.describe('The name of the resource.'),
  LocationName: text.optional().describe('Its location, where several have a resource of this name.'),
});

type SignInSetting = 'User' | 'Password' | 'ClientId' | 'ClientSecret' | 'TokenUrl';

/** How to reach a tenant's mail server (contract 7). */
export const mailServer = z
  .strictObject(
    {
      Kind: z.enum(['Ews', 'Graph', 'CalDav']).describe('Which protocol it speaks.'),
      Url: z
        .string({ error: notSafe })
        .refine(isSafeAuthority, notSafe)
        .describe(
          'Ews: `https://…/EWS/Exchange.asmx`. Graph: `https://graph.microsoft.com/v1.0`. CalDav: its root, or the address of a calendar with `{user}` or `{mailbox}` in it.',
        ),
      User: text.optional().describe("Ews, CalDav: the account that reads the rooms' calendars."),
      Password: text.optional().describe('Ews, CalDav: its password.'),
      TokenUrl: z
        .string()
        .refine(isSafeAuthority, notSafe)
        .optional()
        .describe('Graph, and Ews with tokens: the token endpoint (OAuth 2.0 client credentials).'),
      ClientId: text.optional().describe('Graph, and Ews with tokens: as whom a token is asked for.'),
      ClientSecret: text.optional().describe('Graph, and Ews with tokens: the secret that goes with ClientId.'),
      Scope: text
        .optional()
        .describe('Graph, and Ews with tokens: the scope that is asked for, where the usual one is not right.'),
      Calendars: z
        .array(mailCalendar, { error: 'must be a list, which an environment variable holds as JSON' })
        .max(10_000)
        .optional()
        .describe(
          'Which calendars are read; when left out, those of all active resources with a `Mailbox`. In a variable as JSON.',
        ),
      PastDays: wholeNumber(0, 31).default(1).describe('Days before today that are booked.'),
      FutureDays: wholeNumber(1, 1_098).default(365).describe('Days after today that are booked.'),
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
          missing(name, `must be set together with ${tokens.filter((other) => other !== name).join(' and ')}`);
      return;
    }
    for (const [name, other] of [
      ['User', 'Password'],
      ['Password', 'User'],
    ] as const)
      if (server[name] === undefined)
        missing(name, `must be set together with ${other}, or ClientId, ClientSecret and TokenUrl instead`);
  });

/** The mail servers by mandator, whose code may be written in any case and is kept in lower case. */
const mailServers = z
  .record(mandator, mailServer)
  .superRefine((servers, context) => {
    const seen = new Map<string, string>();
    for (const name of Object.keys(servers)) {
      const other = seen.get(name.toLowerCase());
      if (other !== undefined)
        context.addIssue({
          code: 'custom',
          path: [name],
          params: { isAboutName: true },
          message: `it is the same mandator as ${other}; keep one of them`,
        });
      seen.set(name.toLowerCase(), name);
    }
  })
  .transform((servers) =>
    Object.fromEntries(Object.entries(servers).map(([name, server]) => [name.toLowerCase(), server])),
  );

export const settings = z.strictObject({
  Host: text.default('127.0.0.1').describe('The address to listen on.'),
  Port: wholeNumber(0, 65_535).default(8080).describe('The port to listen on; 0 takes a free one.'),
  BaseUrl: url.optional().describe('The root of REST and GraphQL as clients see it; `http://Host:Port` when left out.'),
  IdpUrl: url.optional().describe('The same of the identity provider and the webhook.'),
  RoomsHost: url.optional().describe("The same of the former product's paths."),
  DatabaseUrl: z
    .string()
    .regex(/^(postgres(ql)?:\/\/.+)?$/, 'must be empty or a URL that begins with postgres://')
    .default('')
    .describe(
      '`postgres://user:password@host:port/database` (PostgreSQL 16 to 18). Empty: a local PostgreSQL from npm packages.',
    ),
  Role: z
    .enum(['All', 'Web', 'Worker'])
    .default('All')
    .describe('`Web` serves only, `Worker` works on the queue only.'),
  Pepper: z
    .string()
    .min(32, 'must have at least 32 characters')
    .optional()
    .describe(
      'Keys the hashes of PINs and tokens and encrypts the signing keys. Required with DatabaseUrl, the same on every process, random, and never changed lightly. The local database keeps one of its own.',
    ),
  IdentityProvider: identityProvider.prefault({}),
  LegacyApiKeyEnabled: flag
    .default(false)
    .describe('Takes the header `APIKEY` beside bearer tokens, in the modes Embedded and External.'),
  IdentitySettingsFile: text
    .default('identitysettings.json')
    .describe('The file with the clients that may ask for tokens, relative to the settings file.'),
  SwaggerEnabled: flag
    .default(false)
    .describe('API documentation for a browser at `/swagger`. True in the shipped file.'),
  GraphiQLEnabled: flag
    .default(false)
    .describe('GraphiQL for a browser at `/{mandator}/graphql`. True in the shipped file.'),
  StrictQueryParameters: flag
    .default(false)
    .describe(
      'Refuses query parameters that a route does not know, with 400. When false they are ignored and logged; a caller asks for the refusal with `Prefer: handling=strict`.',
    ),
  Sessions: sessionSettings.prefault({}),
  Cors: corsSettings.prefault({}),
  Holidays: holidaySettings.prefault({}),
  Limits: limitSettings.prefault({}),
  MailServer: mailServers.prefault({}),
  MailServerPushNotificationEndpointUrl: endpoint
    .optional()
    .describe('Where mail servers send their notifications, instead of the path below IdpUrl.'),
  MailServerPushNotificationUseLegacyEndpoint: flag
    .default(false)
    .describe("They send them to the former product's path below RoomsHost."),
  Webhooks: webhookSettings.prefault({}),
  DemoPin: z
    .string()
    .refine((pin) => pin.replace(/[\s-]/g, '').length >= 8, 'must have at least 8 characters besides spaces and dashes')
    .optional()
    .describe('The PIN of the demo tenant, for scripts; a random one when left out.'),
  LogLevel: z
    .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
    .default('info')
    .describe('The least severe lines that are logged.'),
  TrustProxy: z
    .union([wholeNumber(0, 10), networks], { error: wrongProxy })
    .default(0)
    .describe('Which proxies may say who is calling.'),
});

export const identitySettings = z.strictObject({ Clients: z.array(clientSettings) });

const secretSettings = /^(DatabaseUrl|Pepper|DemoPin)\b|\b(ClientSecrets?|Password)\b|^MailServer(\.[^.]*)?$/;

/** Whether the value of a setting, given by its dotted name, must never be shown. */
export const isSecret = (name: string): boolean => secretSettings.test(name);
