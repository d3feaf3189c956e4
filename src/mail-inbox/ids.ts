import { randomFillSync } from 'node:crypto';
import { v7 } from 'uuid';

const bytesEach = 16;

/**
 * Makes UUIDv7s in ascending order. One system call fetches the random bytes for 256 of them: a call for each would cost more than
 * all other work for a notification.
 */
export function openIds(): () => string {
  const random = Buffer.alloc(256 * bytesEach);
  let [used, count] = [random.length, 0];
  return () => {
    if (used === random.length) {
      randomFillSync(random);
      used = 0;
    }
    used += bytesEach;
    count = (count + 1) >>> 0;
    return v7({ random: random.subarray(used - bytesEach, used), seq: count });
  };
}
