/** Schemas of the values of settings, each with its message for a wrong value. */
import { z } from 'zod';
import { mandatorForm, reservedNames } from './names.ts';

export const text = z.string().min(1);
export const flag = z.union([z.boolean(), z.stringbool({ truthy: ['true'], falsy: ['false'] })], {
  error: 'must be true or false',
});
export const url = z.url({ protocol: /^https?$/, error: 'must be an absolute http or https URL' });
const networkNames = z.enum(['loopback', 'linklocal', 'uniquelocal']);
const network = z.union([networkNames, z.ipv4(), z.ipv6(), z.cidrv4(), z.cidrv6()]);

/** Without coercion, which would read null, [] and '' as 0, and true as 1. */
export function wholeNumber(least: number, most: number, error = `must be a whole number from ${least} to ${most}`) {
  const digits = z
    .string()
    .regex(/^\d{1,15}$/)
    .transform(Number);
  return z.union([z.int(), digits], { error }).refine((number) => number >= least && number <= most, { error });
}

/** Fewer days would delete what the feed of changes, mail servers and calendars still refer to. */
const leastDays = 31;
const wrongDays = `must be 0, or a whole number from ${leastDays} to 36500`;

/** For how many days data that people may miss is kept: for ever, unless the operator sets a limit. */
export const daysOrForEver = (meaning: string) =>
  wholeNumber(0, 36_500, wrongDays)
    .refine((days) => days === 0 || days >= leastDays, wrongDays)
    .default(0)
    .describe(`${meaning} 0: for ever.`);

export const wrongProxy = 'must be a number of hops from 0 to 10, or addresses and networks separated by commas';
export const networks = z
  .string()
  .refine((text) => text.split(',').every((part) => network.safeParse(part.trim()).success), wrongProxy);
export const mebibyte = 1024 * 1024;

const isLoopback = ({ hostname }: URL) => /^(localhost|127(\.\d+){3}|\[::1\])$/.test(hostname);

/** Reads an http or https URL without a name and a password; undefined for any other text. */
export function readUrl(text: string, base?: string): URL | undefined {
  const url = URL.parse(text, base);
  return url && /^https?:$/.test(url.protocol) && !url.username && !url.password ? url : undefined;
}

/** The operator's own collector may be anywhere, as traces hold no secrets. */
function isSafeCollector(text: string): boolean {
  const url = readUrl(text);
  return url !== undefined && !url.search && !url.hash;
}

/** Whether secrets may be sent to the URL: without TLS only on this machine. */
export function isSafeAuthority(text: string): boolean {
  const url = readUrl(text);
  return url !== undefined && !url.search && !url.hash && (url.protocol === 'https:' || isLoopback(url));
}

const wrongOrigin =
  'must be an origin as browsers send it: https://host or https://host:port (http on this machine only), without a path';
/** The origin of a page (RFC 6454), as browsers write it: in lower case, without the default port. */
const origin = z
  .string({ error: wrongOrigin })
  .refine((text) => !text.includes('*'), {
    error: 'must name one site: list each origin whose pages may call the API; there is no wildcard',
    abort: true,
  })
  .refine((text) => isSafeAuthority(text) && new URL(text).pathname === '/', wrongOrigin)
  .transform((text) => new URL(text).origin);

export const origins = z
  .array(origin, { error: 'must be a list of origins; in an environment variable separated by commas' })
  .max(100, 'must have at most 100 origins');

export const notSafe = 'must be an https URL (http on this machine only), without query or password';

export const mandator = z
  .string()
  .refine((code) => !reservedNames.has(code.toLowerCase()), {
    error: 'this name is reserved, so no mandator can have it',
    abort: true,
  })
  .regex(mandatorForm, 'the code of a mandator has 1 to 64 characters of a-z, 0-9, - and _');

/** A URL that may have a query; mail servers append their own parameters. */
export const endpoint = z
  .string()
  .refine(
    (text) => readUrl(text)?.hash === '',
    'must be an absolute http or https URL, without a password and without #',
  );

export const holidaySettings = z.strictObject({
  IntervalHours: wholeNumber(1, 720)
    .default(6)
    .describe('Hours between two readings of the address of a holiday calendar.'),
  TrustedOrigins: origins
    .default([])
    .describe(
      'Servers of holiday calendars that are trusted although their addresses are private or they use http. All others must use https and have public addresses.',
    ),
});

export const webhookSettings = z.strictObject({
  TrustedOrigins: origins
    .default([])
    .describe(
      'Receivers of events that are trusted although their addresses are private or they use http. Admins of every tenant can send to any path there, but do not see the answers. All others must use https and have public addresses.',
    ),
});

export const tracingSettings = z.strictObject({
  Endpoint: z
    .string()
    .refine(
      isSafeCollector,
      'must be an http or https URL without password, query and #, such as http://127.0.0.1:4318',
    )
    .optional()
    .describe(
      'The collector that receives traces by OTLP over HTTP in JSON, below `/v1/traces`. Without it nothing is recorded.',
    ),
  OneIn: wholeNumber(1, 1_000_000)
    .default(1)
    .describe(
      'One in this many traces that begin here is recorded. If a caller sends `traceparent`, its flag decides instead.',
    ),
});

export const sessionSettings = z.strictObject({
  IdleMinutes: wholeNumber(1, 10_080)
    .default(120)
    .describe('A session of the console ends after this many minutes without a call.'),
  LongestHours: wholeNumber(1, 8_760).default(12).describe('A session ends after this many hours, even if it is used.'),
  PerPerson: wholeNumber(1, 1_000)
    .default(20)
    .describe('How many sessions a person may have at a time; a further one ends the oldest.'),
});

export const identityProvider = z
  .strictObject({
    Mode: z
      .enum(['Embedded', 'None', 'External'])
      .default('Embedded')
      .describe(
        '`Embedded`: the service issues its own tokens. `External`: an outside OpenID provider does. `None`: each call carries the PIN in the header `APIKEY` (legacy mode).',
      ),
    Authority: z
      .string()
      .refine(isSafeAuthority, notSafe)
      .optional()
      .describe('External: the issuer; its discovery document names the endpoints.'),
    Audience: text
      .default('service_api')
      .describe('External: the audience of tokens; their scope must include `service_api`.'),
    ClientId: text
      .optional()
      .describe(
        'External: the client that introspects opaque tokens and signs people in to the console; without it only JWTs are accepted.',
      ),
    ClientSecret: text.optional().describe('External: the secret of ClientId.'),
    TenantClaim: text.default('tenant').describe('External: the claim that names the mandator.'),
    EmailClaim: text
      .default('email')
      .describe('External: the claim with the e-mail address of an active person of the mandator.'),
    SignIn: flag
      .default(false)
      .describe(
        'External: people sign in to the console at the provider. Register `{BaseUrl}/{mandator}/session/return` there as the redirect URL of ClientId.',
      ),
    SignInScopes: z
      .string()
      .regex(/^(?=.*\bopenid\b)[!#-[\]-~]+( [!#-[\]-~]+)*$/, 'must be scopes separated by spaces, including openid')
      .default('openid email')
      .describe('External: the scopes requested at a sign-in; they must yield TenantClaim and EmailClaim.'),
    SignInName: z
      .string()
      .regex(/^[^\p{Cc}]{1,100}$/u, 'must be a text of at most 100 characters')
      .optional()
      .describe('External: the name of the provider in the console; by default the host of Authority.'),
  })
  .refine(({ Mode, Authority }) => Mode !== 'External' || Authority !== undefined, {
    path: ['Authority'],
    error: 'must be the URL of the identity provider when Mode is External',
  })
  .refine(({ ClientId, ClientSecret }) => ClientSecret === undefined || ClientId !== undefined, {
    path: ['ClientId'],
    error: 'must be set together with ClientSecret',
  })
  .refine(({ Mode, ClientId, SignIn }) => !SignIn || (Mode === 'External' && ClientId !== undefined), {
    path: ['SignIn'],
    error: 'requires the Mode External and a ClientId',
  });
