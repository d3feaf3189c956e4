/** A person who books, changes and cancels, one call after another, and the bookings that must exist as a result. */
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import type { Database } from '../../src/db/database.ts';
import type { Dice } from '../_util/dice.ts';
import type { Client } from './client.ts';
import type { Ledger, Work } from './ledger.ts';

/** The state of a booking by its last answer. */
type Known = { key: string; id: number; subject: string; version: number; status: string; work: Work };

type Options = {
  client: Client;
  ledger: Ledger;
  dice: Dice;
  /** Its name among those of its tenant. */
  name: string;
  resourceIds: readonly number[];
  pause: number;
};

const quarter = 900_000;
/** Slots from an hour from now on, so that all of them stand in the plan of a door sign. */
const slots = 120;

export function startBookings({ client, ledger, dice, name, resourceIds, pause }: Options) {
  const first = Math.ceil(Date.now() / quarter) * quarter + 4 * quarter;
  const known: Known[] = [];
  const refused = new Set<string>();
  let made = 0;
  let isStopped = false;
  const described = (what: string) => `${client.mandator} ${name}: ${what}`;

  async function book(): Promise<void> {
    const key = `${name}-${made++}`;
    const work = ledger.open('booking');
    const start = first + dice.below(slots) * quarter;
    const sent = {
      method: 'POST',
      path: '/v1.0/bookings',
      headers: { 'Idempotency-Key': `${client.mandator}-${key}` },
      body: JSON.stringify({
        ResourceId: dice.oneOf(resourceIds),
        Subject: key,
        Description: key,
        Start: new Date(start).toISOString(),
        End: new Date(start + quarter).toISOString(),
      }),
    };
    const answer = await client.send(sent);
    work.to = Date.now();
    if (answer.status === 409) return void refused.add(key);
    if (answer.status !== 201) throw new Error(`a booking was answered ${answer.status}: ${answer.text}`);
    const { Id: id, Version: version, Status: status } = answer.body as { Id: number; Version: number; Status: string };
    known.push({ key, id, version, status, subject: key, work });
    if (!answer.isRepeated && dice.roll() > 0.2) return;
    const again = await client.send(sent);
    if (again.body['Id'] !== id)
      ledger.blame(
        'doubled',
        described(`${key} was answered with booking ${id}, and again ${again.status} ${again.text.slice(0, 200)}`),
        work,
      );
  }

  async function change(one: Known): Promise<void> {
    const work = ledger.open('booking');
    one.work = work;
    const subject = `${one.key} ${made++}`;
    const answer = await client.send({
      method: 'PATCH',
      path: `/v1.0/bookings/${one.id}`,
      headers: { 'If-Match': `"${one.version}"` },
      body: JSON.stringify({ Subject: subject }),
    });
    // A call whose answer was lost is refused when it is repeated; the booking itself then shows whether it took effect.
    const told =
      answer.status === 412 && answer.isRepeated
        ? await client.send({ method: 'GET', path: `/v1.0/bookings/${one.id}` })
        : answer;
    work.to = Date.now();
    if (told.status !== 200 || told.body['Subject'] !== subject || told.body['Version'] !== one.version + 1)
      ledger.blame(
        'lost',
        described(
          `the change of booking ${one.id} to "${subject}" after version ${one.version} was answered ${told.status} ${told.text.slice(0, 300)}`,
        ),
        work,
      );
    one.subject = String(told.body['Subject'] ?? one.subject);
    one.version = Number(told.body['Version'] ?? one.version);
  }

  async function cancel(one: Known): Promise<void> {
    const work = ledger.open('booking');
    one.work = work;
    const answer = await client.send({ method: 'DELETE', path: `/v1.0/bookings/${one.id}` });
    work.to = Date.now();
    if (answer.status !== 200 || answer.body['Status'] !== 'Cancelled')
      ledger.blame(
        'lost',
        described(`the cancellation of booking ${one.id} was answered ${answer.status} ${answer.text.slice(0, 300)}`),
        work,
      );
    one.status = 'Cancelled';
    one.version += 1;
  }

  async function doSomething(): Promise<void> {
    const active = known.filter(({ status }) => status !== 'Cancelled');
    const chance = dice.roll();
    if (active.length < 5 || chance < 0.4) await book();
    else if (chance < 0.7) await change(dice.oneOf(active));
    else await cancel(dice.oneOf(active));
  }

  const running = (async () => {
    while (!isStopped) {
      await doSomething().catch(({ message }: Error) => ledger.blame('otherwise wrong', described(message)));
      await sleep(pause * (0.5 + dice.roll()));
    }
  })();
  running.catch(() => {});

  return {
    async stop(): Promise<void> {
      isStopped = true;
      await running;
    },
    async verify(db: Database, mandatorId: number): Promise<void> {
      const { rows } = await sql<{
        key: string;
        ids: number[];
        subject: string;
        version: number;
        status: string;
      }>`
        select description as key, array_agg(id) as ids, min(subject) as subject, min(version)::int as version, min(status) as status
        from booking where mandator_id = ${mandatorId} and description like ${`${name}-%`} group by 1`.execute(db);
      const stored = new Map(rows.map((row) => [row.key, row]));
      for (const { key, id, subject, version, status, work } of known) {
        const row = stored.get(key);
        stored.delete(key);
        const [is, was] = [row && { ...row, ids: row.ids.map(Number) }, { key, ids: [id], subject, version, status }];
        if (!is) ledger.blame('lost', described(`booking ${id} (${key}) was acknowledged, and is not there`), work);
        else if (is.ids.length > 1)
          ledger.blame('doubled', described(`${key} made bookings ${is.ids.join(', ')}`), work);
        else if (JSON.stringify(is) !== JSON.stringify(was))
          ledger.blame(
            'lost',
            described(`${JSON.stringify(was)} was acknowledged, ${JSON.stringify(is)} is stored`),
            work,
          );
      }
      for (const [key, { ids }] of stored)
        ledger.blame(
          'doubled',
          described(
            `${key} was ${refused.has(key) ? 'refused' : 'never acknowledged'}, and booking ${ids.join(', ')} is there`,
          ),
        );
    },
  };
}
