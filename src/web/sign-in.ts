/** Sign-in of the pages Swagger and GraphiQL. */
import type { Config } from '../config.ts';

/**
 * How a PIN signs in: exchanged for a token through a client without a secret, since a page can keep none; as an APIKEY; or
 * (empty) not at all, with an outside provider or where every client needs a secret.
 */
export function signInWith({ IdentityProvider, Clients }: Config): {
  scheme: 'APIKEY' | 'Bearer' | '';
  client: string;
} {
  if (IdentityProvider.Mode === 'None') return { scheme: 'APIKEY', client: '' };
  const client = Clients.find(
    ({ Enabled, RequireClientSecret, AllowedGrantTypes }) =>
      Enabled && !RequireClientSecret && AllowedGrantTypes.includes('apikey'),
  );
  if (IdentityProvider.Mode !== 'Embedded' || !client) return { scheme: '', client: '' };
  return { scheme: 'Bearer', client: encodeURIComponent(client.ClientId) };
}
