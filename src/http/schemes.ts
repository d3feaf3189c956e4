/** The credentials that `IdentityProvider.Mode` and `LegacyApiKeyEnabled` allow (contract 3; specification 5). */
import type { Config } from '../config.ts';

type Settings = Pick<Config, 'IdentityProvider' | 'LegacyApiKeyEnabled'>;

export type Scheme = 'Bearer' | 'APIKEY';

/** The schemes of the credentials that calls may carry. */
export function schemesOf({ IdentityProvider, LegacyApiKeyEnabled }: Settings): readonly Scheme[] {
  if (IdentityProvider.Mode === 'None') return ['APIKEY'];
  return LegacyApiKeyEnabled ? ['Bearer', 'APIKEY'] : ['Bearer'];
}

/** Whether PINs are accepted: an external identity provider replaces them, unless they are also enabled. */
export const takesPins = (settings: Settings): boolean =>
  settings.IdentityProvider.Mode === 'Embedded' || schemesOf(settings).includes('APIKEY');
