import Sequencer from '@jest/test-sequencer';

/**
 * The files that wait longest, or start most programs: what begins last must not be what takes longest. Jest itself knows
 * that from earlier runs alone, which a fresh clone has not.
 */
const longest = [
  'lessons/takeover',
  'db/liveness',
  'house/faults',
  'house/benches',
  'house/lifecycle',
  'lessons/crash',
  'lessons/trouble',
  'lessons/races',
  'lessons/order',
  'mail/worker',
  'mail/model',
  'api/scenarios',
  'web/door-sign',
  'house/fuzz',
  'graphql/hardening',
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
