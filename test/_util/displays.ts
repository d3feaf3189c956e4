/** Pairs devices as in real life: a device asks for a code, and an Admin confirms it. */
import { type MasterData, masterData } from './master-data.ts';
import type { Service } from './service.ts';

export type Asked = { status: number; Code: string; Token: string; ExpiresAt: string; PollSeconds: number };

/** The calls of a device that is not paired yet. */
export async function askForPairing(url: string, mandator = 'school', body: object = {}): Promise<Asked> {
  const answer = await fetch(`${url}/${mandator}/api/v1.0/displays/pairings`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify(body),
  });
  return { status: answer.status, ...((await answer.json()) as Omit<Asked, 'status'>) };
}

export type Device = MasterData & { id: number; personId: number; version: number };

/** A paired device of the service's tenant. @param admin of that tenant */
export async function pairDevice(service: Service, admin: MasterData, given: object = {}): Promise<Device> {
  const { Code, Token } = await askForPairing(service.url);
  const ResourceIds = [service.tenant.resources[0]!.id];
  const { status, body, text } = await admin.post('/displays', { Code, ResourceIds, ...given });
  if (status !== 201) throw new Error(`not paired: ${text}`);
  const ids = { id: body['Id'], personId: body['PersonId'], version: body['Version'] } as Record<
    'id' | 'personId' | 'version',
    number
  >;
  return { ...masterData(service, Token), ...ids };
}
