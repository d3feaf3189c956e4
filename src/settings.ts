/** All settings with their types, defaults and descriptions. `npm run generate` writes docs/settings.md from them. */
import { z } from 'zod';
import { mailServers } from './mail-server-settings.ts';
import {
  daysOrForEver,
  endpoint,
  flag,
  holidaySettings,
  identityProvider,
  mebibyte,
  networks,
  origins,
  sessionSettings,
  text,
  tracingSettings,
  url,
  webhookSettings,
  wholeNumber,
  wrongProxy,
} from './setting-values.ts';

export { mailCalendar, mailServer } from './mail-server-settings.ts';
export {
  holidaySettings,
  identityProvider,
  sessionSettings,
  tracingSettings,
  webhookSettings,
} from './setting-values.ts';

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
  BookingDays: daysOrForEver(
    'Days for which a booking that is over is kept, but lessons; of a series all of them until the last is over.',
  ),
  LessonDays: daysOrForEver(
    'Days for which a lesson job is kept whose lessons are all over, with them and their bookings.',
  ),
  ChangeDays: wholeNumber(7, 10_000)
    .default(30)
    .describe('Days for which the feed of changes is kept; whoever reads it more rarely must begin anew.'),
  NotificationDays: limit(30, 10_000, 'Days for which a notification of a mail server is kept.'),
  AuditDays: limit(730, 10_000, 'Days for which the audit keeps what an Admin has done.'),
  ProblemDays: limit(180, 10_000, 'Days for which a problem of a room is kept after it was settled.'),
  WrongPins: limit(10, 1_000, 'Wrong PINs per client and address within 15 minutes; past them 429.'),
  StreamsPerToken: limit(50, 10_000, 'GraphQL streams that one token may hold open on one process.'),
  StalledReaderSeconds: limit(
    60,
    3_600,
    'For how many seconds a reader may take nothing of a stream or of an answer; then it is cut.',
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

const databaseUrl = z.string().regex(/^postgres(ql)?:\/\/.+$/, 'must be a URL that begins with postgres://');

export const settings = z
  .strictObject({
    Host: text.default('127.0.0.1').describe('The address to listen on.'),
    Port: wholeNumber(0, 65_535).default(8080).describe('The port to listen on; 0 takes a free one.'),
    BaseUrl: url
      .optional()
      .describe('The root of REST and GraphQL as clients see it; `http://Host:Port` when left out.'),
    IdpUrl: url.optional().describe('The same of the identity provider and the callback of mail servers.'),
    RoomsHost: url.optional().describe("The same of the former product's paths."),
    DatabaseUrl: z
      .string()
      .regex(/^(postgres(ql)?:\/\/.+)?$/, 'must be empty or a URL that begins with postgres://')
      .default('')
      .describe(
        '`postgres://user:password@host:port/database` (PostgreSQL 16 to 18), without a pooler between; of several hosts (`a:5432,b:5432`) the one that takes writes. Empty: a local PostgreSQL from npm packages.',
      ),
    PooledDatabaseUrl: databaseUrl
      .optional()
      .describe(
        'The same database through PgBouncer in transaction mode, for requests; all else takes DatabaseUrl. See [deploying.md](deploying.md#pgbouncer).',
      ),
    ReadDatabaseUrl: databaseUrl
      .optional()
      .describe(
        'Hot standbys of the same database, one or several hosts without a pooler between, for GET requests and queries. See [deploying.md](deploying.md#standbys).',
      ),
    ReadWaitMilliseconds: wholeNumber(0, 5_000)
      .default(50)
      .describe('For how long a read waits for a standby that is behind, before it goes to the primary.'),
    Role: z
      .enum(['All', 'Web', 'Worker'])
      .default('All')
      .describe('`Web` serves only, `Worker` works on the queue only.'),
    Cell: wholeNumber(0, 200)
      .default(0)
      .describe(
        'Which of several installations this one is, where tenants move between them: each gives ids of its own. Set it before the first tenant is made.',
      ),
    Processes: z
      .union([z.literal('auto'), wholeNumber(1, 64)], { error: 'must be auto, or a whole number from 1 to 64' })
      .default(1)
      .describe(
        'How many processes share the port. With more than 1 a further one hands them connections and starts again what ends; `auto`: one for each core.',
      ),
    DrainSeconds: wholeNumber(0, 300)
      .default(0)
      .describe(
        'For how long a process goes on serving after SIGTERM while `/readyz` answers 503: longer than a load balancer needs to see that, and to send requests elsewhere. Not of a `Worker`.',
      ),
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
    Tracing: tracingSettings.prefault({}),
    DemoPin: z
      .string()
      .refine(
        (pin) => pin.replace(/[\s-]/g, '').length >= 8,
        'must have at least 8 characters besides spaces and dashes',
      )
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
  })
  .refine(({ DatabaseUrl, PooledDatabaseUrl }) => PooledDatabaseUrl === undefined || DatabaseUrl !== '', {
    path: ['DatabaseUrl'],
    error: 'must be set beside PooledDatabaseUrl',
  })
  .refine(({ DatabaseUrl, ReadDatabaseUrl }) => ReadDatabaseUrl === undefined || DatabaseUrl !== '', {
    path: ['DatabaseUrl'],
    error: 'must be set beside ReadDatabaseUrl',
  });

export const identitySettings = z.strictObject({ Clients: z.array(clientSettings) });

const secretSettings =
  /^((Pooled|Read)?DatabaseUrl|Pepper|DemoPin)\b|\bCalendars(\.\d+\.Url)?$|\bServiceAccountKey\b|\b(ClientSecrets?|Password)\b|^MailServer(\.[^.]*)?$/;

/** Whether the value of a setting, given by its dotted name, must never be shown. */
export const isSecret = (name: string): boolean => secretSettings.test(name);

/** Only the server of an address: the rest may be a secret, as of a published calendar. */
function showServer(text: string): string {
  const [server] = /^[a-z]+:\/\/[^/?#@\\\s]*(?=[/?#\\]|$)/i.exec(text) ?? [];
  if (server === undefined) return '(secret)';
  return JSON.stringify(server === text ? server : `${server}/(secret)`);
}

/** The value of a setting, as messages show it. */
export function showSetting(name: string, value: unknown): string {
  if (isSecret(name)) return '(secret)';
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'a list' : 'an object';
  // A URL may carry a password.
  const safe = (text: string) => text.replace(/\/\/\S*@/, '//(secret)@');
  return typeof value === 'string' && /^MailServer\.[^.]+\.Url$/.test(name)
    ? showServer(safe(value))
    : safe(JSON.stringify(value));
}
