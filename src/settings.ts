/** All settings with their types, defaults and descriptions. `npm run generate` writes docs/settings.md from them. */
import { z } from 'zod';
import { isDatabaseUrl } from './flow/database-urls.ts';
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
  JobBodyBytes: limit(32 * mebibyte, 1024 * mebibyte, 'The largest body of lesson jobs in bytes, after decompression.'),
  BodyBytes: limit(
    mebibyte,
    64 * mebibyte,
    'The largest other body in bytes. JSON, and the variables of a GraphQL call, may have at most 50,000 values, and each JSON object at most 2,000 members.',
  ),
  WebhookBodyBytes: limit(mebibyte, 16 * mebibyte, 'The largest notification of a mail server in bytes.'),
  BodySeconds: limit(
    15,
    3_600,
    'After this many seconds without a byte of a body the request fails with 408; also the time that a body may take, besides that for its bytes.',
  ),
  BodyBytesPerSecond: limit(
    32 * 1024,
    1024 * mebibyte,
    'How many bytes extend the time for a body by one second: 1 MiB may take 47 seconds in all, 32 MiB 17 minutes.',
  ),
  JobsPerBatch: limit(10_000, 1_000_000, 'Jobs of a batch; a batch with more fails with `LimitExceeded`.'),
  LessonsPerBatch: limit(100_000, 10_000_000, 'Lessons of a batch; a batch with more fails with `LimitExceeded`.'),
  OpenBatches: limit(20, 10_000, 'Waiting and running batches of a tenant; further ones are refused with 429.'),
  BatchDays: limit(90, 10_000, 'How many days an ended batch and its errors are kept.'),
  BookingDays: daysOrForEver(
    'How many days a booking other than a lesson is kept after its end; the bookings of a series are kept until the last one is old enough.',
  ),
  LessonDays: daysOrForEver(
    'How many days a lesson job is kept after its last lesson has ended, with its lessons and their bookings.',
  ),
  ChangeDays: wholeNumber(7, 10_000)
    .default(30)
    .describe('How many days the feed of changes is kept; a client that reads it less often must begin anew.'),
  NotificationDays: limit(30, 10_000, 'How many days a notification of a mail server is kept.'),
  AuditDays: limit(730, 10_000, 'How many days the audit is kept.'),
  ProblemDays: limit(180, 10_000, 'How many days a problem of a room is kept after it was settled.'),
  WrongPins: limit(
    10,
    1_000,
    'Wrong PINs per client and address within 15 minutes; further ones are refused with 429.',
  ),
  StreamsPerToken: limit(
    50,
    10_000,
    'GraphQL streams that one token or session may have open on one process. A person may have four times as many, with all of them.',
  ),
  StreamsPerTenant: wholeNumber(1, 1_000_000)
    .optional()
    .describe('The same for all of a tenant together; 400 times as many as for a token by default.'),
  StalledReaderSeconds: limit(
    60,
    3_600,
    'A client that reads nothing of a stream or an answer for this many seconds is disconnected.',
  ),
  RequestsPerMinute: limit(
    600,
    1_000_000,
    'Requests per minute of one person, door sign or calendar address, over all processes; in GraphQL each field of a mutation counts as one.',
  ),
  TenantRequestsPerMinute: wholeNumber(1, 100_000_000)
    .optional()
    .describe('The same for all of a tenant together; 200 times as many by default.'),
  NotificationsPerMinute: limit(
    6_000,
    10_000_000,
    'Notifications per minute of one subscription of a mail server, or their KiB if that is more.',
  ),
  UnknownNotificationsPerMinute: limit(
    6_000,
    10_000_000,
    'The same for notifications without a valid secret, per address.',
  ),
  TokenRequestsPerMinute: limit(
    30,
    1_000_000,
    'Token requests and sign-ins per minute and address (for IPv6, per /64), over all processes. Requests to pair a device, and wrong tokens in calendar addresses, have as many of their own.',
  ),
});

export const corsSettings = z.strictObject({
  Origins: origins
    .default([])
    .describe(
      'The sites whose pages may call the API from browsers: tokens, REST, GraphQL over HTTP and WebSocket. Pages of the service itself and programs other than browsers need no entry.',
    ),
});

/** A hash of another form, such as the hexadecimal digits of `sha256sum`, would match no secret. */
const clientSecret = text.refine(
  (value) => !value.startsWith('sha256:') || /^sha256:[\w+/-]{43}=?$/.test(value),
  'must have a SHA-256 in base64, which has 44 characters, after sha256:',
);

export const clientSettings = z.strictObject({
  Enabled: flag.default(true).describe('Whether the client may request tokens.'),
  ClientId: text.describe('Its id in token requests.'),
  ClientName: z.string().default('').describe('Its name for people.'),
  ClientSecrets: z
    .array(z.strictObject({ Value: clientSecret }))
    .default([])
    .describe(
      'Objects with the member `Value`: the secret itself, or `sha256:` and its SHA-256 in base64. Each of them is accepted.',
    ),
  AllowedGrantTypes: z.array(z.string()).describe('Must contain `apikey`.'),
  AllowedScopes: z.array(z.string()).describe('Must contain `service_api`.'),
  RequireConsent: flag.default(false).describe('Ignored: there is no consent page.'),
  RequirePkce: flag.default(true).describe('Ignored: there is no authorization code to protect.'),
  RequireClientSecret: flag
    .default(true)
    .describe('If false, a secret that is sent is ignored. A string or a boolean.'),
});

const databaseUrlForm = 'a URL that begins with postgres://, with / ? # % of a password as %2F %3F %23 %25';
const databaseUrl = z.string().refine(isDatabaseUrl, `must be ${databaseUrlForm}`);

export const settings = z
  .strictObject({
    Host: text.default('127.0.0.1').describe('The address on which the server listens.'),
    Port: wholeNumber(0, 65_535).default(8080).describe('The port on which the server listens; 0 chooses a free one.'),
    BaseUrl: url.optional().describe('The root URL of REST and GraphQL for clients; `http://Host:Port` by default.'),
    IdpUrl: url
      .optional()
      .describe(
        'The root URL of the identity provider and of the callback for mail servers; `http://Host:Port` by default.',
      ),
    RoomsHost: url
      .optional()
      .describe('The root URL of the paths of the former product; `http://Host:Port` by default.'),
    DatabaseUrl: z
      .string()
      .refine((url) => url === '' || isDatabaseUrl(url), `must be empty or ${databaseUrlForm}`)
      .default('')
      .describe(
        '`postgres://user:password@host:port/database` (PostgreSQL 16 to 18), without a pooler in between. With several hosts (`a:5432,b:5432`) the one that accepts writes is used. Empty: a local PostgreSQL from npm packages.',
      ),
    PooledDatabaseUrl: databaseUrl
      .optional()
      .describe(
        'The same database through PgBouncer in transaction mode, for requests; everything else uses DatabaseUrl. See [deploying.md](deploying.md#pgbouncer).',
      ),
    ReadDatabaseUrl: databaseUrl
      .optional()
      .describe(
        'Hot standbys of the same database, on one or several hosts without a pooler in between, for GET requests and queries. See [deploying.md](deploying.md#standbys).',
      ),
    ReadWaitMilliseconds: wholeNumber(0, 5_000)
      .default(50)
      .describe('How long a read waits for a standby that lags behind, before it goes to the primary.'),
    Role: z
      .enum(['All', 'Web', 'Worker'])
      .default('All')
      .describe('`Web` only serves requests, `Worker` only works on the queue, `All` does both.'),
    Cell: wholeNumber(0, 200)
      .default(0)
      .describe(
        'The number of this installation, if tenants move between several: each gives its own range of ids. Set it before the first tenant is created.',
      ),
    Processes: z
      .union([z.literal('auto'), wholeNumber(1, 64)], { error: 'must be auto, or a whole number from 1 to 64' })
      .default(1)
      .describe(
        'How many processes share the port. With more than 1, a supervisor passes connections to them and restarts those that end. `auto`: one for each core.',
      ),
    DrainSeconds: wholeNumber(0, 300)
      .default(0)
      .describe(
        'How many seconds a process continues to serve after SIGTERM, while `/readyz` answers 503: longer than a load balancer needs to notice and to send requests elsewhere. Not used by a `Worker`.',
      ),
    Pepper: z
      .string()
      .min(32)
      .optional()
      .describe(
        'The key for the hashes of PINs and tokens and for the encryption of signing keys. Required with DatabaseUrl; random, the same on every process, and not to be changed without need. The local database has its own.',
      ),
    IdentityProvider: identityProvider.prefault({}),
    LegacyApiKeyEnabled: flag
      .default(false)
      .describe('Accepts the header `APIKEY` besides bearer tokens, in the modes Embedded and External.'),
    IdentitySettingsFile: text
      .default('identitysettings.json')
      .describe('The file that lists the clients that may request tokens, relative to the settings file.'),
    SwaggerEnabled: flag
      .default(false)
      .describe('API documentation for browsers at `/swagger`. True in the shipped file.'),
    GraphiQLEnabled: flag
      .default(false)
      .describe('GraphiQL for browsers at `/{mandator}/graphql`. True in the shipped file.'),
    StrictQueryParameters: flag
      .default(false)
      .describe(
        'Refuses unknown query parameters with 400. If false, they are ignored and logged; a caller can ask for the refusal with `Prefer: handling=strict`.',
      ),
    Sessions: sessionSettings.prefault({}),
    Cors: corsSettings.prefault({}),
    Holidays: holidaySettings.prefault({}),
    Limits: limitSettings.prefault({}),
    MailServer: mailServers.prefault({}),
    MailServerPushNotificationEndpointUrl: endpoint
      .optional()
      .describe('The address to which mail servers send notifications, instead of the path below IdpUrl.'),
    MailServerPushNotificationUseLegacyEndpoint: flag
      .default(false)
      .describe('Mail servers send notifications to the path of the former product, below RoomsHost.'),
    Webhooks: webhookSettings.prefault({}),
    Tracing: tracingSettings.prefault({}),
    DemoPin: z
      .string()
      .refine(
        (pin) => pin.replace(/[\s-]/g, '').length >= 8,
        'must have at least 8 characters besides spaces and dashes',
      )
      .optional()
      .describe('The PIN of the demo tenant, for scripts; random by default.'),
    LogLevel: z
      .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
      .default('info')
      .describe('The least severe level that is logged.'),
    TrustProxy: z
      .union([wholeNumber(0, 10), networks], { error: wrongProxy })
      .default(0)
      .describe("Which proxies are trusted to name the client's address."),
  })
  .refine(({ DatabaseUrl, PooledDatabaseUrl }) => PooledDatabaseUrl === undefined || DatabaseUrl !== '', {
    path: ['DatabaseUrl'],
    error: 'must be set together with PooledDatabaseUrl',
  })
  .refine(({ DatabaseUrl, ReadDatabaseUrl }) => ReadDatabaseUrl === undefined || DatabaseUrl !== '', {
    path: ['DatabaseUrl'],
    error: 'must be set together with ReadDatabaseUrl',
  });

const clients = z.array(clientSettings).superRefine((all, { addIssue }) => {
  for (const [at, { ClientId }] of all.entries())
    if (all.findIndex((other) => other.ClientId === ClientId) < at)
      addIssue({ code: 'custom', path: [at, 'ClientId'], message: 'must differ from that of every other client' });
});
export const identitySettings = z.strictObject({ Clients: clients });

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
