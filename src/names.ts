/** What may be a name, in the settings as in what tenants write. */

/** One word: with a domain behind an @, or the name of an account, as servers of one domain have them. */
export const mailboxForm = /^[^\s@/\\<>()[\],;:"\p{Cc}]+(@[^\s@/\\<>()[\],;:"\p{Cc}]+)?$/u;

/** First segments of paths, in lower case, which no mandator can have (contract 1). */
export const reservedNames: ReadonlySet<string> = new Set([
  ...['connect', 'api', 'healthz', 'readyz', 'metrics', 'swagger', 'webservices', 'assets', '.well-known'],
]);
