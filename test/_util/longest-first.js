import Sequencer from '@jest/test-sequencer';

/**
 * Runs the slowest test files first: those that compute most, wait longest or start most programs. Jest itself knows
 * them only from earlier runs, which a fresh clone lacks.
 */
const longest = [
  'api/scenarios',
  'house/fuzz',
  'house/benches',
  'lessons/takeover',
  'house/faults',
  'db/liveness',
  'lessons/trouble',
  'rest/openapi',
  'mail/worker',
  'house/lifecycle',
  'lessons/order',
  'lessons/crash',
  'lessons/races',
  'mail-inbox/inbox',
  'lessons/update',
  'graphql/hardening',
  'web/door-sign',
  'mail/model',
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
