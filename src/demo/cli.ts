import type { ApiClient } from '../cli/client.ts';
import type { Output } from '../cli/command.ts';
import type { Context } from '../context.ts';
import { takesPins } from '../http/schemes.ts';
import * as demo from './service.ts';

type DemoHost = Output & {
  /** Where this process itself listens. */
  ownRoot: string;
  /** Signs in over HTTP with the PIN, or with a temporary one. */
  signIn(mandator: string, pin: string | undefined): Promise<ApiClient>;
};

/** A shell command that imports a lesson into a free room; each run makes a new JobID. */
function exampleCall({ config }: Context, pin: string, today: Date): string {
  const day = demo.exampleDate(today);
  const token = `$(curl -s ${config.IdpUrl}/connect/token -d grant_type=apikey -d scope=service_api -d client_id=timetable-import -d apikey=${pin} | sed 's/.*"access_token":"\\([^"]*\\)".*/\\1/')`;
  const credential =
    config.IdentityProvider.Mode === 'Embedded' ? `"Authorization: Bearer ${token}"` : `'APIKEY: ${pin}'`;
  const lesson = `{"LektionId":"1","Beginn":"${day}T08:00:00Z","Ende":"${day}T08:45:00Z","RessourceName":"${demo.exampleRoom()}","Titel":"My first lesson"}`;
  return [
    `curl -i ${config.BaseUrl}/demo/api/v2.0/jobs/create -H ${credential}`,
    `-H 'Content-Type: application/json' -d '[{"JobID":"first-'$(date +%s)'","LektionList":[${lesson}]}]'`,
  ].join(' ');
}

function describeDemo(context: Context, pin: string | undefined): string[] {
  const { config } = context;
  if (!takesPins(config)) {
    const { Authority, TenantClaim, EmailClaim } = config.IdentityProvider;
    return [
      `Demo tenant "demo": call it with a token of ${Authority}`,
      `  in which ${TenantClaim} is demo and ${EmailClaim} is ${demo.importerEmail()}`,
    ];
  }
  if (!pin)
    return [
      'The PIN of the demo tenant was shown at the first start; create another one with',
      `  ./roomgate pin create`,
    ];
  return [
    `Demo tenant "demo", PIN: ${pin}`,
    'Import a lesson (a second time the batch fails, as the room is taken):',
    `  ${exampleCall(context, pin, new Date())}`,
  ];
}

/** The URLs of a door sign and a board. */
function describeSigns({ config }: Context, example: demo.Example | undefined): string[] {
  if (!example) return [];
  const { resourceId, resourceName, locationId, locationName } = example;
  return [
    '',
    'Door signs show a code when they are first opened; to confirm it, see ./roomgate display pair --help',
    `  ${resourceName}: ${config.BaseUrl}/demo/door-sign/${resourceId}`,
    `  all of ${locationName}: ${config.BaseUrl}/demo/board/${locationId}`,
  ];
}

/**
 * Prints the URLs when `serve` is ready (contract 1), for a worker only those of its health. With the local database,
 * the first start creates the demo tenant and imports its timetable through the REST API, to demonstrate an import.
 */
export async function welcome(context: Context, local: boolean, host: DemoHost): Promise<void> {
  const { BaseUrl, IdpUrl, DemoPin, SwaggerEnabled, IdentityProvider, Role } = context.config;
  // A proxy should not publish the last two.
  const health = `  Health    ${host.ownRoot}/healthz, /readyz, /metrics`;
  if (Role === 'Worker') return host.print(`roomgate is ready at ${host.ownRoot}\n${health}`, { BaseUrl, IdpUrl });
  const addresses = [
    `The console is at ${BaseUrl}/${local ? 'demo/console' : ''}`,
    `roomgate is ready at ${BaseUrl}`,
    `  REST      ${BaseUrl}/{mandator}/api/v2.0/jobs/create`,
    `  GraphQL   ${BaseUrl}/{mandator}/graphql`,
    ...(IdentityProvider.Mode === 'Embedded' ? [`  Tokens    ${IdpUrl}/connect/token`] : []),
    ...(SwaggerEnabled ? [`  Swagger   ${BaseUrl}/swagger`] : []),
    health,
  ];
  if (!local) return host.print(addresses.join('\n'), { BaseUrl, IdpUrl });

  const made = await demo.ensureDemo(context);
  const pin = made ?? DemoPin;
  const example = await demo.findExample(context.db);
  const lines = [...addresses, '', ...describeDemo(context, pin), ...describeSigns(context, example)];
  host.print(lines.join('\n'), { BaseUrl, IdpUrl, Mandator: 'demo', Pin: pin ?? null });
  // The import also runs if an earlier first start ended before it.
  if (takesPins(context.config) && (await demo.awaitsTimetable(context.db)))
    await importTimetable(host, pin).catch((error: Error) =>
      context.log.warn({ err: error.message }, 'the demo timetable was not imported; the next start tries again'),
    );
}

async function importTimetable(host: DemoHost, pin: string | undefined): Promise<void> {
  let shown = '';
  const ended = await demo.importTimetable(await host.signIn('demo', pin), new Date(), (batch) => {
    if (!shown)
      host.print(`\nImporting the demo timetable through the REST API, batch ${batch.BatchId}`, {
        BatchId: batch.BatchId,
      });
    const { ImportStatus, ProcessedCount, LessonCount } = batch;
    const line = `  ${ImportStatus}${LessonCount === null ? '' : ` (${ProcessedCount} of ${LessonCount} lessons)`}`;
    if (line !== shown) host.print(line, batch);
    shown = line;
  });
  host.print(`  ${ended.CreatedCount} lessons are in their rooms.`, { CreatedCount: ended.CreatedCount });
}
