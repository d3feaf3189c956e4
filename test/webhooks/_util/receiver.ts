/** A receiver of events, which checks each message with the library of Standard Webhooks. */
import { Webhook } from 'standardwebhooks';
import { type Asked, type ScriptedServer, startScriptedServer, type Told } from '../../_util/scripted-server.ts';

export type Message = {
  id: string;
  type: string;
  timestamp: string;
  data: Record<string, unknown>;
  path: string;
  headers: Asked['headers'];
  body: string;
};

/** @throws WebhookVerificationError for a message that the secret does not prove */
export const verified = (secret: string, { headers, body }: Pick<Message, 'headers' | 'body'>) =>
  new Webhook(secret).verify(body, headers as Record<string, string>);

export function toMessage({ path, headers, body }: Asked): Message {
  const { type, timestamp, data } = JSON.parse(body) as Pick<Message, 'type' | 'timestamp' | 'data'>;
  return { id: String(headers['webhook-id']), type, timestamp, data, path, headers, body };
}

export type Receiver = ScriptedServer & { messages(): Message[] };

export async function startReceiver(): Promise<Receiver> {
  const server = await startScriptedServer();
  server.answer(() => ({ status: 204 }));
  return { ...server, messages: () => server.asked.map(toMessage) };
}

export const answering =
  (status: number, headers: Record<string, string> = {}) =>
  (): Told => ({ status, headers });
