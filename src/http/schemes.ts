/** Which credentials `IdentityProvider.Mode` and `LegacyApiKeyEnabled` let in (contract 3; specification 5). */
import type { Config } from '../config.ts';

type Settings = Pick<Config, 'IdentityProvider' | 'LegacyApiKeyEnabled'>;

export type Scheme = 'Bearer' | 'APIKEY';

/** The schemes of the credentials that calls may carry. */
export function schemesOf({ IdentityProvider, LegacyApiKeyEnabled }: Settings): readonly Scheme[] {
  if (IdentityProvider.Mode === 'None') return ['APIKEY'];
  return LegacyApiKeyEnabled ? ['Bearer', 'APIKEY'] : ['Bearer'];
}

/** Whether PINs count: an outside provider stands for them, unless they are taken beside it. */
export const takesPins = (settings: Settings): boolean =>
  settings.IdentityProvider.Mode === 'Embedded' || schemesOf(settings).includes('APIKEY');
