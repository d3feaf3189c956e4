import { fetchWhole } from './fetch-whole.ts';

/** Exchanges a PIN for a token. @param url of the service, or of a tenant of it */
export async function tokenFor(url: string, pin: string): Promise<string> {
  const form = { grant_type: 'apikey', scope: 'service_api', client_id: 'timetable-import', apikey: pin };
  const headers = { 'Content-Type': 'application/x-www-form-urlencoded' };
  const body = new URLSearchParams(form).toString();
  const answer = await fetchWhole(`${url}/connect/token`, { method: 'POST', headers, body });
  return ((await answer.json()) as { access_token: string }).access_token;
}
