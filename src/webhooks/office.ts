/** For the operator: the commands act as the tenant's first Admin, and the doctor looks at the webhooks of all tenants. */
import { sql } from 'kysely';
import type { Act, Context } from '../context.ts';
import type { Database } from '../db/database.ts';
import { type Finding, findingsOf, ok } from '../finding.ts';
import { actOfOperator } from '../identity/service.ts';
import type { DisabledReason } from './stored.ts';

/** @throws as `actOfOperator` */
export const openOffice = (db: Database, mandator: string): Promise<Act> => actOfOperator(db, mandator);

const check = 'Webhooks';
/** The most webhooks that are reported one by one. */
const mostTold = 10;

type Unwell = { mandator: string; name: string; because: DisabledReason | null; since: Date; failures: number };

const reasons: Record<DisabledReason, string> = {
  Admin: 'an Admin has disabled it',
  Gone: 'its receiver has answered 410',
  Failing: 'an event could not be delivered for three days',
  HistoryLost: 'the feed of changes no longer keeps what comes next',
};

const findingOf = ({ mandator, name, because, since, failures }: Unwell): Finding => ({
  check,
  level: 'warning',
  text:
    because === null
      ? `${mandator}/${name}: ${failures} attempts have failed one after another since ${since.toISOString()}`
      : `${mandator}/${name}: disabled since ${since.toISOString()}, because ${reasons[because]}`,
  remedy:
    because === null
      ? '"roomgate webhooks deliveries ID --failed" shows the reason.'
      : 'Repair the receiver, and have an Admin enable the webhook again, or delete it.',
});

async function examine(db: Database): Promise<Finding[]> {
  const { rows } = await sql<Unwell & { count: number }>`
    select mandator.code as mandator, webhook.name, disabled_because as because,
      coalesce(disabled_at, failing_since) as since, failures, count(*) over ()::int as count
    from webhook join mandator on mandator.id = webhook.mandator_id
    where disabled_because <> 'Admin' or disabled_at is null and failing_since < now() - interval '1 hour'
    order by since limit ${mostTold}`.execute(db);
  const { count, enabled, failing } = await db
    .selectFrom('webhook')
    .select(({ fn }) => [
      fn.countAll<number>().as('count'),
      fn.countAll<number>().filterWhere('disabled_at', 'is', null).as('enabled'),
      fn
        .countAll<number>()
        .filterWhere('disabled_at', 'is', null)
        .filterWhere('failing_since', 'is not', null)
        .as('failing'),
    ])
    .executeTakeFirstOrThrow();
  const [first] = rows;
  if (!first) {
    const parts = [
      [enabled - failing, 'whose receivers accept events'],
      [failing, 'that cannot be delivered to now, none for an hour yet'],
      [count - enabled, 'disabled by an Admin'],
    ] as const;
    const told = parts.flatMap(([number, what]) => (number > 0 ? `${number} ${what}` : []));
    return [ok(check, told.join(', ') || 'none')];
  }
  const more = first.count - rows.length;
  const rest: Finding = { check, level: 'warning', text: `${more} more have problems`, remedy: 'See webhooks list.' };
  return [...rows.map(findingOf), ...(more > 0 ? [rest] : [])];
}

/** For doctor: webhooks that were disabled because nothing could be delivered, and webhooks that have failed for an hour. */
export const examineWebhooks = ({ db }: Pick<Context, 'db'>): Promise<Finding[]> =>
  findingsOf(check, () => examine(db));
