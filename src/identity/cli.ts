import { type AddCommands, type Cli, CommandFailed, tenantOption } from '../cli/command.ts';
import { formatTable } from '../cli/output.ts';
import { createPin, getFirstAdmin, getPerson, listPins, pepperOf, revokePin } from './service.ts';

/** Before a command makes what nobody could prove, and for the doctor. */
export { claimPepper, examinePepper, hasRightPepper } from './pepper.ts';
/** For commands that sign in by themselves. */
export { createTemporaryPin } from './temporary-pin.ts';

type Holder = { mandator: string; person?: string };

const findHolder = ({ db }: Cli['context'], { mandator, person }: Holder) =>
  person === undefined ? getFirstAdmin(db, mandator) : getPerson(db, mandator, person);

export const addCommands: AddCommands = (program, action) => {
  const pin = program.command('pin').description('the PINs (API keys) of persons');
  const forPerson = (name: string) =>
    pin.command(name).addOption(tenantOption()).option('--person <email>', 'the person; the first Admin when left out');
  const example = (call: string) => `Example:\n  $ roomgate pin ${call} --mandator demo --person ada@demo.example`;

  forPerson('create')
    .description('make a PIN and print it, once')
    .option('--label <text>', 'what it is for')
    .addHelpText('after', example('create'))
    .action(
      action(
        async ({ context, print }, options: Holder & { label?: string }) => {
          const { db, config } = context;
          const { mandatorId, personId, email } = await findHolder(context, options);
          const made = await createPin(db, pepperOf(config), { mandatorId, personId, label: options.label });
          print(`PIN of ${email}: ${made.pin}\nIt is shown this once. Its id, to revoke it, is ${made.pinId}.`, {
            Pin: made.pin,
            PinId: made.pinId,
            PersonId: made.personId,
          });
        },
        { makesSecrets: true },
      ),
    );

  forPerson('list')
    .description('list PINs, revoked ones too')
    .addHelpText('after', example('list'))
    .action(
      action(async ({ context, print }, options: Holder) => {
        const { mandatorId, personId } = await findHolder(context, options);
        const pins = await listPins(context.db, mandatorId, personId);
        const time = (at: Date | null) => at?.toISOString();
        const rows = pins.map((row) => [
          row.pinId,
          row.label,
          ...[row.createdAt, row.lastUsedAt, row.expiresAt, row.revokedAt].map(time),
        ]);
        print(
          formatTable(['PinId', 'Label', 'Created', 'Last used', 'Expires', 'Revoked'], rows),
          pins.map((row) => ({
            PinId: row.pinId,
            PersonId: row.personId,
            Label: row.label,
            CreatedAt: row.createdAt,
            ExpiresAt: row.expiresAt,
            RevokedAt: row.revokedAt,
            LastUsedAt: row.lastUsedAt,
          })),
        );
      }),
    );

  forPerson('revoke')
    .description('end a PIN, its tokens and its streams')
    .argument('<PinId>', 'the id that create and list print')
    .addHelpText('after', example('revoke 7'))
    .action(
      action(async ({ context, print }, id: string, options: Holder) => {
        if (!/^\d{1,9}$/.test(id)) throw new CommandFailed(`PinId: ${id} is not a PinId; see pin list.`);
        const pinId = Number(id);
        const { mandatorId, personId } = await findHolder(context, options);
        await revokePin(context.db, mandatorId, pinId, personId);
        print(`PIN ${pinId} is revoked.`, { PinId: pinId, Revoked: true });
      }),
    );
};
