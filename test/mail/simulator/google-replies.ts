import type { Reply } from './json-calls.ts';

/** As Google writes it, with its reason. */
export function refusal(status: number, reason: string, message: string): Reply {
  const domain = /[Ll]imit|quota/.test(reason) ? 'usageLimits' : 'global';
  return { status, body: { error: { code: status, message, errors: [{ domain, reason, message }] } } };
}
