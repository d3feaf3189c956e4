import { expect, test } from '@jest/globals';
import { openSlices } from '../../src/flow/slices.ts';
import { workFor } from '../../src/flow/working.ts';

test('tenants take turns, however many computations of one wait for a slice', async () => {
  const order: string[] = [];
  const wait = async (tenant: number, name: string) => {
    await workFor(tenant, openSlices());
    order.push(name);
  };
  await Promise.all([wait(1, 'a1'), wait(1, 'a2'), wait(1, 'a3'), wait(2, 'b1'), wait(2, 'b2'), wait(3, 'c1')]);
  expect(order).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3']);
});
