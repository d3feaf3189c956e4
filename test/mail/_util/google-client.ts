/** Google's own client, signed in as the service account: what another program does to a calendar. */
import { auth, calendar } from '@googleapis/calendar';
import { importPKCS8, SignJWT } from 'jose';
import type { MailServer } from './mail-server.ts';

export async function openGoogleClient(server: MailServer) {
  const { client_email, private_key } = await server.googleKey();
  // The library's own client for such keys goes to Google wherever it is told to go.
  const jwt = new SignJWT({ scope: 'https://www.googleapis.com/auth/calendar' }).setProtectedHeader({ alg: 'RS256' });
  jwt.setIssuer(client_email).setAudience(server.googleToken).setIssuedAt().setExpirationTime('1h');
  const assertion = await jwt.sign(await importPKCS8(private_key, 'RS256'));
  const form = new URLSearchParams({ grant_type: 'urn:ietf:params:oauth:grant-type:jwt-bearer', assertion });
  const client = new auth.OAuth2();
  const token = await fetch(server.googleToken, { method: 'POST', body: form });
  client.setCredentials((await token.json()) as { access_token: string });
  return calendar({ version: 'v3', auth: client, rootUrl: `${server.url}/`, retry: false });
}
