import Sequencer from '@jest/test-sequencer';

/**
 * Runs the slowest test files first: those that compute most, wait longest or start most programs. Jest itself knows
 * them only from earlier runs, which a fresh clone lacks.
 */
const longest = [
  'api/scenarios',
  'mail/failing-items',
  'mail/declines',
  'house/migrate',
  'api/rights',
  'rest/openapi',
  'house/bodies',
  'graphql/hardening',
  'mail/sync',
  'db/liveness',
  'lessons/update',
  'api/sight',
  'mail-inbox/inbox',
  'timetable-files/files',
  'tenants/apply',
  'tenants/export',
  'api/foreign-ids',
  'lessons/races.random',
  'lessons/validate.random',
  'mail/writing-model.random',
  'house/fuzz.random',
  'web/console/every-screen.browser',
  'web/console/watch.browser',
  'web/console/rooms.browser',
  'web/door-sign.browser',
  'house/benches.process',
  'cells/move.process',
  'db/pooler.process',
  'house/faults.process',
  'lessons/takeover.process',
  'house/lifecycle.process',
  'lessons/order.process',
  'mail/worker.process',
  'lessons/trouble.process',
  'lessons/crash.process',
].map((file) => `/test/${file}.test.ts`);

const rankOf = ({ path }) => {
  const rank = longest.findIndex((end) => path.endsWith(end));
  return rank < 0 ? longest.length : rank;
};

export default class LongestFirst extends Sequencer {
  sort(tests) {
    return [...super.sort(tests)].sort((one, other) => rankOf(one) - rankOf(other));
  }
}
