import type { Config } from '../config.ts';
import { CommandFailed } from './command.ts';

/** A PIN to exchange for tokens, for a client of the identity provider that needs no secret; or what each call carries. */
export type Credential = { pin: string; idpUrl: string; clientId: string } | { apiKey: string } | { token: string };

/** Whether PINs are good for anything with these settings: an outside identity provider has its own secrets. */
export function takesPins({ IdentityProvider, LegacyApiKeyEnabled }: Config): boolean {
  return IdentityProvider.Mode !== 'External' || LegacyApiKeyEnabled;
}

/** A PIN as the settings want it used (contract 3). @throws CommandFailed when they do not */
export function credentialOf(config: Config, idpUrl: string, pin: string): Credential {
  if (!takesPins(config)) throw needsToken(config);
  return config.IdentityProvider.Mode === 'Embedded' ? { pin, idpUrl, clientId: clientIdOf(config) } : { apiKey: pin };
}

export function needsToken({ IdentityProvider: { Authority } }: Config): CommandFailed {
  return new CommandFailed(
    `PINs are not taken here: get a token from ${Authority} and give it by --token or ROOMGATE_TOKEN.`,
  );
}

/** A client of the identity provider for a command on this machine: one that needs no secret. */
function clientIdOf({ Clients }: Config): string {
  const client = Clients.find(
    ({ Enabled, RequireClientSecret, AllowedGrantTypes }) =>
      Enabled && !RequireClientSecret && AllowedGrantTypes.includes('apikey'),
  );
  if (!client)
    throw new CommandFailed(
      'The identity settings have no client for this command: one that is Enabled, has grant type apikey and needs no secret.',
    );
  return client.ClientId;
}
