import { afterEach, expect, test } from '@jest/globals';
import { connect } from '../../src/cli/client.ts';
import { credentialOf } from '../../src/cli/credential.ts';
import { ownRoot } from '../../src/config.ts';
import { welcome } from '../../src/demo/cli.ts';
import { removeTenants } from '../_util/factories.ts';
import { type Service, startService } from '../_util/service.ts';

let service: Service;
afterEach(() => service.stop());

/** The output of the first start on an empty local database. */
async function start(settings: Record<string, string>): Promise<string> {
  service = await startService({ ...settings, DemoPin: 'DEMO-1234' });
  const { context } = service;
  await removeTenants(context.db);
  const said: string[] = [];
  await welcome(context, true, {
    json: false,
    ownRoot: ownRoot(context.config),
    print: (text) => void said.push(text),
    signIn: (mandator, pin = '') =>
      connect({ baseUrl: service.url, mandator, credential: credentialOf(context.config, service.url, pin) }),
  });
  return said.join('\n');
}

test('None: the demo timetable is imported, and the printed call imports a lesson', async () => {
  const said = await start({ IdentityProvider__Mode: 'None' });
  expect(said).toMatch(/\d+ lessons are in their rooms/);
  expect(said).not.toContain('/connect/token');
  const [, address = '', pin = '', body = ''] =
    /curl -i (\S+) -H 'APIKEY: (.*?)' -H 'Content-Type: application\/json' -d '(.*)'$/m.exec(said) ?? [];
  const response = await fetch(address, {
    method: 'POST',
    headers: { APIKEY: pin, 'Content-Type': 'application/json' },
    body: body.replace(/'\$\(date \+%s\)'/, '1'),
  });
  expect([pin, response.status]).toEqual(['DEMO-1234', 202]);
  const pages = said.match(/http:\S+\/demo\/(door-sign|board)\/\d+$/gm) ?? [];
  expect(pages).toHaveLength(2);
  for (const page of pages) expect((await fetch(page)).status).toBe(200);
});

test('External: no PIN is offered, but what a token must say', async () => {
  const said = await start({
    IdentityProvider__Mode: 'External',
    IdentityProvider__Authority: 'https://idp.example',
    BaseUrl: 'https://rooms.example',
    IdpUrl: 'https://rooms.example',
  });
  // The proxy answers for that address, and tells nobody how the process does.
  expect(said).toContain(`Health    ${ownRoot(service.context.config)}/healthz, /readyz, /metrics`);
  expect(said).toContain('roomgate is ready at https://rooms.example\n');
  expect(said).not.toContain('DEMO-1234');
  expect(said).toContain(
    'a token of https://idp.example\n  in which tenant is demo and email is stundenplan@demo.example',
  );
});
