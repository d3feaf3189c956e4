import type { Config } from '../config.ts';
import { takesPins } from '../http/schemes.ts';
import { CommandFailed } from './command.ts';

/** A PIN to exchange for tokens at our identity provider, or a PIN or token that is sent with each call. */
export type Credential = { pin: string; idpUrl: string; clientId: string } | { apiKey: string } | { token: string };

/** The credential that the settings make of a PIN (contract 3). @throws CommandFailed when they do not allow PINs */
export function credentialOf(config: Config, idpUrl: string, pin: string): Credential {
  if (!takesPins(config)) throw needsToken(config);
  return config.IdentityProvider.Mode === 'Embedded' ? { pin, idpUrl, clientId: clientIdOf(config) } : { apiKey: pin };
}

export function needsToken({ IdentityProvider: { Authority } }: Config): CommandFailed {
  return new CommandFailed(
    `PINs are not accepted here: get a token from ${Authority} and pass it with --token or in ROOMGATE_TOKEN.`,
  );
}

/** The id of a client of the identity provider that needs no secret. */
function clientIdOf({ Clients }: Config): string {
  const client = Clients.find(
    ({ Enabled, RequireClientSecret, AllowedGrantTypes }) =>
      Enabled && !RequireClientSecret && AllowedGrantTypes.includes('apikey'),
  );
  if (!client)
    throw new CommandFailed(
      'The identity settings have no client for this command: one that is Enabled, has the grant type apikey and needs no secret.',
    );
  return client.ClientId;
}
