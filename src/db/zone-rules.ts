/** Compares the time zone rules of Node.js and PostgreSQL, for `roomgate doctor`. */
import fs from 'node:fs';
import { sql } from 'kysely';
import type { Finding } from '../finding.ts';
import { dayLength } from '../time/days.ts';
import { minute } from '../time/durations.ts';
import { isTimeZone, zoneFor } from '../time/zones.ts';
import type { Database } from './database.ts';

/** Each rule is new in its release: PostgreSQL does not report the release of its rules. Offsets are in minutes. */
const tellingRules = [
  { release: '2024a', zone: 'Asia/Almaty', at: '2024-06-01T12:00Z', offset: 300 },
  { release: '2025a', zone: 'America/Asuncion', at: '2025-06-01T12:00Z', offset: -180 },
  { release: '2025b', zone: 'America/Coyhaique', at: '2025-06-01T12:00Z', offset: -180 },
  { release: '2026b', zone: 'America/Vancouver', at: '2026-12-01T12:00Z', offset: -420 },
  { release: '2026c', zone: 'America/Edmonton', at: '2026-12-01T12:00Z', offset: -360 },
  { release: '2026d', zone: 'America/Inuvik', at: '2026-12-01T12:00Z', offset: -360 },
  { release: '2026e', zone: 'America/Winnipeg', at: '2026-12-01T12:00Z', offset: -300 },
  { release: '2026f', zone: 'America/Havana', at: '2026-12-01T12:00Z', offset: -240 },
];
/** The path on Debian and most others; missing without the package tzdata. */
const machineRules = '/usr/share/zoneinfo/tzdata.zi';
const comparedDays = 730;
const remedy = 'docs/time-zones.md describes how to update the rules of both.';

type Sample = { zone: string; at: Date; offset: number };

/** The zones known to PostgreSQL where its offset differs from a sample, each with the first such instant. */
async function compare(db: Database, samples: readonly Sample[]): Promise<Map<string, Date>> {
  const { rows } = await sql<{ zone: string; first: Date }>`
    with known as materialized (select lower(name) as name from pg_timezone_names)
    select zone, min(at) as first
    from unnest(${samples.map(({ zone }) => zone)}::text[], ${samples.map(({ at }) => at)}::timestamptz[],
      ${samples.map(({ offset }) => offset)}::integer[]) as node(zone, at, minutes)
    -- A zone that PostgreSQL does not know would fail the statement.
    where case when lower(zone) in (select name from known)
      then extract(epoch from (at at time zone zone) - (at at time zone 'UTC')) / 60 <> minutes end
    group by zone`.execute(db);
  return new Map(rows.map(({ zone, first }) => [zone, first]));
}

async function releaseOfPostgres(db: Database): Promise<string> {
  const samples = tellingRules.map(({ at, ...rule }) => ({ ...rule, at: new Date(at) }));
  const different = await compare(db, samples);
  const { rows } = await sql<{ name: string }>`select name from pg_timezone_names`.execute(db);
  const names = new Set(rows.map(({ name }) => name));
  const missing = tellingRules.findIndex(({ zone }) => !names.has(zone) || different.has(zone));
  if (missing === 0) return `older than ${tellingRules[0]?.release}`;
  return missing > 0 ? `${tellingRules[missing - 1]?.release}` : `${tellingRules.at(-1)?.release} or later`;
}

function releaseOfMachine(): string | undefined {
  try {
    return /^# version (\w+)/.exec(fs.readFileSync(machineRules, 'latin1').slice(0, 40))?.[1];
  } catch {
    return undefined;
  }
}

/** Samples each zone of Node.js every fourth week from now on, and each zone in use every day. */
function* sampleZones(used: ReadonlySet<string>): Generator<Sample> {
  // PostgreSQL may read a name without a slash as an abbreviation, which has no summer time.
  const zones = new Set([...Intl.supportedValuesOf('timeZone'), ...used].filter((zone) => /\//.test(zone)));
  const now = Date.now();
  for (const zone of zones) {
    const { offsetAt } = zoneFor(zone);
    for (let days = 0; days < comparedDays; days += used.has(zone) ? 1 : 28) {
      const at = new Date(now + days * dayLength);
      yield { zone, at, offset: offsetAt(at.getTime()) / minute };
    }
  }
}

const listed = (names: readonly string[]) =>
  `${names.slice(0, 5).join(', ')}${names.length > 5 ? ` and ${names.length - 5} more` : ''}`;

/** The zones of locations and persons that Node.js or PostgreSQL does not know, each with one place that uses it. */
async function findLost(db: Database, used: readonly { zone: string; place: string }[]): Promise<Finding[]> {
  const { rows } = await sql<{ zone: string }>`
    select zone from unnest(${used.map(({ zone }) => zone)}::text[]) as zone
    where lower(zone) not in (select lower(name) from pg_timezone_names)`.execute(db);
  const unknownThere = new Set(rows.map(({ zone }) => zone));
  const finding = (level: Finding['level'], zones: typeof used, text: string): Finding[] =>
    zones.length === 0
      ? []
      : [
          {
            check: 'Time zones',
            level,
            text: `${listed(zones.map(({ zone, place }) => `${zone} of ${place}`))}: ${text}`,
            remedy: 'Give it the name that the zone has today, such as Europe/Zurich.',
          },
        ];
  return [
    ...finding(
      'fault',
      used.filter(({ zone }) => !isTimeZone(zone)),
      'not known to Node.js, so UTC is used instead',
    ),
    ...finding(
      'warning',
      used.filter(({ zone }) => isTimeZone(zone) && unknownThere.has(zone)),
      'not known to PostgreSQL, so reports in SQL cannot use it',
    ),
  ];
}

export async function examineZoneRules(db: Database): Promise<Finding[]> {
  const { rows: used } = await sql<{ zone: string; place: string }>`
    select distinct on (zone) zone, place from (
      select time_zone as zone, mandator.code || '/' || location.name as place, 1 as turn
      from location join mandator on mandator.id = mandator_id
      union all
      select time_zone, mandator.code || '/' || email, 2 from person join mandator on mandator.id = mandator_id
    ) as used order by zone, turn, place`.execute(db);
  const inUse = new Set(used.map(({ zone }) => zone).filter(isTimeZone));
  const different = await compare(db, [...sampleZones(inUse)]);
  const node = process.versions.tz ?? 'an unknown release';
  const machine = releaseOfMachine();
  const isBehind = machine !== undefined && node < machine;
  const names = [...different.keys()].sort();
  const concerned = names.filter((zone) => inUse.has(zone));
  const first = (zone: string) => `${zone} from ${different.get(zone)?.toISOString().slice(0, 10)}`;
  const text = [
    `Node.js, which computes all local times, has the rules of ${node}`,
    `PostgreSQL those of ${await releaseOfPostgres(db)}`,
    ...(isBehind ? [`this machine those of ${machine}`] : []),
    ...(names.length > 0
      ? [
          `PostgreSQL has other rules within two years for ${listed((concerned.length > 0 ? concerned : names).map(first))}`,
        ]
      : []),
    ...(names.length > 0 && concerned.length === 0 ? ['no location or person uses one of these'] : []),
  ].join('; ');
  const isWarning = isBehind || concerned.length > 0;
  return [
    { check: 'Time zones', level: isWarning ? 'warning' : 'ok', text, ...(isWarning && { remedy }) },
    ...(await findLost(db, used)),
  ];
}
