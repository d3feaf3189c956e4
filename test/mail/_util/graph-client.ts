import { Client, HTTPMessageHandler } from '@microsoft/microsoft-graph-client';
import type { MailServer } from './mail-server.ts';

/** The header of a program with all rights at the mail server of the tests. */
export async function authorize(server: MailServer): Promise<{ authorization: string }> {
  const form = {
    grant_type: 'client_credentials',
    client_id: server.clientId,
    client_secret: server.clientSecret,
    scope: 'https://graph.microsoft.com/.default',
  };
  const given = await fetch(server.token, { method: 'POST', body: new URLSearchParams(form) });
  const { access_token } = (await given.json()) as { access_token: string };
  return { authorization: `Bearer ${access_token}` };
}

/** Microsoft's own client, of a program with all rights at the mail server of the tests. */
export async function openGraphClient(server: MailServer): Promise<Client> {
  const authorized = await authorize(server);
  const http = new HTTPMessageHandler();
  // Its own handler gives tokens to servers with https alone.
  const middleware = {
    execute(context: Parameters<HTTPMessageHandler['execute']>[0]) {
      const headers = { ...(context.options?.headers as object), ...authorized };
      context.options = { ...context.options, headers };
      return http.execute(context);
    },
  };
  return Client.initWithMiddleware({ middleware, baseUrl: server.url, defaultVersion: 'v1.0' });
}
