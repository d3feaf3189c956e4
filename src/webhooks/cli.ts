import { type AddCommands, CommandFailed, commandGroup, readIdOf, type TenantOption } from '../cli/command.ts';
import { formatMinute, formatTable } from '../cli/output.ts';
import { readPage } from '../db/paging.ts';
import { toFields } from '../fields.ts';
import { readInput } from '../input.ts';
import * as webhooks from './service.ts';
import * as wire from './wire.ts';

type Written = { name: string; url: string; kinds: string };
type Numbered = { id: number; name: string };

function stateOf({ enabled, disabledBecause, failures }: webhooks.Webhook): string {
  if (!enabled) return `disabled: ${disabledBecause}`;
  return failures > 0 ? `${failures} failed` : 'ok';
}

const readId = (text: string) => readIdOf('webhook', 'webhooks list', text);

const readKinds = (list: string) => list.split(',').map((kind) => kind.trim());

const nameOf = ({ id, name }: Numbered) => `${name} (${id})`;

export const addCommands: AddCommands = (program, action) => {
  const { ofTenant, example } = commandGroup(program, 'webhooks', 'events that are sent to other programs');
  const secretOf = ({ webhook, secret }: webhooks.WithSecret, what: string) =>
    `${nameOf(webhook)} ${what}. Its secret, which is shown only this once:\n${secret}`;

  ofTenant('list')
    .description('list webhooks, with the state of their deliveries')
    .addHelpText('after', example('list --mandator demo'))
    .action(
      action(async ({ context: { db }, print }, { mandator }: TenantOption) => {
        const { viewer } = await webhooks.openOffice(db, mandator);
        const { items } = await webhooks.listWebhooks(db, viewer, { limit: webhooks.mostWebhooks });
        const rows = items.map((one) => [
          one.id,
          one.name,
          one.url,
          one.kinds.join(' '),
          stateOf(one),
          one.waiting,
          formatMinute(one.succeededAt) || 'never',
        ]);
        const text = formatTable(['Id', 'Name', 'Url', 'Kinds', 'State', 'Waiting', 'Last taken'], rows);
        print(text, items.map(wire.toWebhookRecord));
      }),
    );

  ofTenant('add')
    .description('send events to an address from now on, and print the secret that signs them')
    .argument('<url>', 'an https address')
    .requiredOption('--name <text>', 'required: its name')
    .requiredOption(
      '--kinds <list>',
      `required: the kinds of events, separated by commas: ${webhooks.eventKinds.join(', ')}`,
    )
    .addHelpText('after', example('add https://board.example/hooks --mandator demo --name Board --kinds BatchEnded'))
    .action(
      action(
        async ({ context, print }, url: string, options: TenantOption & Omit<Written, 'url'>) => {
          const act = await webhooks.openOffice(context.db, options.mandator);
          const sent = { Name: options.name, Url: url, Kinds: readKinds(options.kinds) };
          const wanted = readInput(wire.newWebhook, sent);
          const made = await webhooks.createWebhook(context, act, toFields(wanted));
          print(secretOf(made, 'gets events from now on'), wire.toSecretRecord(made));
        },
        { makesSecrets: true },
      ),
    );

  ofTenant('change')
    .description('change the name, the address or the events of a webhook')
    .argument('<id>', 'the id that list prints')
    .option('--url <url>', 'an https address')
    .option('--name <text>', 'its name')
    .option('--kinds <list>', `the kinds of events, separated by commas: ${webhooks.eventKinds.join(', ')}`)
    .addHelpText('after', example('change 3 --mandator demo --kinds BatchEnded,DisplaySilent'))
    .action(
      action(async ({ context, print }, id: string, options: TenantOption & Partial<Written>) => {
        const { name: Name, url: Url, kinds } = options;
        const Kinds = kinds === undefined ? undefined : readKinds(kinds);
        const sent = Object.entries({ Name, Url, Kinds }).filter(([, value]) => value !== undefined);
        if (sent.length === 0) throw new CommandFailed('Nothing to change: give --url, --name or --kinds.');
        const wanted = toFields(readInput(wire.webhookChanges, Object.fromEntries(sent)));
        const act = await webhooks.openOffice(context.db, options.mandator);
        const changed = await webhooks.changeWebhook(context, act, readId(id), undefined, wanted);
        print(`${nameOf(changed)} is changed.`, wire.toWebhookRecord(changed));
      }),
    );

  ofTenant('rotate')
    .description('replace a secret, and print the new one')
    .argument('<id>', 'the id that list prints')
    .option('--overlap <hours>', 'for how many hours the previous secret also signs', '24')
    .addHelpText('after', example('rotate 3 --mandator demo --overlap 0'))
    .action(
      action(
        async ({ context, print }, id: string, options: TenantOption & { overlap: string }) => {
          const act = await webhooks.openOffice(context.db, options.mandator);
          const { OverlapHours } = readInput(wire.rotation, { OverlapHours: Number(options.overlap) });
          const made = await webhooks.rotateSecret(context, act, readId(id), undefined, OverlapHours);
          print(secretOf(made, 'has another secret'), wire.toSecretRecord(made));
        },
        { makesSecrets: true },
      ),
    );

  ofTenant('test')
    .description('send a test message, and print the answer')
    .argument('<id>', 'the id that list prints')
    .addHelpText('after', example('test 3 --mandator demo'))
    .action(
      action(async ({ context, print }, id: string, { mandator }: TenantOption) => {
        const act = await webhooks.openOffice(context.db, mandator);
        const delivery = await webhooks.testWebhook(context, act, readId(id));
        const { status, fault, milliseconds } = delivery;
        if (fault !== null) throw new CommandFailed(`The receiver did not accept the message: ${fault}.`);
        print(`Accepted in ${milliseconds} ms, with status ${status}.`, wire.toDeliveryRecord(delivery));
      }),
    );

  ofTenant('replay')
    .description('send events again: those after a cursor, or all that the feed of changes keeps')
    .argument('<id>', 'the id that list prints')
    .option('--cursor <cursor>', 'a cursor of a delivery or of the feed of changes, or now')
    .addHelpText('after', example('replay 3 --mandator demo --cursor now'))
    .action(
      action(async ({ context: { db }, print }, id: string, options: TenantOption & { cursor?: string }) => {
        const act = await webhooks.openOffice(db, options.mandator);
        const replayed = await webhooks.replayWebhook(db, act, readId(id), undefined, options.cursor ?? null);
        print(`${nameOf(replayed)}: the worker sends the events from there on.`, wire.toWebhookRecord(replayed));
      }),
    );

  for (const [name, enabled] of [
    ['enable', true],
    ['disable', false],
  ] as const)
    ofTenant(name)
      .description(
        enabled ? 'send events again, waiting ones first' : 'send nothing until it is enabled again; events wait',
      )
      .argument('<id>', 'the id that list prints')
      .addHelpText('after', example(`${name} 3 --mandator demo`))
      .action(
        action(async ({ context, print }, id: string, { mandator }: TenantOption) => {
          const act = await webhooks.openOffice(context.db, mandator);
          const changed = await webhooks.changeWebhook(context, act, readId(id), undefined, { enabled });
          print(`${nameOf(changed)} is ${name}d.`, wire.toWebhookRecord(changed));
        }),
      );

  ofTenant('deliveries')
    .description('list the latest deliveries with their answers')
    .argument('<id>', 'the id that list prints')
    .option('--failed', 'only deliveries that were not accepted')
    .addHelpText('after', example('deliveries 3 --mandator demo --failed'))
    .action(
      action(async ({ context: { db }, print }, id: string, options: TenantOption & { failed?: true }) => {
        const { viewer } = await webhooks.openOffice(db, options.mandator);
        const page = readPage(webhooks.deliveryList, undefined, undefined);
        const { items } = await webhooks.listDeliveries(db, viewer, readId(id), { failed: options.failed }, page);
        const rows = items.map((one) => [
          formatMinute(one.at),
          one.kind,
          one.subject ?? '',
          one.attempt,
          one.status ?? 'none',
          one.milliseconds,
          one.fault ?? '',
        ]);
        const text = formatTable(['At', 'Kind', 'Record', 'Attempt', 'Status', 'ms', 'Fault'], rows);
        print(text, items.map(wire.toDeliveryRecord));
      }),
    );

  ofTenant('delete')
    .description('delete a webhook with its waiting events')
    .argument('<id>', 'the id that list prints')
    .addHelpText('after', example('delete 3 --mandator demo'))
    .action(
      action(async ({ context: { db }, print }, id: string, { mandator }: TenantOption) => {
        const act = await webhooks.openOffice(db, mandator);
        const deleted = await webhooks.deleteWebhook(db, act, readId(id), undefined);
        print(`${nameOf(deleted)} is deleted.`, wire.toWebhookRecord(deleted));
      }),
    );
};
