import { expect, test } from '@jest/globals';
import type { Database } from '../src/db/database.ts';
import { inTurn } from '../src/mail/turns.ts';

test('two tenants whose mail servers hang leave a turn to a third, and whoever gets none is told so at once', async () => {
  const db = {} as Database;
  const end = Promise.withResolvers<void>();
  const hanging = [1, 1, 1, 2, 2, 2].map((tenant) => inTurn(db, tenant, () => end.promise));
  expect(await Promise.race([hanging[2], hanging[5]])).toBe(false);
  let count = 0;
  for (let times = 0; times < 3; times++)
    expect(
      await inTurn(db, 3, async () => {
        count += 1;
      }),
    ).toBe(true);
  expect(count).toBe(3);
  end.resolve();
  expect(await Promise.all(hanging)).toEqual([true, true, false, true, true, false]);
});
