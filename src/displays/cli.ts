import { type AddCommands, CommandFailed, commandGroup, readIdOf, type TenantOption } from '../cli/command.ts';
import { formatTable } from '../cli/output.ts';
import { toFields } from '../fields.ts';
import { readInput } from '../input.ts';
import { newDisplay, toDisplayRecord } from './device-wire.ts';
import * as displays from './service.ts';

type PairOptions = TenantOption & {
  room?: string[];
  location?: string;
  name?: string;
  book?: true;
  privacy?: string;
};

function formatAge(seconds: number | null): string {
  if (seconds === null) return 'never';
  const units = [
    [86_400, 'd'],
    [3_600, 'h'],
    [60, 'min'],
  ] as const;
  const [size, unit] = units.find(([least]) => seconds >= least) ?? [1, 's'];
  return `${Math.floor(seconds / size)} ${unit} ago`;
}

function stateOf({ revokedAt, expiresAt, silentSince }: displays.Display): string {
  if (revokedAt) return 'revoked';
  if (expiresAt.getTime() <= Date.now()) return 'expired';
  return silentSince ? 'silent' : 'ok';
}

const roomsOf = ({ resources }: displays.Display) => {
  const names = resources.slice(0, 5).map(({ name }) => name);
  return resources.length > names.length
    ? `${names.join(', ')} and ${resources.length - names.length} more`
    : names.join(', ');
};

/** A warning if the device has the page of a room open that its display does not show. */
function otherPage(asked: displays.AskedRoom | null, { resources }: displays.Display, pages: string): string | null {
  if (!asked || resources.some(({ id }) => id === asked.id)) return null;
  const right = resources[0] ? `; open ${pages}/${resources[0].id} on it` : '';
  const which = asked.name === null ? ' (there is none)' : ` (${asked.name})`;
  return `Warning: the device has the page of room ${asked.id}${which} open, which this display does not show${right}.`;
}

export const addCommands: AddCommands = (program, action) => {
  const { ofTenant, example } = commandGroup(program, 'display', 'door signs and other paired devices');

  ofTenant('pair')
    .description('confirm the code that a device shows; without a room or a location, for the page that it has open')
    .argument('<code>', 'as shown on its screen')
    .option('--room <name>', 'a room that it shows; may be repeated', (name: string, before: string[] = []) => [
      ...before,
      name,
    ])
    .option('--location <name>', 'a location of which it shows all rooms')
    .option('--name <text>', 'its name; after its rooms if left out')
    .option('--book', 'it also books, checks in, extends and releases')
    .option('--privacy <level>', 'what it shows of bookings: Title, Organizer or BusyOnly', 'Title')
    .addHelpText('after', example('pair K7QM-4D2X --mandator demo --room "HS 101" --book'))
    .action(
      action(async ({ context: { config, db }, print }, code: string, options: PairOptions) => {
        const act = await displays.openOffice(db, options.mandator);
        const asked = await displays.findAskedRoom(db, act, code);
        if (asked?.name === null && !options.room && options.location === undefined)
          throw new CommandFailed(
            `The device names room ${asked.id}, but no active room has this id: name rooms with --room NAME, or a location with --location NAME.`,
          );
        const { mandatorId } = act.viewer;
        const rooms: number[] = [];
        for (const name of options.room ?? []) rooms.push(await displays.getRoomNamed(db, mandatorId, name));
        const wanted = readInput(newDisplay, {
          Code: code,
          Name: options.name ?? null,
          ResourceIds: rooms,
          LocationId: options.location ? await displays.getLocationNamed(db, mandatorId, options.location) : null,
          MayBook: options.book ?? false,
          Privacy: options.privacy,
        });
        const paired = await displays.pairDisplay(db, act, toFields(wanted));
        const warning = otherPage(asked, paired, `${config.BaseUrl}/${act.viewer.mandator}/door-sign`);
        print(
          `${paired.name} is paired and shows ${roomsOf(paired)}. Its id, to revoke it, is ${paired.id}.${warning ? `\n${warning}` : ''}`,
          { ...toDisplayRecord(paired), Warning: warning },
        );
      }),
    );

  ofTenant('list')
    .description('list displays with their age, including revoked ones')
    .addHelpText('after', example('list --mandator demo'))
    .action(
      action(async ({ context: { db }, print }, options: TenantOption) => {
        const { viewer } = await displays.openOffice(db, options.mandator);
        const listed = await displays.listAllDevices(db, viewer);
        const rows = listed.map((one) => [
          one.id,
          one.name,
          roomsOf(one),
          one.mayBook ? 'yes' : 'no',
          one.privacy,
          formatAge(one.ageSeconds),
          stateOf(one),
        ]);
        print(
          formatTable(['Id', 'Name', 'Rooms', 'Books', 'Privacy', 'Last heard', 'State'], rows),
          listed.map(toDisplayRecord),
        );
      }),
    );

  ofTenant('revoke')
    .description('end a display, its token and its streams')
    .argument('<id>', 'the id that pair and list print')
    .addHelpText('after', example('revoke 3 --mandator demo'))
    .action(
      action(async ({ context: { db }, print }, id: string, options: TenantOption) => {
        const displayId = readIdOf('display', 'display list', id);
        const act = await displays.openOffice(db, options.mandator);
        const revoked = await displays.revokeDevice(db, act, displayId);
        print(`${revoked.name} (${revoked.id}) is revoked.`, toDisplayRecord(revoked));
      }),
    );
};
