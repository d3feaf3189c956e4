/** The alerts and the dashboard of deploy/, over the metrics that there are. */
import { spawnSync } from 'node:child_process';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { memory } from '../_util/postgres.ts';
import { startService } from '../_util/service.ts';

const project = path.join(import.meta.dirname, '..', '..');
const read = (file: string) => fs.readFileSync(path.join(project, file), 'utf8');

const rulesFile = path.join(project, 'deploy/prometheus/alerts.yml');
const rules = read('deploy/prometheus/alerts.yml');
const alerts = [...rules.matchAll(/^ +- alert: (\w+)$/gm)].map(([, name]) => String(name));

type Panel = { title: string; targets?: { expr: string }[] };
const { panels } = JSON.parse(read('deploy/grafana/dashboard.json')) as { panels: Panel[] };
const asked = panels.flatMap(({ title, targets = [] }) => targets.map(({ expr }) => [title, expr] as const));

let metrics = '';
beforeAll(async () => {
  // Its figures are printed whether or not the standby answers.
  const service = await startService({ ReadDatabaseUrl: 'postgres://127.0.0.1:1/rooms' });
  metrics = await (await fetch(`${service.url}/metrics`)).text();
  await service.stop();
});

/** The metrics that an expression names; Prometheus itself has `up`. */
const namesIn = (text: string) =>
  new Set(
    [...text.matchAll(/\b(?:roomgate|http|nodejs|process)_\w+/g)].map(([name]) =>
      name.replace(/^(http_\w+)_(bucket|count|sum)$/, '$1'),
    ),
  );

test('what they name is what /metrics prints', () => {
  const printed = new Set([...metrics.matchAll(/^# TYPE (\S+)/gm)].map(([, name]) => name));
  const named = [...namesIn(rules), ...asked.flatMap(([, expr]) => [...namesIn(expr)])];
  expect(named.length).toBeGreaterThan(40);
  expect(named.filter((name) => !printed.has(name))).toEqual([]);
});

test('a metric that only rises is a counter', () => {
  const wrong = [...metrics.matchAll(/^# TYPE (roomgate_\S+_total) (\w+)$/gm)].filter(
    ([, , type]) => type !== 'counter',
  );
  expect(wrong.map(([line]) => line)).toEqual([]);
});

test('the page says of each alert what it means and what to do', () => {
  const rows = [...read('docs/seeing.md').matchAll(/^\| `(Roomgate\w+)` \| [^|]{20,} \| [^|]{20,} \|$/gm)];
  expect(rows.map(([, name]) => name)).toEqual(alerts);
});

const promtool = spawnSync('promtool', ['--version']).status === 0;

describe('promtool', () => {
  if (!promtool) {
    test.skip('SKIPPED: there is no promtool (of the package prometheus) in PATH', () => {});
    return;
  }
  const folder = fs.mkdtempSync(path.join(memory ?? os.tmpdir(), 'roomgate-alerts-'));
  afterAll(() => fs.rmSync(folder, { recursive: true }));

  function run(command: string, content?: object): string {
    const file = path.join(folder, `${command}.json`);
    // JSON is YAML.
    if (content) fs.writeFileSync(file, JSON.stringify(content));
    const [verb = '', noun = ''] = command.split(' ');
    const { status, stdout, stderr } = spawnSync('promtool', [verb, noun, content ? file : rulesFile], {
      encoding: 'utf8',
      env: { ...process.env, TMPDIR: folder },
    });
    return status === 0 ? 'fine' : stdout + stderr;
  }

  test('takes the rules, and what the panels ask', () => {
    expect(run('check rules')).toBe('fine');
    const written = asked.map(([, expr], index) => ({
      record: `panel:${index}`,
      expr: expr.replaceAll('$job', 'roomgate').replaceAll('$__rate_interval', '5m'),
    }));
    expect(run('check rules', { groups: [{ name: 'panels', rules: written }] })).toBe('fine');
  });

  const on = (name: string, labels = '') => `${name}{job="roomgate",instance="a"${labels && `,${labels}`}}`;
  const request = (name: string, labels: string) =>
    on(`http_request_duration_seconds_${name}`, `method="GET",route="/:mandator/api/v1.0/bookings/:id",${labels}`);
  /** A healthy process: what each alert looks at, each minute for 80 minutes. */
  const healthy: Record<string, string> = {
    [on('up')]: '1x80',
    [request('count', 'status="200"')]: '0+600x80',
    [request('count', 'status="503"')]: '0+1x80',
    [request('bucket', 'status="200",le="0.5"')]: '0+600x80',
    [request('bucket', 'status="200",le="10"')]: '0+600x80',
    [request('bucket', 'status="200",le="+Inf"')]: '0+600x80',
    // A stream takes as long as somebody listens.
    [on('http_request_duration_seconds_bucket', 'method="POST",route="/:mandator/graphql stream",le="+Inf"')]:
      '0+600x80',
    [on('roomgate_writes_refused_total', 'cause="DiskFull"')]: '0x80',
    [on('nodejs_eventloop_lag_p99_seconds')]: '0.02x80',
    [on('process_open_fds')]: '100x80',
    [on('process_max_fds')]: '1000x80',
    // Of a pair, of which the primary is passed over, and at a rest now and then.
    [on('roomgate_standby_used', 'host="b"')]: '1 0 1 0x2 1x75',
    [on('roomgate_queue_jobs_waiting')]: '3x80',
    [on('roomgate_queue_longest_wait_seconds')]: '2x80',
    [on('roomgate_queue_jobs_failing')]: '0x80',
    [on('roomgate_oldest_open_batch_seconds')]: '20x80',
    [on('roomgate_batches_held_back')]: '0x80',
    [on('roomgate_oldest_unplaced_change_seconds')]: '1x80',
    [on('roomgate_no_shows_overdue')]: '0x80',
    [on('roomgate_displays')]: '100x80',
    [on('roomgate_displays_silent')]: '2x80',
    [on('roomgate_streams_cut_total')]: '0+1x80',
    [on('roomgate_mail_oldest_change_seconds')]: '10x80',
    [on('roomgate_mail_subscriptions_expiring')]: '0x80',
    [on('roomgate_webhook_events_waiting')]: '0x80',
    [on('roomgate_webhooks_disabled')]: '1x80',
  };
  /** By alert, what is otherwise where it fires; null: it is not printed. */
  const ill: Record<string, Record<string, string | null>> = {
    RoomgateDown: { [on('up')]: '0x80', [on('roomgate_queue_jobs_waiting')]: null },
    RoomgateDatabaseUnread: { [on('roomgate_queue_jobs_waiting')]: null },
    RoomgateWritesRefused: { [on('roomgate_writes_refused_total', 'cause="DiskFull"')]: '0x74 1x5' },
    RoomgateErrors: { [request('count', 'status="503"')]: '0+20x80' },
    RoomgateSlow: {
      [on('http_request_duration_seconds_bucket', 'method="POST",route="/:mandator/graphql",le="+Inf"')]: '0+100x80',
    },
    RoomgateProcessBusy: { [on('nodejs_eventloop_lag_p99_seconds')]: '0.4x80' },
    RoomgateFilesRunOut: { [on('process_open_fds')]: '900x80' },
    RoomgateStandbyLeftAlone: { [on('roomgate_standby_used', 'host="b"')]: '1x40 0x40' },
    RoomgateQueueWaits: { [on('roomgate_queue_longest_wait_seconds')]: '0+60x80' },
    RoomgateJobsFail: { [on('roomgate_queue_jobs_failing')]: '1x80' },
    RoomgateBatchWaits: { [on('roomgate_oldest_open_batch_seconds')]: '0+60x80' },
    RoomgateBatchesHeldBack: { [on('roomgate_batches_held_back')]: '1x80' },
    RoomgateChangesUntold: { [on('roomgate_oldest_unplaced_change_seconds')]: '0+60x80' },
    RoomgateNoShowsOverdue: { [on('roomgate_no_shows_overdue')]: '1x80' },
    RoomgateDisplaysSilent: { [on('roomgate_displays_silent')]: '20x80' },
    RoomgateStreamsCut: { [on('roomgate_streams_cut_total')]: '0+10x80' },
    RoomgateMailLate: { [on('roomgate_mail_oldest_change_seconds')]: '0+60x80' },
    RoomgateMailSubscriptionsExpire: { [on('roomgate_mail_subscriptions_expiring')]: '1x80' },
    RoomgateEventsWait: { [on('roomgate_webhook_events_waiting')]: '4x80' },
    RoomgateWebhookDisabled: { [on('roomgate_webhooks_disabled')]: '1x40 2x40' },
  };

  test('each alert fires where it should, and none in health', () => {
    expect(Object.keys(ill)).toEqual(alerts);
    const tests = [['nothing', {}] as const, ...Object.entries(ill)].map(([name, otherwise]) => ({
      interval: '1m',
      name,
      input_series: Object.entries({ ...healthy, ...otherwise }).flatMap(([series, values]) =>
        values === null ? [] : [{ series, values }],
      ),
      // How many of all alerts fire, and which: one number per name.
      promql_expr_test: [
        {
          expr: 'sum by (alertname) (ALERTS{alertstate="firing"})',
          eval_time: '75m',
          exp_samples: name === 'nothing' ? [] : [{ labels: `{alertname="${name}"}`, value: 1 }],
        },
      ],
    }));
    expect(run('test rules', { rule_files: [rulesFile], evaluation_interval: '1m', tests })).toBe('fine');
  });
});
