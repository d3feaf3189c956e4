/** Settings of the mail servers, and of other sources of room calendars (contract 7). */
import { z } from 'zod';
import { mailboxForm } from './names.ts';
import { isSafeAuthority, mandator, notSafe, origins, readUrl, text, wholeNumber } from './setting-values.ts';

/** Whether a Url of calendars has a placeholder for the room. */
const hasPlace = (Url: string) => /\{(mailbox|user)\}/.test(Url);

/**
 * The address of a published calendar (`ICalendar`), from the Url of the server and its own, which may be relative; undefined if
 * they give none.
 */
const publishedAddress = (Url: string, own: string): string | undefined =>
  readUrl(own.replace(/^webcals?:/i, 'https:'), Url)?.href;

export const mailCalendar = z.strictObject({
  Mailbox: z
    .string()
    .max(254)
    .regex(mailboxForm, 'must be an e-mail address or the name of an account')
    .describe("The room's address on the mail server."),
  ResourceName: text.describe('The name of the resource.'),
  LocationName: text.optional().describe('Its location, if several have a resource with this name.'),
  Url: text
    .optional()
    .describe(
      'ICalendar: the address at which it is published, also as webcal or relative to the Url of the server. Secret.',
    ),
});

const wrongKey = 'must be the JSON of a service account, with client_email and private_key';
/** As Google provides it: an object or, in a variable, its JSON. */
const serviceAccountKey = z.union([z.looseObject({}), z.string().transform(parseKey)], { error: wrongKey }).pipe(
  z.object(
    {
      client_email: z.string({ error: wrongKey }).min(1, wrongKey),
      private_key: z
        .string({ error: wrongKey })
        .regex(/^-----BEGIN PRIVATE KEY-----\s[\w+/=\s]+-----END PRIVATE KEY-----\s*$/, wrongKey),
    },
    { error: wrongKey },
  ),
);

/** @returns undefined if the text is not JSON */
function parseKey(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

type SignInSetting = 'ServiceAccountKey' | 'User' | 'Password' | 'ClientId' | 'ClientSecret' | 'TokenUrl';

type Published = { Url: string; Calendars?: z.output<typeof mailCalendar>[] | undefined };

/** Checks that each calendar has an address; there is no account. */
function checkPublished({ Url, Calendars }: Published, context: z.RefinementCtx): void {
  const fault = (path: PropertyKey[], message: string) => context.addIssue({ code: 'custom', path, message });
  if (!Calendars && !hasPlace(Url))
    fault(
      ['Calendars'],
      'must name each calendar with its Url, or the Url of the server must have {mailbox} or {user}',
    );
  for (const [at, { Url: own }] of Calendars?.entries() ?? [])
    if (own === undefined ? !hasPlace(Url) : publishedAddress(Url, own) === undefined)
      fault(['Calendars', at, 'Url'], 'must be an https or webcal URL without a password, or relative to the Url');
}

/** Makes the addresses of published calendars absolute. */
const withAddresses = <Server extends Published>(server: Server): Server => ({
  ...server,
  ...(server.Calendars && {
    Calendars: server.Calendars.map((calendar) => ({
      ...calendar,
      ...(calendar.Url !== undefined && { Url: publishedAddress(server.Url, calendar.Url) }),
    })),
  }),
});

/** How to reach a tenant's mail server (contract 7). */
export const mailServer = z
  .strictObject(
    {
      Kind: z.enum(['Ews', 'Graph', 'CalDav', 'Google', 'ICalendar']).describe('The protocol of the mail server.'),
      Url: z
        .string({ error: notSafe })
        .refine(isSafeAuthority, notSafe)
        .describe(
          'Ews: `https://…/EWS/Exchange.asmx`. Graph: `https://graph.microsoft.com/v1.0`. Google: `https://www.googleapis.com/calendar/v3`. CalDav: the root of the server, or the address of a calendar with `{user}` or `{mailbox}` in it. ICalendar: such an address of published calendars, or the base of the addresses in `Calendars`.',
        ),
      User: text
        .optional()
        .describe(
          "Ews, CalDav: the account that reads the rooms' calendars. Google: the user that the service account impersonates, if the domain allows it.",
        ),
      Password: text.optional().describe('Ews, CalDav: its password.'),
      TokenUrl: z
        .string()
        .refine(isSafeAuthority, notSafe)
        .optional()
        .describe(
          'Graph, and Ews with tokens: the token endpoint (OAuth 2.0 client credentials). Google: `https://oauth2.googleapis.com/token` by default.',
        ),
      ClientId: text.optional().describe('Graph, and Ews with tokens: the client id for the token endpoint.'),
      ClientSecret: text.optional().describe('Graph, and Ews with tokens: the secret of ClientId.'),
      Scope: text
        .optional()
        .describe('Graph, Google, and Ews with tokens: the scope to request, if the default is not right.'),
      ServiceAccountKey: serviceAccountKey
        .optional()
        .describe('Google: the key of the service account, the JSON that Google gives.'),
      Calendars: z
        .array(mailCalendar, { error: 'must be a list, which an environment variable holds as JSON' })
        .max(10_000)
        .optional()
        .describe('The calendars that are read; by default those of all active resources with a `Mailbox`.'),
      PollMinutes: wholeNumber(1, 1_440)
        .optional()
        .describe('ICalendar: minutes between two readings, 15 by default; more if the publisher asks for it.'),
      TrustedOrigins: origins
        .optional()
        .describe(
          'ICalendar: servers that are trusted although their addresses are private or they use http; a redirect from another server to one of them is not followed. All others must use https and have public addresses.',
        ),
      PastDays: wholeNumber(0, 31).default(1).describe('How many days before today are booked.'),
      FutureDays: wholeNumber(1, 1_098).default(365).describe('How many days after today are booked.'),
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
    if (server.Kind === 'ICalendar') return checkPublished(server, context);
    if (server.Kind === 'Google') {
      if (!server.ServiceAccountKey) missing('ServiceAccountKey', wrongKey);
      return;
    }
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

/** The mail servers by mandator; its code may be written in any case, and becomes lower case. */
export const mailServers = z
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
    Object.fromEntries(Object.entries(servers).map(([name, server]) => [name.toLowerCase(), withAddresses(server)])),
  );
