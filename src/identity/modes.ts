/** Where credentials come from, by `IdentityProvider.Mode` (contract 3; specification 5). */
import type { Config } from '../config.ts';

type Settings = Pick<Config, 'IdentityProvider' | 'IdpUrl'>;

/** The URL where tokens come from. */
export function tokenSource({ IdentityProvider: { Mode, Authority }, IdpUrl }: Settings): string | undefined {
  if (Mode === 'None') return undefined;
  return Mode === 'External' ? Authority : `${IdpUrl}/connect/token`;
}

/** The remedy that every 401 names. */
export function howToSignIn({ IdentityProvider: { Mode, Authority, Audience }, IdpUrl }: Settings): string {
  if (Mode === 'None') return 'send the PIN of the person in the header APIKEY.';
  const from =
    Mode === 'External'
      ? `from ${Authority}, for ${Audience} and with scope service_api,`
      : `with the person's PIN at ${IdpUrl}/connect/token`;
  return `get a token ${from} and send it as "Authorization: Bearer <token>".`;
}
