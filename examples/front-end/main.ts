/**
 * Shows the rooms and the day of a tenant, books the first free room for half an hour, and follows that room until Ctrl+C:
 *
 *     node examples/front-end/main.ts http://127.0.0.1:8080 demo <PIN>
 */
import { connect } from './client.ts';
import { book, follow, listRooms, watchBookings } from './rooms.ts';
import { tokenOf } from './token.ts';

const [base = 'http://127.0.0.1:8080', mandator = 'demo', apikey = ''] = process.argv.slice(2);

const { client, close } = connect(`${base}/${mandator}/graphql`, tokenOf(base, apikey));
const rooms = await listRooms(client);
process.stdout.write(`${rooms.length} rooms: ${rooms.map(({ name }) => name).join(', ')}\n`);

const stop = new AbortController();
process.once('SIGINT', () => stop.abort());
const [room] = rooms;
if (room) {
  const now = Date.now();
  const at = (minutes: number) => new Date(now + minutes * 60_000).toISOString();
  const shown = { resourceId: room.id, from: at(0), to: at(24 * 60) };
  const draw = watchBookings(client, shown, (bookings) =>
    process.stdout.write(
      `\n${room.name}\n${bookings.map(({ start, end, subject }) => `  ${start} - ${end}  ${subject}\n`).join('')}`,
    ),
  );
  const done = await book(client, shown, room, { subject: 'Example', start: at(5), end: at(35) });
  if ('problem' in done) process.stdout.write(`Not booked: ${done.problem.message}\n`);
  try {
    await follow(client, shown, stop.signal);
  } catch (error) {
    process.stderr.write(`No longer followed: ${(error as Error).message}\n`);
    process.exitCode = 1;
  }
  draw.end();
}
await close();
