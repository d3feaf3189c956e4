import { type AddCommands, readIdOf, tenantOption } from '../cli/command.ts';
import { formatTable } from '../cli/output.ts';
import { createPinByOperator, getHolder, listPins, revokePinByOperator, whyPinsDoNotCount } from './service.ts';
import { toPinRecord } from './wire.ts';

type HolderOptions = { mandator: string; person?: string };

export const addCommands: AddCommands = (program, action) => {
  const pin = program.command('pin').description('the PINs (API keys) of persons');
  const forPerson = (name: string) =>
    pin.command(name).addOption(tenantOption()).option('--person <email>', 'the person; the first Admin if left out');
  const example = (call: string) =>
    `Example:\n  $ roomgate pin ${call} --mandator demo --person stundenplan@demo.example`;

  forPerson('create')
    .description('create a PIN and print it, only this once')
    .option('--label <text>', 'what the PIN is for')
    .addHelpText('after', example('create'))
    .action(
      action(
        async ({ context, print }, options: HolderOptions & { label?: string }) => {
          const holder = await getHolder(context.db, options.mandator, options.person);
          const { mandatorId, personId, email } = holder;
          const made = await createPinByOperator(context, holder, options.label);
          const whyNot = await whyPinsDoNotCount(context.db, mandatorId);
          const lines = [
            `PIN of ${email}: ${made.pin}`,
            `It is shown only this once. Its id, to revoke it, is ${made.pinId}.`,
            ...(whyNot ? [`It is not valid yet: ${whyNot}`] : []),
          ];
          print(lines.join('\n'), {
            Pin: made.pin,
            PinId: made.pinId,
            PersonId: personId,
            Counts: whyNot === undefined,
          });
        },
        { makesSecrets: true },
      ),
    );

  forPerson('list')
    .description('list PINs, including revoked ones')
    .addHelpText('after', example('list'))
    .action(
      action(async ({ context, print }, options: HolderOptions) => {
        const { mandatorId, personId } = await getHolder(context.db, options.mandator, options.person);
        const pins = await listPins(context.db, mandatorId, personId);
        const time = (at: Date | null) => at?.toISOString();
        const rows = pins.map((row) => [
          row.pinId,
          row.label,
          ...[row.createdAt, row.lastUsedAt, row.expiresAt, row.revokedAt].map(time),
        ]);
        print(
          formatTable(['PinId', 'Label', 'Created', 'Last used', 'Expires', 'Revoked'], rows),
          pins.map(toPinRecord),
        );
      }),
    );

  forPerson('revoke')
    .description('end a PIN, its tokens and its streams')
    .argument('<PinId>', 'the id that create and list print')
    .addHelpText('after', example('revoke 7'))
    .action(
      action(async ({ context, print }, id: string, options: HolderOptions) => {
        const pinId = readIdOf('PIN', 'pin list', id);
        const holder = await getHolder(context.db, options.mandator, options.person);
        await revokePinByOperator(context.db, holder, pinId);
        print(`PIN ${pinId} is revoked.`, { PinId: pinId, Revoked: true });
      }),
    );
};
